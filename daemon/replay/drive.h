/* drive — a trace goes through the core, and every job gets its start.
 *
 * The scheduler is the core's own, through core_step(); this is its world: jobs arrive when the
 * trace says, run as long as it says, and their ends are applied in a stated order.
 *
 * Ties, within one instant
 *   batch           all ends, all submissions, then one pass: what a live controller does
 *                   that finds them all in its sockets
 *   submit-first    ends that were expected then count as gone; submissions, then ends in the
 *                   order their jobs started; a pass after each (as pyss does)
 *   end-first       ends that were expected then count as gone; ends, then submissions
 *   end-first-held  ends, then submissions; whose end is not applied yet holds its systems
 *                   (as CQSim does)
 *
 * Failures
 *   After all else of an instant systems come back, and then systems fail; a pass follows. The
 *   job on a system that fails is at its last checkpoint again, and waits in its old place of
 *   the queue, to run what is left within what is left of its limit. Checkpoints take no time.
 *
 * Units  whole seconds of the trace (`_s`) */
#ifndef WAFERD_REPLAY_DRIVE_H
#define WAFERD_REPLAY_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/scheduler.h"

struct failures;
struct trace;
struct usage_rules;

enum replay_ties {
    TIES_BATCH,
    TIES_SUBMIT_FIRST,
    TIES_END_FIRST,
    TIES_END_FIRST_HELD,
};

struct replay_options {
    uint32_t systems;
    struct schedule_rules rules;
    bool actual_estimates; /* what a job runs is what it asks for; else its request */
    enum replay_ties ties;
    const struct usage_rules *usage; /* of the order by policy; or NULL */
    const struct failures *failures; /* of the systems of the pool; or NULL */
    int64_t checkpoint_s;            /* running jobs save so often; 0: never */
};

/* A run of a job that a failure ended, or that came after one. */
struct replay_attempt {
    size_t job; /* of the trace */
    int64_t queued_s, start_s, end_s;
};

struct replay_result {
    /* Of each job of the trace: when it first started, and when it was done; -1: never. */
    int64_t *start_s, *end_s;
    uint64_t passes;
    uint64_t too_wide;               /* jobs that need more systems than there are: left out */
    uint64_t failures;               /* of systems, while there were jobs */
    uint64_t restarts;               /* of jobs, after a failure */
    uint64_t lost_system_s;          /* that ran after the last checkpoint before a failure */
    struct replay_attempt *attempts; /* of jobs that were restarted, in the order of their ends */
    size_t attempt_count, attempt_capacity;
};

/* Told now and then, so that long work can show how far it is. */
typedef void (*replay_progress_fn)(void *userdata, size_t ended, size_t count);

/* `progress` may be NULL. */
void replay_run(const struct trace *trace, const struct replay_options *options,
                replay_progress_fn progress, void *userdata, struct replay_result *ret);
void replay_result_done(struct replay_result *result);

#endif
