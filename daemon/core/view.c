/* What people see of jobs, checkpoints and systems. Whoever asks owns what comes back. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/fallback.h"
#include "core/forecast.h"
#include "core/schedule.h"
#include "core/state.h"

Wafer__Time *view_time(int64_t us)
{
    Wafer__Time *time = NEW(Wafer__Time);
    wafer__time__init(time);
    time->us = us;
    return time;
}

static Wafer__Decimal *decimal_new(int64_t micro)
{
    Wafer__Decimal *decimal = NEW(Wafer__Decimal);
    wafer__decimal__init(decimal);
    decimal->micro = micro;
    return decimal;
}

/* Whoever may not know of a job hears that there is one, and not which. Watchers, who are not known
 * here, hear of their own alone. */
static bool may_name(const struct core *core, const struct job *job, uint64_t blocker)
{
    struct object object;

    if (!core_object(core, blocker, &object))
        return false;
    return core->asking ? rights_permit(core->asking, WAFER__ROLE__ACTION__show, &object)
                        : object.owner == job->state.uid;
}

static Wafer__Job__WaitReason *reason_new(const struct core *core, const struct job *job,
                                          bool brief)
{
    Wafer__Job__WaitReason *reason = NEW(Wafer__Job__WaitReason);
    struct wait wait = { .since_us = job_waiting_since_us(job) };

    wafer__job__wait_reason__init(reason);
    if (job->state.state == WAFER__JOB__STATE__PENDING) {
        schedule_explain(core, job, &wait);
    } else {
        wait.reason = fallback_is_asked(job)       ? WAFER__JOB__REASON__FallbackAsk
                      : !job->state.held_by_admin  ? WAFER__JOB__REASON__HeldUser
                      : job->state.launch_refusals ? WAFER__JOB__REASON__LaunchFailed
                      : job->state.has_cause && job->state.cause == WAFER__CAUSE__RETRY_LIMIT
                          ? WAFER__JOB__REASON__RetryLimit
                          : WAFER__JOB__REASON__HeldAdmin;
        wait.detail = text_copy(job->state.detail);
    }
    reason->code = wait.reason;
    reason->detail = wait.detail;
    if (brief)
        return reason;
    reason->since = view_time(wait.since_us);
    if (wait.blocker_job && may_name(core, job, wait.blocker_job)) {
        reason->blockers = NEW(Wafer__Job__Blocker *);
        reason->n_blockers = 1;
        reason->blockers[0] = NEW(Wafer__Job__Blocker);
        wafer__job__blocker__init(reason->blockers[0]);
        reason->blockers[0]->kind = text_copy("job");
        SET(reason->blockers[0], id, wait.blocker_job);
    }
    return reason;
}

static Wafer__Job__Systems *systems_new(const struct core *core, const struct job *job, bool brief)
{
    Wafer__Job__Systems *systems = NEW(Wafer__Job__Systems);

    wafer__job__systems__init(systems);
    SET(systems, requested, job_systems_wanted(job));
    if (!brief)
        SET(systems, min, job->spec->terms.systems_min);
    systems->n_allocated = job->state.n_systems;
    if (job->state.n_systems)
        systems->allocated = memory_new(job->state.n_systems * sizeof(char *));
    for (size_t i = 0; i < job->state.n_systems; i++)
        systems->allocated[i] = text_copy(core_system(core, job->state.systems[i])->state.name);
    return systems;
}

uint64_t job_step(const struct job *job)
{
    uint64_t step = job->state.has_final_step ? job->state.final_step : job->state.committed_step;
    uint64_t heard = job_progress(job)->step;

    if (!job_has_systems(job))
        return step;
    return heard > job->state.resume_step ? heard : job->state.resume_step;
}

static Wafer__Job__Progress *progress_new(const struct job *job, bool brief)
{
    const struct job_terms *terms = &job->spec->terms;
    const struct progress *live = job_progress(job);
    Wafer__Job__Progress *progress = NEW(Wafer__Job__Progress);
    bool runs = job_has_systems(job);

    wafer__job__progress__init(progress);
    SET(progress, step, job_step(job));
    if (terms->max_steps)
        SET(progress, max_steps, terms->max_steps);
    if (brief)
        return progress;
    SET(progress, samples, progress->step * terms->batch);
    if (live->has_loss)
        progress->loss = decimal_new(live->loss_micro);
    if (runs && live->has_rate) {
        progress->samples_per_s = decimal_new(live->samples_per_s_micro);
        SET(progress, tokens_per_s,
            (uint64_t)((__int128)live->samples_per_s_micro * terms->seq / 1000000));
    }
    if (runs && live->has_eta)
        SET(progress, eta_s, live->eta_us / 1000000);
    return progress;
}

/* The newest that a resume could start from; else the newest committed one, not verified yet. */
static Wafer__Job__LastCheckpoint *last_checkpoint_new(const struct job *job)
{
    Wafer__Job__LastCheckpoint *last = NEW(Wafer__Job__LastCheckpoint);
    const Wafer__CheckpointState *good = checkpoint_to_resume(job);

    wafer__job__last_checkpoint__init(last);
    if (!good) {
        list_foreach (&job->checkpoints, link) {
            const struct checkpoint *checkpoint = CONTAINER_OF(link, struct checkpoint, link);
            if (checkpoint->state.state == WAFER__CHECKPOINT__STATE__COMMITTED)
                good = &checkpoint->state;
        }
    }
    if (!good)
        return last;
    Wafer__Checkpoint *view = view_checkpoint(good);
    last->last_good_id = TAKE(view->id);
    view->id = text_copy("");
    SET(last, last_good_step, good->step);
    last->at = view_time(good->created_us);
    SET(last, bytes, view->bytes);
    SET(last, verified, good->state == WAFER__CHECKPOINT__STATE__VERIFIED);
    wafer__checkpoint__free_unpacked(view, NULL);
    return last;
}

/* Whether the job is as good as it was to be, once its last evaluation says so. */
static void result_target(const struct job *job, Wafer__Job__Result *result)
{
    const Wafer__QualitySpec *quality = job->spec->message->quality;

    if (!quality || !quality->target)
        return;
    result->target = decimal_new(quality->target->micro);
    /* What a run reports before its first evaluation is its training loss: another metric. */
    if (!quality->every || !job_state_is_terminal(job->state.state) ||
        !job->state.has_final_metric_micro || job->state.final_step < quality->every->steps->value)
        return;
    bool above =
        quality->has_direction && quality->direction == WAFER__QUALITY_SPEC__DIRECTION__above;
    SET(result, target_met,
        above ? job->state.final_metric_micro >= quality->target->micro
              : job->state.final_metric_micro <= quality->target->micro);
}

static Wafer__Job__Result *result_new(const struct job *job)
{
    Wafer__Job__Result *result = NEW(Wafer__Job__Result);

    wafer__job__result__init(result);
    result_target(job, result);
    if (!job_state_is_terminal(job->state.state))
        return result;
    /* Before the first step the state is that of any job with such a model: no result. */
    if (job->state.has_final_digest && job->state.final_digest.len == DIGEST_BYTES &&
        job->state.final_step > 0) {
        struct digest digest;
        memcpy(digest.bytes, job->state.final_digest.data, DIGEST_BYTES);
        result->state_digest = memory_new(DIGEST_HEX_SIZE);
        digest_hex(&digest, result->state_digest);
    }
    if (job->state.has_final_step)
        SET(result, final_step, job->state.final_step);
    if (job->state.has_final_metric_micro)
        result->metric = decimal_new(job->state.final_metric_micro);
    return result;
}

static Wafer__Job__Cost *cost_new(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);
    Wafer__Job__Cost *cost = NEW(Wafer__Job__Cost);
    int64_t micro = job->state.cost_micro;

    wafer__job__cost__init(cost);
    if (!pool)
        return cost;
    if (job->state.has_granted_us && job->state.n_systems)
        micro += (int64_t)((__int128)pool->price_micro * (core->now_us - job->state.granted_us) *
                           (int64_t)job->state.n_systems / HOUR_US);
    if (pool->price_micro)
        SET(cost, system_s, (int64_t)((__int128)micro * 3600 / pool->price_micro));
    cost->amount = text_format("%lld.%02lld", (long long)(micro / 1000000),
                               (long long)(micro % 1000000 / 10000));
    cost->currency = text_copy(pool->currency);
    SET(cost, estimated, job->state.n_systems > 0);
    return cost;
}

static void view_spec(Wafer__Job *view, const Wafer__JobSpec *spec)
{
    view->title = text_copy(spec->title);
    view->project = text_copy(spec->project);
    if (spec->has_run_class)
        SET(view, run_class, spec->run_class);
    view->n_labels = spec->n_labels;
    if (spec->n_labels)
        view->labels = memory_new(spec->n_labels * sizeof(*view->labels));
    for (size_t i = 0; i < spec->n_labels; i++) {
        view->labels[i] = NEW(Wafer__KeyValue);
        wafer__key_value__init(view->labels[i]);
        view->labels[i]->key = text_copy(spec->labels[i]->key);
        view->labels[i]->value = text_copy(spec->labels[i]->value);
    }
}

static void view_times(const struct core *core, const struct job *job, Wafer__Job *view, bool brief)
{
    const Wafer__JobState *state = &job->state;
    int64_t run_us = state->run_us;
    int64_t attempt_us = 0;

    if (job->spec->terms.limit_us)
        SET(view, limit_s, job->spec->terms.limit_us / 1000000);
    if (state->has_started_us)
        attempt_us = core->now_us - state->started_us;
    SET(view, elapsed_s, (run_us + attempt_us) / 1000000);
    if (brief)
        return;
    view->submitted_at = view_time(state->submitted_us);
    if (state->has_first_started_us)
        view->started_at = view_time(state->first_started_us);
    if (state->has_ended_us)
        view->ended_at = view_time(state->ended_us);
    SET(view, total_run_s, (run_us + attempt_us) / 1000000);
}

/* When it may start, and until when it may take. */
static void view_conditions(const struct job *job, Wafer__Job *view)
{
    const struct job_terms *terms = &job->spec->terms;

    if (terms->begin_us != INT64_MIN)
        view->begin_at = view_time(terms->begin_us);
    if (terms->deadline_us != INT64_MAX)
        view->deadline_at = view_time(terms->deadline_us);
    view->n_after = job->state.n_after;
    if (view->n_after)
        view->after = memory_new(view->n_after * sizeof(*view->after));
    for (size_t i = 0; i < view->n_after; i++) {
        const Wafer__DependencyState *state = job->state.after[i];
        view->after[i] = NEW(Wafer__Job__After);
        wafer__job__after__init(view->after[i]);
        view->after[i]->kind = state->kind;
        view->after[i]->job = state->job;
        view->after[i]->status = state->status;
        SET(view->after[i], array, state->array);
    }
}

/* Most jobs of a long list wait, and have no checkpoint yet. */
static Wafer__Job *row_new(const struct core *core, const struct job *job, bool brief)
{
    const Wafer__JobState *state = &job->state;
    const struct pool *pool = job_pool(core, job);
    Wafer__Job *view = NEW(Wafer__Job);

    wafer__job__init(view);
    view->id = state->id;
    if (state->has_array_id) {
        SET(view, array_id, state->array_id);
        SET(view, array_index, state->array_index);
    }
    view->name = text_copy(job->spec->message->name);
    SET(view, uid, state->uid);
    view->queue = text_copy(pool           ? pool->name
                            : state->queue ? state->queue
                                           : job->spec->terms.queue);
    SET(view, state, state->state);
    if (job_has_systems(job))
        SET(view, phase, job_progress(job)->phase);
    if (state->state == WAFER__JOB__STATE__PENDING || state->state == WAFER__JOB__STATE__HELD)
        view->reason = reason_new(core, job, brief);
    if (state->has_cause)
        SET(view, cause, state->cause);
    view->detail = text_copy(state->detail);
    view->systems = systems_new(core, job, brief);
    view_times(core, job, view, brief);
    view->progress = progress_new(job, brief);
    if (!brief || !list_is_empty(&job->checkpoints))
        view->checkpoint = last_checkpoint_new(job);
    return view;
}

Wafer__Job *view_row(const struct core *core, const struct job *job)
{
    return row_new(core, job, true);
}

Wafer__Job *view_job(const struct core *core, const struct job *job)
{
    const Wafer__JobState *state = &job->state;
    const struct pool *pool = job_pool(core, job);
    Wafer__Job *view = row_new(core, job, false);

    view_spec(view, job->spec->message);
    view_conditions(job, view);
    SET(view, attempt, state->attempt);
    SET(view, class_, job->spec->terms.level);
    SET(view, priority, job->spec->terms.priority);
    view->exit = NEW(Wafer__Job__Exit);
    wafer__job__exit__init(view->exit);
    view->result = result_new(job);
    view->pool = text_copy(pool ? pool->name : NULL);
    view->platform = text_copy(pool ? pool->platform : NULL);
    view->cost = cost_new(core, job);
    SET(view, lineage, state->lineage);
    if (state->has_resumed_from)
        SET(view, resumed_from, state->resumed_from);
    SET(view, steps_lost, state->steps_lost);
    SET(view, version, state->version);
    return view;
}

Wafer__Checkpoint *view_checkpoint(const Wafer__CheckpointState *state)
{
    Wafer__Checkpoint *view = NEW(Wafer__Checkpoint);
    int64_t bytes = 0;

    wafer__checkpoint__init(view);
    view->id =
        text_format("%llu@%llu.%llu", (unsigned long long)state->job,
                    (unsigned long long)state->step, (unsigned long long)state->fence->epoch);
    SET(view, job, state->job);
    SET(view, lineage, state->lineage);
    SET(view, attempt, state->attempt);
    SET(view, step, state->step);
    SET(view, state, state->state);
    for (size_t i = 0; i < state->n_shards; i++)
        bytes += state->shards[i]->bytes;
    SET(view, bytes, bytes);
    SET(view, shards, (uint32_t)state->n_shards);
    if (state->has_metric_micro)
        view->metric = decimal_new(state->metric_micro);
    SET(view, pinned, state->has_pinned && state->pinned);
    view->created_at = view_time(state->created_us);
    if (state->has_manifest_digest && state->manifest_digest.len == DIGEST_BYTES) {
        struct digest digest;
        memcpy(digest.bytes, state->manifest_digest.data, DIGEST_BYTES);
        view->manifest = memory_new(DIGEST_HEX_SIZE);
        digest_hex(&digest, view->manifest);
    }
    view->detail = text_copy(state->detail);
    return view;
}

Wafer__System *view_system(const struct core *core, const struct system *system)
{
    const Wafer__SystemState *state = &system->state;
    Wafer__System *view = NEW(Wafer__System);

    wafer__system__init(view);
    view->name = text_copy(state->name);
    view->pool = text_copy(state->pool);
    view->platform = text_copy(state->platform);
    view->host = text_copy(state->host);
    SET(view, state, state->state);
    SET(view, drained, state->has_drained && state->drained);
    view->reason = text_copy(state->reason);
    view->since = view_time(state->since_us);
    view->drain_reason = text_copy(state->drain_reason);
    if (state->has_drained_us)
        view->drained_at = view_time(state->drained_us);
    if (system->job)
        SET(view, job, system->job->state.id);
    if (system->host->link && system->host->speed > 0)
        SET(view, speed, system->host->speed);
    return view;
}

void view_add_start(const struct core *core, const struct job *job, Wafer__Job *view)
{
    int64_t start_us = view->reason ? forecast_start(core, job) : INT64_MAX;

    if (start_us == INT64_MAX)
        return;
    view->reason->est_start = view_time(start_us);
    view->reason->est_basis =
        text_copy(job->has_claim                      ? "stops under way; may be earlier"
                  : job->entry.planned_us < INT64_MAX ? "its reservation; may be earlier"
                                                      : "time limits; may be earlier");
}
