/* A pass where there are windows: all is planned afresh in lanes, in the order of the queue. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/scheduler_inside.h"

struct planning {
    const struct pass *pass; /* NULL: a question */
    struct plan plan;
    uint32_t *shares; /* of whoever starts next */
};

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->placed[i].shares);
    free(plan->placed);
    lanes_done(&plan->lanes);
    *plan = (struct plan){ .placed = NULL };
}

static void planning_init(struct planning *planning, const struct scheduler *scheduler,
                          const struct pass *pass, int64_t now_us)
{
    *planning = (struct planning){ .pass = pass };
    lanes_init(&planning->plan.lanes, now_us);
    scheduler->fill(scheduler->fill_userdata, &planning->plan.lanes);
    planning->shares = memory_new((planning->plan.lanes.count + 1) * sizeof(*planning->shares));
}

static void planning_done(struct planning *planning)
{
    plan_done(&planning->plan);
    free(planning->shares);
}

static struct lane_demand demand_of(const struct schedule_entry *entry)
{
    return (struct lane_demand){ entry->systems, entry->limit_us, entry->reservation, false };
}

/* What any job that may start now looks like: as many systems as are idle in any domain. */
static struct waiting_filter filter_of(const struct scheduler *scheduler)
{
    struct waiting_filter filter = { 0, 0, INT64_MAX };

    for (size_t i = 0; i < scheduler->domain_count; i++)
        if (scheduler->domains[i].idle > (int64_t)filter.systems)
            filter.systems = (uint32_t)scheduler->domains[i].idle;
    filter.spare = filter.systems;
    return filter;
}

/* ---- reservations ---- */

static uint32_t *place(struct planning *planning, struct schedule_entry *entry)
{
    struct plan *plan = &planning->plan;

    ARRAY_RESERVE(plan->placed, plan->count, plan->capacity);
    struct placed *placed = &plan->placed[plan->count++];
    placed->entry = entry;
    placed->shares = memory_new((plan->lanes.count + 1) * sizeof(*placed->shares));
    return placed->shares;
}

/* What it took in the pass before; NULL: that says nothing any more. `at` moves on, as the queue is
 * walked. */
static const uint32_t *kept_shares(const struct scheduler *scheduler, bool alike,
                                   const struct schedule_entry *entry, size_t *at)
{
    const struct plan *before = &scheduler->plan;

    for (size_t i = *at; alike && i < before->count; i++)
        if (before->placed[i].entry == entry) {
            *at = i + 1;
            return before->placed[i].shares;
        }
    return NULL;
}

static bool keeps_reservations(const struct scheduler *scheduler)
{
    return scheduler_plans(scheduler);
}

/* How many that do not start are waited for. */
static size_t depth_of(const struct scheduler *scheduler)
{
    return keeps_reservations(scheduler) ? reservations_depth(scheduler) : 1;
}

/* Those of the pass before, each where it was, until the first that has none, or whose place is not
 * there any more: it and those behind it are planned anew. */
static void place_kept(struct planning *planning)
{
    struct scheduler *scheduler = planning->pass->scheduler;
    size_t left = scheduler->planned_count, depth = depth_of(scheduler);
    bool stands = true, alike = lanes_are_alike(&planning->plan.lanes, &scheduler->plan.lanes);
    struct waiting_place at = { 0, 0 };
    size_t before = 0;

    while (left) {
        struct schedule_entry *entry = waiting_walk(&scheduler->waiting, &at);
        if (entry->planned_us == INT64_MAX) {
            stands = false;
            continue;
        }
        left--;
        int64_t us =
            entry->planned_us > planning->pass->now_us ? entry->planned_us : planning->pass->now_us;
        const struct lane_demand demand = demand_of(entry);
        const uint32_t *shares = kept_shares(scheduler, alike, entry, &before);
        bool retaken = stands && planning->plan.count < depth && shares &&
                       lanes_retake(&planning->plan.lanes, &demand, us, shares);
        stands = retaken || (stands && planning->plan.count < depth &&
                             lanes_fit(&planning->plan.lanes, &demand, entry->domain, us));
        size_t domain = entry->domain;
        reservation_give_back(scheduler, entry);
        if (!stands)
            continue;
        uint32_t *now = place(planning, entry);
        if (retaken)
            memcpy(now, shares, planning->plan.lanes.count * sizeof(*now));
        else
            lanes_take(&planning->plan.lanes, &demand, domain, us, now);
        reservation_make(scheduler, entry, domain, us);
    }
}

/* Each in turn gives its own back and takes the earliest. */
static void compress(struct planning *planning)
{
    struct scheduler *scheduler = planning->pass->scheduler;

    for (size_t i = 0; i < planning->plan.count; i++) {
        struct placed *placed = &planning->plan.placed[i];
        struct schedule_entry *entry = placed->entry;
        const struct lane_demand demand = demand_of(entry);
        int64_t us = entry->planned_us;
        size_t domain = entry->domain;
        lanes_give_back(&planning->plan.lanes, &demand, us, placed->shares);
        int64_t earlier_us =
            lanes_find(&planning->plan.lanes, &demand, planning->pass->now_us, us, &domain);
        us = earlier_us < us ? earlier_us : us;
        lanes_take(&planning->plan.lanes, &demand, domain, us, placed->shares);
        reservation_give_back(scheduler, entry);
        reservation_make(scheduler, entry, domain, us);
    }
}

/* ---- who starts ---- */

static void start(struct planning *planning, struct schedule_entry *entry, size_t domain,
                  uint32_t *shares)
{
    planning->pass->scheduler->shares = shares;
    pass_start(planning->pass, entry, domain);
    planning->pass->scheduler->shares = NULL;
}

static bool start_now(struct planning *planning, struct schedule_entry *entry)
{
    struct lane_demand demand = demand_of(entry);
    int64_t now_us = planning->pass->now_us;
    size_t domain;

    demand.at_once = true;
    if (lanes_find(&planning->plan.lanes, &demand, now_us, now_us + 1, &domain) == INT64_MAX)
        return false;
    lanes_take(&planning->plan.lanes, &demand, domain, now_us, planning->shares);
    start(planning, entry, domain, planning->shares);
    return true;
}

/* Whoever had them may have outlasted its limit. */
static bool are_idle(const struct lanes *lanes, const uint32_t *shares)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->items[i].idle < (int64_t)shares[i])
            return false;
    return true;
}

static void start_kept(struct planning *planning)
{
    struct plan *plan = &planning->plan;

    for (size_t i = 0; i < plan->count; i++) {
        struct schedule_entry *entry = plan->placed[i].entry;
        uint32_t *shares = plan->placed[i].shares;
        if (entry->planned_us > planning->pass->now_us || !are_idle(&plan->lanes, shares))
            continue;
        for (size_t lane = 0; lane < plan->lanes.count; lane++)
            plan->lanes.items[lane].idle -= shares[lane];
        plan->placed[i].entry = NULL;
        start(planning, entry, entry->domain, shares);
    }
}

/* From the head: who can starts, as long as there are fewer than `depth` that wait for their time.
 * The first behind them, or NULL. */
static struct schedule_entry *start_or_reserve(struct planning *planning)
{
    struct scheduler *scheduler = planning->pass->scheduler;
    size_t depth = depth_of(scheduler), reserved = 0;
    struct schedule_entry *entry = waiting_first(&scheduler->waiting), *next;
    size_t domain;

    for (; entry && reserved < depth; entry = next) {
        const struct lane_demand demand = demand_of(entry);
        next = waiting_next(&scheduler->waiting, entry);
        if (entry->planned_us < INT64_MAX) {
            reserved++;
            continue;
        }
        if (start_now(planning, entry))
            continue;
        if (scheduler->rules.backfill == SCHEDULE_BACKFILL_NONE)
            return NULL;
        int64_t us =
            lanes_find(&planning->plan.lanes, &demand, planning->pass->now_us, INT64_MAX, &domain);
        if (us == INT64_MAX)
            continue; /* it fits nowhere as it is, and keeps nobody back */
        lanes_take(&planning->plan.lanes, &demand, domain, us, place(planning, entry));
        if (keeps_reservations(scheduler))
            reservation_make(scheduler, entry, domain, us);
        reserved++;
    }
    return entry;
}

static int by_limit(const void *a, const void *b)
{
    const struct schedule_entry *one = *(struct schedule_entry *const *)a;
    const struct schedule_entry *other = *(struct schedule_entry *const *)b;

    return (one->limit_us > other->limit_us) - (one->limit_us < other->limit_us);
}

/* What fits between the reservations. */
static void backfill(struct planning *planning, const struct schedule_entry *first)
{
    struct scheduler *scheduler = planning->pass->scheduler;
    struct waiting_filter filter = filter_of(scheduler);
    struct waiting_place at = waiting_place_of(first);

    scheduler->candidate_count = 0;
    for (struct schedule_entry *entry;
         filter.systems && (entry = waiting_find(&scheduler->waiting, &at, &filter)); at.slot++)
        pass_add_candidate(planning->pass, entry);
    if (scheduler->rules.backfill == SCHEDULE_BACKFILL_EASY_SJBF)
        sort_stable(scheduler->candidates, scheduler->candidate_count,
                    sizeof(*scheduler->candidates), by_limit);
    for (size_t i = 0; i < scheduler->candidate_count && filter.systems; i++) {
        struct schedule_entry *entry = scheduler->candidates[i];
        if (entry->systems <= filter.systems && start_now(planning, entry))
            filter = filter_of(scheduler);
    }
}

/* One that is due waits for an end, and for no time. */
static int64_t next_look(const struct planning *planning)
{
    int64_t next_us = lanes_next_edge(&planning->plan.lanes, planning->plan.lanes.now_us);

    for (size_t i = 0; i < planning->plan.count; i++) {
        const struct schedule_entry *entry = planning->plan.placed[i].entry;
        if (entry && entry->planned_us > planning->plan.lanes.now_us && entry->planned_us < next_us)
            next_us = entry->planned_us;
    }
    return next_us;
}

void pass_windows(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    struct planning planning;

    planning_init(&planning, scheduler, pass, pass->now_us);
    place_kept(&planning);
    if (scheduler->ended)
        compress(&planning);
    scheduler->ended = false;
    start_kept(&planning);
    const struct schedule_entry *behind = start_or_reserve(&planning);
    if (behind)
        backfill(&planning, behind);
    scheduler->next_us = next_look(&planning);
    plan_done(&scheduler->plan);
    if (keeps_reservations(scheduler)) {
        scheduler->plan = planning.plan;
        planning.plan = (struct plan){ .placed = NULL };
    }
    planning_done(&planning);
}

/* ---- what is to come ---- */

#define UNTOLD INT64_MIN

/* Reservations stand; of the first `count` their times are told. */
static void foretell_kept(struct planning *planning, const struct scheduler *scheduler,
                          int64_t *ret_starts, size_t count)
{
    struct plan *plan = &planning->plan;
    bool alike = lanes_are_alike(&plan->lanes, &scheduler->plan.lanes);
    size_t before = 0, left = scheduler->planned_count, seen = 0;
    struct waiting_place at = { 0, 0 };

    while (left || seen < count) {
        const struct schedule_entry *entry = waiting_walk(&scheduler->waiting, &at);
        if (!entry)
            return;
        size_t place = seen++;
        if (place < count)
            ret_starts[place] = UNTOLD;
        if (entry->planned_us == INT64_MAX)
            continue;
        left--;
        const struct lane_demand demand = demand_of(entry);
        int64_t us =
            entry->planned_us > plan->lanes.now_us ? entry->planned_us : plan->lanes.now_us;
        const uint32_t *shares = kept_shares(scheduler, alike, entry, &before);
        if (!shares || !lanes_retake(&plan->lanes, &demand, us, shares))
            continue; /* it will be planned anew */
        if (place < count)
            ret_starts[place] = us;
    }
}

size_t forecast_windows(const struct scheduler *scheduler, int64_t now_us, int64_t *ret_starts,
                        size_t count)
{
    struct planning planning;
    struct waiting_place at = { 0, 0 };
    int64_t from_us = now_us;
    size_t seen = 0, domain;

    planning_init(&planning, scheduler, NULL, now_us);
    foretell_kept(&planning, scheduler, ret_starts, count);
    for (struct schedule_entry *entry;
         seen < count && (entry = waiting_walk(&scheduler->waiting, &at)); seen++) {
        const struct lane_demand demand = demand_of(entry);
        if (ret_starts[seen] != UNTOLD)
            continue;
        int64_t us = from_us == INT64_MAX
                         ? from_us
                         : lanes_find(&planning.plan.lanes, &demand, from_us, INT64_MAX, &domain);
        if (us < INT64_MAX)
            lanes_take(&planning.plan.lanes, &demand, domain, us, planning.shares);
        if (scheduler->rules.backfill == SCHEDULE_BACKFILL_NONE)
            from_us = us;
        ret_starts[seen] = us;
    }
    planning_done(&planning);
    return seen;
}
