#include "core/schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "base/later.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "core/accounts.h"
#include "core/dependencies.h"
#include "core/reserved.h"
#include "core/state.h"

static uint32_t priority_of(const struct job *job)
{
    uint32_t priority = job->spec->terms.priority;
    return priority < JOB_PRIORITIES ? priority : JOB_PRIORITIES - 1;
}

static struct job *job_of(struct schedule_entry *entry)
{
    return CONTAINER_OF(entry, struct job, entry);
}

static struct job *parked_job(struct list *link)
{
    return CONTAINER_OF(link, struct job, parked_link);
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

bool system_is_healthy(const struct system *system)
{
    return !system->state.drained && system->state.state == WAFER__SYSTEM__STATE__UP;
}

static bool is_free(const struct system *system, const struct pool *pool)
{
    return system->pool == pool && !system->job && !system->claim && system_is_healthy(system);
}

void schedule_count(struct core *core, const struct system *system, int change)
{
    if (!system->pool)
        return;
    struct supply *supply = supply_of(core, system->host, system->pool);
    struct scheduler *scheduler = system->pool->scheduler;
    supply->known += (uint32_t)change;
    if (!system_is_healthy(system))
        return;
    supply->healthy += (uint32_t)change;
    if (system->claim)
        return; /* whoever has it gives it back to one job alone */
    if (system->job) {
        scheduler_returns(scheduler, &system->job->entry, change);
        return;
    }
    supply->free += (uint32_t)change;
    if (system->host->link)
        scheduler_idle(scheduler, system->host->index, change);
}

void schedule_connected(struct core *core, const struct host *host, bool is_connected)
{
    for (size_t i = 0; i < core->pool_count; i++) {
        int64_t free = host->supply[i].free;
        scheduler_idle(core->pools[i].scheduler, host->index, is_connected ? free : -free);
    }
}

struct supply schedule_widest(const struct core *core, const struct pool *pool)
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

/* ---- why not ---- */

/* What keeps this one job from starting, whatever the pool has free; the first is what people are
 * told. */
static const Wafer__Job__Reason own_reasons[] = {
    WAFER__JOB__REASON__DependencyNeverSatisfied,
    WAFER__JOB__REASON__Dependency,
    WAFER__JOB__REASON__BeginTime,
    WAFER__JOB__REASON__ClassNotAllowed,
    WAFER__JOB__REASON__LaunchFailed,
    WAFER__JOB__REASON__RetryBackoff,
    WAFER__JOB__REASON__CheckpointBlocked,
    WAFER__JOB__REASON__PreemptWait,
    WAFER__JOB__REASON__ArrayLimit,
    WAFER__JOB__REASON__NeverFits,
    WAFER__JOB__REASON__ReservationConflict,
};

static bool is_kept_by(const struct core *core, const struct job *job, const struct pool *pool,
                       const struct supply *supply, Wafer__Job__Reason reason)
{
    const struct job_terms *terms = &job->spec->terms;
    bool waits = job->state.has_not_before_us && job->state.not_before_us > core->now_us;

    switch (reason) {
    case WAFER__JOB__REASON__DependencyNeverSatisfied: return dependency_unmet(job);
    case WAFER__JOB__REASON__Dependency: return dependency_open(job);
    case WAFER__JOB__REASON__BeginTime: return terms->begin_us > core->now_us;
    case WAFER__JOB__REASON__PreemptWait: return job->has_claim;
    case WAFER__JOB__REASON__ClassNotAllowed: return !pool_takes(pool, terms->level);
    case WAFER__JOB__REASON__LaunchFailed: return waits && job->state.launch_refusals;
    case WAFER__JOB__REASON__RetryBackoff: return waits && !job->state.launch_refusals;
    case WAFER__JOB__REASON__CheckpointBlocked: return job->unsettled && checkpoint_is_awaited(job);
    case WAFER__JOB__REASON__ArrayLimit:
        return job->array && terms->array_parallel && job->array->running >= terms->array_parallel;
    case WAFER__JOB__REASON__NeverFits:
        return pool->systems && systems_for(job, supply) > supply->known;
    case WAFER__JOB__REASON__ReservationConflict: return reserved_is_missing(core, job);
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

bool job_comes_before(const struct job *a, const struct job *b)
{
    return priority_of(a) < priority_of(b) ||
           (priority_of(a) == priority_of(b) && a->state.id < b->state.id);
}

/* The first job of the pool that nothing of its own keeps from starting. */
static const struct job *head_of(const struct pool *pool)
{
    struct schedule_entry *first = scheduler_first(pool->scheduler);

    return first ? job_of(first) : NULL;
}

/* `widest` as it is now; lists ask for it for each of their jobs. */
static void widest_now(const struct core *core, struct pool *pool)
{
    if (pool->widest_sequence == core->sequence && pool->widest_us == core->now_us)
        return;
    pool->widest = schedule_widest(core, pool);
    pool->widest_sequence = core->sequence;
    pool->widest_us = core->now_us;
}

/* ---- who waits ---- */

static void park(struct list *parked, struct job *job)
{
    struct list *place = parked->previous; /* by id; nearly always the last */

    while (place != parked && parked_job(place)->state.id > job->state.id)
        place = place->previous;
    list_insert_after(place, &job->parked_link);
}

/* What keeps it is told of by a timer or a record of its own: passes need not look at it. */
static bool is_dormant(Wafer__Job__Reason obstacle)
{
    return obstacle == WAFER__JOB__REASON__Dependency ||
           obstacle == WAFER__JOB__REASON__DependencyNeverSatisfied ||
           obstacle == WAFER__JOB__REASON__PreemptWait || obstacle == WAFER__JOB__REASON__BeginTime;
}

static bool array_is_full(const struct job *job)
{
    const struct job_terms *terms = &job->spec->terms;

    return job->array && terms->array_parallel &&
           job->array->running + job->array->waiting >= terms->array_parallel;
}

int64_t schedule_score(const struct core *core, const struct job *job,
                       int64_t ret_factors[static SCORE_TERMS])
{
    const struct pool *pool = job_pool(core, job);
    int64_t too_late_us = job_too_late_us(job);
    int64_t since_us = job->state.submitted_us > job->spec->terms.begin_us
                           ? job->state.submitted_us
                           : job->spec->terms.begin_us;
    const struct score_job scored = {
        .share = job->account ? job->account->share : SCORE_ONE,
        .waited_us = core->now_us - since_us,
        .slack_us = too_late_us == INT64_MAX ? INT64_MAX : too_late_us - core->now_us,
        .systems = job_systems_wanted(job),
        .pool_systems = (uint32_t)pool->systems,
    };

    return score_of(&core->score, &scored, ret_factors);
}

static int64_t score_entry(void *userdata, const struct schedule_entry *entry)
{
    int64_t factors[SCORE_TERMS];

    return schedule_score(userdata, CONTAINER_OF(entry, const struct job, entry), factors);
}

/* All anew, when they are old enough. */
static void rescore(struct core *core)
{
    if (core->scored_us != INT64_MIN && core->now_us < core->scored_us + core->score.recompute_us)
        return;
    core->scored_us = core->now_us;
    for (size_t i = 0; i < core->pool_count; i++) {
        struct pool *pool = &core->pools[i];
        if (scheduler_rules(pool->scheduler)->order != SCHEDULE_ORDER_POLICY)
            continue;
        accounts_compute_shares(core, pool->name);
        scheduler_score(pool->scheduler, score_entry, core);
    }
}

/* What the scheduler plans with: a job that has no time left still takes its turn. */
static int64_t planned_limit_us(const struct job *job)
{
    int64_t left_us = job_limit_left_us(job);

    return left_us > 0 ? left_us : 0;
}

static void take_from_queue(struct core *core, struct pool *pool, struct job *job)
{
    quotas_withdraw(core, job);
    if (!job->entry.chunk) {
        list_remove(&job->parked_link);
        return;
    }
    scheduler_withdraw(pool->scheduler, &job->entry);
    if (job->array) {
        job->array->waiting--;
        schedule_array_opened(core, job->array);
    }
}

/* It waits with the scheduler. */
static void admit(struct pool *pool, struct job *job)
{
    scheduler_wait(pool->scheduler, &job->entry);
    quotas_admit(job);
    if (job->array)
        job->array->waiting++;
}

/* To the scheduler if nothing of its own keeps it from starting, else to those that are looked at
 * again before each pass, or once what keeps them gives way. */
static void place(struct core *core, struct pool *pool, struct job *job)
{
    widest_now(core, pool);
    int obstacle = own_obstacle(core, job, pool, &pool->widest);
    /* Of who is parked too: what would its place be? */
    job->entry.number = job->state.id;
    job->entry.bucket = (uint16_t)priority_of(job);
    job->entry.submitted_us = job->state.submitted_us;
    job->entry.limit_us = planned_limit_us(job);
    job->entry.reservation = reserved_number(core, job);
    if (scheduler_rules(pool->scheduler)->order == SCHEDULE_ORDER_POLICY)
        job->entry.score = score_entry(core, &job->entry);
    if (!job->has_claim) /* which is for as many as it was laid for */
        job->entry.systems = systems_for(job, &pool->widest);
    struct quota *quota = obstacle < 0 ? quotas_obstacle(job) : NULL;
    if (obstacle == WAFER__JOB__REASON__ArrayLimit || (obstacle < 0 && array_is_full(job))) {
        park(&job->array->parked, job);
    } else if (obstacle >= 0 && is_dormant((Wafer__Job__Reason)obstacle)) {
        list_push_tail(&pool->dormant, &job->parked_link);
        if (job->has_claim)
            quotas_admit(job); /* as before it was laid: the systems are as good as its own */
    } else if (obstacle >= 0) {
        park(&pool->parked, job);
    } else if (quota) {
        quota_park(quota, job);
    } else {
        admit(pool, job);
    }
}

/* The jobs behind it that its quotas have no room for any more wait with the scheduler no longer.
 */
static void put_off_others(struct core *core, const struct job *job)
{
    struct list put_off;

    list_init(&put_off);
    for (struct job *other; (other = quotas_excess(job));) {
        take_from_queue(core, job_pool(core, other), other);
        list_push_tail(&put_off, &other->parked_link);
    }
    list_foreach_safe (&put_off, link) {
        struct job *other = parked_job(link);
        list_remove(link);
        place(core, job_pool(core, other), other);
        if (other->admitted)
            put_off_others(core, other);
    }
}

static void place_in_queue(struct core *core, struct pool *pool, struct job *job)
{
    place(core, pool, job);
    if (job->admitted)
        put_off_others(core, job);
}

void schedule_add(struct core *core, struct job *job)
{
    struct pool *pool = job_pool(core, job);

    if (!pool)
        return; /* the site no longer has its queue; schedule_explain() says so */
    place_in_queue(core, pool, job);
    pool->queued++;
}

void schedule_imagine(struct core *core, struct job *job)
{
    struct pool *pool = job_pool(core, job);

    place(core, pool, job);
    pool->queued++;
}

void schedule_remove(struct core *core, struct job *job)
{
    struct pool *pool = job_pool(core, job);

    if (!pool)
        return;
    take_from_queue(core, pool, job);
    pool->queued--;
}

void schedule_review(struct core *core, struct job *job)
{
    if (job->state.state != WAFER__JOB__STATE__PENDING)
        return;
    schedule_remove(core, job);
    schedule_add(core, job);
}

void schedule_array_opened(struct core *core, struct array *array)
{
    if (!list_is_empty(&array->parked) && list_is_empty(&array->open_link))
        list_push_tail(&core->open_arrays, &array->open_link);
}

/* ---- who runs ---- */

/* When the systems of the job are free again at the latest, as far as is known. */
static int64_t expected_end_us(const struct job *job)
{
    int64_t began_us = job->state.has_started_us ? job->state.started_us : job->state.granted_us;

    if (job->state.state == WAFER__JOB__STATE__STOPPING && job->state.has_stop_deadline_us)
        return job->state.stop_deadline_us;
    int64_t end_us = later_us(began_us, planned_limit_us(job));
    return end_us < job->spec->terms.deadline_us ? end_us : job->spec->terms.deadline_us;
}

/* Of the pool that its systems are in; it may wait for another one next. NULL: the site no longer
 * has it. */
static struct scheduler *scheduler_of(const struct core *core, const struct job *job)
{
    const struct pool *pool = core_system(core, job->state.systems[0])->pool;

    return pool ? pool->scheduler : NULL;
}

void schedule_run(struct core *core, struct job *job)
{
    struct scheduler *scheduler = scheduler_of(core, job);

    job->entry.systems = (uint32_t)job->state.n_systems;
    job->entry.limit_us = planned_limit_us(job);
    if (scheduler)
        scheduler_run(scheduler, &job->entry, job_host(core, job)->index, expected_end_us(job));
}

void schedule_done(struct core *core, struct job *job)
{
    if (job->entry.is_running)
        scheduler_done(scheduler_of(core, job), &job->entry);
}

void schedule_ended(struct core *core)
{
    for (size_t i = 0; i < core->pool_count; i++)
        scheduler_ended(core->pools[i].scheduler);
}

/* ---- why it waits ---- */

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* Systems may be free, and yet it does not pass. */
static char *ahead_text(const struct core *core, const struct pool *pool, const struct job *job,
                        uint32_t wanted)
{
    if (scheduler_rules(pool->scheduler)->backfill == SCHEDULE_BACKFILL_NONE ||
        schedule_widest(core, pool).free < wanted)
        return text_copy("another job is ahead of it");
    return text_copy(job->entry.limit_us == INT64_MAX
                         ? "it has no limit, so that it could delay the job ahead of it"
                         : "it would delay the job ahead of it");
}

/* Of a queue there is none of its own: to those who wait there are as many systems as it may use.
 */
static Wafer__Job__Reason quota_reason(const struct quota *quota)
{
    if (quota->meter.spent == METER_BUDGET)
        return WAFER__JOB__REASON__BudgetSpent;
    return quota->kind == QUOTA_USER      ? WAFER__JOB__REASON__QuotaUser
           : quota->kind == QUOTA_PROJECT ? WAFER__JOB__REASON__QuotaProject
                                          : WAFER__JOB__REASON__Resources;
}

static void explain(const struct core *core, const struct job *job, const struct job *ahead,
                    struct wait *ret)
{
    const struct pool *pool = job_pool(core, job);
    const struct quota *quota;
    struct reserved_conflict conflict;

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
    } else if (obstacle == WAFER__JOB__REASON__Dependency) {
        const Wafer__DependencyState *open = dependency_open(job);
        ret->reason = obstacle;
        ret->detail = dependency_text(open);
        ret->blocker_job = open->job;
    } else if (obstacle == WAFER__JOB__REASON__DependencyNeverSatisfied) {
        ret->reason = obstacle;
        ret->detail = dependency_text(dependency_unmet(job));
    } else if (obstacle == WAFER__JOB__REASON__PreemptWait) {
        ret->reason = obstacle;
        ret->detail = preemption_text(core, job, &ret->blocker_job);
    } else if (obstacle == WAFER__JOB__REASON__BeginTime) {
        char text[TIMESTAMP_TEXT_SIZE];
        timestamp_format(job->spec->terms.begin_us, text);
        ret->reason = obstacle;
        ret->detail = text_format("begins at %s", text);
    } else if (obstacle == WAFER__JOB__REASON__ClassNotAllowed) {
        ret->reason = obstacle;
        ret->detail = text_format("pool %s no longer takes data of class %s", pool->name,
                                  level_name(job->spec->terms.level));
    } else if (obstacle == WAFER__JOB__REASON__ReservationConflict) {
        ret->reason = obstacle;
        ret->detail = reserved_refusal(core, job->spec->terms.reservation, NULL, job->state.uid);
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
    } else if (!job->entry.chunk && (quota = quotas_obstacle(job))) {
        ret->reason = quota_reason(quota);
        ret->detail = quota_text(core, quota, job, &ret->blocker_job);
    } else if (reserved_conflicts(core, job, &conflict)) {
        ret->reason = WAFER__JOB__REASON__ReservationConflict;
        ret->detail = reserved_conflict_text(job, &conflict);
    } else if (ahead && ahead != job && scheduler_ahead(pool->scheduler, &job->entry, 1) > 0) {
        ret->reason = WAFER__JOB__REASON__Priority;
        ret->blocker_job = ahead->state.id;
        ret->detail = ahead_text(core, pool, job, wanted);
    } else if (job->array && !job->entry.chunk) {
        ret->reason = WAFER__JOB__REASON__ArrayLimit;
        ret->detail = text_format("%u elements of the array run or come before it, the most that "
                                  "it allows",
                                  job->array->running + job->array->waiting);
    } else if (supply.healthy < wanted) {
        ret->reason = WAFER__JOB__REASON__SystemUnavailable;
        ret->detail = text_format("needs %u system%s of one host; pool %s has %u that work", wanted,
                                  plural(wanted), pool->name, supply.healthy);
    } else {
        ret->reason = WAFER__JOB__REASON__Resources;
        ret->detail = text_format("needs %u system%s of one host, %u free", wanted, plural(wanted),
                                  schedule_widest(core, pool).free);
        size_t cursor = 0;
        for (struct system *system; (system = map_next(&core->systems, &cursor));)
            if (system->pool == pool && system->job &&
                (!ret->blocker_job || system->job->state.id < ret->blocker_job))
                ret->blocker_job = system->job->state.id;
    }
}

void schedule_explain(const struct core *core, const struct job *job, struct wait *ret)
{
    struct pool *pool = job_pool(core, job);

    ret->since_us = job_waiting_since_us(job);
    if (pool)
        widest_now(core, pool);
    explain(core, job, pool ? head_of(pool) : NULL, ret);
}

/* ---- questions about one job ---- */

uint32_t schedule_systems_for(const struct core *core, const struct job *job)
{
    struct supply supply = schedule_widest(core, job_pool(core, job));

    return systems_for(job, &supply);
}

uint64_t schedule_position(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);

    return 1 + scheduler_ahead(pool->scheduler, &job->entry, SIZE_MAX);
}

static bool is_beyond(const struct quota *quota, uint32_t wanted)
{
    return quota && (quota->meter.spent == METER_HOURS || quota_keeps(quota, wanted));
}

static bool is_budget_spent(const struct job *job)
{
    for (int i = 0; i < QUOTA_KINDS; i++) {
        const struct quota *quota = job_quota(job, (enum quota_kind)i);
        if (quota && quota->meter.spent == METER_BUDGET)
            return true;
    }
    return false;
}

bool schedule_is_kept_by(const struct core *core, const struct job *job, Wafer__Job__Reason reason)
{
    const struct pool *pool = job_pool(core, job);
    struct supply supply = schedule_widest(core, pool);
    uint32_t wanted = systems_for(job, &supply);
    struct reserved_conflict conflict;
    switch (reason) {
    case WAFER__JOB__REASON__ReservationConflict:
        return is_kept_by(core, job, pool, &supply, reason) ||
               reserved_conflicts(core, job, &conflict);
    case WAFER__JOB__REASON__QueueStopped: return pool->stopped;
    case WAFER__JOB__REASON__SystemUnavailable: return wanted > supply.healthy;
    case WAFER__JOB__REASON__Resources: return wanted > supply.free;
    case WAFER__JOB__REASON__BudgetSpent: return is_budget_spent(job);
    case WAFER__JOB__REASON__QuotaUser: return is_beyond(job_quota(job, QUOTA_USER), wanted);
    case WAFER__JOB__REASON__QuotaProject: return is_beyond(job_quota(job, QUOTA_PROJECT), wanted);
    case WAFER__JOB__REASON__Priority: return scheduler_ahead(pool->scheduler, &job->entry, 1) > 0;
    default: return is_kept_by(core, job, pool, &supply, reason);
    }
}

/* ---- the pass ---- */

static bool has_failed_on(const struct job *job, const struct system *system)
{
    const struct progress *progress = job_progress(job);

    for (size_t i = 0; i < FAILED_SYSTEMS; i++)
        if (progress->failed_on[i] == system->state.number)
            return true;
    return false;
}

/* All of a gang lives on one host: its ranks then share a process and its clock. Of the host's
 * systems those with the lowest numbers, and none that failed under the job if there are others. */
static void on_grant(void *userdata, struct schedule_entry *entry, size_t domain)
{
    struct core *core = userdata;
    struct job *job = job_of(entry);
    const struct pool *pool = job_pool(core, job);
    struct system *systems[LIMIT_SYSTEMS];
    uint32_t *shares = scheduler_shares(pool->scheduler), taken = 0;

    assert(entry->systems <= LIMIT_SYSTEMS);
    for (int failed = 0; failed < 2 && taken < entry->systems; failed++)
        list_foreach (&core->hosts[domain]->systems, link) {
            struct system *system = CONTAINER_OF(link, struct system, host_link);
            if (taken == entry->systems || !is_free(system, pool) ||
                has_failed_on(job, system) != failed || (shares && !shares[system->lane]))
                continue;
            systems[taken++] = system;
            if (shares)
                shares[system->lane]--;
        }
    assert(taken == entry->systems);
    attempt_grant(core, job, systems, taken);
}

/* What was true of all jobs of the pool may have changed with its systems, or its classes. */
static void review_all(struct core *core, struct pool *pool)
{
    size_t count = 0;

    widest_now(core, pool);
    if (!pool->review_wanted && pool->reviewed.known == pool->widest.known &&
        pool->reviewed.healthy == pool->widest.healthy)
        return;
    pool->review_wanted = false;
    pool->reviewed = pool->widest;
    owned(free) struct job **waiting =
        memory_new((scheduler_count(pool->scheduler) + 1) * sizeof(struct job *));
    for (struct schedule_entry *entry = scheduler_first(pool->scheduler); entry;
         entry = scheduler_after(pool->scheduler, entry))
        waiting[count++] = job_of(entry);
    for (size_t i = 0; i < count; i++) {
        struct job *job = waiting[i];
        if (own_obstacle(core, job, pool, &pool->widest) < 0 &&
            systems_for(job, &pool->widest) == job->entry.systems &&
            reserved_number(core, job) == job->entry.reservation)
            continue;
        take_from_queue(core, pool, job);
        place_in_queue(core, pool, job);
    }
}

/* Who was kept by something of its own, and is not any more. */
static void unpark(struct core *core, struct pool *pool)
{
    list_foreach_safe (&pool->parked, link) {
        struct job *job = parked_job(link);
        if (own_obstacle(core, job, pool, &pool->widest) >= 0)
            continue;
        list_remove(link);
        place_in_queue(core, pool, job);
    }
}

/* As many elements as may run at once wait with the scheduler; those behind follow as there is
 * room.
 */
static void fill_array(struct core *core, struct array *array)
{
    list_foreach_safe (&array->parked, link) {
        struct job *job = parked_job(link);
        struct pool *pool = job_pool(core, job);
        if (array_is_full(job))
            return;
        list_remove(link);
        place_in_queue(core, pool, job);
    }
}

/* As many wait with the scheduler as there is room for. */
static void fill_quota(struct core *core, struct quota *quota)
{
    uint32_t narrowest = UINT32_MAX; /* of all, if all stay */
    bool all_stay = true;

    quota_settle(core, quota);
    list_foreach_safe (&quota->parked, link) {
        struct job *job = parked_job(link);
        if (quota_is_full(quota))
            return;
        if (quotas_obstacle(job) == quota) {
            if (job->entry.systems < narrowest)
                narrowest = job->entry.systems;
            continue;
        }
        list_remove(link);
        place_in_queue(core, job_pool(core, job), job);
        all_stay = false; /* and those that it puts off may come here */
    }
    if (all_stay)
        quota->narrowest = narrowest;
}

/* Who is put off for another may leave room in an array or a quota in turn. */
static void fill(struct core *core)
{
    for (;;) {
        if (!list_is_empty(&core->open_arrays)) {
            struct array *array = CONTAINER_OF(core->open_arrays.next, struct array, open_link);
            list_remove(&array->open_link);
            fill_array(core, array);
        } else if (!list_is_empty(&core->open_quotas)) {
            struct quota *quota = CONTAINER_OF(core->open_quotas.next, struct quota, open_link);
            list_remove(&quota->open_link);
            fill_quota(core, quota);
        } else {
            return;
        }
    }
}

void schedule_pass(struct core *core)
{
    rescore(core);
    for (size_t i = 0; i < core->pool_count; i++) {
        review_all(core, &core->pools[i]);
        unpark(core, &core->pools[i]);
    }
    meters_read(core);
    fill(core);
    for (size_t i = 0; i < core->pool_count; i++) {
        struct pool *pool = &core->pools[i];
        preemption_start(core, pool);
        if (!pool->stopped)
            scheduler_pass(pool->scheduler, core->now_us, on_grant, core);
        preemption_claim(core, pool);
    }
}

/* Where no pass goes, nothing is due. */
int64_t schedule_next(const struct core *core)
{
    int64_t next_us = core->journal_full ? INT64_MAX : meters_next(core);

    for (size_t i = 0; i < core->pool_count && !core->journal_full; i++) {
        const struct pool *pool = &core->pools[i];
        int64_t due_us = pool->stopped ? INT64_MAX : scheduler_next(pool->scheduler);
        if (due_us < next_us)
            next_us = due_us;
    }
    return next_us;
}
