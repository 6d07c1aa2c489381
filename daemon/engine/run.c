#include "engine/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"

#define RETRY_US (30 * 1000000ll) /* between tries of a save that failed */

/* A time that may come from anywhere, and a span, never wrap. */
static int64_t later(int64_t now_us, int64_t span_us)
{
    int64_t sum;

    return __builtin_add_overflow(now_us, span_us, &sum) ? INT64_MAX : sum;
}

static double seconds(int64_t us)
{
    return (double)us / 1e6;
}

static void enter(struct run *run, enum run_state state, Wafer__Job__Phase phase, int64_t now_us,
                  int64_t span_us, struct agent_effects *effects)
{
    bool changed = run->phase != phase;

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
    run->lineage = start->lineage;
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
    uint64_t key = compile_key(run->spec, &run->workload, run->platform, run->system_count);
    bool cached = compile_cache_has(run->config->cache, key);
    struct diag diag = { "" };

    run_send_started(run, effects);
    run_log_begin(run, now_us);
    run->compile_cause =
        compile_check(run->spec, &run->workload, run->platform, run->system_count, &diag);
    if (run->compile_cause != WAFER__CAUSE__NO_CAUSE)
        run->compile_detail = text_copy(diag.text);
    trainer_log_line(&run->log, now_us, "Compile: program %016llx for %u systems: %s",
                     (unsigned long long)key, run->system_count,
                     cached ? "in the cache" : "not in the cache");
    bool is_short = cached || run->compile_cause != WAFER__CAUSE__NO_CAUSE;
    enter(run, RUN_COMPILE, WAFER__JOB__PHASE__COMPILE, now_us,
          is_short ? run->phases.compile_cached_us : run->phases.compile_us, effects);
}

static void on_compiled(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    if (run->compile_cause != WAFER__CAUSE__NO_CAUSE) {
        run_end(run, now_us, run->compile_cause, run->compile_detail, NULL);
        return;
    }
    compile_cache_put(run->config->cache,
                      compile_key(run->spec, &run->workload, run->platform, run->system_count));
    trainer_log_line(&run->log, now_us, "Compile: done in %.1f s",
                     seconds(now_us - run->phase_began_us));
    enter(run, RUN_START, WAFER__JOB__PHASE__LOAD, now_us, run->phases.start_us, effects);
}

static void on_started(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Load: processes up in %.1f s",
                     seconds(now_us - run->phase_began_us));
    enter(run, RUN_PROGRAM, WAFER__JOB__PHASE__LOAD, now_us, run->phases.program_us, effects);
}

static void on_programmed(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Load: systems programmed in %.1f s",
                     seconds(now_us - run->phase_began_us));
    enter(run, RUN_WEIGHTS, WAFER__JOB__PHASE__LOAD, now_us, run->phases.weights_us, effects);
    run->io_done = !run->resume;
    if (!run->resume)
        return;
    struct agent_effect *effect = effects_add(effects, AGENT_READ);
    effect->job = run->job;
    effect->lineage = run->resume->lineage;
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

static void begin_training(struct run *run, int64_t now_us, struct agent_effects *effects);

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
        run_end(run, now_us, WAFER__CAUSE__CHECKPOINT_UNREADABLE, why ? why : strerror(-error),
                NULL);
        return;
    }
    run->io_done = true;
    load(run, shards, shard_count);
    if (run->due_us == INT64_MAX)
        on_weights(run, now_us, effects);
}

/* ---- steps ---- */

static int64_t time_of_step(const struct run *run, uint64_t step)
{
    return later(run->anchor_us, rate_time_us(&run->rate, step - run->anchor_step));
}

void run_catch_up(struct run *run, int64_t now_us)
{
    if (run->state != RUN_TRAIN)
        return;
    uint64_t step = run->anchor_step + rate_steps(&run->rate, now_us - run->anchor_us);
    if (step > run->target_step)
        step = run->target_step;
    if (step > run->training.step)
        training_run(&run->training, step - run->training.step);
}

static uint64_t next_multiple(uint64_t step, uint64_t every)
{
    return every && step <= UINT64_MAX - every ? step - step % every + every : UINT64_MAX;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first step that ends at `due_us` or later. */
static uint64_t step_at(const struct run *run, int64_t due_us)
{
    uint64_t step = run->anchor_step + rate_steps(&run->rate, due_us - run->anchor_us);

    if (time_of_step(run, step) < due_us)
        step++;
    return step > run->training.step ? step : run->training.step + 1;
}

/* On to the next step at which something happens. */
static void aim(struct run *run)
{
    uint64_t step = run->training.step;
    uint64_t target = run->workload.max_steps;

    target = smaller(target, next_multiple(step, run->workload.log_steps));
    target = smaller(target, next_multiple(step, run->workload.evaluate_steps));
    target = smaller(target, next_multiple(step, run->cadence.steps));
    if (run->cadence.time_us)
        target = smaller(target, step_at(run, later(run->last_save_us, run->cadence.time_us)));
    if (run->ordered)
        target = smaller(target, run->order_step);
    run->target_step = target;
    run->due_us = time_of_step(run, target);
}

static void begin_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run->anchor_us = now_us;
    run->anchor_step = run->training.step;
    enter(run, RUN_TRAIN, WAFER__JOB__PHASE__EXECUTE, now_us, 0, effects);
    aim(run);
}

static void begin_cleanup(struct run *run, int64_t now_us, Wafer__Cause ending,
                          struct agent_effects *effects)
{
    run->ending = ending;
    enter(run, RUN_CLEANUP, WAFER__JOB__PHASE__CLEANUP, now_us, run->phases.cleanup_us, effects);
}

static Wafer__Cause ending_of(const struct run *run)
{
    if (run->training.step >= run->workload.max_steps)
        return WAFER__CAUSE__FINISHED;
    Wafer__Cause cause = metrics_stop(&run->metrics, run->spec->stop, run->training.step);
    if (cause == WAFER__CAUSE__NO_CAUSE && run->ordered)
        cause = run->order_cause;
    return cause;
}

static bool checkpoint_is_due(const struct run *run, int64_t now_us)
{
    uint64_t step = run->training.step;

    if (run->cadence.steps && step % run->cadence.steps == 0)
        return true;
    return run->cadence.time_us && now_us - run->last_save_us >= run->cadence.time_us;
}

static void begin_save(struct run *run, int64_t now_us, struct agent_effects *effects);

/* A step is done, seen and evaluated: what now? */
static void after_step(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    Wafer__Cause ending = ending_of(run);
    bool by_order = ending != WAFER__CAUSE__NO_CAUSE && run->ordered && ending == run->order_cause;
    bool is_saved = run->training.step == run->saved_step || run->training.step == 0;

    if (ending != WAFER__CAUSE__NO_CAUSE) {
        run->ending = ending;
        if (is_saved || (by_order && !run->order_save))
            begin_cleanup(run, now_us, ending, effects);
        else
            begin_save(run, now_us, effects);
    } else if (!is_saved && checkpoint_is_due(run, now_us)) {
        begin_save(run, now_us, effects);
    } else {
        aim(run);
    }
}

static bool evaluation_is_due(const struct run *run)
{
    const struct metric_seen *eval = &run->metrics.seen[METRIC_EVAL_LOSS];
    uint64_t step = run->training.step, every = run->workload.evaluate_steps;

    if (!every || (eval->known && eval->step == step))
        return false;
    if (run->ordered && !run->order_save && step < run->workload.max_steps)
        return false; /* nobody will see it */
    return step % every == 0 || step == run->workload.max_steps;
}

int64_t run_evaluate_us(const struct run *run)
{
    double part = (double)run->platform->phases->evaluate_fraction->micro / 1e6;
    double us = part * (double)rate_time_us(&run->rate, run->workload.evaluate_steps);

    return us > 0 ? (int64_t)(us < 3.6e12 ? us : 3.6e12) : 0;
}

static void on_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run_catch_up(run, now_us);
    uint64_t step = run->training.step;
    if (step % run->workload.log_steps == 0 || step == run->workload.max_steps) {
        metrics_see(&run->metrics, METRIC_LOSS, step, loss_micro(&run->loss, step));
        run_log_step(run, now_us);
    }
    if (evaluation_is_due(run))
        enter(run, RUN_EVALUATE, WAFER__JOB__PHASE__EXECUTE, now_us, run_evaluate_us(run), effects);
    else
        after_step(run, now_us, effects);
}

static void on_evaluated(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    uint64_t step = run->training.step;

    metrics_see(&run->metrics, METRIC_EVAL_LOSS, step, loss_eval_micro(&run->loss, step));
    trainer_log_line(&run->log, now_us, "| Eval Step=%llu, eval_loss=%.5f",
                     (unsigned long long)step,
                     (double)run->metrics.seen[METRIC_EVAL_LOSS].micro / 1e6);
    run->state = RUN_TRAIN;
    run->anchor_us = now_us;
    run->anchor_step = run->target_step = step;
    after_step(run, now_us, effects);
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
    begin_steps(run, now_us, effects);
    if (step > 0 && ending_of(run) != WAFER__CAUSE__NO_CAUSE)
        after_step(run, now_us, effects);
}

/* ---- checkpoints ---- */

static void write_shards(struct run *run, struct agent_effects *effects)
{
    struct agent_effect *effect = effects_add(effects, AGENT_WRITE);

    effect->job = run->job;
    effect->lineage = run->lineage;
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

static void begin_save(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    trainer_log_line(&run->log, now_us, "Checkpoint: saving step %llu",
                     (unsigned long long)run->training.step);
    enter(run, RUN_SAVE, WAFER__JOB__PHASE__CHECKPOINT, now_us, run->phases.save_us, effects);
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
        begin_cleanup(run, now_us, run->ending, effects);
    else
        begin_steps(run, now_us, effects);
}

static void on_saved(struct run *run, int64_t now_us, struct agent_effects *effects)
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
        enter(run, RUN_RETRY, WAFER__JOB__PHASE__CHECKPOINT, now_us, RETRY_US, effects);
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
        on_saved(run, now_us, effects);
}

/* ---- orders and time ---- */

/* Finish the step that is under way; none is exactly between two. */
static void stop_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run_catch_up(run, now_us);
    run->order_step = run->training.step;
    if (time_of_step(run, run->training.step) < now_us)
        run->order_step++;
    if (run->order_step == run->training.step)
        after_step(run, now_us, effects);
    else
        aim(run);
}

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
    case RUN_TRAIN: stop_steps(run, now_us, effects); return;
    case RUN_EVALUATE:
    case RUN_SAVE:
    case RUN_RETRY:
        run->order_step = run->training.step;
        if (!stop->save)
            begin_cleanup(run, now_us, stop->cause, effects);
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
    case RUN_TRAIN: on_steps(run, now_us, effects); return;
    case RUN_EVALUATE: on_evaluated(run, now_us, effects); return;
    case RUN_SAVE: on_saved(run, now_us, effects); return;
    case RUN_RETRY: begin_save(run, now_us, effects); return;
    case RUN_CLEANUP: run_end(run, now_us, run->ending, NULL, NULL); return;
    case RUN_ENDED: return;
    }
}

void run_on_time(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    if (run->due_us <= now_us) {
        on_due(run, now_us, effects);
        return;
    }
    run_catch_up(run, now_us);
    run_send_progress(run, now_us, effects);
    run->progress_due_us = later(now_us, run->config->progress_us);
}
