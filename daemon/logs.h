/* logs — serving the logs of jobs.
 *
 * A reader walks the bytes of an attempt's log by their offsets: what is new comes from a ring of
 * the newest lines, fed by the agent, anything older from the vault. So the hand-over from one to
 * the other is exact, and a slow reader costs no memory: it reads later what others read now. Only
 * what neither has is reported as missed. */
#ifndef WAFERD_LOGS_H
#define WAFERD_LOGS_H

#include "agent.pb-c.h"
#include "core/core.h"
#include "vault/vault.h"
#include "workers.h"

struct logs;

struct logs_ops {
    /* -ENOBUFS  its queue is full: tried again by logs_turn(); other errors end the reader */
    int (*send)(void *userdata, uint64_t client, const Wafer__Response *response);
};

struct logs *logs_new(struct vault *vault, struct workers *workers, const struct logs_ops *ops,
                      void *userdata);
struct logs *logs_free(struct logs *logs); /* before the workers; always NULL */

/* Lines from an agent. */
void logs_on_lines(struct logs *logs, const Wafer__LogLines *lines);
/* What became of jobs, once durable: followers learn of new attempts and of the end. */
void logs_on_record(struct logs *logs, const Wafer__Record *record);

/* Answer `request` of `client` for a job that is at `attempt` (0: none yet). */
void logs_serve(struct logs *logs, uint64_t client, uint64_t request, uint64_t job,
                uint32_t attempt, bool ended, const Wafer__LogsRequest *message);

void logs_drop_client(struct logs *logs, uint64_t client);
size_t logs_of_client(const struct logs *logs, uint64_t client);
void logs_turn(struct logs *logs);

#endif
