/* Checkpoints: both the time of a save and the real write must pass before training goes on. */
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "engine/run_parts.h"

#define RETRY_US (30 * 1000000ll) /* between tries of a save that failed */

static void write_shards(struct run *run, struct agent_effects *effects)
{
    struct agent_effect *effect = effects_add(effects, AGENT_WRITE);

    effect->job = run->job;
    effect->step = run->training.step;
    effect->term = run->term;
    effect->epoch = run->epoch;
    effect->attempt = run->attempt;
    effect->shards = memory_new(TRAINING_LANES * sizeof(*effect->shards));
    effect->shard_count = TRAINING_LANES;
    for (unsigned lane = 0; lane < TRAINING_LANES; lane++)
        effect->shards[lane].bytes = training_shard(&run->training, lane, run->config->filler_bytes,
                                                    &effect->shards[lane].length);
}

void run_begin_save(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Checkpoint: saving step %llu",
                     (unsigned long long)run->training.step);
    run_enter(run, RUN_SAVE, WAFER__JOB__PHASE__CHECKPOINT, now_us, run->phases.save_us, effects);
    run->io_done = false;
    if (!run->suspended)
        run_send_checkpoint(run, WAFER__CHECKPOINT_REPORT__KIND__BEGUN, NULL, effects);
    write_shards(run, effects);
}

/* Saved, or given up: the end, or on with the steps. */
static void after_save(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run->last_save_us = now_us;
    if (run->ending == WAFER__CAUSE__NO_CAUSE && run->ordered)
        run->ending = run->order_cause;
    if (run->ending != WAFER__CAUSE__NO_CAUSE)
        run_begin_cleanup(run, now_us, run->ending, effects);
    else
        run_begin_steps(run, now_us, effects);
}

void run_on_saved(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    if (!run->io_done) {
        run->due_us = INT64_MAX;
        return;
    }
    run->saved_step = run->training.step;
    trainer_log_line(&run->log, now_us, "Checkpoint: step %llu written in %.1f s",
                     (unsigned long long)run->saved_step, seconds(now_us - run->phase_began_us));
    /* Not said before the time of a save has passed: until then it was not there. */
    run->written = TAKE(run->writing);
    effects_send(effects)->checkpoint = MESSAGE_COPY(run->written);
    if (run->suspended) {
        run->suspended = false;
        run_send_suspension(run, NULL, effects);
    }
    after_save(run, now_us, effects);
}

static void on_save_failed(struct run *run, int64_t now_us, const char *why,
                           struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Checkpoint: step %llu not written: %s",
                     (unsigned long long)run->training.step, why);
    switch (run->workload.on_error) {
    case WAFER__CHECKPOINT_SPEC__ON_ERROR__continue:
        run_send_checkpoint(run, WAFER__CHECKPOINT_REPORT__KIND__FAILED, why, effects);
        after_save(run, now_us, effects);
        return;
    case WAFER__CHECKPOINT_SPEC__ON_ERROR__fail:
        run_send_checkpoint(run, WAFER__CHECKPOINT_REPORT__KIND__FAILED, why, effects);
        run_end(run, now_us, WAFER__CAUSE__CHECKPOINT_UNWRITABLE, why, NULL);
        return;
    default: /* pause */
        run_enter(run, RUN_RETRY, WAFER__JOB__PHASE__CHECKPOINT, now_us, RETRY_US, effects);
        if (!run->suspended) {
            run->suspended = true;
            run_send_suspension(run, why, effects);
        }
    }
}

void run_on_written(struct run *run, int64_t now_us, uint64_t step, int error, const char *why,
                    Wafer__ShardState **shards, size_t shard_count, struct agent_effects *effects)
{
    if (run->state != RUN_SAVE || run->io_done || step != run->training.step)
        return;
    if (error < 0) {
        on_save_failed(run, now_us, why ? why : strerror(-error), effects);
        return;
    }
    run->io_done = true;
    run->writing = run_written_report(run, shards, shard_count);
    if (run->due_us == INT64_MAX)
        run_on_saved(run, now_us, effects);
}
