/* schedule — which waiting job starts next, and where: first come, first served on counts of
 * systems, by priority and then age.
 *
 * The rest of the core tells it when a job begins or ceases to wait, and when something has changed
 * that may let one start; a pass at the end of the step grants what fits. A job further back waits
 * for the head of its queue. */
#ifndef WAFERD_CORE_SCHEDULE_H
#define WAFERD_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "view.pb-c.h"

struct core;
struct job;
struct wait;

void schedule_add(struct core *core, struct job *job); /* it is PENDING */
void schedule_remove(struct core *core, struct job *job);
void schedule_pass(struct core *core);

/* How many systems the job gets when it starts. */
uint32_t schedule_systems_for(const struct core *core, const struct job *job);
/* Would this reason keep the PENDING job from starting, whatever else does? For those that are the
 * job's own or its queue's. */
bool schedule_is_kept_by(const struct core *core, const struct job *job, Wafer__Job__Reason reason);
/* Nothing of its own keeps the job from starting, so that those behind it wait for it. */
bool schedule_takes_turn(const struct core *core, const struct job *job);
/* The place of a PENDING job in its queue, from 1. */
uint64_t schedule_position(const struct core *core, const struct job *job);

/* Why a PENDING job waits, derived from the state as it is now. `ret->detail` is allocated. */
void schedule_explain(const struct core *core, const struct job *job, struct wait *ret);

#endif
