/* run_parts — what the files of a run know of each other; for nobody else. */
#ifndef WAFERD_ENGINE_RUN_PARTS_H
#define WAFERD_ENGINE_RUN_PARTS_H

#include "engine/run.h"

/* A time that may come from anywhere, and a span, never wrap. */
static inline int64_t later(int64_t now_us, int64_t span_us)
{
    int64_t sum;

    return __builtin_add_overflow(now_us, span_us, &sum) ? INT64_MAX : sum;
}

static inline double seconds(int64_t us)
{
    return (double)us / 1e6;
}

/* run.c: into a state for so long; a new phase is said. */
void run_enter(struct run *run, enum run_state state, Wafer__Job__Phase phase, int64_t now_us,
               int64_t span_us, struct agent_effects *effects);

/* run_steps.c */
void run_begin_steps(struct run *run, int64_t now_us, struct agent_effects *effects);
void run_on_steps(struct run *run, int64_t now_us, struct agent_effects *effects);
void run_on_evaluated(struct run *run, int64_t now_us, struct agent_effects *effects);
/* A step is done, seen and evaluated: what now? */
void run_after_step(struct run *run, int64_t now_us, struct agent_effects *effects);
/* An order has come: finish the step that is under way; none is exactly between two. */
void run_stop_steps(struct run *run, int64_t now_us, struct agent_effects *effects);
void run_begin_cleanup(struct run *run, int64_t now_us, Wafer__Cause ending,
                       struct agent_effects *effects);
/* What ends it at the step that is done; WAFER__CAUSE__NO_CAUSE: nothing. */
Wafer__Cause run_ending(const struct run *run);
int64_t run_evaluate_us(const struct run *run); /* how long an evaluation takes */

/* run_save.c */
void run_begin_save(struct run *run, int64_t now_us, struct agent_effects *effects);
void run_on_saved(struct run *run, int64_t now_us, struct agent_effects *effects);

/* run_messages.c: what it says about itself. */
void run_send_progress(const struct run *run, int64_t now_us, struct agent_effects *effects);
void run_send_suspension(const struct run *run, const char *why, struct agent_effects *effects);
void run_send_checkpoint(const struct run *run, Wafer__CheckpointReport__Kind kind,
                         const char *detail, struct agent_effects *effects);
Wafer__CheckpointReport *run_written_report(const struct run *run, Wafer__ShardState **shards,
                                            size_t shard_count);
void run_log_begin(struct run *run, int64_t now_us);
void run_log_step(struct run *run, int64_t now_us);
void run_log_end(struct run *run, int64_t now_us);

#endif
