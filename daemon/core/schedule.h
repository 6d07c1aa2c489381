/* schedule — which waiting job starts next, and where: first come, first served on counts of
 * systems, by priority and then age.
 *
 * The rest of the core tells it when a job begins or ceases to wait, and when something has changed
 * that may let one start; a pass at the end of the step grants what fits. A job further back waits
 * for the head of its queue. */
#ifndef WAFERD_CORE_SCHEDULE_H
#define WAFERD_CORE_SCHEDULE_H

struct core;
struct job;
struct wait;

void schedule_add(struct core *core, struct job *job); /* it is PENDING */
void schedule_remove(struct core *core, struct job *job);
void schedule_pass(struct core *core);

/* Why a PENDING job waits, derived from the state as it is now. `ret->detail` is allocated. */
void schedule_explain(const struct core *core, const struct job *job, struct wait *ret);

#endif
