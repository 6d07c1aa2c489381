/* workers — threads that do what may block, so that the loop never does.
 *
 * A task runs on some thread and is then handed back to the loop, in no promised order; with one
 * thread, both happen in the order of posting. */
#ifndef WAFERD_SIM_WORKERS_H
#define WAFERD_SIM_WORKERS_H

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/list.h"

struct task { /* the first member of what it works on */
    struct list link;
    void (*run)(struct task *task);  /* on a thread: touches the task alone */
    void (*done)(struct task *task); /* on the loop: frees it */
};

struct workers;

int workers_new(sd_event *event, unsigned threads, struct workers **ret);
void workers_post(struct workers *workers, struct task *task);

/* Wait until every task has run and its done(), which may post more, was called. */
void workers_finish(struct workers *workers);
struct workers *workers_free(struct workers *workers); /* finishes first; always NULL */
OWNED_DEFINE(workers_free, struct workers *);

#endif
