#include "sim/notices.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/memory.h"
#include "log/log.h"
#include "model/job.h"

#define NAMES_BYTES 200 /* of systems; then it is enough */

/* What runs here is told of by its fence; people know it by the number of the attempt. */
struct attempt {
    uint64_t epoch;
    uint32_t number;
};

struct notices {
    struct map attempts; /* by job */
};

struct notices *notices_new(void)
{
    return NEW(struct notices);
}

struct notices *notices_free(struct notices *notices)
{
    struct attempt *attempt;
    size_t cursor = 0;

    if (!notices)
        return NULL;
    while ((attempt = map_next(&notices->attempts, &cursor)))
        free(attempt);
    map_done(&notices->attempts);
    free(notices);
    return NULL;
}

static void keep_attempt(struct notices *notices, const Wafer__StartJob *start)
{
    struct attempt *attempt = map_get(&notices->attempts, start->job);

    if (!attempt) {
        attempt = NEW(struct attempt);
        map_put(&notices->attempts, start->job, attempt);
    }
    *attempt = (struct attempt){ .epoch = start->fence->epoch, .number = start->attempt };
}

static uint32_t attempt_of(const struct notices *notices, uint64_t job, const Wafer__Fence *fence)
{
    const struct attempt *attempt = map_get(&notices->attempts, job);

    return attempt && attempt->epoch == fence->epoch ? attempt->number : 0;
}

/* --- what the controller orders --- */

static void notice_start(struct notices *notices, const Wafer__StartJob *start)
{
    owned(buffer_done) struct buffer systems = BUFFER_EMPTY;

    for (size_t i = 0; i < start->n_systems && systems.length < NAMES_BYTES; i++)
        buffer_format(&systems, "%s%s", i > 0 ? " " : "", start->systems[i]);
    owned(free) char *names = buffer_text(&systems);
    const struct log_about about = { .job = start->job,
                                     .attempt = start->attempt,
                                     .system = start->n_systems == 1 ? names : NULL };
    log_write_some(LOG_INFO, &about,
                   "starts on %s, attempt %" PRIu32 ", epoch %" PRIu64 ", from step %" PRIu64,
                   names, start->attempt, start->fence->epoch,
                   start->resume && !start->weights_only ? start->resume->step : 0);
    keep_attempt(notices, start);
}

void notices_order(struct notices *notices, const Wafer__ToAgent *order)
{
    const Wafer__InjectFault *fault = order->fault;

    if (order->start)
        notice_start(notices, order->start);
    if (fault)
        log_write(LOG_NOTICE, &(struct log_about){ .system = fault->system },
                  "system %s %s, as ordered", fault->system,
                  fault->kind == WAFER__INJECT_FAULT__KIND__CRASH ? "crashes" : "heals");
}

/* --- what the host says --- */

static const char *or_nothing(const char *detail)
{
    return detail ? detail : "no reason given";
}

static void notice_end(struct notices *notices, const Wafer__AttemptEnd *end)
{
    const char *cause = cause_name(end->cause);
    const struct log_about about = { .job = end->job,
                                     .attempt = attempt_of(notices, end->job, end->fence),
                                     .system = end->system };

    log_write_some(end->system ? LOG_WARNING : LOG_INFO, &about, "%s at step %" PRIu64 ": %s%s%s",
                   end->started ? "ended" : "not started", end->step,
                   cause ? cause : "unknown cause", end->detail ? ": " : "",
                   end->detail ? end->detail : "");
    if (about.attempt)
        free(map_remove(&notices->attempts, end->job));
}

static void notice_suspension(const struct notices *notices, const Wafer__Suspension *suspension)
{
    const struct log_about about = { .job = suspension->job,
                                     .attempt =
                                         attempt_of(notices, suspension->job, suspension->fence) };

    if (suspension->suspended)
        log_write_some(LOG_WARNING, &about, "suspended: %s", or_nothing(suspension->detail));
    else
        log_write_some(LOG_NOTICE, &about, "goes on");
}

static void notice_checkpoint(const struct notices *notices, const Wafer__CheckpointReport *report)
{
    const struct log_about about = { .job = report->job,
                                     .attempt = attempt_of(notices, report->job, report->fence) };

    if (report->kind == WAFER__CHECKPOINT_REPORT__KIND__FAILED)
        log_write_some(LOG_WARNING, &about, "checkpoint at step %" PRIu64 " failed: %s",
                       report->step, or_nothing(report->detail));
}

void notices_message(struct notices *notices, const Wafer__ToController *message)
{
    if (message->ended)
        notice_end(notices, message->ended);
    if (message->suspension)
        notice_suspension(notices, message->suspension);
    if (message->checkpoint)
        notice_checkpoint(notices, message->checkpoint);
}
