#include "core/schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "core/state.h"

/* ---- queues ---- */

static uint32_t priority_of(const struct job *job)
{
    uint32_t priority = job->spec->terms.priority;
    return priority < JOB_PRIORITIES ? priority : JOB_PRIORITIES - 1;
}

static struct job *queued_job(struct list *link)
{
    return CONTAINER_OF(link, struct job, queue_link);
}

void schedule_add(struct core *core, struct job *job)
{
    struct pool *pool = job_pool(core, job);

    if (!pool)
        return; /* the site no longer has its queue; schedule_explain() says so */
    struct list *queue = &pool->queue[priority_of(job)];

    /* By id. A new job goes behind the last; one that comes back has waited its turn once already
     * and is old, so its place is found soon from the head. */
    struct list *place = queue->previous;
    if (place != queue && queued_job(place)->state.id > job->state.id) {
        place = queue;
        while (place->next != queue && queued_job(place->next)->state.id < job->state.id)
            place = place->next;
    }
    list_insert_after(place, &job->queue_link);
    pool->queued++;
}

void schedule_remove(struct core *core, struct job *job)
{
    struct pool *pool = job_pool(core, job);

    if (!pool)
        return;
    list_remove(&job->queue_link);
    pool->queued--;
}

bool pool_takes(const struct pool *pool, Wafer__Label__Level level)
{
    return !pool->classes || pool->classes & 1u << level;
}

/* ---- where ---- */

static struct supply *supply_of(const struct core *core, const struct host *host,
                                const struct pool *pool)
{
    return &host->supply[pool - core->pools];
}

static bool is_healthy(const struct system *system)
{
    return !system->state.drained && system->state.state == WAFER__SYSTEM__STATE__UP;
}

static bool is_free(const struct system *system, const struct pool *pool)
{
    return system->pool == pool && !system->job && is_healthy(system);
}

void schedule_count(struct core *core, const struct system *system, int change)
{
    if (!system->pool)
        return;
    struct supply *supply = supply_of(core, system->host, system->pool);
    supply->known += (uint32_t)change;
    supply->healthy += is_healthy(system) ? (uint32_t)change : 0;
    supply->free += is_free(system, system->pool) ? (uint32_t)change : 0;
}

/* Of one pool, and the host that has most of each. */
static struct supply widest_supply(const struct core *core, const struct pool *pool)
{
    struct supply widest = { 0, 0, 0 };

    if (!pool)
        return widest; /* the site no longer has it */
    for (size_t i = 0; i < core->host_count; i++) {
        const struct supply *supply = supply_of(core, core->hosts[i], pool);
        if (supply->known > widest.known)
            widest.known = supply->known;
        if (supply->healthy > widest.healthy)
            widest.healthy = supply->healthy;
        if (core->hosts[i]->link && supply->free > widest.free)
            widest.free = supply->free;
    }
    return widest;
}

/* How many systems the job gets: what it asks for; a restart may do with fewer, down to its
 * minimum, when its pool has no more that work. */
static uint32_t systems_for(const struct job *job, const struct supply *supply)
{
    uint32_t wanted = job_systems_wanted(job);
    uint32_t least = job->spec->terms.systems_min;

    if (job->state.attempt && supply->healthy < wanted && supply->healthy >= least)
        return supply->healthy;
    return wanted;
}

/* All of a gang lives on one host: its ranks then share a process and its clock. The host with the
 * fewest free systems that fit, so that large holes stay whole; its systems by number. */
static bool place(const struct core *core, const struct pool *pool, uint32_t count,
                  struct system **ret_systems)
{
    const struct host *best = NULL;
    uint32_t best_free = UINT32_MAX;

    for (size_t i = 0; i < core->host_count; i++) {
        const struct host *host = core->hosts[i];
        uint32_t available = supply_of(core, host, pool)->free;
        if (host->link && available >= count && available < best_free) {
            best = host;
            best_free = available;
        }
    }
    if (!best)
        return false;
    uint32_t taken = 0;
    list_foreach (&best->systems, link) {
        struct system *system = CONTAINER_OF(link, struct system, host_link);
        if (is_free(system, pool))
            ret_systems[taken++] = system;
        if (taken == count)
            break;
    }
    return true;
}

/* ---- why not ---- */

/* What keeps this one job from starting, whatever the pool has free; the first is what people are
 * told. */
static const Wafer__Job__Reason own_reasons[] = {
    WAFER__JOB__REASON__ClassNotAllowed, WAFER__JOB__REASON__LaunchFailed,
    WAFER__JOB__REASON__RetryBackoff,    WAFER__JOB__REASON__CheckpointBlocked,
    WAFER__JOB__REASON__ArrayLimit,      WAFER__JOB__REASON__NeverFits,
};

static bool is_kept_by(const struct core *core, const struct job *job, const struct pool *pool,
                       const struct supply *supply, Wafer__Job__Reason reason)
{
    const struct job_terms *terms = &job->spec->terms;
    bool waits = job->state.has_not_before_us && job->state.not_before_us > core->now_us;

    switch (reason) {
    case WAFER__JOB__REASON__ClassNotAllowed: return !pool_takes(pool, terms->level);
    case WAFER__JOB__REASON__LaunchFailed: return waits && job->state.launch_refusals;
    case WAFER__JOB__REASON__RetryBackoff: return waits && !job->state.launch_refusals;
    case WAFER__JOB__REASON__CheckpointBlocked: return job->unsettled && checkpoint_is_awaited(job);
    case WAFER__JOB__REASON__ArrayLimit:
        return job->array && terms->array_parallel && job->array->running >= terms->array_parallel;
    case WAFER__JOB__REASON__NeverFits:
        return pool->systems && systems_for(job, supply) > supply->known;
    default: return false;
    }
}

/* -1: nothing. A job that has one lets those behind it pass. */
static int own_obstacle(const struct core *core, const struct job *job, const struct pool *pool,
                        const struct supply *supply)
{
    for (size_t i = 0; i < ELEMENTS(own_reasons); i++)
        if (is_kept_by(core, job, pool, supply, own_reasons[i]))
            return (int)own_reasons[i];
    return -1;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void explain(const struct core *core, const struct job *job, const struct job *ahead,
                    struct wait *ret)
{
    const struct pool *pool = job_pool(core, job);

    ret->blocker_job = 0;
    ret->detail = NULL;
    if (!pool) {
        ret->reason = WAFER__JOB__REASON__SystemUnavailable;
        ret->detail = text_format("this site has no pool '%s'",
                                  job->state.queue ? job->state.queue : job->spec->terms.queue);
        return;
    }
    struct supply supply = pool->widest;
    uint32_t wanted = systems_for(job, &supply);
    int obstacle = own_obstacle(core, job, pool, &supply);
    if (pool->stopped) {
        ret->reason = WAFER__JOB__REASON__QueueStopped;
        ret->detail = text_format("queue %s is stopped", pool->name);
    } else if (obstacle == WAFER__JOB__REASON__NeverFits) {
        ret->reason = obstacle;
        ret->detail = text_format("needs %u system%s of one host; pool %s has at most %u", wanted,
                                  plural(wanted), pool->name, supply.known);
    } else if (obstacle == WAFER__JOB__REASON__ClassNotAllowed) {
        ret->reason = obstacle;
        ret->detail = text_format("pool %s no longer takes data of class %s", pool->name,
                                  level_name(job->spec->terms.level));
    } else if (obstacle == WAFER__JOB__REASON__ArrayLimit) {
        ret->reason = obstacle;
        ret->detail = text_format("%u elements of the array run, the most that it allows",
                                  job->array->running);
    } else if (obstacle == WAFER__JOB__REASON__CheckpointBlocked) {
        ret->reason = obstacle;
        ret->detail = text_copy("its newest checkpoint is still being verified");
    } else if (obstacle >= 0) {
        int64_t wait_s = (job->state.not_before_us - core->now_us + 999999) / 1000000;
        ret->reason = obstacle;
        ret->detail = text_format("%s; next try in %lld s",
                                  job->state.detail ? job->state.detail : "it failed before",
                                  (long long)wait_s);
    } else if (ahead && ahead != job) {
        ret->reason = WAFER__JOB__REASON__Priority;
        ret->blocker_job = ahead->state.id;
        ret->detail = text_copy("another job is ahead of it");
    } else if (supply.healthy < wanted) {
        ret->reason = WAFER__JOB__REASON__SystemUnavailable;
        ret->detail = text_format("needs %u system%s of one host; pool %s has %u that work", wanted,
                                  plural(wanted), pool->name, supply.healthy);
    } else {
        ret->reason = WAFER__JOB__REASON__Resources;
        ret->detail = text_format("needs %u system%s of one host, %u free", wanted, plural(wanted),
                                  widest_supply(core, pool).free);
        size_t cursor = 0;
        for (struct system *system; (system = map_next(&core->systems, &cursor));)
            if (system->pool == pool && system->job &&
                (!ret->blocker_job || system->job->state.id < ret->blocker_job))
                ret->blocker_job = system->job->state.id;
    }
}

/* Behind a job that has an obstacle of its own. While an array runs as many elements as it may, all
 * that wait are passed at once: their ids follow each other, so in one queue they stand together.
 */
static struct list *behind(const struct core *core, struct list *link, int obstacle)
{
    const struct job *job = queued_job(link), *last;

    if (obstacle != WAFER__JOB__REASON__ArrayLimit)
        return link->next;
    struct list *element = job->array->elements.previous;
    for (;; element = element->previous) {
        last = CONTAINER_OF(element, struct job, array_link);
        if (last->state.id <= job->state.id)
            return link->next;
        if (last->state.state == WAFER__JOB__STATE__PENDING &&
            job_pool(core, last) == job_pool(core, job) && priority_of(last) == priority_of(job))
            return last->queue_link.next;
    }
}

/* The first job of the pool that nothing of its own keeps from starting: those behind wait for it.
 */
static const struct job *find_head(const struct core *core, const struct pool *pool)
{
    int obstacle;

    for (int priority = 0; priority < JOB_PRIORITIES; priority++) {
        const struct list *queue = &pool->queue[priority];
        for (struct list *link = queue->next; link != queue; link = behind(core, link, obstacle)) {
            obstacle = own_obstacle(core, queued_job(link), pool, &pool->widest);
            if (obstacle < 0)
                return queued_job(link);
        }
    }
    return NULL;
}

static const struct job *head_of(const struct core *core, struct pool *pool)
{
    if (pool->head_sequence != core->sequence || pool->head_us != core->now_us) {
        pool->widest = widest_supply(core, pool);
        pool->head = find_head(core, pool);
        pool->head_sequence = core->sequence;
        pool->head_us = core->now_us;
    }
    return pool->head;
}

void schedule_explain(const struct core *core, const struct job *job, struct wait *ret)
{
    struct pool *pool = job_pool(core, job);

    ret->since_us = job->waiting_since_us;
    explain(core, job, pool ? head_of(core, pool) : NULL, ret);
}

/* ---- questions about one job ---- */

uint32_t schedule_systems_for(const struct core *core, const struct job *job)
{
    struct supply supply = widest_supply(core, job_pool(core, job));

    return systems_for(job, &supply);
}

bool schedule_takes_turn(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);
    struct supply supply = widest_supply(core, pool);

    return own_obstacle(core, job, pool, &supply) < 0;
}

uint64_t schedule_position(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);
    uint64_t position = 1;

    for (uint32_t priority = 0; priority < priority_of(job); priority++)
        list_foreach (&pool->queue[priority], link)
            position++;
    list_foreach (&pool->queue[priority_of(job)], link) {
        if (link == &job->queue_link)
            break;
        position++;
    }
    return position;
}

bool schedule_is_kept_by(const struct core *core, const struct job *job, Wafer__Job__Reason reason)
{
    struct pool *pool = job_pool(core, job);
    struct supply supply = widest_supply(core, pool);
    uint32_t wanted = systems_for(job, &supply);
    switch (reason) {
    case WAFER__JOB__REASON__QueueStopped: return pool->stopped;
    case WAFER__JOB__REASON__SystemUnavailable: return wanted > supply.healthy;
    case WAFER__JOB__REASON__Resources: return wanted > supply.free;
    case WAFER__JOB__REASON__Priority: {
        const struct job *head = head_of(core, pool);
        return head && (priority_of(head) < priority_of(job) ||
                        (priority_of(head) == priority_of(job) && head->state.id < job->state.id));
    }
    default: return is_kept_by(core, job, pool, &supply, reason);
    }
}

/* ---- the pass ---- */

static void pass_over(struct core *core, struct pool *pool)
{
    struct system *systems[LIMIT_SYSTEMS];
    struct supply supply = widest_supply(core, pool);

    for (int priority = 0; priority < JOB_PRIORITIES && pool->queued; priority++) {
        struct list *queue = &pool->queue[priority], *next;
        for (struct list *link = queue->next; link != queue; link = next) {
            struct job *job = queued_job(link);
            int obstacle = own_obstacle(core, job, pool, &supply);
            next = behind(core, link, obstacle);
            if (obstacle >= 0)
                continue;
            uint32_t count = systems_for(job, &supply);
            assert(count <= LIMIT_SYSTEMS);
            if (count > supply.free || !place(core, pool, count, systems))
                return; /* first come, first served: whoever is behind waits too */
            attempt_grant(core, job, systems, count);
            supply = widest_supply(core, pool);
        }
    }
}

void schedule_pass(struct core *core)
{
    for (size_t i = 0; i < core->pool_count; i++)
        if (!core->pools[i].stopped && core->pools[i].queued)
            pass_over(core, &core->pools[i]);
}
