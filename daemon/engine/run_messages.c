/* What a run tells the controller, and the lines of its log. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "engine/run_parts.h"

#define LOG_CHUNK_BYTES (16 << 10)
#define DETAIL_BYTES    200 /* a report holds many */
#define GRADIENT_RANKS  8   /* of which the log shows norms */
#define GRADIENT_LINES  10  /* one in so many lines */

static char *detail_copy(const char *detail)
{
    return detail ? text_copy_length(detail, strnlen(detail, DETAIL_BYTES)) : NULL;
}

/* ---- messages ---- */

Wafer__PhaseTimes *run_phase_times(const struct run *run, int64_t now_us)
{
    Wafer__PhaseTimes *times = MESSAGE_NEW(Wafer__PhaseTimes, phase_times);
    const struct {
        Wafer__Job__Phase phase;
        int64_t *us;
    } fields[] = {
        { WAFER__JOB__PHASE__COMPILE, &times->compile_us },
        { WAFER__JOB__PHASE__LOAD, &times->load_us },
        { WAFER__JOB__PHASE__EXECUTE, &times->execute_us },
        { WAFER__JOB__PHASE__CHECKPOINT, &times->checkpoint_us },
        { WAFER__JOB__PHASE__CLEANUP, &times->cleanup_us },
    };

    times->has_compile_us = times->has_load_us = times->has_execute_us = true;
    times->has_checkpoint_us = times->has_cleanup_us = true;
    for (size_t i = 0; i < ELEMENTS(fields); i++) {
        *fields[i].us = run->spent_us[fields[i].phase];
        if (fields[i].phase == run->phase)
            *fields[i].us += now_us - run->phase_began_us;
    }
    return times;
}

void run_send_started(const struct run *run, struct agent_effects *effects)
{
    Wafer__Started *started = MESSAGE_NEW(Wafer__Started, started);

    started->job = run->job;
    started->fence = fence_new(run->term, run->epoch);
    effects_send(effects)->started = started;
}

static uint64_t evaluations_left(const struct run *run)
{
    uint64_t every = run->workload.evaluate_steps;

    return every ? run->workload.max_steps / every - run_step(run) / every : 0;
}

static int64_t eta_us(const struct run *run)
{
    double left = (double)rate_time_us(&run->rate, run->workload.max_steps - run_step(run)) +
                  (double)evaluations_left(run) * (double)run_evaluate_us(run);

    return left < 9e18 ? (int64_t)left : INT64_MAX;
}

void run_send_progress(const struct run *run, int64_t now_us, struct agent_effects *effects)
{
    const struct metric_seen *loss = &run->metrics.seen[METRIC_LOSS];
    const struct metric_seen *eval = &run->metrics.seen[METRIC_EVAL_LOSS];
    Wafer__Progress *progress = MESSAGE_NEW(Wafer__Progress, progress);

    progress->job = run->job;
    progress->fence = fence_new(run->term, run->epoch);
    progress->time_us = now_us;
    progress->phase = run->phase;
    progress->step = run_step(run);
    progress->times = run_phase_times(run, now_us);
    progress->has_loss_micro = loss->known;
    progress->loss_micro = loss->micro;
    progress->has_eval_micro = eval->known;
    progress->eval_micro = eval->micro;
    if (run->loaded && run->state >= RUN_TRAIN && now_us > run->loaded_us) {
        double samples = (double)(run->training.step - run->loaded_step) * run->workload.batch;
        double rate = samples * 1e6 / (double)(now_us - run->loaded_us);
        progress->has_samples_per_s_micro = true;
        progress->samples_per_s_micro = (int64_t)(rate < 9e12 ? rate * 1e6 : 9e18);
        progress->has_eta_us = progress->step <= run->workload.max_steps;
        progress->eta_us = progress->has_eta_us ? eta_us(run) : 0;
    }
    effects_send(effects)->progress = progress;
}

void run_send_suspension(const struct run *run, const char *why, struct agent_effects *effects)
{
    Wafer__Suspension *suspension = MESSAGE_NEW(Wafer__Suspension, suspension);

    suspension->job = run->job;
    suspension->fence = fence_new(run->term, run->epoch);
    suspension->suspended = run->suspended;
    suspension->detail = detail_copy(why);
    effects_send(effects)->suspension = suspension;
}

static Wafer__CheckpointReport *checkpoint_report(const struct run *run,
                                                  Wafer__CheckpointReport__Kind kind)
{
    Wafer__CheckpointReport *report = MESSAGE_NEW(Wafer__CheckpointReport, checkpoint_report);

    report->job = run->job;
    report->fence = fence_new(run->term, run->epoch);
    report->step = run->training.step;
    report->kind = kind;
    return report;
}

void run_send_checkpoint(const struct run *run, Wafer__CheckpointReport__Kind kind,
                         const char *detail, struct agent_effects *effects)
{
    Wafer__CheckpointReport *report = checkpoint_report(run, kind);

    report->detail = detail_copy(detail);
    effects_send(effects)->checkpoint = report;
}

static Wafer__ResumeState *resume_state(const struct run *run)
{
    Wafer__ResumeState *resume = MESSAGE_NEW(Wafer__ResumeState, resume_state);

    training_save(&run->training, resume);
    metrics_save(&run->metrics, resume);
    resume->number_format =
        text_copy(precision_name(workload_precision(&run->workload, run->platform)));
    resume->has_samples = true;
    resume->samples = run->training.step * run->workload.batch;
    return resume;
}

Wafer__CheckpointReport *run_written_report(const struct run *run, Wafer__ShardState **shards,
                                            size_t shard_count)
{
    const struct metric_seen *eval = &run->metrics.seen[METRIC_EVAL_LOSS];
    Wafer__CheckpointReport *report =
        checkpoint_report(run, WAFER__CHECKPOINT_REPORT__KIND__WRITTEN);

    report->shards = memory_new((shard_count + 1) * sizeof(Wafer__ShardState *));
    report->n_shards = shard_count;
    for (size_t i = 0; i < shard_count; i++)
        report->shards[i] = MESSAGE_COPY(shards[i]);
    report->resume = resume_state(run);
    report->has_metric_micro = eval->known;
    report->metric_micro = eval->micro;
    return report;
}

Wafer__AttemptEnd *run_attempt_end(const struct run *run, int64_t now_us)
{
    Wafer__AttemptEnd *end = MESSAGE_NEW(Wafer__AttemptEnd, attempt_end);

    end->job = run->job;
    end->fence = fence_new(run->term, run->epoch);
    end->time_us = now_us;
    end->cause = run->ending;
    end->step = run_step(run);
    end->has_metric_micro = metrics_newest(&run->metrics, &end->metric_micro);
    end->detail = detail_copy(run->detail);
    end->system = text_copy(run->failed_system);
    end->started = true;
    end->times = run_phase_times(run, now_us);
    if (run->loaded) {
        struct digest digest;
        training_digest(&run->training, &digest);
        end->has_digest = true;
        end->digest.len = DIGEST_BYTES;
        end->digest.data = memory_copy(digest.bytes, DIGEST_BYTES);
    }
    return end;
}

/* ---- the log ---- */

static void send_lines(const struct run *run, const char *text, size_t length,
                       struct agent_effects *effects)
{
    for (size_t done = 0; done < length;) {
        size_t part = trainer_log_chunk(text + done, length - done, LOG_CHUNK_BYTES);
        Wafer__LogLines *lines = MESSAGE_NEW(Wafer__LogLines, log_lines);
        lines->job = run->job;
        lines->fence = fence_new(run->term, run->epoch);
        lines->attempt = run->attempt;
        lines->offset = run->log.offset + done;
        lines->text.len = part;
        lines->text.data = memory_copy(text + done, part);
        effects_send(effects)->log = lines;
        done += part;
    }
}

void run_flush_log(struct run *run, struct agent_effects *effects)
{
    size_t length = run->log.text.length;

    if (length == 0)
        return;
    char *text = buffer_text(&run->log.text);
    send_lines(run, text, length, effects);
    struct agent_effect *effect = effects_add(effects, AGENT_LOG);
    effect->job = run->job;
    effect->term = run->term;
    effect->epoch = run->epoch;
    effect->attempt = run->attempt;
    effect->offset = run->log.offset;
    effect->text = text;
    run->log.offset += length;
}

void run_log_begin(struct run *run, int64_t now_us)
{
    trainer_log_line(&run->log, now_us, "Attempt %u of job %llu, %s: %u %s: %.200s", run->attempt,
                     (unsigned long long)run->job, run->spec->name, run->system_count,
                     run->platform->name, run->systems);
    trainer_log_line(&run->log, now_us,
                     "Model: %.3g parameters, %u layers, batch %u x %u tokens, %s, %llu steps",
                     (double)run->workload.parameters, run->workload.layers, run->workload.batch,
                     run->workload.seq,
                     precision_name(workload_precision(&run->workload, run->platform)),
                     (unsigned long long)run->workload.max_steps);
}

static double smoothed_rate(struct run *run, int64_t now_us)
{
    double samples = (double)(run->training.step - run->rate_step) * run->workload.batch;
    double seconds = (double)(now_us - run->rate_us) / 1e6;
    double newest = seconds > 0 ? samples / seconds : 0;

    run->rate_smoothed =
        run->rate_step == run->loaded_step ? newest : 0.4 * newest + 0.6 * run->rate_smoothed;
    run->rate_us = now_us;
    run->rate_step = run->training.step;
    return run->rate_smoothed;
}

static void log_gradients(struct run *run, int64_t now_us)
{
    owned(buffer_done) struct buffer norms = BUFFER_EMPTY;
    uint32_t ranks = run->system_count < GRADIENT_RANKS ? run->system_count : GRADIENT_RANKS;

    for (uint32_t rank = 0; rank < ranks; rank++)
        buffer_format(&norms, " %.4f",
                      (double)loss_gradient_micro(&run->loss, run->training.step, rank) / 1e6);
    trainer_log_line(&run->log, now_us, "| GradNorm Step=%llu, by rank:%.*s%s",
                     (unsigned long long)run->training.step, (int)norms.length,
                     (const char *)buffer_data(&norms), ranks < run->system_count ? " ..." : "");
}

void run_log_step(struct run *run, int64_t now_us)
{
    static const char *const devices[] = { [WAFER__PLATFORM__TARGET__wafer] = "CSX",
                                           [WAFER__PLATFORM__TARGET__ipu] = "IPU",
                                           [WAFER__PLATFORM__TARGET__gpu] = "GPU" };
    uint64_t step = run->training.step;
    double global_s = (double)(now_us - run->loaded_us) / 1e6;
    double global = (double)(step - run->loaded_step) * run->workload.batch / global_s;

    trainer_log_line(&run->log, now_us,
                     "| Train Device=%s, Step=%llu, Loss=%.5f, Rate=%.2f samples/sec, "
                     "GlobalRate=%.2f samples/sec",
                     devices[run->platform->target], (unsigned long long)step,
                     (double)run->metrics.seen[METRIC_LOSS].micro / 1e6, smoothed_rate(run, now_us),
                     global);
    if (step / run->workload.log_steps % GRADIENT_LINES == 0)
        log_gradients(run, now_us);
}

void run_log_end(struct run *run, int64_t now_us)
{
    const ProtobufCEnumValue *cause = protobuf_c_enum_descriptor_get_value(
        &wafer__cause__descriptor, (int)run->ending); /* an order's may be of a later version */

    trainer_log_line(&run->log, now_us, "Ended at step %llu: %s%s%s%s%s",
                     (unsigned long long)run_step(run), cause ? cause->name : "unknown cause",
                     run->failed_system ? " " : "", run->failed_system ? run->failed_system : "",
                     run->detail ? ": " : "", run->detail ? run->detail : "");
}
