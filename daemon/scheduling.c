#include "scheduling.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "roles.h"

#define DEPTH 1000

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
