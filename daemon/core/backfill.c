/* Backfill with one reservation, that of the first job that waits. */
#include "base/later.h"
#include "base/sort.h"
#include "core/scheduler_inside.h"

struct reservation {
    size_t domain;
    int64_t start_us;
    int64_t spare; /* free then beside it */
};

/* Where and when the job could start if nobody else did: all that end at an instant count. */
static struct reservation reserve(const struct scheduler *scheduler, uint32_t systems)
{
    struct reservation best = { scheduler->domain_count, INT64_MAX, 0 };

    for (size_t i = 0; i < scheduler->domain_count; i++) {
        const struct domain *domain = &scheduler->domains[i];
        int64_t free = domain->idle, end_us = INT64_MIN;
        for (size_t at = 0; at < domain->end_count; at++) {
            if (free >= systems && domain->ends[at].end_us != end_us)
                break;
            end_us = domain->ends[at].end_us;
            free += domain->ends[at].entry->returns;
        }
        if (free >= systems && (end_us < best.start_us || best.domain == scheduler->domain_count))
            best = (struct reservation){ i, end_us, free - systems };
    }
    return best;
}

static bool ends_in_time(const struct pass *pass, const struct schedule_entry *entry,
                         const struct reservation *held)
{
    return entry->limit_us < INT64_MAX && later_us(pass->now_us, entry->limit_us) <= held->start_us;
}

/* The domain in which the job may pass the head; the number of domains: it may not. */
static size_t passing_domain(const struct pass *pass, const struct schedule_entry *entry,
                             const struct reservation *held)
{
    const struct scheduler *scheduler = pass->scheduler;
    size_t best = scheduler->domain_count;

    for (size_t i = 0; i < scheduler->domain_count; i++) {
        int64_t idle = scheduler->domains[i].idle;
        if (idle < entry->systems ||
            (best < scheduler->domain_count && idle >= scheduler->domains[best].idle))
            continue;
        if (i != held->domain || entry->systems <= held->spare || ends_in_time(pass, entry, held))
            best = i;
    }
    return best;
}

static bool pass_head(const struct pass *pass, struct schedule_entry *entry,
                      struct reservation *held)
{
    size_t domain = passing_domain(pass, entry, held);

    if (domain == pass->scheduler->domain_count)
        return false;
    if (domain == held->domain && !ends_in_time(pass, entry, held))
        held->spare -= entry->systems;
    pass_start(pass, entry, domain);
    return true;
}

/* What any job that may pass the head looks like. */
static struct waiting_filter filter_of(const struct pass *pass, const struct reservation *held)
{
    struct waiting_filter filter = { 0, 0, 0 };

    for (size_t i = 0; i < pass->scheduler->domain_count; i++) {
        int64_t idle = pass->scheduler->domains[i].idle;
        if (idle > filter.systems)
            filter.systems = (uint32_t)idle;
        int64_t spare = i == held->domain && held->spare < idle ? held->spare : idle;
        if (spare > filter.spare)
            filter.spare = (uint32_t)spare;
    }
    filter.limit_us = held->start_us < INT64_MAX ? held->start_us - pass->now_us : INT64_MAX - 1;
    return filter;
}

static int by_limit(const void *a, const void *b)
{
    const struct schedule_entry *one = *(struct schedule_entry *const *)a;
    const struct schedule_entry *other = *(struct schedule_entry *const *)b;

    return (one->limit_us > other->limit_us) - (one->limit_us < other->limit_us);
}

static void backfill_shortest(const struct pass *pass, struct reservation *held)
{
    struct scheduler *scheduler = pass->scheduler;
    struct waiting_filter filter = filter_of(pass, held);
    struct waiting_place place = { 0, 1 }; /* behind the head */

    scheduler->candidate_count = 0;
    for (struct schedule_entry *entry; (entry = waiting_find(&scheduler->waiting, &place, &filter));
         place.slot++)
        pass_add_candidate(pass, entry);
    /* Equals stay in the order in which they wait. */
    sort_stable(scheduler->candidates, scheduler->candidate_count, sizeof(*scheduler->candidates),
                by_limit);
    for (size_t i = 0; i < scheduler->candidate_count; i++)
        pass_head(pass, scheduler->candidates[i], held);
}

static void backfill_in_order(const struct pass *pass, struct reservation *held)
{
    struct scheduler *scheduler = pass->scheduler;
    struct waiting_filter filter = filter_of(pass, held);
    struct waiting_place place = { 0, 1 };

    for (struct schedule_entry *entry, *next;
         filter.systems && (entry = waiting_find(&scheduler->waiting, &place, &filter));) {
        next = waiting_next(&scheduler->waiting, entry);
        if (pass_head(pass, entry, held))
            filter = filter_of(pass, held);
        if (!next)
            return;
        place = waiting_place_of(next); /* chunks may have been joined */
    }
}

void pass_easy(const struct pass *pass)
{
    const struct schedule_entry *head = pass_start_in_order(pass);

    if (!head || pass->scheduler->waiting.count < 2)
        return;
    struct reservation held = reserve(pass->scheduler, head->systems);
    if (pass->scheduler->rules.backfill == SCHEDULE_BACKFILL_EASY_SJBF)
        backfill_shortest(pass, &held);
    else
        backfill_in_order(pass, &held);
}
