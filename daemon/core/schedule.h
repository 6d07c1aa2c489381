/* schedule — which waiting job starts next, and where: the core's side of the scheduler.
 *
 * The rest of the core tells it when a job begins or ceases to wait or to hold systems, and when
 * something has changed that may let one start; a pass at the end of the step grants what the
 * scheduler names. A job that something of its own keeps back (a back-off, the limit of its array)
 * is parked, and passes nobody and is passed. */
#ifndef WAFERD_CORE_SCHEDULE_H
#define WAFERD_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/score.h"
#include "view.pb-c.h"

struct array;
struct core;
struct host;
struct job;
struct system;
struct wait;

void schedule_add(struct core *core, struct job *job); /* it is PENDING */
/* The same, but nobody is put off for it: until schedule_remove(), and no pass may come before. */
void schedule_imagine(struct core *core, struct job *job);
void schedule_remove(struct core *core, struct job *job);
void schedule_run(struct core *core, struct job *job);  /* it holds systems */
void schedule_done(struct core *core, struct job *job); /* not any more, or until it runs anew */
void schedule_ended(struct core *core);                 /* some job has given its systems back */
void schedule_pass(struct core *core);

/* Something that its own obstacles hang on has changed; of a job that does not wait: nothing. */
void schedule_review(struct core *core, struct job *job);
/* Fewer of its elements run or wait than before. */
void schedule_array_opened(struct core *core, struct array *array);

/* When a pass has something to do although nothing happens; INT64_MAX: never. */
int64_t schedule_next(const struct core *core);

/* How many systems the job gets when it starts. */
uint32_t schedule_systems_for(const struct core *core, const struct job *job);
/* Would this reason keep the PENDING job from starting, whatever else does? For those that are the
 * job's own or its queue's. */
bool schedule_is_kept_by(const struct core *core, const struct job *job, Wafer__Job__Reason reason);
/* The place of a PENDING job in its queue, from 1, among those that nothing of their own keeps. */
uint64_t schedule_position(const struct core *core, const struct job *job);

/* Of a PENDING job, as the order by policy has it: the sum, and its factors. */
int64_t schedule_score(const struct core *core, const struct job *job,
                       int64_t ret_factors[static SCORE_TERMS]);

/* What its host has of its pool: -1 before the system changes, 1 after. */
void schedule_count(struct core *core, const struct system *system, int change);
/* What the host has may be granted from now on, or no longer. */
void schedule_connected(struct core *core, const struct host *host, bool is_connected);

/* Why a PENDING job waits, derived from the state as it is now. `ret->detail` is allocated. */
void schedule_explain(const struct core *core, const struct job *job, struct wait *ret);

#endif
