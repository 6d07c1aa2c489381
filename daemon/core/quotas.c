#include "core/quotas.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/meters.h"
#include "core/preemption.h"
#include "core/schedule.h"
#include "core/state.h"

static const struct quota_limits unlimited = QUOTA_LIMITS_NONE;

/* ---- rules ---- */

static bool names(const struct quota_rule *rule, enum quota_kind kind, uid_t uid, const char *name)
{
    if (rule->kind != kind || rule->every)
        return false;
    return kind == QUOTA_USER ? rule->uid == uid : strcmp(rule->name, name) == 0;
}

static struct quota_limits find_limits(const struct core *core, enum quota_kind kind, uid_t uid,
                                       const char *name)
{
    const struct quota_rule *found = NULL;

    for (size_t i = 0; i < core->quota_rule_count; i++) {
        const struct quota_rule *rule = &core->quota_rules[i];
        if (names(rule, kind, uid, name))
            return rule->limits;
        if (rule->kind == kind && rule->every)
            found = rule;
    }
    return found ? found->limits : unlimited;
}

void quotas_limits(const struct core *core, const struct quota_party *party,
                   struct quota_limits ret[static QUOTA_KINDS])
{
    ret[QUOTA_USER] = find_limits(core, QUOTA_USER, party->uid, NULL);
    ret[QUOTA_PROJECT] =
        party->project ? find_limits(core, QUOTA_PROJECT, 0, party->project) : unlimited;
    ret[QUOTA_QUEUE] = party->pool ? party->pool->quota.limits : unlimited;
}

void quota_rules_done(struct core *core)
{
    for (size_t i = 0; i < core->quota_rule_count; i++) {
        free((char *)core->quota_rules[i].name);
        free((char *)core->quota_rules[i].limits.currency);
    }
    free(core->quota_rules);
}

/* ---- whose they are ---- */

void quota_init(struct quota *quota, enum quota_kind kind, const char *name)
{
    *quota = (struct quota){ .kind = kind, .name = (char *)name, .limits = unlimited };
    list_init(&quota->waiting);
    list_init(&quota->parked);
    list_init(&quota->open_link);
    list_init(&quota->meter_link);
}

static uint64_t project_key(const char *name)
{
    return hash64(name, strlen(name)) & UINT64_MAX >> 1;
}

const struct quota *quota_of_user(const struct core *core, uid_t uid)
{
    return map_get(&core->user_quotas, uid);
}

static struct quota *project_quota(const struct core *core, const char *name)
{
    struct quota *quota = map_get(&core->project_quotas, project_key(name));

    while (quota && strcmp(quota->name, name) != 0)
        quota = quota->next;
    return quota;
}

const struct quota *quota_of_project(const struct core *core, const char *project)
{
    return project_quota(core, project);
}

static struct quota *join_user(struct core *core, uid_t uid)
{
    struct quota *quota = map_get(&core->user_quotas, uid);

    if (!quota) {
        quota = NEW(struct quota);
        quota_init(quota, QUOTA_USER, NULL);
        quota->uid = uid;
        quota->limits = find_limits(core, QUOTA_USER, uid, NULL);
        map_put(&core->user_quotas, uid, quota);
        meter_begin(core, quota);
    }
    quota->accounts++;
    return quota;
}

static struct quota *join_project(struct core *core, const char *name)
{
    struct quota *quota = project_quota(core, name);

    if (!quota) {
        uint64_t key = project_key(name);
        quota = NEW(struct quota);
        quota_init(quota, QUOTA_PROJECT, text_copy(name));
        quota->limits = find_limits(core, QUOTA_PROJECT, 0, name);
        quota->next = map_get(&core->project_quotas, key);
        map_put(&core->project_quotas, key, quota);
        meter_begin(core, quota);
    }
    quota->accounts++;
    return quota;
}

static void forget_project(struct core *core, struct quota *quota)
{
    uint64_t key = project_key(quota->name);
    struct quota *first = map_get(&core->project_quotas, key), **place = &first;

    while (*place != quota)
        place = &(*place)->next;
    *place = quota->next;
    if (first)
        map_put(&core->project_quotas, key, first);
    else
        map_remove(&core->project_quotas, key);
    free(quota->name);
}

static void leave(struct core *core, struct quota *quota)
{
    if (!quota || --quota->accounts)
        return;
    if (quota->kind == QUOTA_USER)
        map_remove(&core->user_quotas, quota->uid);
    else
        forget_project(core, quota);
    list_remove(&quota->open_link);
    meter_end(quota);
    free(quota);
}

void quotas_join(struct core *core, struct account *account)
{
    struct pool *pool = core_pool(core, account->pool);

    account->quotas[QUOTA_USER] = join_user(core, account->uid);
    account->quotas[QUOTA_PROJECT] =
        *account->project ? join_project(core, account->project) : NULL;
    account->quotas[QUOTA_QUEUE] = pool ? &pool->quota : NULL;
}

void quotas_leave(struct core *core, struct account *account)
{
    leave(core, account->quotas[QUOTA_USER]);
    leave(core, account->quotas[QUOTA_PROJECT]);
    for (int i = 0; i < QUOTA_KINDS; i++)
        account->quotas[i] = NULL;
}

struct quota *job_quota(const struct job *job, enum quota_kind kind)
{
    return job->account->quotas[kind];
}

/* ---- what they use ---- */

static bool is_pending(const struct job *job)
{
    return job->state.state == WAFER__JOB__STATE__PENDING ||
           job->state.state == WAFER__JOB__STATE__HELD;
}

bool quota_is_limited(const struct quota *quota)
{
    return quota->limits.systems != QUOTA_UNLIMITED || !list_is_empty(&quota->meter_link);
}

/* Who waits where there is no limit is counted nowhere: it may be everybody. */
static bool is_counted(const struct quota *quota)
{
    return quota && quota_is_limited(quota);
}

bool quota_is_full(const struct quota *quota)
{
    return quota->meter.spent || quota_keeps(quota, quota->narrowest) ||
           (uint64_t)quota->used + quota->admitted >= quota->limits.systems;
}

bool quota_keeps(const struct quota *quota, uint32_t systems)
{
    return (uint64_t)quota->used + systems > quota->limits.systems;
}

/* There may be room for those that are parked, or too little for those that are not. */
void quota_reopen(struct core *core, struct quota *quota)
{
    bool is_exceeded = is_counted(quota) && quota->admitted &&
                       (quota->meter.spent || quota_keeps(quota, quota->admitted));

    if ((is_exceeded || !list_is_empty(&quota->parked)) && list_is_empty(&quota->open_link))
        list_push_tail(&core->open_quotas, &quota->open_link);
}

void quotas_count(struct core *core, struct job *job, int change)
{
    const struct pool *pool = job_pool(core, job);
    int64_t cost_micro = pool ? pool->price_micro * (int64_t)job->state.n_systems : 0;

    for (int i = 0; i < QUOTA_KINDS; i++) {
        struct quota *quota = job_quota(job, i);
        if (!quota)
            continue;
        quota->pending += (uint64_t)(change * is_pending(job));
        quota->running += (uint64_t)(change * job_has_systems(job));
        quota->used += (uint32_t)(change * (int)job->state.n_systems);
        quota->cost_micro += change * cost_micro;
        if (change > 0 && job_has_systems(job)) {
            quota_reopen(core, quota); /* in a replay it need not have been admitted */
            meter_follow(core, quota);
        }
    }
}

void quotas_pending(const struct core *core, const struct quota_party *party,
                    uint64_t ret[static QUOTA_KINDS])
{
    const struct quota *user = quota_of_user(core, party->uid);
    const struct quota *project = party->project ? quota_of_project(core, party->project) : NULL;

    ret[QUOTA_USER] = user ? user->pending : 0;
    ret[QUOTA_PROJECT] = project ? project->pending : 0;
    ret[QUOTA_QUEUE] = party->pool ? party->pool->quota.pending : 0;
}

void quotas_opened(struct core *core, const struct job *job)
{
    for (int i = 0; i < QUOTA_KINDS; i++)
        if (job_quota(job, i))
            quota_reopen(core, job_quota(job, i));
}

/* ---- who waits with the scheduler ---- */

static struct job *waiting_job(struct list *link)
{
    return CONTAINER_OF(link, struct quota_seat, link)->job;
}

/* Of those that wait with the scheduler, what the ones want that go before the job; among them all
 * for whom systems are kept. */
static uint32_t admitted_before(const struct quota *quota, const struct job *job)
{
    uint32_t systems = quota->admitted;

    for (struct list *link = quota->waiting.previous; link != &quota->waiting;
         link = link->previous) {
        const struct job *other = waiting_job(link);
        if (job_comes_before(other, job))
            break; /* and so do all before it */
        if (!other->has_claim)
            systems -= other->entry.systems;
    }
    return systems;
}

struct quota *quotas_obstacle(const struct job *job)
{
    for (int i = 0; i < QUOTA_KINDS; i++) {
        struct quota *quota = job_quota(job, i);
        uint32_t systems = job->entry.systems;
        if (is_counted(quota) &&
            (quota->meter.spent || (quota_keeps(quota, quota->admitted + systems) &&
                                    quota_keeps(quota, admitted_before(quota, job) + systems))))
            return quota;
    }
    return NULL;
}

void quotas_admit(struct job *job)
{
    assert(!job->admitted);
    job->admitted = true;
    for (int i = 0; i < QUOTA_KINDS; i++) {
        struct quota *quota = job_quota(job, i);
        if (!is_counted(quota))
            continue;
        struct list *place = quota->waiting.previous;
        while (place != &quota->waiting && job_comes_before(job, waiting_job(place)))
            place = place->previous;
        if (!job->seats)
            job->seats = memory_new(QUOTA_KINDS * sizeof(*job->seats));
        job->seats[i].job = job;
        list_insert_after(place, &job->seats[i].link);
        quota->admitted += job->entry.systems;
    }
}

void quotas_withdraw(struct core *core, struct job *job)
{
    if (!job->admitted)
        return;
    job->admitted = false;
    for (int i = 0; i < QUOTA_KINDS; i++) {
        struct quota *quota = job_quota(job, i);
        if (!is_counted(quota))
            continue;
        list_remove(&job->seats[i].link);
        quota->admitted -= job->entry.systems;
        quota_reopen(core, quota);
    }
    free(TAKE(job->seats));
}

struct job *quotas_excess(const struct job *job)
{
    for (int i = 0; i < QUOTA_KINDS; i++) {
        const struct quota *quota = job_quota(job, i);
        if (!is_counted(quota) || !quota_keeps(quota, quota->admitted))
            continue;
        for (struct list *link = quota->waiting.previous; link != &quota->waiting;
             link = link->previous)
            if (!waiting_job(link)->has_claim && waiting_job(link) != job)
                return waiting_job(link);
    }
    return NULL;
}

void quota_park(struct quota *quota, struct job *job)
{
    struct list *place = quota->parked.previous; /* nearly always the last, or the first */

    if (place != &quota->parked &&
        job_comes_before(job, CONTAINER_OF(quota->parked.next, struct job, parked_link)))
        place = &quota->parked;
    while (place != &quota->parked &&
           job_comes_before(job, CONTAINER_OF(place, struct job, parked_link)))
        place = place->previous;
    if (list_is_empty(&quota->parked) || job->entry.systems < quota->narrowest)
        quota->narrowest = job->entry.systems;
    list_insert_after(place, &job->parked_link);
}

/* ---- telling ---- */

static char *subject(enum quota_kind kind, const char *name)
{
    switch (kind) { /* no default: adding a kind makes the compiler point here */
    case QUOTA_USER: return text_copy("its user");
    case QUOTA_PROJECT: return text_format("project %s", name);
    case QUOTA_QUEUE: return text_format("queue %s", name);
    case QUOTA_KINDS: break;
    }
    abort();
}

char *quota_subject(enum quota_kind kind, const struct quota_party *party)
{
    return subject(kind, kind == QUOTA_PROJECT ? party->project
                         : kind == QUOTA_QUEUE ? party->pool->name
                                               : NULL);
}

static uint64_t first_holder(const struct core *core, const struct quota *quota)
{
    uint64_t first = 0;
    size_t cursor = 0;

    for (struct system *system; (system = map_next(&core->systems, &cursor));)
        if (system->job && job_quota(system->job, quota->kind) == quota &&
            (!first || system->job->state.id < first))
            first = system->job->state.id;
    return first;
}

char *quota_text(const struct core *core, const struct quota *quota, const struct job *job,
                 uint64_t *ret_blocker)
{
    owned(free) char *whose = subject(quota->kind, quota->name);
    uint32_t before = quota_keeps(quota, job->entry.systems) ? 0 : admitted_before(quota, job);

    *ret_blocker = 0;
    if (quota->meter.spent) {
        owned(free) char *used = meter_text(core, quota);
        return text_format("%s: %s", whose, used);
    }
    *ret_blocker = first_holder(core, quota);
    if (before)
        return text_format("%u of %u systems of %s are used, and %u go to jobs before it; it needs "
                           "%u",
                           quota->used, quota->limits.systems, whose, before, job->entry.systems);
    return text_format("%u of %u systems of %s are used; it needs %u", quota->used,
                       quota->limits.systems, whose, job->entry.systems);
}

/* ---- other rules ---- */

static bool is_same_limits(const struct quota_limits *a, const struct quota_limits *b)
{
    return a->systems == b->systems && a->pending == b->pending && a->array == b->array &&
           a->limit_max_us == b->limit_max_us && a->limit_default_us == b->limit_default_us &&
           a->system_us == b->system_us && a->system_days == b->system_days &&
           a->warn_micro == b->warn_micro && a->budget_micro == b->budget_micro &&
           a->budget_days == b->budget_days && !a->currency == !b->currency &&
           (!a->currency || strcmp(a->currency, b->currency) == 0);
}

static bool is_same_rule(const struct quota_rule *a, const struct quota_rule *b)
{
    return a->kind == b->kind && a->every == b->every && a->uid == b->uid && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0) && is_same_limits(&a->limits, &b->limits);
}

static bool are_in_force(const struct core *core, const struct quota_rules *rules)
{
    if (rules->count != core->quota_rule_count)
        return false;
    for (size_t i = 0; i < rules->count; i++)
        if (!is_same_rule(&rules->items[i], &core->quota_rules[i]))
            return false;
    return true;
}

static void take_rules(struct core *core, const struct quota_rules *rules)
{
    quota_rules_done(core);
    core->quota_rules = memory_new(rules->count * sizeof(*core->quota_rules) + 1);
    core->quota_rule_count = rules->count;
    for (size_t i = 0; i < rules->count; i++) {
        core->quota_rules[i] = rules->items[i];
        core->quota_rules[i].name = text_copy(rules->items[i].name);
        core->quota_rules[i].limits.currency = text_copy(rules->items[i].limits.currency);
    }
}

/* `visit` each quota that there is. */
static void each_quota(struct core *core, void (*visit)(struct core *core, struct quota *quota))
{
    size_t cursor = 0;

    for (struct quota *quota; (quota = map_next(&core->user_quotas, &cursor));)
        visit(core, quota);
    cursor = 0;
    for (struct quota *quota; (quota = map_next(&core->project_quotas, &cursor));)
        for (; quota; quota = quota->next)
            visit(core, quota);
    for (size_t i = 0; i < core->pool_count; i++)
        visit(core, &core->pools[i].quota);
}

static void set_limits(struct core *core, struct quota *quota)
{
    quota->limits = find_limits(core, quota->kind, quota->uid, quota->name);
    meter_end(quota);
    meter_begin(core, quota);
}

void quota_settle(struct core *core, struct quota *quota)
{
    while (is_counted(quota) && quota->admitted &&
           (quota->meter.spent || quota_keeps(quota, quota->admitted))) {
        struct job *last = waiting_job(quota->waiting.previous);
        preemption_release(core, last);
        schedule_review(core, last);
    }
}

static int as_considered(const void *a, const void *b)
{
    const struct job *one = *(struct job *const *)a, *other = *(struct job *const *)b;

    return job_comes_before(one, other) ? -1 : 1;
}

void core_set_quotas(struct core *core, const struct quota_rules *rules)
{
    owned(free) struct job **admitted =
        memory_new((map_count(&core->jobs) + 1) * sizeof(struct job *));
    size_t count = 0, cursor = 0;

    if (are_in_force(core, rules))
        return; /* what is planned stays as it is */
    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        if (job->admitted)
            admitted[count++] = job;
    for (size_t i = 0; i < count; i++)
        quotas_withdraw(core, admitted[i]);
    take_rules(core, rules);
    each_quota(core, set_limits);
    core->meters_due_us = INT64_MIN;
    qsort(admitted, count, sizeof(struct job *), as_considered);
    for (size_t i = 0; i < count; i++)
        quotas_admit(admitted[i]); /* each goes to the end */
    each_quota(core, quota_reopen);
    core->pass_wanted = true;
}
