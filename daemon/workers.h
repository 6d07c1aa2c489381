/* workers — threads for what would hold up the loop: reading, hashing and syncing in the vault.
 *
 * Tasks begin in the order they were added, but for slow ones: these leave a thread free for what
 * somebody waits for. Results come back on the loop, in the order in which tasks ended.
 *
 * Threads  workers_*() and finish() on the loop's, run() on a worker's */
#ifndef WAFERD_WORKERS_H
#define WAFERD_WORKERS_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "base/list.h"

struct workers;

/* The head of whatever a task needs; it belongs to the workers until finish() or drop(). */
struct task {
    struct list link;
    bool slow;
    void (*run)(struct task *task);
    void (*finish)(struct task *task); /* its result is there; frees it */
    void (*drop)(struct task *task);   /* nobody wants it any more; frees it */
};

int workers_new(sd_event *event, struct workers **ret, struct diag *diag);
/* Waits for the tasks that run and drops all others. Always NULL. */
struct workers *workers_free(struct workers *workers);
OWNED_DEFINE(workers_free, struct workers *);

void workers_add(struct workers *workers, struct task *task);

#endif
