#include "sim/notices.h"

#include <inttypes.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "model/job.h"
#include "sim/log.h"

#define NAMES_BYTES 200 /* of systems; then it is enough */

/* --- what the controller orders --- */

static void notice_start(const Wafer__StartJob *start)
{
    owned(buffer_done) struct buffer systems = BUFFER_EMPTY;

    for (size_t i = 0; i < start->n_systems && systems.length < NAMES_BYTES; i++)
        buffer_format(&systems, "%s%s", i > 0 ? " " : "", start->systems[i]);
    owned(free) char *names = buffer_text(&systems);
    log_job(LOG_INFO, start->job, start->n_systems == 1 ? names : NULL,
            "starts on %s, attempt %" PRIu32 ", epoch %" PRIu64 ", from step %" PRIu64, names,
            start->attempt, start->fence->epoch,
            start->resume && !start->weights_only ? start->resume->step : 0);
}

void notice_order(const Wafer__ToAgent *order)
{
    const Wafer__InjectFault *fault = order->fault;

    if (order->start)
        notice_start(order->start);
    if (fault)
        log_write(LOG_NOTICE, "system %s %s, as ordered", fault->system,
                  fault->kind == WAFER__INJECT_FAULT__KIND__CRASH ? "crashes" : "heals");
}

/* --- what the host says --- */

static const char *or_nothing(const char *detail)
{
    return detail ? detail : "no reason given";
}

static void notice_end(const Wafer__AttemptEnd *end)
{
    const char *cause = cause_name(end->cause);

    log_job(end->system ? LOG_WARNING : LOG_INFO, end->job, end->system,
            "%s at step %" PRIu64 ": %s%s%s", end->started ? "ended" : "not started", end->step,
            cause ? cause : "unknown cause", end->detail ? ": " : "",
            end->detail ? end->detail : "");
}

static void notice_suspension(const Wafer__Suspension *suspension)
{
    if (suspension->suspended)
        log_job(LOG_WARNING, suspension->job, NULL, "suspended: %s",
                or_nothing(suspension->detail));
    else
        log_job(LOG_NOTICE, suspension->job, NULL, "goes on");
}

void notice_message(const Wafer__ToController *message)
{
    const Wafer__CheckpointReport *checkpoint = message->checkpoint;

    if (message->ended)
        notice_end(message->ended);
    if (message->suspension)
        notice_suspension(message->suspension);
    if (checkpoint && checkpoint->kind == WAFER__CHECKPOINT_REPORT__KIND__FAILED)
        log_job(LOG_WARNING, checkpoint->job, NULL, "checkpoint at step %" PRIu64 " failed: %s",
                checkpoint->step, or_nothing(checkpoint->detail));
}
