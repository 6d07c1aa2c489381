#include "core/forecast.h"

#include <stdlib.h>

#include "base/memory.h"
#include "core/schedule.h"
#include "core/state.h"

#define AHEAD_MAX 1000 /* jobs that are looked at: further back nothing can be said */

/* One system of the pool, and when it is free. */
struct slot {
    const struct host *host;
    int64_t free_us;
};

struct slots {
    struct slot *items;
    size_t count;
};

static int64_t later(int64_t us, int64_t span_us)
{
    return us < INT64_MAX - span_us ? us + span_us : INT64_MAX;
}

int64_t forecast_end(const struct core *core, const struct job *job)
{
    const struct job_terms *terms = &job->spec->terms;
    int64_t began_us = job->state.has_started_us ? job->state.started_us : core->now_us;
    int64_t end_us =
        terms->limit_us ? later(began_us, terms->limit_us - job->state.run_us) : INT64_MAX;

    if (job->state.state == WAFER__JOB__STATE__STOPPING && job->state.has_stop_deadline_us)
        end_us = job->state.stop_deadline_us;
    return end_us > core->now_us ? end_us : core->now_us;
}

/* Those that a job could get some time: of a host that is there, up and not drained. */
static struct slots slots_of(const struct core *core, const struct pool *pool)
{
    struct slots slots = { memory_new((map_count(&core->systems) + 1) * sizeof(struct slot)), 0 };

    for (size_t i = 0; i < core->host_count; i++)
        list_foreach (&core->hosts[i]->systems, link) {
            const struct system *system = CONTAINER_OF(link, struct system, host_link);
            if (system->pool != pool || system->state.drained || !core->hosts[i]->link ||
                system->state.state != WAFER__SYSTEM__STATE__UP)
                continue;
            slots.items[slots.count++] =
                (struct slot){ core->hosts[i],
                               system->job ? forecast_end(core, system->job) : core->now_us };
        }
    return slots;
}

static int by_host_and_time(const void *a, const void *b)
{
    const struct slot *one = a, *other = b;

    if (one->host != other->host)
        return one->host < other->host ? -1 : 1;
    return one->free_us < other->free_us ? -1 : one->free_us > other->free_us;
}

/* The first of `count` slots of one host that are free together the soonest; NULL: never. */
static struct slot *soonest(struct slots *slots, uint32_t count, int64_t *ret_us)
{
    struct slot *best = NULL;

    if (slots->count > 1)
        qsort(slots->items, slots->count, sizeof(*slots->items), by_host_and_time);
    *ret_us = INT64_MAX;
    for (size_t first = 0, end; first < slots->count; first = end) {
        for (end = first; end < slots->count && slots->items[end].host == slots->items[first].host;)
            end++;
        if (end - first >= count && slots->items[first + count - 1].free_us < *ret_us) {
            best = &slots->items[first];
            *ret_us = best[count - 1].free_us;
        }
    }
    return best;
}

/* Let the job start when it can, not before `from_us`; INT64_MAX: never, as far as is known. */
static int64_t place(const struct core *core, const struct job *job, struct slots *slots,
                     int64_t from_us)
{
    const struct job_terms *terms = &job->spec->terms;
    uint32_t count = schedule_systems_for(core, job);
    int64_t start_us;
    struct slot *first = soonest(slots, count, &start_us);

    if (!first)
        return INT64_MAX;
    if (start_us < from_us)
        start_us = from_us;
    int64_t end_us =
        terms->limit_us ? later(start_us, terms->limit_us - job->state.run_us) : INT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        first[i].free_us = end_us;
    return start_us;
}

int64_t forecast_start(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);
    int64_t from_us = core->now_us;

    if (!pool || pool->stopped || !job->entry.chunk)
        return INT64_MAX;
    if (job->entry.planned_us < INT64_MAX)
        return job->entry.planned_us > core->now_us ? job->entry.planned_us : core->now_us;
    if (scheduler_ahead(pool->scheduler, &job->entry) >= AHEAD_MAX)
        return INT64_MAX;
    struct slots slots = slots_of(core, pool);
    for (const struct schedule_entry *entry = scheduler_first(pool->scheduler); from_us < INT64_MAX;
         entry = scheduler_after(pool->scheduler, entry)) {
        from_us = place(core, CONTAINER_OF(entry, struct job, entry), &slots, from_us);
        if (entry == &job->entry)
            break;
    }
    free(slots.items);
    return from_us;
}
