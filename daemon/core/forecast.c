#include "core/forecast.h"

#include "base/later.h"
#include "base/memory.h"
#include "core/schedule.h"
#include "core/state.h"

#define AHEAD_MAX 1000 /* jobs that are looked at: further back nothing can be said */

int64_t forecast_end(const struct core *core, const struct job *job)
{
    int64_t began_us = job->state.has_started_us ? job->state.started_us : core->now_us;
    int64_t end_us = later_us(began_us, job_limit_left_us(job));

    if (job->state.state == WAFER__JOB__STATE__STOPPING && job->state.has_stop_deadline_us)
        end_us = job->state.stop_deadline_us;
    return end_us > core->now_us ? end_us : core->now_us;
}

int64_t forecast_start(const struct core *core, const struct job *job)
{
    struct pool *pool = job_pool(core, job);

    if (!pool || pool->stopped)
        return INT64_MAX;
    if (job->has_claim)
        return preemption_start_us(core, job);
    if (!job->entry.chunk)
        return INT64_MAX;

    size_t place = scheduler_ahead(pool->scheduler, &job->entry, AHEAD_MAX);
    if (place >= AHEAD_MAX)
        return INT64_MAX;
    struct forecast *known = &pool->forecast; /* a list asks for each of its jobs */
    if (known->sequence != core->sequence || known->us != core->now_us || !known->starts_us) {
        known->starts_us = memory_resize(known->starts_us, AHEAD_MAX, sizeof(*known->starts_us));
        known->count =
            scheduler_forecast(pool->scheduler, core->now_us, known->starts_us, AHEAD_MAX);
        known->sequence = core->sequence;
        known->us = core->now_us;
    }
    return place < known->count ? known->starts_us[place] : INT64_MAX;
}
