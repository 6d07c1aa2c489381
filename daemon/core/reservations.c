/* A reservation for each of the first that wait. */
#include <stdlib.h>

#include "base/later.h"
#include "base/memory.h"
#include "core/scheduler_inside.h"

size_t reservations_depth(const struct scheduler *scheduler)
{
    return scheduler->rules.depth ? scheduler->rules.depth : SIZE_MAX;
}

/* Where and when the job may start, before `before_us`: the earliest hole from `from_us` on. One
 * that has a reservation looks for another, and does not stand in its own way. INT64_MAX: there is
 * none. */
static int64_t earliest(const struct domain *domains, size_t count,
                        const struct schedule_entry *entry, int64_t from_us, int64_t before_us,
                        size_t *ret_domain)
{
    int64_t best_us = INT64_MAX;

    for (size_t i = 0; i < count; i++) {
        int64_t own_us = i == entry->domain ? entry->planned_us : INT64_MAX;
        int64_t us = profile_find(&domains[i].profile, from_us, before_us, entry->limit_us,
                                  entry->systems, own_us);
        if (us < best_us) {
            best_us = before_us = us;
            *ret_domain = i;
        }
    }
    return best_us;
}

/* The systems of the job are taken (-1) or given back (1) over the time that it would run. */
static void occupy(struct domain *domain, const struct schedule_entry *entry, int64_t start_us,
                   int64_t sign)
{
    profile_add(&domain->profile, start_us, later_us(start_us, entry->limit_us),
                sign * (int64_t)entry->systems);
}

void reservation_make(struct scheduler *scheduler, struct schedule_entry *entry, size_t domain,
                      int64_t us)
{
    entry->domain = (uint32_t)domain;
    entry->planned_us = us;
    scheduler->planned_count++;
    occupy(&scheduler->domains[domain], entry, us, -1);
}

void reservation_give_back(struct scheduler *scheduler, struct schedule_entry *entry)
{
    if (entry->planned_us == INT64_MAX)
        return;
    occupy(&scheduler->domains[entry->domain], entry, entry->planned_us, 1);
    entry->planned_us = INT64_MAX;
    scheduler->planned_count--;
}

/* Of all from `place` on. */
static void give_back_from(struct scheduler *scheduler, struct waiting_place place)
{
    for (struct schedule_entry *entry; (entry = waiting_walk(&scheduler->waiting, &place));)
        reservation_give_back(scheduler, entry);
}

/* One that fits nowhere (its domain is away) stays without, and keeps nobody back. */
static void plan(const struct pass *pass, struct schedule_entry *entry)
{
    struct scheduler *scheduler = pass->scheduler;
    size_t domain;
    int64_t us = earliest(scheduler->domains, scheduler->domain_count, entry, pass->now_us,
                          INT64_MAX, &domain);

    if (us < INT64_MAX)
        reservation_make(scheduler, entry, domain, us);
}

/* Each of the first has one; where one that has none comes before others, they make room. */
static void plan_new(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    size_t depth = reservations_depth(scheduler), seen = 0;
    struct waiting_place place = { 0, 0 }, here = place;

    if (!scheduler->plan_wanted)
        return;
    scheduler->plan_wanted = false;
    for (struct schedule_entry *entry; (entry = waiting_walk(&scheduler->waiting, &place));
         here = place) {
        if (!depth--) {
            if (seen < scheduler->planned_count)
                give_back_from(scheduler, here);
            break;
        }
        if (entry->planned_us < INT64_MAX) {
            seen++;
            continue;
        }
        if (seen < scheduler->planned_count)
            give_back_from(scheduler, here);
        plan(pass, entry);
        if (entry->planned_us < INT64_MAX)
            seen++;
        else
            scheduler->plan_wanted = true; /* it fits nowhere now: ask again */
    }
}

/* Each in turn gives its own back and takes the earliest; one that is due stays. */
static void compress(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    size_t left = scheduler->planned_count;
    struct waiting_place place = { 0, 0 };

    while (left) {
        struct schedule_entry *entry = waiting_walk(&scheduler->waiting, &place);
        size_t domain;
        if (entry->planned_us == INT64_MAX)
            continue;
        left--;
        if (entry->planned_us <= pass->now_us)
            continue;
        int64_t us = earliest(scheduler->domains, scheduler->domain_count, entry, pass->now_us,
                              entry->planned_us, &domain);
        if (us < INT64_MAX) {
            reservation_give_back(scheduler, entry);
            reservation_make(scheduler, entry, domain, us);
        }
    }
}

static void start_due(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    size_t left = scheduler->planned_count;
    struct waiting_place place = { 0, 0 };

    scheduler->next_us = INT64_MAX;
    scheduler->candidate_count = 0;
    while (left) {
        struct schedule_entry *entry = waiting_walk(&scheduler->waiting, &place);
        if (entry->planned_us == INT64_MAX)
            continue;
        left--;
        if (entry->planned_us <= pass->now_us)
            pass_add_candidate(pass, entry);
        else if (entry->planned_us < scheduler->next_us)
            scheduler->next_us = entry->planned_us;
    }
    for (size_t i = 0; i < scheduler->candidate_count; i++) {
        struct schedule_entry *entry = scheduler->candidates[i];
        if (scheduler->domains[entry->domain].idle >= entry->systems)
            pass_start(pass, entry, entry->domain);
    }
}

/* Further back than the depth: what fits between the reservations. */
static void backfill_behind(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    struct waiting_filter filter = { 0, 0, 0 };
    struct waiting_place place = { 0, 0 };
    size_t skip = reservations_depth(scheduler);

    if (scheduler->waiting.count <= skip)
        return;
    while (skip >= scheduler->waiting.chunks[place.chunk]->count)
        skip -= scheduler->waiting.chunks[place.chunk++]->count;
    place.slot = (uint32_t)skip;
    for (size_t i = 0; i < scheduler->domain_count; i++) {
        int64_t until_us, free;
        free = profile_at(&scheduler->domains[i].profile, pass->now_us, &until_us);
        if (free > scheduler->domains[i].idle)
            free = scheduler->domains[i].idle;
        if (free > (int64_t)filter.systems)
            filter.systems = (uint32_t)free;
        if (free <= 0)
            continue;
        int64_t span_us = until_us < INT64_MAX ? until_us - pass->now_us : INT64_MAX;
        if (span_us > filter.limit_us)
            filter.limit_us = span_us;
    }
    for (struct schedule_entry *entry, *next;
         filter.systems && (entry = waiting_find(&scheduler->waiting, &place, &filter));) {
        size_t domain;
        next = waiting_next(&scheduler->waiting, entry);
        int64_t us = earliest(scheduler->domains, scheduler->domain_count, entry, pass->now_us,
                              pass->now_us + 1, &domain);
        if (us < INT64_MAX && scheduler->domains[domain].idle >= entry->systems)
            pass_start(pass, entry, domain);
        if (!next)
            return;
        place = waiting_place_of(next);
    }
}

void pass_conservative(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;

    for (size_t i = 0; i < scheduler->domain_count; i++) {
        profile_forget(&scheduler->domains[i].profile, pass->now_us);
        if (scheduler->doubtful && scheduler->planned_count &&
            profile_least(&scheduler->domains[i].profile, pass->now_us, INT64_MAX) < 0) {
            give_back_from(scheduler, (struct waiting_place){ 0, 0 });
            scheduler->plan_wanted = true;
        }
    }
    scheduler->doubtful = false;
    if (scheduler->ended) /* who was there before has the first choice of what was given back */
        compress(pass);
    scheduler->ended = false;
    size_t count;
    do { /* who starts makes room for a further reservation, which may be due as well */
        count = scheduler->waiting.count;
        plan_new(pass);
        start_due(pass);
    } while (scheduler->waiting.count < count);
    backfill_behind(pass);
}

/* Without reservations: what is idle, and what running jobs give back. One that has outlasted its
 * limit at `now_us` may end any moment. */
static void profile_running(struct domain *domain, int64_t now_us)
{
    profile_init(&domain->profile);
    profile_add(&domain->profile, INT64_MIN, INT64_MAX, domain->idle);
    for (size_t at = 0; at < domain->end_count; at++) {
        int64_t end_us = domain->ends[at].end_us > now_us ? domain->ends[at].end_us : now_us + 1;
        profile_add(&domain->profile, end_us, INT64_MAX, domain->ends[at].entry->returns);
    }
}

void reservations_reset(struct scheduler *scheduler)
{
    give_back_from(scheduler, (struct waiting_place){ 0, 0 });
    for (size_t i = 0; i < scheduler->domain_count; i++) {
        profile_done(&scheduler->domains[i].profile);
        if (scheduler_plans(scheduler))
            profile_running(&scheduler->domains[i], INT64_MIN);
        else
            profile_init(&scheduler->domains[i].profile);
    }
    scheduler->plan_wanted = true;
}

/* ---- what is to come ---- */

static size_t forecast_counts(const struct scheduler *scheduler, int64_t now_us,
                              int64_t *ret_starts, size_t count)
{
    size_t domain_count = scheduler->domain_count, seen = 0, domain;
    struct domain *domains = memory_new((domain_count + 1) * sizeof(*domains));
    struct waiting_place place = { 0, 0 };
    int64_t from_us = now_us;

    for (size_t i = 0; i < domain_count; i++) {
        domains[i] = scheduler->domains[i];
        profile_running(&domains[i], now_us);
    }
    /* Reservations stand, also against those that come before them and have none. */
    for (size_t left = scheduler->planned_count; left;) {
        struct schedule_entry *entry = waiting_walk(&scheduler->waiting, &place);
        if (entry->planned_us == INT64_MAX)
            continue;
        left--;
        occupy(&domains[entry->domain], entry, entry->planned_us, -1);
    }
    place = (struct waiting_place){ 0, 0 };
    for (struct schedule_entry *entry;
         seen < count && (entry = waiting_walk(&scheduler->waiting, &place)); seen++) {
        int64_t start_us = entry->planned_us;
        if (start_us == INT64_MAX && from_us < INT64_MAX) {
            start_us = earliest(domains, domain_count, entry, from_us, INT64_MAX, &domain);
            if (start_us < INT64_MAX)
                occupy(&domains[domain], entry, start_us, -1);
        }
        /* Where nobody passes, whoever waits for ever keeps all behind him waiting. */
        if (scheduler->rules.backfill == SCHEDULE_BACKFILL_NONE)
            from_us = start_us;
        ret_starts[seen] = start_us < now_us ? now_us : start_us;
    }
    for (size_t i = 0; i < domain_count; i++)
        profile_done(&domains[i].profile);
    free(domains);
    return seen;
}

size_t scheduler_forecast(const struct scheduler *scheduler, int64_t now_us, int64_t *ret_starts,
                          size_t count)
{
    return scheduler->fill ? forecast_windows(scheduler, now_us, ret_starts, count)
                           : forecast_counts(scheduler, now_us, ret_starts, count);
}
