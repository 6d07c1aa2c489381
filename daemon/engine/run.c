#include "engine/run_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"

void run_enter(struct run *run, enum run_state state, Wafer__Job__Phase phase, int64_t now_us,
               int64_t span_us, struct agent_effects *effects)
{
    bool changed = run->phase != phase;

    if (run->phase != WAFER__JOB__PHASE__QUEUE)
        run->spent_us[run->phase] += now_us - run->phase_began_us;
    run->state = state;
    run->phase = phase;
    run->due_us = later(now_us, span_us);
    run->phase_began_us = now_us;
    if (changed) {
        run_send_progress(run, now_us, effects);
        run->progress_due_us = later(now_us, run->config->progress_us);
    }
}

/* ---- life ---- */

static void plan(struct run *run)
{
    phases_init(&run->phases, run->platform, run->workload.parameters, run->config->seed, run->job,
                run->epoch);
    rate_init(&run->rate, &run->workload, run->platform, run->system_count);
    run->compile_key = compile_key(run->spec, &run->workload, run->platform, run->system_count);
    cadence_init(&run->cadence, run->spec->checkpoint, run->platform->faults, run->phases.save_us,
                 run->system_count);
}

static int take_resume(struct run *run, const Wafer__StartJob *start, struct diag *diag)
{
    if (!start->resume)
        return 0;
    run->resume = MESSAGE_COPY(start->resume);
    run->weights_only = start->has_weights_only && start->weights_only;
    if (!run->resume->has_resume)
        return 0;
    run->resume_state =
        wafer__resume_state__unpack(NULL, run->resume->resume.len, run->resume->resume.data);
    if (!run->resume_state)
        return diag_fail(diag, -EBADMSG, "the resume state of step %llu cannot be read",
                         (unsigned long long)run->resume->step);
    return 0;
}

int run_new(const struct run_config *config, const Wafer__StartJob *start, Wafer__JobSpec *spec,
            const Wafer__Platform *platform, char *systems, struct run **ret, struct diag *diag)
{
    owned(run_free) struct run *run = NEW(struct run);
    uint32_t array_index = start->has_array_index ? start->array_index : 0;

    run->spec = spec;
    run->systems = systems;
    run->config = config;
    run->job = start->job;
    run->term = start->fence->term;
    run->epoch = start->fence->epoch;
    run->attempt = start->attempt;
    run->platform = platform;
    run->system_count = (uint32_t)start->n_systems;
    run->phase = WAFER__JOB__PHASE__QUEUE;
    run->due_us = run->progress_due_us = INT64_MAX;
    run->saved_step = UINT64_MAX;

    int r = workload_read(spec, &run->workload, diag);
    if (r >= 0)
        r = take_resume(run, start, diag);
    if (r < 0)
        return r;
    plan(run);
    training_init(&run->training, spec, array_index);
    loss_init(&run->loss, run->workload.parameters, run->workload.vocab,
              (uint64_t)run->workload.batch * run->workload.seq, run->training.settings);
    run->loaded = !run->resume;
    *ret = TAKE(run);
    return 0;
}

struct run *run_free(struct run *run)
{
    if (!run)
        return NULL;
    wafer__job_spec__free_unpacked(run->spec, NULL);
    if (run->resume)
        wafer__checkpoint_state__free_unpacked(run->resume, NULL);
    if (run->resume_state)
        wafer__resume_state__free_unpacked(run->resume_state, NULL);
    if (run->writing)
        wafer__checkpoint_report__free_unpacked(run->writing, NULL);
    if (run->written)
        wafer__checkpoint_report__free_unpacked(run->written, NULL);
    training_done(&run->training);
    buffer_done(&run->log.text);
    free(run->systems);
    free(run->compile_detail);
    free(run->detail);
    free(run->failed_system);
    free(run);
    return NULL;
}

int64_t run_next_us(const struct run *run)
{
    return run->due_us < run->progress_due_us ? run->due_us : run->progress_due_us;
}

uint64_t run_step(const struct run *run)
{
    if (!run->loaded && !run->weights_only) /* then it resumes */
        return run->resume->step;
    return run->training.step;
}

void run_end(struct run *run, int64_t now_us, Wafer__Cause cause, const char *detail,
             const char *system)
{
    run_catch_up(run, now_us);
    run->state = RUN_ENDED;
    run->due_us = run->progress_due_us = INT64_MAX;
    run->ending = cause;
    run->detail = text_copy(detail);
    run->failed_system = text_copy(system);
    run_log_end(run, now_us);
}

/* ---- compile and load ---- */

void run_begin(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    bool cached = compile_cache_has(run->config->cache, run->compile_key);
    struct diag diag = { "" };

    run_send_started(run, effects);
    run_log_begin(run, now_us);
    run->compile_cause =
        compile_check(run->spec, &run->workload, run->platform, run->system_count, &diag);
    if (run->compile_cause != WAFER__CAUSE__NO_CAUSE)
        run->compile_detail = text_copy(diag.text);
    trainer_log_line(&run->log, now_us, "Compile: program %016llx for %u systems: %s",
                     (unsigned long long)run->compile_key, run->system_count,
                     cached ? "in the cache" : "not in the cache");
    bool is_short = cached || run->compile_cause != WAFER__CAUSE__NO_CAUSE;
    run_enter(run, RUN_COMPILE, WAFER__JOB__PHASE__COMPILE, now_us,
              is_short ? run->phases.compile_cached_us : run->phases.compile_us, effects);
}

static void on_compiled(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    if (run->compile_cause != WAFER__CAUSE__NO_CAUSE) {
        run_end(run, now_us, run->compile_cause, run->compile_detail, NULL);
        return;
    }
    compile_cache_put(run->config->cache, run->compile_key);
    trainer_log_line(&run->log, now_us, "Compile: done in %.1f s",
                     seconds(now_us - run->phase_began_us));
    run_enter(run, RUN_START, WAFER__JOB__PHASE__LOAD, now_us, run->phases.start_us, effects);
}

static void on_started(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Load: processes up in %.1f s",
                     seconds(now_us - run->phase_began_us));
    run_enter(run, RUN_PROGRAM, WAFER__JOB__PHASE__LOAD, now_us, run->phases.program_us, effects);
}

static void on_programmed(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Load: systems programmed in %.1f s",
                     seconds(now_us - run->phase_began_us));
    run_enter(run, RUN_WEIGHTS, WAFER__JOB__PHASE__LOAD, now_us, run->phases.weights_us, effects);
    run->io_done = !run->resume;
    if (!run->resume)
        return;
    struct agent_effect *effect = effects_add(effects, AGENT_READ);
    effect->job = run->job;
    effect->step = run->resume->step;
    effect->term = run->term;
    effect->epoch = run->epoch;
    effect->attempt = run->attempt;
    effect->resume = MESSAGE_COPY(run->resume);
}

/* What was seen at or before the step of the checkpoint: the losses are functions of the step. */
static void restore_metrics(struct run *run)
{
    uint64_t step = run->training.step;
    uint64_t logged = step - step % run->workload.log_steps;
    uint64_t every = run->workload.evaluate_steps;

    if (run->resume_state)
        metrics_load(&run->metrics, run->resume_state);
    if (logged > 0)
        metrics_see(&run->metrics, METRIC_LOSS, logged, loss_micro(&run->loss, logged));
    if (every && step >= every)
        metrics_see(&run->metrics, METRIC_EVAL_LOSS, step - step % every,
                    loss_eval_micro(&run->loss, step - step % every));
}

static void load(struct run *run, const struct agent_shard *shards, size_t count)
{
    const uint8_t **bytes = memory_new((count + 1) * sizeof(*bytes));
    size_t *lengths = memory_new((count + 1) * sizeof(*lengths));

    for (size_t i = 0; i < count; i++) {
        bytes[i] = shards[i].bytes;
        lengths[i] = shards[i].length;
    }
    training_load(&run->training, bytes, lengths, count, run->resume->step, run->resume_state,
                  run->weights_only);
    free(bytes);
    free(lengths);
    run->loaded = true;
    if (run->weights_only)
        return;
    restore_metrics(run);
    if (run->resume->job == run->job)
        run->saved_step = run->training.step;
}

/* The state is there. A checkpoint of this very job at its last step, or where it had stopped by
 * its metrics, is its result: only the end was lost. Another job's leaves nothing to do. */
static void begin_training(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    uint64_t step = run->training.step, max_steps = run->workload.max_steps;

    run->loaded_us = run->last_save_us = run->rate_us = now_us;
    run->loaded_step = run->rate_step = step;
    if (run->resume)
        trainer_log_line(&run->log, now_us, "Load: %s of step %llu of job %llu",
                         run->weights_only ? "weights" : "everything",
                         (unsigned long long)run->resume->step,
                         (unsigned long long)run->resume->job);
    if (step > max_steps || (step == max_steps && run->resume->job != run->job)) {
        run_end(run, now_us, WAFER__CAUSE__NOTHING_TO_DO,
                "the checkpoint is at the last step already", NULL);
        return;
    }
    trainer_log_line(&run->log, now_us, "Train: step %.4f s, bound by %s",
                     (double)run->rate.step_ns / 1e9, rate_bound_name(run->rate.bound));
    run_begin_steps(run, now_us, effects);
    if (step > 0 && run_ending(run) != WAFER__CAUSE__NO_CAUSE)
        run_after_step(run, now_us, effects);
}

/* Both the time that weights need and the read must have passed. */
static void on_weights(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    if (!run->io_done) {
        run->due_us = INT64_MAX;
        return;
    }
    trainer_log_line(&run->log, now_us, "Load: weights in after %.1f s",
                     seconds(now_us - run->phase_began_us));
    begin_training(run, now_us, effects);
}

void run_on_read(struct run *run, int64_t now_us, int error, const char *why,
                 const struct agent_shard *shards, size_t shard_count,
                 struct agent_effects *effects)
{
    if (run->state != RUN_WEIGHTS || run->io_done)
        return;
    if (error < 0) {
        bool is_damaged = error == -EBADMSG || error == -ENOENT;
        run_end(run, now_us,
                is_damaged ? WAFER__CAUSE__CHECKPOINT_UNREADABLE
                           : WAFER__CAUSE__CHECKPOINT_UNREACHABLE,
                why ? why : strerror(-error), NULL);
        return;
    }
    run->io_done = true;
    load(run, shards, shard_count);
    if (run->due_us == INT64_MAX)
        on_weights(run, now_us, effects);
}

/* ---- orders and time ---- */

void run_on_stop(struct run *run, int64_t now_us, const Wafer__StopJob *stop,
                 struct agent_effects *effects)
{
    if (run->state == RUN_CLEANUP) { /* its end is decided */
        if (stop->now)
            run_end(run, now_us, run->ending, NULL, NULL);
        return;
    }
    if (stop->now) {
        run_end(run, now_us, stop->cause, NULL, NULL);
        return;
    }
    run->ordered = true;
    run->order_save = stop->save;
    run->order_cause = stop->cause;
    trainer_log_line(&run->log, now_us, "Stop: ordered%s", stop->save ? ", with a checkpoint" : "");
    switch (run->state) {
    case RUN_COMPILE:
    case RUN_START:
    case RUN_PROGRAM:
    case RUN_WEIGHTS: run_end(run, now_us, stop->cause, NULL, NULL); return;
    case RUN_TRAIN: run_stop_steps(run, now_us, effects); return;
    case RUN_EVALUATE:
    case RUN_SAVE:
    case RUN_RETRY:
        run->order_step = run->training.step;
        if (!stop->save)
            run_begin_cleanup(run, now_us, stop->cause, effects);
        return;
    case RUN_CLEANUP:
    case RUN_ENDED: return;
    }
}

static void on_due(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    switch (run->state) {
    case RUN_COMPILE: on_compiled(run, now_us, effects); return;
    case RUN_START: on_started(run, now_us, effects); return;
    case RUN_PROGRAM: on_programmed(run, now_us, effects); return;
    case RUN_WEIGHTS: on_weights(run, now_us, effects); return;
    case RUN_TRAIN: run_on_steps(run, now_us, effects); return;
    case RUN_EVALUATE: run_on_evaluated(run, now_us, effects); return;
    case RUN_SAVE: run_on_saved(run, now_us, effects); return;
    case RUN_RETRY: run_begin_save(run, now_us, effects); return;
    case RUN_CLEANUP: run_end(run, now_us, run->ending, NULL, NULL); return;
    case RUN_ENDED: return;
    }
}

/* True if there will be more before anything else happens. */
static bool skip_progress(struct run *run, int64_t until_us)
{
    int64_t last_us = until_us < run->due_us ? until_us : run->due_us;
    int64_t more = (last_us - run->progress_due_us) / run->config->progress_us;

    run->progress_due_us += more * run->config->progress_us;
    return more > 0;
}

void run_on_time(struct run *run, int64_t now_us, int64_t until_us, struct agent_effects *effects)
{
    if (run->due_us <= now_us) {
        on_due(run, now_us, effects);
    } else if (!skip_progress(run, until_us)) {
        run_catch_up(run, now_us);
        run_send_progress(run, now_us, effects);
        run->progress_due_us = later(now_us, run->config->progress_us);
    }
}
