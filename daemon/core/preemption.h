/* preemption — an urgent job that does not fit takes the systems of jobs that are less so.
 *
 * When a pass leaves the first job of a queue waiting, and the rules let its priority preempt, it
 * lays a claim to systems of one host: idle ones, those of jobs that are being stopped anyway, and
 * those of victims, which are told to save a checkpoint and wait again (PREEMPTED, no failure of
 * theirs). Of all choices that greedy search finds it takes the one that loses least work, which is
 * counted as the time since the newest checkpoint of a victim times its systems.
 *
 * Invariants
 *   - a victim is never of the same or a more urgent priority, and never stopped for the same job
 *     twice in a row
 *   - claimed systems are granted to nobody else until the claim's job starts or changes in any
 *     way, or one of them breaks; they are no part of what the scheduler plans with
 *   - a claim is live: after a restart what is being stopped still is, and the same job lays it
 *     anew
 *
 * Priorities are as in job_terms: 0 to 399, the lower the more urgent. */
#ifndef WAFERD_CORE_PREEMPTION_H
#define WAFERD_CORE_PREEMPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct job;
struct pool;
struct system;

/* Jobs with a priority up to `by` may stop those from `of` on; by < of. 0, 0: nobody is stopped. */
struct preempt_rules {
    uint32_t by, of;
};

/* Start those of the pool whose claims are complete; before the scheduler's pass. */
void preemption_start(struct core *core, struct pool *pool);
/* Lay claims for those that are first in the queue; after it. */
void preemption_claim(struct core *core, struct pool *pool);

/* Whom a claim of this job, which waits, would stop: the caller's, or NULL. */
uint64_t *preemption_preview(const struct core *core, const struct pool *pool, struct job *job,
                             size_t *ret_count);

/* What the job had a claim to is anybody's again; no claim: nothing. */
void preemption_release(struct core *core, struct job *job);
/* The system may be granted no longer: whoever has a claim to it lays another. */
void preemption_lose(struct core *core, struct system *system);

/* When the systems that the job has a claim to are free at the latest. */
int64_t preemption_start_us(const struct core *core, const struct job *job);
/* What a job that has a claim waits for; the caller frees. And for whom: the first, or 0. */
char *preemption_text(const struct core *core, const struct job *job, uint64_t *ret_blocker);

#endif
