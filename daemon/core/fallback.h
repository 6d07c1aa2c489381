/* fallback — the last rung: a job that can go on nowhere else goes on in the pool that it names.
 *
 * It keeps its number, its lineage and its checkpoints, and goes on from the newest verified one,
 * so from the same step and the same batch; its old grant is fenced like that of any attempt.
 * Whether the pool exists, takes its class and is wide enough is asked when the job is handed in.
 *
 * When the job's `when` names it:
 *   RETRY_LIMIT           it failed once more than retry.max without a new checkpoint
 *   UNSUPPORTED_OPERATOR  its platform lacks an operator that it needs
 *   NO_HEALTHY_SYSTEM     for `after` too few systems of its pool have worked; looked at each
 * minute
 *
 * With `ask` it is held instead, with the reason FallbackAsk, until somebody says which of the two:
 * wafer fallback, or wafer release. It falls back once; `wafer return` brings it home. */
#ifndef WAFERD_CORE_FALLBACK_H
#define WAFERD_CORE_FALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "record.pb-c.h"

struct core;
struct job;
struct pool;

/* Where this cause sends the job; NULL: nowhere. */
const struct pool *fallback_pool(const struct core *core, const struct job *job,
                                 Wafer__Cause cause);
/* Change the state that the job is about to get, which is PENDING, in that way: it waits for the
 * other pool, or is held for somebody to say so. In words; the caller frees. */
char *fallback_take(const struct job *job, const struct pool *pool, Wafer__JobState *next);

/* While it waits: when to look at its pool again, INT64_MAX: never; and what is to be done then.
 * True: the job has moved. */
int64_t fallback_next_us(const struct core *core, const struct job *job);
bool fallback_due(struct core *core, struct job *job);

/* Is a job that is held asked whether it should? */
bool fallback_is_asked(const struct job *job);

#endif
