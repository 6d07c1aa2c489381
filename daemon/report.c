#include "report.h"

#include <stdlib.h>

#include "base/memory.h"
#include "core/core.h"
#include "model/message.h"

#define SECOND INT64_C(1000000)

/* ---- what it has been through ---- */

void report_add_attempt(struct report_past *past, const Wafer__AttemptState *attempt)
{
    ARRAY_RESERVE(past->attempts, past->attempt_count, past->attempt_capacity);
    past->attempts[past->attempt_count++] = MESSAGE_COPY(attempt);
    if (attempt->held)
        report_add_hold(past, attempt->ended_us, true);
}

void report_add_hold(struct report_past *past, int64_t time_us, bool held)
{
    ARRAY_RESERVE(past->holds, past->hold_count, past->hold_capacity);
    past->holds[past->hold_count++] = (struct report_hold){ time_us, held };
}

void report_past_done(struct report_past *past)
{
    for (size_t i = 0; i < past->attempt_count; i++)
        wafer__attempt_state__free_unpacked(past->attempts[i], NULL);
    free(past->attempts);
    free(past->holds);
    *past = (struct report_past){ .attempts = NULL };
}

/* ---- the time of one attempt, and of the wait before it ---- */

/* In microseconds; -1: not known. */
struct split {
    int64_t total, held, queue, backoff, launch, compile, load, execute, checkpoint, cleanup,
        unknown, lost;
};

/* Nothing was run, as far as is known. */
static const struct split only_waited = {
    .compile = -1, .load = -1, .execute = -1, .checkpoint = -1, .cleanup = -1, .lost = -1
};

static int64_t positive(int64_t us)
{
    return us > 0 ? us : 0;
}

static int64_t least(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

static int64_t held_between(const struct report_past *past, int64_t from_us, int64_t to_us)
{
    int64_t since_us = to_us, sum_us = 0;
    bool held = false;

    for (size_t i = 0; i < past->hold_count; i++) {
        const struct report_hold *hold = &past->holds[i];
        if (held && !hold->held)
            sum_us += positive(least(hold->time_us, to_us) - since_us);
        if (hold->held && !held)
            since_us = hold->time_us > from_us ? hold->time_us : from_us;
        held = hold->held;
    }
    return held ? sum_us + positive(to_us - since_us) : sum_us;
}

/* From `from_us` on it waited for systems; `not_before_us`: after a failure, at least so long. */
static void split_wait(const struct report_past *past, int64_t from_us, int64_t to_us,
                       int64_t not_before_us, struct split *split)
{
    int64_t wait_us = positive(to_us - from_us);

    split->total += wait_us;
    split->held = held_between(past, from_us, to_us);
    split->backoff = least(positive(least(not_before_us, to_us) - from_us), wait_us - split->held);
    split->queue = wait_us - split->held - split->backoff;
}

/* One phase, out of what is left: an agent may say anything. */
static int64_t take_phase(bool known, int64_t us, int64_t *left_us)
{
    if (!known)
        return -1;
    us = least(positive(us), *left_us);
    *left_us -= us;
    return us;
}

static void split_run(const Wafer__AttemptState *attempt, struct split *split)
{
    static const Wafer__PhaseTimes none = WAFER__PHASE_TIMES__INIT;
    const Wafer__PhaseTimes *times = attempt->times ? attempt->times : &none;
    int64_t began_us = attempt->has_started_us ? attempt->started_us : attempt->ended_us;
    int64_t left_us = positive(attempt->ended_us - began_us);

    split->launch = positive(began_us - attempt->granted_us);
    split->total += split->launch + left_us;
    split->compile = take_phase(times->has_compile_us, times->compile_us, &left_us);
    split->load = take_phase(times->has_load_us, times->load_us, &left_us);
    split->execute = take_phase(times->has_execute_us, times->execute_us, &left_us);
    split->checkpoint = take_phase(times->has_checkpoint_us, times->checkpoint_us, &left_us);
    split->cleanup = take_phase(times->has_cleanup_us, times->cleanup_us, &left_us);
    split->unknown = left_us;
}

static uint64_t steps_lost(const Wafer__AttemptState *attempt, const Wafer__AttemptState *next)
{
    return next && next->first_step < attempt->last_step ? attempt->last_step - next->first_step
                                                         : 0;
}

/* The steps that were lost took as long as all others of the attempt. */
static int64_t lost_us(const Wafer__AttemptState *attempt, uint64_t lost, int64_t execute_us)
{
    uint64_t steps =
        attempt->last_step > attempt->first_step ? attempt->last_step - attempt->first_step : 0;

    if (lost == 0)
        return 0;
    if (execute_us < 0 || steps == 0)
        return -1;
    return (int64_t)((__int128)execute_us * (lost < steps ? lost : steps) / steps);
}

/* ---- as people see it ---- */

static void add_us(int64_t *sum_us, int64_t us)
{
    if (us >= 0)
        *sum_us = positive(*sum_us) + us;
}

static void add_split(struct split *sum, const struct split *part)
{
    add_us(&sum->total, part->total);
    add_us(&sum->held, part->held);
    add_us(&sum->queue, part->queue);
    add_us(&sum->backoff, part->backoff);
    add_us(&sum->launch, part->launch);
    add_us(&sum->compile, part->compile);
    add_us(&sum->load, part->load);
    add_us(&sum->execute, part->execute);
    add_us(&sum->checkpoint, part->checkpoint);
    add_us(&sum->cleanup, part->cleanup);
    add_us(&sum->unknown, part->unknown);
    add_us(&sum->lost, part->lost);
}

static Wafer__TimeSplit *view_split(const struct split *split)
{
    Wafer__TimeSplit *view = NEW(Wafer__TimeSplit);

    wafer__time_split__init(view);
#define FIELD(name)                                                                                \
    view->has_##name##_s = split->name >= 0;                                                       \
    view->name##_s = split->name >= 0 ? split->name / SECOND : 0
    FIELD(total);
    FIELD(held);
    FIELD(queue);
    FIELD(backoff);
    FIELD(launch);
    FIELD(compile);
    FIELD(load);
    FIELD(execute);
    FIELD(checkpoint);
    FIELD(cleanup);
    FIELD(unknown);
    FIELD(lost);
#undef FIELD
    return view;
}

static Wafer__Time *view_time(int64_t us)
{
    Wafer__Time *time = NEW(Wafer__Time);

    wafer__time__init(time);
    time->us = us;
    return time;
}

static Wafer__Job__Cost *view_cost(const Wafer__AttemptState *attempt, bool goes_on)
{
    Wafer__Job__Cost *cost = NEW(Wafer__Job__Cost);
    int64_t held_us = positive(attempt->ended_us - attempt->granted_us);

    wafer__job__cost__init(cost);
    cost->has_system_s = true;
    cost->system_s = held_us / SECOND * (int64_t)attempt->n_systems;
    if (attempt->has_cost_micro)
        cost->amount = text_format("%lld.%02lld", (long long)(attempt->cost_micro / 1000000),
                                   (long long)(attempt->cost_micro % 1000000 / 10000));
    cost->currency = text_copy(attempt->currency);
    cost->has_estimated = true;
    cost->estimated = goes_on;
    return cost;
}

static Wafer__Attempt *view_attempt(const Wafer__AttemptState *state, bool goes_on, uint64_t lost,
                                    bool is_last, const struct split *split)
{
    Wafer__Attempt *view = NEW(Wafer__Attempt);

    wafer__attempt__init(view);
    view->has_attempt = view->has_epoch = true;
    view->attempt = state->attempt;
    view->epoch = state->epoch;
    view->pool = text_copy(state->pool);
    view->n_systems = state->n_systems;
    view->systems = memory_new(state->n_systems * sizeof(char *) + 1);
    for (size_t i = 0; i < state->n_systems; i++)
        view->systems[i] = text_copy(state->systems[i]);
    view->granted_at = view_time(state->granted_us);
    if (state->has_started_us)
        view->started_at = view_time(state->started_us);
    if (!goes_on)
        view->ended_at = view_time(state->ended_us);
    view->has_cause = state->has_cause && !goes_on;
    view->cause = state->cause;
    view->detail = text_copy(state->detail);
    view->has_first_step = state->has_first_step;
    view->first_step = state->first_step;
    view->has_last_step = state->has_last_step;
    view->last_step = state->last_step;
    view->has_steps_lost = !is_last; /* of the last nobody knows yet */
    view->steps_lost = lost;
    view->time = view_split(split);
    view->cost = view_cost(state, goes_on);
    return view;
}

/* How far the account has come. */
struct account {
    const struct report_past *past;
    int64_t from_us, not_before_us; /* since when it waits, and at least until when */
    struct split sum;
};

static Wafer__Attempt *account_attempt(struct account *account, size_t i)
{
    const struct report_past *past = account->past;
    const Wafer__AttemptState *state = past->attempts[i];
    bool is_last = i + 1 == past->attempt_count;
    uint64_t lost = steps_lost(state, is_last ? NULL : past->attempts[i + 1]);
    struct split split = only_waited;

    split_wait(past, account->from_us, state->granted_us, account->not_before_us, &split);
    split_run(state, &split);
    if (!is_last)
        split.lost = lost_us(state, lost, split.execute);
    add_split(&account->sum, &split);
    account->from_us = state->ended_us;
    account->not_before_us = state->has_not_before_us ? state->not_before_us : 0;
    return view_attempt(state, is_last && past->last_goes_on, lost, is_last, &split);
}

/* Attempts of before they were kept, and what one of them took of the time, are not known. */
static void count_unknown(const Wafer__Job *job, const struct report_past *past,
                          Wafer__JobReport *report)
{
    uint32_t known = 0;

    for (size_t i = 0; i < past->attempt_count; i++)
        known += past->attempts[i]->attempt > 0;
    report->has_attempts_unknown = true;
    report->attempts_unknown = job->attempt > known ? job->attempt - known : 0;
}

Wafer__JobReport *report_new(const Wafer__Job *job, const struct report_past *past, int64_t now_us)
{
    Wafer__JobReport *report = NEW(Wafer__JobReport);
    int64_t end_us = job->ended_at ? job->ended_at->us : now_us;
    struct account account = {
        .past = past,
        .from_us = job->submitted_at ? job->submitted_at->us : end_us,
        .sum = past->attempt_count ? only_waited : (struct split){ .total = 0 },
    };
    struct split since = only_waited;

    if (!job->steps_lost)
        account.sum.lost = 0;
    wafer__job_report__init(report);
    report->job = MESSAGE_COPY(job);
    count_unknown(job, past, report);
    report->attempts = memory_new(past->attempt_count * sizeof(*report->attempts) + 1);
    for (size_t i = 0; i < past->attempt_count; i++)
        report->attempts[report->n_attempts++] = account_attempt(&account, i);
    /* The wait that goes on, or that ended without systems. */
    if (report->attempts_unknown == 0)
        split_wait(past, account.from_us, end_us, account.not_before_us, &since);
    else
        since.total = since.unknown = positive(end_us - account.from_us);
    add_split(&account.sum, &since);
    report->time = view_split(&account.sum);
    report->has_steps_lost = job->has_steps_lost;
    report->steps_lost = job->steps_lost;
    return report;
}
