#include "core/fallback.h"

#include <string.h>

#include "base/memory.h"
#include "core/schedule.h"
#include "core/state.h"

#define LOOK_US  MINUTE_US
#define AFTER_US (10 * MINUTE_US) /* fallback.after, where the job does not say */

static bool names(const Wafer__FallbackSpec *spec, Wafer__Cause cause)
{
    for (size_t i = 0; i < spec->n_when; i++)
        if (spec->when[i] == cause)
            return true;
    return false;
}

const struct pool *fallback_pool(const struct core *core, const struct job *job, Wafer__Cause cause)
{
    const Wafer__FallbackSpec *spec = job->spec->message->fallback;
    const struct pool *pool = spec && names(spec, cause) ? core_pool(core, spec->pool) : NULL;

    if (!pool || pool == job_pool(core, job) || !pool_takes(pool, job->spec->terms.level))
        return NULL;
    return pool;
}

char *fallback_take(const struct job *job, const struct pool *pool, Wafer__JobState *next)
{
    const Wafer__FallbackSpec *spec = job->spec->message->fallback;

    UNSET(next, failures);
    UNSET(next, launch_refusals);
    UNSET(next, not_before_us);
    if (spec->has_ask && spec->ask) {
        next->state = WAFER__JOB__STATE__HELD;
        SET(next, held_by_admin, true);
        SET(next, cause, WAFER__CAUSE__RETRY_LIMIT); /* its owner may let it go */
        return text_format("shall it go on in pool %s?", pool->name);
    }
    next->queue = pool->name;
    return text_format("it goes on in pool %s", pool->name);
}

/* ---- no healthy system ---- */

static bool is_watched(const struct core *core, const struct job *job)
{
    return job->state.state == WAFER__JOB__STATE__PENDING && job_pool(core, job) &&
           fallback_pool(core, job, WAFER__CAUSE__NO_HEALTHY_SYSTEM);
}

int64_t fallback_next_us(const struct core *core, const struct job *job)
{
    return is_watched(core, job) ? core->now_us + LOOK_US : INT64_MAX;
}

bool fallback_due(struct core *core, struct job *job)
{
    const Wafer__FallbackSpec *spec = job->spec->message->fallback;

    if (!is_watched(core, job))
        return false;
    struct progress *progress = job_progress_change(job);
    if (!schedule_is_kept_by(core, job, WAFER__JOB__REASON__SystemUnavailable)) {
        progress->short_since_us = 0;
        return false;
    }
    if (!progress->short_since_us)
        progress->short_since_us = core->now_us;
    if (core->now_us - progress->short_since_us < (spec->after ? spec->after->us : AFTER_US))
        return false;

    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState next = job->state;
    owned(free) char *text =
        fallback_take(job, fallback_pool(core, job, WAFER__CAUSE__NO_HEALTHY_SYSTEM), &next);
    if (next.state == WAFER__JOB__STATE__HELD)
        next.detail = text;
    SET(&next, version, next.version + 1);
    record.kind = next.state == WAFER__JOB__STATE__HELD ? WAFER__RECORD_KIND__JOB_HELD
                                                        : WAFER__RECORD_KIND__JOB_MOVED;
    SET(&record, cause, WAFER__CAUSE__NO_HEALTHY_SYSTEM);
    SET(&record, job, next.id);
    record.job_state = &next;
    record.text = text;
    progress->short_since_us = 0;
    core_record(core, &record);
    effect_changed(core, job);
    return true;
}

bool fallback_is_asked(const struct job *job)
{
    const Wafer__FallbackSpec *spec = job->spec->message->fallback;

    return job->state.state == WAFER__JOB__STATE__HELD && spec && spec->has_ask && spec->ask &&
           job->state.has_cause && job->state.cause == WAFER__CAUSE__RETRY_LIMIT &&
           !(job->state.queue && strcmp(job->state.queue, spec->pool) == 0);
}
