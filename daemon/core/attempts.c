/* An attempt, from the grant of systems to the word that it has ended. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"
#include "core/fallback.h"
#include "core/schedule.h"
#include "core/state.h"

static void record_end(struct core *core, Wafer__RecordKind kind, const Wafer__JobState *next,
                       const char *text, const uid_t *uid, Wafer__AttemptState *attempt)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState state = *next;

    record.kind = kind;
    record.job_state = &state;
    record.text = (char *)text;
    record.attempt = attempt;
    SET(&record, job, next->id);
    if (next->has_cause)
        SET(&record, cause, next->cause);
    if (uid)
        SET(&record, uid, *uid);
    SET(&state, version, next->version + 1);
    core_record(core, &record);

    struct job *job = core_job(core, next->id);
    if (job)
        effect_changed(core, job);
}

static void record_job(struct core *core, Wafer__RecordKind kind, const Wafer__JobState *next,
                       const char *text, const uid_t *uid)
{
    record_end(core, kind, next, text, uid, NULL);
}

/* ---- start ---- */

void attempt_grant(struct core *core, struct job *job, struct system *const *systems, size_t count)
{
    Wafer__JobState next = job->state;
    const Wafer__CheckpointState *own = checkpoint_to_resume(job), *resume = own;
    uint32_t numbers[LIMIT_SYSTEMS];
    uint64_t step = 0;

    if (checkpoint_named_is_lost(job)) {
        job_end(core, job, WAFER__JOB__STATE__FAILED, WAFER__CAUSE__CHECKPOINT_UNREADABLE,
                "the checkpoint that was named to resume from is damaged", NULL);
        return;
    }
    if (!resume)
        resume = origin_to_resume(job);
    if (!resume)
        resume = job->state.origin; /* if only to say that it is damaged */
    for (size_t i = 0; i < count; i++)
        numbers[i] = systems[i]->state.number;
    next.state = WAFER__JOB__STATE__STARTING;
    next.epoch++;
    next.systems = numbers;
    next.n_systems = count;
    SET(&next, granted_us, core->now_us);
    UNSET(&next, not_before_us);
    UNSET(&next, cause);
    next.detail = NULL;
    UNSET(&next, resume_checkpoint);
    if (resume) {
        SET(&next, resume_checkpoint, resume->number);
        if (own || !job->state.weights_only)
            step = resume->step;
    }
    SET(&next, resume_step, step);
    /* Whatever was executed beyond that step is executed again. */
    if (job->state.has_final_step && job->state.final_step > step)
        SET(&next, steps_lost, job->state.steps_lost + job->state.final_step - step);
    UNSET(&next, final_step);
    next.has_final_digest = false; /* it was of that step */
    next.final_digest = (ProtobufCBinaryData){ 0 };
    UNSET(&next, final_metric_micro);
    if (!job->state.has_committed_step || job->state.committed_step > step)
        SET(&next, committed_step, step);

    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    buffer_format(&text, "on");
    for (size_t i = 0; i < count && i < 16; i++)
        buffer_format(&text, "%s%s", i ? ", " : " ", systems[i]->state.name);
    if (count > 16)
        buffer_format(&text, " and %zu more", count - 16);
    if (resume)
        buffer_format(&text, "; from step %llu", (unsigned long long)step);
    owned(free) char *line = buffer_text(&text);

    uint64_t id = job->state.id;
    record_job(core, WAFER__RECORD_KIND__JOB_GRANTED, &next, line, NULL);
    job = core_job(core, id);
    struct progress *progress = job_progress_change(job);
    struct progress fresh = { .step = step, .listed = progress->listed };
    memcpy(fresh.failed_on, progress->failed_on, sizeof(fresh.failed_on));
    *progress = fresh;
    attempt_send_start(core, job);
}

void attempt_send_start(struct core *core, struct job *job)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StartJob start = WAFER__START_JOB__INIT;
    Wafer__Fence fence = { .base = PROTOBUF_C_MESSAGE_INIT(&wafer__fence__descriptor),
                           .term = core->term,
                           .epoch = job->state.epoch };
    char *names[LIMIT_SYSTEMS];

    start.job = job->state.id;
    start.fence = &fence;
    start.attempt = job->state.attempt + 1;
    start.spec = (ProtobufCBinaryData){ job->spec->length, job->spec->packed };
    for (size_t i = 0; i < job->state.n_systems; i++)
        names[i] = core_system(core, job->state.systems[i])->state.name;
    start.systems = names;
    start.n_systems = job->state.n_systems;
    if (job->state.has_array_index)
        SET(&start, array_index, job->state.array_index);
    if (job->state.has_resume_checkpoint) {
        /* Its origin may be in memory too, with the job that it is of. */
        struct checkpoint *own = core_checkpoint(core, job->state.resume_checkpoint);
        bool is_own = own && own->job == job;
        start.resume =
            is_own ? &own->state
                   : (Wafer__CheckpointState *)origin_numbered(job, job->state.resume_checkpoint);
        if (!is_own && job->state.weights_only)
            SET(&start, weights_only, true);
    }
    message.start = &start;
    effect_agent(core, job_host(core, job), &message);
}

void attempt_started(struct core *core, struct job *job)
{
    if (job->state.state != WAFER__JOB__STATE__STARTING)
        return;
    Wafer__JobState next = job->state;
    owned(free) char *text = text_format("attempt %u", job->state.attempt + 1);

    next.state = WAFER__JOB__STATE__RUNNING;
    next.attempt++;
    UNSET(&next, launch_refusals);
    SET(&next, started_us, core->now_us);
    if (!next.has_first_started_us)
        SET(&next, first_started_us, core->now_us);
    record_job(core, WAFER__RECORD_KIND__JOB_STARTED, &next, text, NULL);
}

void attempt_suspended(struct core *core, struct job *job, bool suspended, const char *detail)
{
    Wafer__JobState next = job->state;

    if (suspended && job->state.state == WAFER__JOB__STATE__RUNNING)
        next.state = WAFER__JOB__STATE__SUSPENDED;
    else if (!suspended && job->state.state == WAFER__JOB__STATE__SUSPENDED)
        next.state = WAFER__JOB__STATE__RUNNING;
    else
        return;
    next.detail = suspended ? (char *)detail : NULL;
    record_job(core,
               suspended ? WAFER__RECORD_KIND__JOB_SUSPENDED : WAFER__RECORD_KIND__JOB_CONTINUED,
               &next, detail, NULL);
}

/* ---- stop ---- */

void attempt_send_stop(struct core *core, struct job *job)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StopJob stop = WAFER__STOP_JOB__INIT;
    Wafer__Fence fence = { .base = PROTOBUF_C_MESSAGE_INIT(&wafer__fence__descriptor),
                           .term = core->term,
                           .epoch = job->state.epoch };

    stop.job = job->state.id;
    stop.fence = &fence;
    stop.now = job->state.stop_now;
    stop.save = !stop.now && job->spec->terms.save_on_stop;
    stop.cause = job->state.cause;
    message.stop = &stop;
    effect_agent(core, job_host(core, job), &message);
}

void attempt_stop(struct core *core, struct job *job, Wafer__Cause cause, bool now,
                  int64_t grace_us, const char *text, const uid_t *uid)
{
    Wafer__JobState next = job->state;
    uint64_t id = job->state.id;

    assert(job_has_systems(job));
    next.state = WAFER__JOB__STATE__STOPPING;
    /* A person's cancel stays what decides, whatever stops the job too. */
    if (job->state.state != WAFER__JOB__STATE__STOPPING ||
        job->state.cause != WAFER__CAUSE__CANCELLED) {
        SET(&next, cause, cause);
        next.detail = (char *)text;
    }
    if (now)
        SET(&next, stop_now, true);
    /* A grace may come from a client: what no clock reaches is as good as for ever. */
    int64_t deadline_us = core->now_us;
    if (!now && grace_us > 0)
        deadline_us = later_us(deadline_us, grace_us);
    if (!next.has_stop_deadline_us || deadline_us < next.stop_deadline_us)
        SET(&next, stop_deadline_us, deadline_us);
    record_job(core, WAFER__RECORD_KIND__JOB_STOPPING, &next, text, uid);
    attempt_send_stop(core, core_job(core, id));
}

void attempt_preempt(struct core *core, struct job *job, uint64_t by, const char *text)
{
    Wafer__JobState next = job->state;
    uint64_t id = next.id;

    next.state = WAFER__JOB__STATE__STOPPING;
    SET(&next, cause, WAFER__CAUSE__PREEMPTED);
    next.detail = (char *)text;
    SET(&next, preempted_for, by);
    SET(&next, stop_deadline_us, later_us(core->now_us, job->spec->terms.grace_us));
    record_job(core, WAFER__RECORD_KIND__JOB_STOPPING, &next, text, NULL);
    attempt_send_stop(core, core_job(core, id));
}

/* ---- end ---- */

int64_t attempt_cost(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);

    if (!pool || !job->state.has_granted_us)
        return 0;
    int64_t held_us = core->now_us - job->state.granted_us;
    return (int64_t)((__int128)pool->price_micro * held_us * (int64_t)job->state.n_systems /
                     HOUR_US);
}

/* What the attempt leaves behind in the state of its job, whatever comes next. */
static void close_attempt(struct core *core, struct job *job, const struct ending *ending,
                          Wafer__JobState *next)
{
    uint64_t heard = job_progress(job)->step;
    uint64_t step = ending->step > heard ? ending->step : heard;

    if (job_has_systems(job)) {
        SET(next, cost_micro, job->state.cost_micro + attempt_cost(core, job));
        if (job->state.has_started_us)
            SET(next, run_us, job->state.run_us + core->now_us - job->state.started_us);
    }
    SET(next, cause, ending->cause);
    next->detail = (char *)ending->detail;
    SET(next, final_step, step);
    /* What an earlier attempt left was of another step. */
    next->has_final_digest = ending->digest && ending->digest->len;
    next->final_digest = next->has_final_digest ? *ending->digest : (ProtobufCBinaryData){ 0 };
    UNSET(next, final_metric_micro);
    if (ending->metric_micro)
        SET(next, final_metric_micro, *ending->metric_micro);
    next->n_systems = 0;
    next->systems = NULL;
    if (next->next_queue) {
        next->queue = next->next_queue;
        next->next_queue = NULL;
    }
    UNSET(next, started_us);
    UNSET(next, granted_us);
    UNSET(next, stop_deadline_us);
    UNSET(next, stop_now);
}

/* `attempt`: what ends with it, or NULL. */
static void end_with(struct core *core, Wafer__JobState *next, Wafer__Job__State state,
                     const char *text, const uid_t *uid, Wafer__AttemptState *attempt)
{
    struct job *job = core_job(core, next->id);
    Wafer__Record record = WAFER__RECORD__INIT;

    checkpoint_begun_lost(core, job);
    next->state = state;
    SET(next, ended_us, core->now_us);
    SET(next, version, next->version + 1);

    /* The view that history keeps is made of the state as it will be. */
    Wafer__JobState before = job->state;
    next->spec_digest = before.spec_digest;
    job->state = *next;
    record.view = view_job(core, job);
    job->state = before;

    record.kind = WAFER__RECORD_KIND__JOB_ENDED;
    record.job_state = next;
    record.attempt = attempt;
    record.text = (char *)text;
    SET(&record, job, next->id);
    SET(&record, cause, next->cause);
    if (uid)
        SET(&record, uid, *uid);
    job->is_changed = false; /* this is the last that watchers hear */
    if (core->watched) {
        struct effect *effect = effect_add(core, EFFECT_CHANGED);
        effect->job = next->id;
        effect->uid = next->uid;
        effect->removed = true;
        effect->view = MESSAGE_COPY(record.view);
    }
    /* Half written checkpoints go with the job; they must be marked before it can leave memory. */
    checkpoint_drop_incomplete(core, job);
    core_record(core, &record);
    wafer__job__free_unpacked(record.view, NULL);
}

void job_end(struct core *core, struct job *job, Wafer__Job__State state, Wafer__Cause cause,
             const char *text, const uid_t *uid)
{
    Wafer__JobState next = job->state;

    assert(!job_has_systems(job));
    SET(&next, cause, cause);
    next.detail = (char *)text;
    end_with(core, &next, state, text, uid, NULL);
}

/* How the job ends if this cause is what ended its attempt; -1: it does not, it tries again. */
static int final_state(const struct job *job, Wafer__Cause cause)
{
    switch (cause) {
    case WAFER__CAUSE__FINISHED:
    case WAFER__CAUSE__STOP_METRIC:
    case WAFER__CAUSE__STOP_STALLED:
    case WAFER__CAUSE__STOP_COST: return WAFER__JOB__STATE__SUCCEEDED;
    case WAFER__CAUSE__CANCELLED: return WAFER__JOB__STATE__CANCELLED;
    case WAFER__CAUSE__DEADLINE:
    case WAFER__CAUSE__TIME_LIMIT: return WAFER__JOB__STATE__TIMEOUT;
    case WAFER__CAUSE__CONFIG:
    case WAFER__CAUSE__COMPILE:
    case WAFER__CAUSE__UNSUPPORTED_OPERATOR:
    case WAFER__CAUSE__NOTHING_TO_DO:
    case WAFER__CAUSE__CHECKPOINT_UNWRITABLE: return WAFER__JOB__STATE__FAILED;
    case WAFER__CAUSE__PREEMPTED:
    case WAFER__CAUSE__REQUEUED: return -1;
    default: /* an agent's word: a newer one may know causes that we do not */
        return (unsigned)cause < 32 && job->spec->terms.retry_never & 1u << cause
                   ? WAFER__JOB__STATE__FAILED
                   : -1;
    }
}

/* What we asked for decides over what came of it: our own stop never makes a failure, and a cancel
 * that was acknowledged is one. Only a run that reached its end anyway has done so. */
static Wafer__Cause deciding_cause(const struct job *job, Wafer__Cause reported)
{
    if (job->state.state != WAFER__JOB__STATE__STOPPING)
        return reported;
    bool done = reported == WAFER__CAUSE__FINISHED || reported == WAFER__CAUSE__STOP_METRIC ||
                reported == WAFER__CAUSE__STOP_STALLED;
    return done && job->state.cause != WAFER__CAUSE__CANCELLED ? reported : job->state.cause;
}

static int64_t backoff_us(const struct job_terms *terms, uint32_t failures)
{
    int64_t wait_us = terms->backoff_first_us;

    for (uint32_t i = 1; i < failures && wait_us < terms->backoff_max_us; i++)
        wait_us = wait_us < INT64_MAX / 2 ? wait_us * 2 : INT64_MAX;
    return wait_us < terms->backoff_max_us ? wait_us : terms->backoff_max_us;
}

void job_end_back_off(Wafer__JobState *next)
{
    if (next->failures || next->launch_refusals)
        UNSET(next, not_before_us);
    UNSET(next, failures);
    UNSET(next, launch_refusals);
}

/* The attempt was the last there. */
static void fall_back(struct core *core, struct job *job, Wafer__JobState *next,
                      const struct pool *pool, const char *text, Wafer__AttemptState *attempt)
{
    next->state = WAFER__JOB__STATE__PENDING;
    owned(free) char *moved = fallback_take(job, pool, next);
    owned(free) char *both = text_format("%s%s%s", text ? text : "", text ? "; " : "", moved);
    if (next->state == WAFER__JOB__STATE__HELD)
        SET(attempt, held, true);
    record_end(core, WAFER__RECORD_KIND__ATTEMPT_ENDED, next, both, NULL, attempt);
}

static void wait_again(struct core *core, struct job *job, Wafer__JobState *next,
                       Wafer__Cause cause, bool started, const char *text,
                       Wafer__AttemptState *attempt)
{
    const struct job_terms *terms = &job->spec->terms;
    bool progressed = job->state.committed_step > job->state.resume_step;
    uint32_t tries = 0;

    next->state = WAFER__JOB__STATE__PENDING;
    if (cause == WAFER__CAUSE__PREEMPTED) {
        tries = 0; /* what it failed at before still counts */
    } else if (cause == WAFER__CAUSE__REQUEUED) {
        UNSET(next, failures);
    } else if (!started) {
        /* A refused launch is no attempt: it has a count and a wait of its own. */
        tries = next->launch_refusals + 1;
        SET(next, launch_refusals, tries);
    } else {
        tries = progressed && !terms->retry_counts_all ? 0 : next->failures + 1;
        SET(next, failures, tries);
    }
    const struct pool *other =
        tries > terms->retry_max ? fallback_pool(core, job, WAFER__CAUSE__RETRY_LIMIT) : NULL;
    if (other) {
        fall_back(core, job, next, other, text, attempt);
        return;
    }
    if (tries > terms->retry_max) {
        next->state = WAFER__JOB__STATE__HELD;
        SET(next, held_by_admin, true);
        /* Either cause says that nobody but the limit holds it: its owner may let it go. */
        if (started || cause != WAFER__CAUSE__LAUNCH_REFUSED)
            SET(next, cause, WAFER__CAUSE__RETRY_LIMIT);
    } else if (tries) {
        SET(next, not_before_us, later_us(core->now_us, backoff_us(terms, tries)));
    }
    if (next->has_not_before_us)
        SET(attempt, not_before_us, next->not_before_us);
    if (next->state == WAFER__JOB__STATE__HELD)
        SET(attempt, held, true);
    record_end(core, WAFER__RECORD_KIND__ATTEMPT_ENDED, next, text, NULL, attempt);
}

/* The next attempt keeps away from it where it can. */
static void remember_failed(const struct core *core, struct job *job, const char *name)
{
    const struct system *system = core_system_named(core, name);
    uint32_t *failed_on = job_progress_change(job)->failed_on;

    if (!system || failed_on[0] == system->state.number)
        return;
    memmove(failed_on + 1, failed_on, (FAILED_SYSTEMS - 1) * sizeof(*failed_on));
    failed_on[0] = system->state.number;
}

void attempt_ended(struct core *core, struct job *job, const struct ending *ending)
{
    Wafer__Cause cause = deciding_cause(job, ending->cause);
    bool started = job->state.has_started_us;
    struct ending decided = *ending;
    Wafer__JobState next;
    int final;

    assert(job_has_systems(job));
    if (ending->system && cause == ending->cause)
        remember_failed(core, job, ending->system);
    decided.cause = cause;
    if (cause != ending->cause)
        decided.detail = job->state.detail;
    owned(free) char *text = decided.detail   ? text_copy(decided.detail)
                             : ending->system ? text_format("system %s", ending->system)
                                              : NULL;
    decided.detail = text;

    checkpoint_begun_lost(core, job);
    final = final_state(job, cause);
    if (ending->cause == WAFER__CAUSE__CHECKPOINT_UNREADABLE &&
        !checkpoint_unreadable(core, job, text ? text : "it could not be read back") &&
        cause == WAFER__CAUSE__CHECKPOINT_UNREADABLE) {
        final = WAFER__JOB__STATE__FAILED;
        char *reason = text_format("%s; there is nothing else that this job may start from",
                                   text ? text : "it could not be read back");
        free(text);
        decided.detail = text = reason;
    }
    struct attempt_description over;
    attempt_times(job, ending->times);
    attempt_describe(core, job, &over);
    next = job->state;
    close_attempt(core, job, &decided, &next);
    SET(&over.state, cause, cause);
    over.state.detail = text;
    SET(&over.state, last_step, next.final_step);
    const struct pool *other =
        final == WAFER__JOB__STATE__FAILED ? fallback_pool(core, job, cause) : NULL;
    if (other)
        fall_back(core, job, &next, other, text, &over.state);
    else if (final >= 0)
        end_with(core, &next, (Wafer__Job__State) final, text, NULL, &over.state);
    else
        wait_again(core, job, &next, cause, started, text, &over.state);
}

/* ---- time ---- */

static int64_t earlier(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

static int64_t limit_due_us(const struct job *job)
{
    if (!job->state.has_started_us)
        return INT64_MAX;
    return later_us(job->state.started_us, job_limit_left_us(job));
}

static int64_t cost_due_us(const struct core *core, const struct job *job)
{
    const struct job_terms *terms = &job->spec->terms;
    const struct pool *pool = job_pool(core, job);

    if (!terms->max_cost_micro || !pool || !pool->price_micro || !job->state.n_systems)
        return INT64_MAX;
    int64_t left_micro = terms->max_cost_micro - job->state.cost_micro;
    if (left_micro < 0)
        left_micro = 0;
    __int128 due_us = job->state.granted_us + (__int128)left_micro * HOUR_US / pool->price_micro /
                                                  (int64_t)job->state.n_systems;
    return due_us < INT64_MAX ? (int64_t)due_us : INT64_MAX;
}

int64_t job_too_late_us(const struct job *job)
{
    int64_t left_us = job_limit_left_us(job), deadline_us = job->spec->terms.deadline_us;

    if (deadline_us == INT64_MAX || left_us == INT64_MAX)
        return deadline_us;
    return left_us > 0 ? deadline_us - left_us + 1 : deadline_us;
}

void job_timer_set(struct core *core, struct job *job)
{
    int64_t due_us = INT64_MAX;

    switch (job->state.state) {
    case WAFER__JOB__STATE__PENDING:
        due_us = earlier(job_too_late_us(job), fallback_next_us(core, job));
        if (job->state.has_not_before_us && job->state.not_before_us > core->now_us)
            due_us = earlier(due_us, job->state.not_before_us);
        if (job->spec->terms.begin_us > core->now_us)
            due_us = earlier(due_us, job->spec->terms.begin_us);
        break;
    case WAFER__JOB__STATE__STARTING:
    case WAFER__JOB__STATE__RUNNING:
    case WAFER__JOB__STATE__SUSPENDED:
        due_us = earlier(limit_due_us(job), cost_due_us(core, job));
        due_us = earlier(due_us, job->spec->terms.deadline_us);
        break;
    case WAFER__JOB__STATE__STOPPING:
        if (!job->state.stop_now && job->state.has_stop_deadline_us)
            due_us = job->state.stop_deadline_us;
        break;
    default: break;
    }
    if (due_us == INT64_MAX)
        timer_clear(&core->timers, &job->timer);
    else
        timer_set(&core->timers, &job->timer, due_us);
}

void job_timer_due(struct core *core, struct job *job)
{
    const struct job_terms *terms = &job->spec->terms;

    switch (job->state.state) {
    case WAFER__JOB__STATE__PENDING:
        if (job_too_late_us(job) <= core->now_us) {
            job_end(core, job, WAFER__JOB__STATE__TIMEOUT, WAFER__CAUSE__DEADLINE,
                    "it can no longer be over by its deadline", NULL);
            break;
        }
        if (fallback_due(core, job))
            break;
        job_timer_set(core, job);
        schedule_review(core, job);
        core->pass_wanted = true;
        break;
    case WAFER__JOB__STATE__STARTING:
    case WAFER__JOB__STATE__RUNNING:
    case WAFER__JOB__STATE__SUSPENDED:
        if (limit_due_us(job) <= core->now_us)
            attempt_stop(core, job, WAFER__CAUSE__TIME_LIMIT, false, terms->grace_us,
                         "its time limit", NULL);
        else if (terms->deadline_us <= core->now_us)
            attempt_stop(core, job, WAFER__CAUSE__DEADLINE, false, terms->grace_us, "its deadline",
                         NULL);
        else
            attempt_stop(core, job, WAFER__CAUSE__STOP_COST, false, terms->grace_us,
                         "its stop.max_cost", NULL);
        break;
    case WAFER__JOB__STATE__STOPPING:
        attempt_stop(core, job, job->state.cause, true, 0, "the grace is over", NULL);
        break;
    default: break;
    }
}
