#include "scheduling.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "core/accounts.h"
#include "roles.h"

#define DEPTH  1000
#define DAY_US (24 * HOUR_US)

struct schedule_rules scheduling_default(void)
{
    return (struct schedule_rules){ .backfill = SCHEDULE_BACKFILL_EASY,
                                    .order = SCHEDULE_ORDER_FCFS,
                                    .depth = DEPTH };
}

static bool is_same(const Wafer__Share *a, const Wafer__Share *b)
{
    return strcmp(a->project ? a->project : "", b->project ? b->project : "") == 0 &&
           a->has_uid == b->has_uid && (!a->has_uid || a->uid == b->uid);
}

/* Users by name get their numbers here. */
static void check_share(struct findings *findings, const Wafer__Scheduling *file, size_t i)
{
    Wafer__Share *share = file->shares[i];
    owned(free) char *field = text_format("shares[%zu]", i);
    uid_t uid;

    if (!share->shares)
        findings_add(findings, field, "shares must be at least 1");
    if (share->user && share->has_uid) {
        findings_add(findings, field, "has both uid and user: one of them");
    } else if (share->user && roles_find_user(findings, field, share->user, &uid)) {
        share->has_uid = true;
        share->uid = uid;
    }
    for (size_t j = 0; j < i; j++)
        if (is_same(share, file->shares[j]))
            findings_add(findings, field, "is there twice");
}

static void check_weights(struct findings *findings, const Wafer__Weights *weights)
{
    if (weights && (weights->fair_share > SCORE_WEIGHT_MAX || weights->age > SCORE_WEIGHT_MAX ||
                    weights->size > SCORE_WEIGHT_MAX || weights->deadline > SCORE_WEIGHT_MAX))
        findings_add(findings, "weights", "at most %d each", SCORE_WEIGHT_MAX);
}

int scheduling_read(struct findings *findings, Wafer__Scheduling **ret)
{
    ProtobufCMessage *message = NULL;

    *ret = NULL;
    if (access(findings->file, F_OK) < 0 && errno == ENOENT)
        return 0;
    int r = findings_read(findings, &wafer__scheduling__descriptor, true, &message);
    if (r < 0)
        return r;
    Wafer__Scheduling *file = (Wafer__Scheduling *)message;
    findings_check_kind(findings, file->apiversion, file->kind, "Scheduling");
    if (!file->serial)
        findings_add(findings, "serial", "it must be at least 1");
    if (file->preempt && file->preempt->by->value >= file->preempt->of->value)
        findings_add(findings, "preempt", "by must be more urgent than of, as in {by: p1, of: p3}");
    check_weights(findings, file->weights);
    for (size_t i = 0; i < file->n_shares; i++)
        check_share(findings, file, i);
    if (file->has_depth && !file->depth)
        findings_add(findings, "depth", "it must be at least 1");
    if (findings->errors.count > 0) {
        wafer__scheduling__free_unpacked(file, NULL);
        return -EINVAL;
    }
    *ret = file;
    return 0;
}

struct preempt_rules scheduling_preempt(const Wafer__Scheduling *file)
{
    if (!file->preempt)
        return (struct preempt_rules){ 0, 0 };
    return (struct preempt_rules){ .by = file->preempt->by->value, .of = file->preempt->of->value };
}

/* The schema lists backfills and orders in the order of the scheduler's. */
struct schedule_rules scheduling_rules(const Wafer__Scheduling *file)
{
    struct schedule_rules rules = scheduling_default();

    _Static_assert((int)WAFER__SCHEDULING__BACKFILL__conservative ==
                       (int)SCHEDULE_BACKFILL_CONSERVATIVE,
                   "the same numbers");
    _Static_assert((int)WAFER__SCHEDULING__ORDER__policy == (int)SCHEDULE_ORDER_POLICY,
                   "the same numbers");
    if (file->has_backfill)
        rules.backfill = (enum schedule_backfill)file->backfill;
    if (file->has_order)
        rules.order = (enum schedule_order)file->order;
    if (file->has_depth)
        rules.depth = file->depth;
    return rules;
}

static void set_weight(uint32_t *weight, protobuf_c_boolean is_set, uint32_t value)
{
    if (is_set)
        *weight = value;
}

static void set_span(int64_t *span_us, const Wafer__Duration *duration)
{
    if (duration)
        *span_us = duration->us;
}

struct score_rules scheduling_scores(const Wafer__Scheduling *file)
{
    struct score_rules rules = score_rules_default();
    const Wafer__Weights *weights = file ? file->weights : NULL;

    if (!file)
        return rules;
    if (weights) {
        set_weight(&rules.weights[SCORE_SHARE], weights->has_fair_share, weights->fair_share);
        set_weight(&rules.weights[SCORE_AGE], weights->has_age, weights->age);
        set_weight(&rules.weights[SCORE_SIZE], weights->has_size, weights->size);
        set_weight(&rules.weights[SCORE_DEADLINE], weights->has_deadline, weights->deadline);
    }
    set_span(&rules.half_life_us, file->half_life);
    set_span(&rules.age_full_us, file->age_full);
    set_span(&rules.deadline_within_us, file->deadline_within);
    set_span(&rules.recompute_us, file->recompute);
    return rules;
}

struct score_share *scheduling_shares(const Wafer__Scheduling *file, size_t *ret_count)
{
    size_t count = file ? file->n_shares : 0;
    struct score_share *shares = memory_new((count + 1) * sizeof(*shares));

    for (size_t i = 0; i < count; i++)
        shares[i] =
            (struct score_share){ .project =
                                      file->shares[i]->project ? file->shares[i]->project : "",
                                  .of_user = file->shares[i]->has_uid,
                                  .uid = file->shares[i]->uid,
                                  .shares = file->shares[i]->shares };
    *ret_count = count;
    return shares;
}

/* ---- quotas ---- */

static bool is_pool(const struct core_pool *pools, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pools[i].name, name) == 0)
            return true;
    return false;
}

static bool is_currency(const struct core_pool *pools, size_t count, const char *currency)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pools[i].currency, currency) == 0)
            return true;
    return false;
}

/* Whose quota it is. False: that is wrong. */
static bool read_party(struct findings *findings, const char *field, const Wafer__QuotaRule *rule,
                       struct quota_rule *ret)
{
    _Static_assert((int)WAFER__QUOTA_PARTY__KIND__queue == (int)QUOTA_QUEUE, "the same numbers");
    int parties = rule->has_every + (rule->user != NULL) + rule->has_uid + (rule->project != NULL) +
                  (rule->queue != NULL);

    if (parties != 1) {
        findings_add(findings, field, "it names %s of every, user, uid, project and queue: one",
                     parties ? "several" : "none");
        return false;
    }
    ret->every = rule->has_every;
    ret->kind = rule->has_every ? (enum quota_kind)rule->every
                : rule->project ? QUOTA_PROJECT
                : rule->queue   ? QUOTA_QUEUE
                                : QUOTA_USER;
    ret->uid = rule->uid;
    ret->name = rule->project ? rule->project : rule->queue;
    owned(free) char *user = text_format("%s.user", field);
    return !rule->user || roles_find_user(findings, user, rule->user, &ret->uid);
}

static uint32_t days_of(const Wafer__Duration *window)
{
    return (uint32_t)(window->us / DAY_US);
}

static const char *currency_of(const Wafer__Budget *budget)
{
    return budget->hard ? budget->hard->currency : budget->soft ? budget->soft->currency : NULL;
}

static void check_window(struct findings *findings, const char *field,
                         const Wafer__Duration *window)
{
    if (window->us % DAY_US || window->us > (int64_t)ACCOUNT_DAYS * DAY_US)
        findings_add(findings, field, "a window is of whole days, at most %d", ACCOUNT_DAYS);
}

static void check_windows(struct findings *findings, const char *field,
                          const Wafer__QuotaRule *rule)
{
    owned(free) char *hours = text_format("%s.system_hours", field);
    owned(free) char *budget = text_format("%s.budget", field);

    if (rule->system_hours)
        check_window(findings, hours, rule->system_hours->window);
    if (!rule->budget)
        return;
    const Wafer__Money *soft = rule->budget->soft, *hard = rule->budget->hard;
    check_window(findings, budget, rule->budget->window);
    if (!soft && !hard)
        findings_add(findings, budget, "it has neither soft nor hard");
    else if (soft && hard && strcmp(soft->currency, hard->currency) != 0)
        findings_add(findings, budget, "soft and hard are of two currencies");
    else if (soft && hard && soft->micro > hard->micro)
        findings_add(findings, budget, "soft is above hard");
}

static struct quota_limits read_limits(const Wafer__QuotaRule *rule)
{
    const Wafer__SystemHours *hours = rule->system_hours;
    const Wafer__Budget *budget = rule->budget;

    return (struct quota_limits){
        .systems = rule->has_systems ? rule->systems : QUOTA_UNLIMITED,
        .pending = rule->has_pending ? rule->pending : QUOTA_UNLIMITED,
        .array = rule->has_array ? rule->array : QUOTA_UNLIMITED,
        .limit_max_us = rule->max_limit ? rule->max_limit->us : INT64_MAX,
        .limit_default_us = rule->default_limit ? rule->default_limit->us : 0,
        .system_us = hours ? (int64_t)hours->max * HOUR_US : INT64_MAX,
        .system_days = hours ? days_of(hours->window) : 0,
        .warn_micro = budget && budget->soft ? budget->soft->micro : INT64_MAX,
        .budget_micro = budget && budget->hard ? budget->hard->micro : INT64_MAX,
        .currency = budget ? currency_of(budget) : NULL,
        .budget_days = budget ? days_of(budget->window) : 0,
    };
}

static bool is_same_party(const struct quota_rule *a, const struct quota_rule *b)
{
    return a->kind == b->kind && a->every == b->every && a->uid == b->uid && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0);
}

void scheduling_quotas(struct findings *findings, const Wafer__Scheduling *file,
                       const struct core_pool *pools, size_t pool_count, struct quota_rules *ret)
{
    struct quota_rule *rules = memory_new(file->n_quotas * sizeof(*rules) + 1);

    for (size_t i = 0; i < file->n_quotas; i++) {
        const Wafer__QuotaRule *rule = file->quotas[i];
        owned(free) char *field = text_format("quotas[%zu]", i);
        rules[i] = (struct quota_rule){ .limits = read_limits(rule) };
        if (!read_party(findings, field, rule, &rules[i]))
            continue;
        if (rule->queue && !is_pool(pools, pool_count, rule->queue))
            findings_add(findings, field, "there is no queue '%.80s' here", rule->queue);
        check_windows(findings, field, rule);
        const char *currency = rules[i].limits.currency;
        if (currency && !is_currency(pools, pool_count, currency))
            findings_add(findings, field, "no pool is paid for in %s", currency);
        if (rules[i].limits.limit_default_us > rules[i].limits.limit_max_us)
            findings_add(findings, field, "default_limit is above max_limit");
        for (size_t n = 0; n < i; n++)
            if (is_same_party(&rules[n], &rules[i]))
                findings_add(findings, field, "quotas[%zu] is for the same one", n);
    }
    *ret = (struct quota_rules){ rules, file->n_quotas };
}
