#include "replay/drive.h"

#include <assert.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/memory.h"
#include "core/core.h"
#include "replay/failures.h"
#include "replay/places.h"
#include "replay/trace.h"
#include "replay/usage.h"

#define PROGRESS_EVERY 1024 /* ended jobs */

/* A job that waits or runs. */
struct live {
    struct schedule_entry entry; /* its number is the place in the trace, from 1 */
    int64_t end_s;
    uint64_t started; /* the how manieth start it was */
    struct live *next_free;
};

/* The latest run of a job, where systems fail. */
struct attempt {
    int64_t queued_s, started_s;
    int64_t saved_s; /* of the job, by checkpoints before this run */
    struct held held;
    bool was_stopped;
};

struct event {
    int64_t time_s;
    uint32_t system;
    bool fails; /* or comes back */
};

struct drive {
    const struct trace *trace;
    const struct replay_options *options;
    struct replay_result *result;
    struct core *core;
    struct records records;
    struct effects effects;
    struct live **running; /* a heap: the next to end first, equals as they started */
    size_t running_count, running_capacity;
    struct live **due; /* of one instant, in the order in which they started */
    size_t due_count, due_capacity;
    struct live **blocks;
    size_t block_count, block_capacity;
    struct live *spare;
    size_t arrived, ended;
    uint64_t starts;
    int64_t now_s;
    size_t alive;        /* jobs that wait or run */
    struct usage *usage; /* of the order by policy; or NULL */
    /* where systems fail */
    struct places *places; /* NULL: none does */
    struct attempt *attempts;
    struct event *events;
    size_t event_at, event_count;
};

/* ---- jobs that are alive ---- */

enum { BLOCK = 256 };

static struct live *live_new(struct drive *drive)
{
    if (!drive->spare) {
        struct live *block = memory_new(BLOCK * sizeof(*block));
        ARRAY_RESERVE(drive->blocks, drive->block_count, drive->block_capacity);
        drive->blocks[drive->block_count++] = block;
        for (size_t i = BLOCK; i-- > 0;) {
            block[i].next_free = drive->spare;
            drive->spare = &block[i];
        }
    }
    struct live *live = drive->spare;
    drive->spare = live->next_free;
    return live;
}

static void live_free(struct drive *drive, struct live *live)
{
    live->next_free = drive->spare;
    drive->spare = live;
}

static bool ends_before(const struct live *a, const struct live *b)
{
    return a->end_s != b->end_s ? a->end_s < b->end_s : a->started < b->started;
}

static void running_push(struct drive *drive, struct live *live)
{
    ARRAY_RESERVE(drive->running, drive->running_count, drive->running_capacity);
    size_t at = drive->running_count++;
    for (; at && ends_before(live, drive->running[(at - 1) / 2]); at = (at - 1) / 2)
        drive->running[at] = drive->running[(at - 1) / 2];
    drive->running[at] = live;
}

/* Put the job where one is missing, at `at` or below. */
static void running_sink(struct drive *drive, size_t at, struct live *live)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= drive->running_count)
            break;
        if (child + 1 < drive->running_count &&
            ends_before(drive->running[child + 1], drive->running[child]))
            child++;
        if (!ends_before(drive->running[child], live))
            break;
        drive->running[at] = drive->running[child];
        at = child;
    }
    drive->running[at] = live;
}

static struct live *running_pop(struct drive *drive)
{
    struct live *first = drive->running[0];

    running_sink(drive, 0, drive->running[--drive->running_count]);
    return first;
}

static void running_remove(struct drive *drive, const struct live *live)
{
    size_t at = 0;

    while (drive->running[at] != live)
        at++;
    for (; at; at = (at - 1) / 2) /* to the top, as if it were the next to end */
        drive->running[at] = drive->running[(at - 1) / 2];
    running_sink(drive, 0, drive->running[--drive->running_count]);
}

/* ---- inputs and effects ---- */

/* The job has so many systems more, or fewer. */
static void use(struct drive *drive, size_t job, int64_t systems)
{
    if (drive->usage)
        usage_change(drive->usage, drive->trace->jobs[job].user, systems, drive->now_s);
}

/* By the policy's arithmetic; a trace has no deadlines. */
static int64_t score(void *userdata, const struct schedule_entry *entry)
{
    const struct drive *drive = userdata;
    const struct trace_job *job = &drive->trace->jobs[entry->number - 1];
    const struct score_job scored = { .share = usage_factor(drive->usage, job->user),
                                      .waited_us = drive->now_s * SECOND_US - entry->submitted_us,
                                      .slack_us = INT64_MAX,
                                      .systems = entry->systems,
                                      .pool_systems = drive->options->systems };
    int64_t factors[SCORE_TERMS];

    return score_of(&drive->options->usage->score, &scored, factors);
}

static void on_started(struct drive *drive, const struct effect *effect)
{
    struct live *live = (struct live *)effect->entry; /* its first member */
    size_t job = live->entry.number - 1;

    assert(effect->type == EFFECT_STARTED);
    use(drive, job, live->entry.systems);
    live->started = drive->starts++;
    live->end_s = drive->now_s + drive->trace->jobs[job].run_s;
    if (drive->places) {
        struct attempt *attempt = &drive->attempts[job];
        live->end_s -= attempt->saved_s;
        attempt->started_s = drive->now_s;
        places_take(drive->places, live->entry.systems, &attempt->held);
    }
    if (drive->result->start_s[job] < 0)
        drive->result->start_s[job] = drive->now_s;
    drive->result->end_s[job] = live->end_s;
    running_push(drive, live);
}

static void step(struct drive *drive, const struct input *input)
{
    core_step(drive->core, input, &drive->records, &drive->effects);
    for (size_t i = 0; i < drive->effects.count; i++)
        on_started(drive, &drive->effects.items[i]);
    drive->effects.count = 0; /* nothing of them is owned */
}

/* Before a pass, if it is time. */
static void score_all(struct drive *drive)
{
    const struct input input = {
        .type = INPUT_TRACE,
        .time_us = drive->now_s * SECOND_US,
        .trace = { .event = TRACE_SCORED, .score = score, .userdata = drive },
    };

    if (drive->usage && usage_compute(drive->usage, drive->now_s))
        step(drive, &input);
}

static void tell(struct drive *drive, enum trace_event event, struct schedule_entry *entry,
                 int64_t systems, bool pass)
{
    struct input input = {
        .type = INPUT_TRACE,
        .time_us = drive->now_s * SECOND_US,
        .trace = { .event = event, .entry = entry, .systems = systems, .pass = pass },
    };

    if (pass)
        score_all(drive);
    step(drive, &input);
    drive->result->passes += pass;
}

/* The job waits, with so much of its run behind it. */
static void queue(struct drive *drive, struct live *live, size_t at, int64_t saved_s, bool pass)
{
    const struct trace_job *job = &drive->trace->jobs[at];
    int64_t limit_s = drive->options->actual_estimates ? job->run_s : job->request_s;

    live->entry = (struct schedule_entry){
        .number = at + 1,
        .submitted_us = job->submit_s * SECOND_US,
        .limit_us = (limit_s - saved_s) * SECOND_US,
        .systems = job->systems,
    };
    if (drive->usage)
        live->entry.score = score(drive, &live->entry);
    tell(drive, TRACE_SUBMITTED, &live->entry, 0, pass);
}

static void submit(struct drive *drive, bool pass)
{
    size_t at = drive->arrived++;
    const struct trace_job *job = &drive->trace->jobs[at];

    if (job->width > drive->options->systems) {
        drive->result->too_wide++;
        return;
    }
    drive->alive++;
    if (drive->places)
        drive->attempts[at].queued_s = job->submit_s;
    queue(drive, live_new(drive), at, 0, pass);
}

static void submit_due(struct drive *drive, bool pass)
{
    while (drive->arrived < drive->trace->count &&
           drive->trace->jobs[drive->arrived].submit_s == drive->now_s)
        submit(drive, pass);
}

/* What the job ran since it last started is over. */
static void add_attempt(struct drive *drive, size_t job)
{
    struct replay_result *result = drive->result;
    const struct attempt *attempt = &drive->attempts[job];

    ARRAY_RESERVE(result->attempts, result->attempt_count, result->attempt_capacity);
    result->attempts[result->attempt_count++] =
        (struct replay_attempt){ job, attempt->queued_s, attempt->started_s, drive->now_s };
}

/* Of one that ends, what it held is free for those that start in the same instant. */
static void give_places(struct drive *drive, const struct live *live)
{
    struct attempt *attempt = &drive->attempts[live->entry.number - 1];

    places_give(drive->places, &attempt->held);
    if (attempt->was_stopped)
        add_attempt(drive, live->entry.number - 1);
}

/* Who ends now, in the order in which they started. */
static void collect_due(struct drive *drive)
{
    drive->due_count = 0;
    while (drive->running_count && drive->running[0]->end_s == drive->now_s) {
        ARRAY_RESERVE(drive->due, drive->due_count, drive->due_capacity);
        drive->due[drive->due_count++] = running_pop(drive);
        if (drive->places)
            give_places(drive, drive->due[drive->due_count - 1]);
    }
}

/* Whose end was expected now counts as gone before anything else is looked at. */
static void release_expected(struct drive *drive)
{
    for (size_t i = 0; i < drive->due_count; i++)
        if (drive->due[i]->entry.end_us == drive->now_s * SECOND_US)
            tell(drive, TRACE_RELEASED, &drive->due[i]->entry, 0, false);
}

static void end_due(struct drive *drive, bool pass, replay_progress_fn progress, void *userdata)
{
    for (size_t i = 0; i < drive->due_count; i++) {
        use(drive, drive->due[i]->entry.number - 1, -(int64_t)drive->due[i]->entry.systems);
        tell(drive, TRACE_ENDED, &drive->due[i]->entry, 0, pass);
        live_free(drive, drive->due[i]);
        drive->alive--;
        if (progress && ++drive->ended % PROGRESS_EVERY == 0)
            progress(userdata, drive->ended, drive->trace->count);
    }
}

static int64_t next_s(const struct drive *drive)
{
    int64_t next = INT64_MAX, due_us, lease_us;

    if (drive->arrived < drive->trace->count)
        next = drive->trace->jobs[drive->arrived].submit_s;
    if (drive->running_count && drive->running[0]->end_s < next)
        next = drive->running[0]->end_s;
    if (drive->event_at < drive->event_count && (drive->alive || next < INT64_MAX) &&
        drive->events[drive->event_at].time_s < next)
        next = drive->events[drive->event_at].time_s;
    core_next(drive->core, &due_us, &lease_us);
    if (due_us < INT64_MAX && due_us / SECOND_US < next && due_us / SECOND_US > drive->now_s)
        next = due_us / SECOND_US;
    return next;
}

/* ---- systems that fail ---- */

static void stop(struct drive *drive, struct live *live)
{
    size_t job = live->entry.number - 1;
    struct attempt *attempt = &drive->attempts[job];
    int64_t ran_s = drive->now_s - attempt->started_s, every_s = drive->options->checkpoint_s;
    int64_t lost_s = every_s ? ran_s % every_s : ran_s;

    running_remove(drive, live);
    use(drive, job, -(int64_t)live->entry.systems);
    places_give(drive->places, &attempt->held);
    tell(drive, TRACE_ENDED, &live->entry, 0, false);
    add_attempt(drive, job);
    attempt->saved_s += ran_s - lost_s;
    attempt->queued_s = drive->now_s;
    attempt->was_stopped = true;
    drive->result->lost_system_s += (uint64_t)lost_s * live->entry.systems;
    drive->result->restarts++;
    queue(drive, live, job, attempt->saved_s, false);
}

/* Whose job runs on the system; NULL: nobody's. */
static struct live *holder(const struct drive *drive, uint32_t system)
{
    for (size_t i = 0; i < drive->running_count; i++)
        if (held_has(&drive->attempts[drive->running[i]->entry.number - 1].held, system))
            return drive->running[i];
    return NULL;
}

static void system_event(struct drive *drive, const struct event *event)
{
    if (event->fails) {
        struct live *live = holder(drive, event->system);
        if (live)
            stop(drive, live);
        places_close(drive->places, event->system);
        drive->result->failures++;
    } else {
        places_open(drive->places, event->system);
    }
    tell(drive, TRACE_SYSTEMS, NULL, event->fails ? -1 : 1, false);
}

static void events_due(struct drive *drive)
{
    size_t before = drive->event_at;

    while (drive->event_at < drive->event_count &&
           drive->events[drive->event_at].time_s <= drive->now_s)
        system_event(drive, &drive->events[drive->event_at++]);
    if (drive->event_at > before)
        tell(drive, TRACE_PASS, NULL, 0, true);
}

static int by_time(const void *a, const void *b)
{
    const struct event *one = a, *other = b;

    if (one->time_s != other->time_s)
        return one->time_s < other->time_s ? -1 : 1;
    if (one->fails != other->fails)
        return one->fails ? 1 : -1;
    return (one->system > other->system) - (one->system < other->system);
}

static void expect_failures(struct drive *drive, const struct failures *failures)
{
    drive->places = places_new(drive->options->systems);
    drive->attempts = memory_new((drive->trace->count + 1) * sizeof(*drive->attempts));
    drive->events = memory_new((2 * failures->count + 1) * sizeof(*drive->events));
    for (size_t i = 0; i < failures->count; i++) {
        const struct failure *failure = &failures->items[i];
        drive->events[drive->event_count++] =
            (struct event){ failure->time_s, failure->system, true };
        drive->events[drive->event_count++] =
            (struct event){ failure->time_s + failure->down_s, failure->system, false };
    }
    qsort(drive->events, drive->event_count, sizeof(*drive->events), by_time);
}

/* ---- the run ---- */

static void instant(struct drive *drive, replay_progress_fn progress, void *userdata)
{
    collect_due(drive);
    bool is_quiet =
        !drive->due_count && (drive->arrived == drive->trace->count ||
                              drive->trace->jobs[drive->arrived].submit_s > drive->now_s);
    switch (drive->options->ties) {
    case TIES_BATCH:
        end_due(drive, false, progress, userdata);
        submit_due(drive, false);
        is_quiet = true;
        break;
    case TIES_SUBMIT_FIRST:
        release_expected(drive);
        submit_due(drive, true);
        end_due(drive, true, progress, userdata);
        break;
    case TIES_END_FIRST:
        release_expected(drive);
        end_due(drive, true, progress, userdata);
        submit_due(drive, true);
        break;
    case TIES_END_FIRST_HELD:
        end_due(drive, true, progress, userdata);
        submit_due(drive, true);
        break;
    }
    if (is_quiet) /* a reservation is due */
        tell(drive, TRACE_PASS, NULL, 0, true);
    events_due(drive);
}

static struct core *core_of(const struct replay_options *options)
{
    const struct core_pool pool = { .name = "replay", .platform = "replay" };
    const struct core_config config = {
        .pools = &pool, .pool_count = 1, .schedule = options->rules, .version = "replay"
    };

    return core_new(&config);
}

void replay_run(const struct trace *trace, const struct replay_options *options,
                replay_progress_fn progress, void *userdata, struct replay_result *ret)
{
    struct drive drive = { .trace = trace, .options = options, .result = ret };

    *ret = (struct replay_result){
        .start_s = memory_new((trace->count + 1) * sizeof(*ret->start_s)),
        .end_s = memory_new((trace->count + 1) * sizeof(*ret->end_s)),
    };
    for (size_t i = 0; i < trace->count; i++)
        ret->start_s[i] = ret->end_s[i] = -1;
    drive.core = core_of(options);
    if (options->usage && options->rules.order == SCHEDULE_ORDER_POLICY)
        drive.usage = usage_new(options->usage);
    if (options->failures)
        expect_failures(&drive, options->failures);
    drive.now_s = trace->count ? trace->jobs[0].submit_s : 0;
    tell(&drive, TRACE_SYSTEMS, NULL, options->systems, false);
    drive.now_s--;
    for (int64_t next; (next = next_s(&drive)) < INT64_MAX;) {
        drive.now_s = next;
        instant(&drive, progress, userdata);
    }
    records_clear(&drive.records);
    effects_clear(&drive.effects);
    core_free(drive.core);
    for (size_t i = 0; i < drive.block_count; i++)
        free(drive.blocks[i]);
    free(drive.blocks);
    free(drive.running);
    free(drive.due);
    usage_free(drive.usage);
    places_free(drive.places);
    free(drive.attempts);
    free(drive.events);
}

void replay_result_done(struct replay_result *result)
{
    free(result->start_s);
    free(result->end_s);
    free(result->attempts);
}
