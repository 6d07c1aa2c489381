/* Invariants
 *   - an entry waits (`chunk`), runs, or is unknown here; never two of these
 *   - `ends` of a domain are its running entries by `end_us`, equals as they started
 *   - under conservative backfill a domain's profile holds what is idle, what running jobs
 *     give back at their ends, and what reservations take; under any other it is not kept
 *   - a reservation stands until its job starts or leaves, it takes an earlier one, somebody who
 *     comes before it needs its place, or the world broke what it was planned on (`doubtful`) */
#include "core/scheduler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"
#include "core/profile.h"
#include "core/waiting.h"

struct end {
    int64_t end_us;
    struct schedule_entry *entry;
};

struct domain {
    int64_t idle;
    struct end *ends;
    size_t end_count, end_capacity;
    struct profile profile;
};

struct scheduler {
    struct schedule_rules rules;
    struct waiting waiting;
    struct domain *domains;
    size_t domain_count;
    size_t planned_count; /* entries with a reservation */
    int64_t next_us;      /* the earliest reservation, as of the last pass */
    bool plan_wanted;     /* somebody may have none who should have one */
    bool ended;           /* since the last pass: reservations may move */
    bool doubtful;        /* what reservations stand on may have changed for the worse */
    bool in_pass;
    struct schedule_entry **candidates; /* of a pass: to be started, perhaps */
    size_t candidate_count, candidate_capacity;
};

/* ---- order ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_number(const struct schedule_entry *a, const struct schedule_entry *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_limit(const struct schedule_entry *a, const struct schedule_entry *b)
{
    int order = a->bucket == b->bucket ? compare(a->limit_us, b->limit_us) : 0;

    return order ? order : by_number(a, b);
}

/* For waiting_sort(): equals stay as they are. */
static int by_score(const struct schedule_entry *a, const struct schedule_entry *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return (a->score < b->score) - (a->score > b->score);
}

static const waiting_order_fn orders[] = {
    [SCHEDULE_ORDER_FCFS] = by_number,
    [SCHEDULE_ORDER_SJF] = by_limit,
    [SCHEDULE_ORDER_WFP] = by_number, /* where a new one goes: to the end, until the next sort */
};

static void score_all(struct scheduler *scheduler, int64_t now_us)
{
    for (size_t i = 0; i < scheduler->waiting.chunk_count; i++) {
        const struct waiting_chunk *chunk = scheduler->waiting.chunks[i];
        for (uint32_t slot = 0; slot < chunk->count; slot++) {
            struct schedule_entry *entry = chunk->slots[slot].entry;
            double ratio = (double)(now_us - entry->submitted_us) / (double)entry->limit_us;
            entry->score = ratio * ratio * ratio * entry->systems;
        }
    }
    waiting_sort(&scheduler->waiting, by_score);
}

/* ---- what the caller tells ---- */

static bool plans(const struct scheduler *scheduler)
{
    return scheduler->rules.backfill == SCHEDULE_BACKFILL_CONSERVATIVE;
}

struct scheduler *scheduler_new(const struct schedule_rules *rules)
{
    struct scheduler *scheduler = NEW(struct scheduler);

    scheduler->rules = *rules;
    scheduler->next_us = INT64_MAX;
    waiting_init(&scheduler->waiting, orders[rules->order]);
    return scheduler;
}

struct scheduler *scheduler_free(struct scheduler *scheduler)
{
    if (!scheduler)
        return NULL;
    waiting_done(&scheduler->waiting);
    for (size_t i = 0; i < scheduler->domain_count; i++) {
        free(scheduler->domains[i].ends);
        profile_done(&scheduler->domains[i].profile);
    }
    free(scheduler->domains);
    free(scheduler->candidates);
    free(scheduler);
    return NULL;
}

void scheduler_add_domain(struct scheduler *scheduler)
{
    scheduler->domains =
        memory_resize(scheduler->domains, scheduler->domain_count + 1, sizeof(*scheduler->domains));
    struct domain *domain = &scheduler->domains[scheduler->domain_count++];
    *domain = (struct domain){ .idle = 0 };
    profile_init(&domain->profile);
}

const struct schedule_rules *scheduler_rules(const struct scheduler *scheduler)
{
    return &scheduler->rules;
}

static void give_back(struct scheduler *scheduler, struct schedule_entry *entry)
{
    if (entry->planned_us == INT64_MAX)
        return;
    profile_add(&scheduler->domains[entry->domain].profile, entry->planned_us,
                later_us(entry->planned_us, entry->limit_us), entry->systems);
    entry->planned_us = INT64_MAX;
    scheduler->planned_count--;
}

/* Of all from `place` on. */
static void give_back_from(struct scheduler *scheduler, struct waiting_place place)
{
    for (struct schedule_entry *entry; (entry = waiting_walk(&scheduler->waiting, &place));)
        give_back(scheduler, entry);
}

void scheduler_set_rules(struct scheduler *scheduler, const struct schedule_rules *rules)
{
    struct waiting before = scheduler->waiting;

    if (rules->backfill == scheduler->rules.backfill && rules->order == scheduler->rules.order &&
        rules->depth == scheduler->rules.depth)
        return;

    give_back_from(scheduler, (struct waiting_place){ 0, 0 });
    for (size_t i = 0; i < scheduler->domain_count; i++) {
        struct domain *domain = &scheduler->domains[i];
        profile_done(&domain->profile);
        profile_init(&domain->profile);
    }
    scheduler->rules = *rules;
    for (size_t i = 0; i < scheduler->domain_count && plans(scheduler); i++) {
        const struct domain *domain = &scheduler->domains[i];
        profile_add(&scheduler->domains[i].profile, INT64_MIN, INT64_MAX, domain->idle);
        for (size_t at = 0; at < domain->end_count; at++)
            profile_add(&scheduler->domains[i].profile, domain->ends[at].end_us, INT64_MAX,
                        domain->ends[at].entry->returns);
    }
    waiting_init(&scheduler->waiting, orders[rules->order]);
    for (size_t i = 0; i < before.chunk_count; i++)
        for (uint32_t slot = 0; slot < before.chunks[i]->count; slot++)
            waiting_insert(&scheduler->waiting, before.chunks[i]->slots[slot].entry);
    waiting_done(&before);
    scheduler->plan_wanted = true;
}

void scheduler_idle(struct scheduler *scheduler, size_t domain, int64_t change)
{
    struct domain *at = &scheduler->domains[domain];

    at->idle += change;
    if (!plans(scheduler))
        return;
    profile_add(&at->profile, INT64_MIN, INT64_MAX, change);
    if (change < 0 && !scheduler->in_pass)
        scheduler->doubtful = true;
}

void scheduler_returns(struct scheduler *scheduler, struct schedule_entry *entry, int64_t change)
{
    entry->returns = (uint32_t)(entry->returns + change);
    if (!plans(scheduler))
        return;
    profile_add(&scheduler->domains[entry->domain].profile, entry->end_us, INT64_MAX, change);
    if (change < 0)
        scheduler->doubtful = true;
}

static size_t depth_of(const struct scheduler *scheduler)
{
    return scheduler->rules.depth ? scheduler->rules.depth : SIZE_MAX;
}

void scheduler_wait(struct scheduler *scheduler, struct schedule_entry *entry)
{
    entry->planned_us = INT64_MAX;
    if (scheduler->rules.order == SCHEDULE_ORDER_WFP)
        waiting_append(&scheduler->waiting, entry);
    else
        waiting_insert(&scheduler->waiting, entry);
    if (plans(scheduler) &&
        waiting_ahead(&scheduler->waiting, entry, depth_of(scheduler)) < depth_of(scheduler))
        scheduler->plan_wanted = true;
}

void scheduler_withdraw(struct scheduler *scheduler, struct schedule_entry *entry)
{
    scheduler->plan_wanted |= entry->planned_us < INT64_MAX;
    give_back(scheduler, entry);
    waiting_remove(&scheduler->waiting, entry);
}

/* Behind all that end no later. */
static size_t end_place(const struct domain *domain, int64_t end_us)
{
    size_t low = 0, high = domain->end_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (domain->ends[middle].end_us <= end_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void end_insert(struct domain *domain, struct schedule_entry *entry)
{
    size_t at = end_place(domain, entry->end_us);

    ARRAY_RESERVE(domain->ends, domain->end_count, domain->end_capacity);
    memmove(&domain->ends[at + 1], &domain->ends[at],
            (domain->end_count - at) * sizeof(*domain->ends));
    domain->ends[at] = (struct end){ entry->end_us, entry };
    domain->end_count++;
}

static void end_remove(struct domain *domain, const struct schedule_entry *entry)
{
    size_t at = end_place(domain, entry->end_us);

    do
        at--; /* it is there: of those that end then */
    while (domain->ends[at].entry != entry);
    domain->end_count--;
    memmove(&domain->ends[at], &domain->ends[at + 1],
            (domain->end_count - at) * sizeof(*domain->ends));
}

void scheduler_run(struct scheduler *scheduler, struct schedule_entry *entry, size_t domain,
                   int64_t end_us)
{
    if (entry->chunk)
        scheduler_withdraw(scheduler, entry);
    entry->domain = (uint32_t)domain;
    entry->end_us = end_us;
    entry->returns = 0;
    entry->is_running = true;
    end_insert(&scheduler->domains[domain], entry);
}

void scheduler_done(struct scheduler *scheduler, struct schedule_entry *entry)
{
    assert(!entry->returns);
    end_remove(&scheduler->domains[entry->domain], entry);
    entry->is_running = false;
}

void scheduler_ended(struct scheduler *scheduler)
{
    scheduler->ended = true;
}

/* ---- a pass ---- */

struct pass {
    struct scheduler *scheduler;
    int64_t now_us;
    scheduler_grant_fn grant;
    void *userdata;
};

static void start(const struct pass *pass, struct schedule_entry *entry, size_t domain)
{
    /* It begins later than was promised: whoever was to follow it may have to wait. */
    pass->scheduler->doubtful |= entry->planned_us < pass->now_us;
    size_t count = pass->scheduler->waiting.count;
    pass->grant(pass->userdata, entry, domain);
    assert(pass->scheduler->waiting.count < count); /* the entry itself may be gone */
}

/* Of the domains with room now, that with the least, so that large holes stay whole; the number of
 * domains: none has. */
static size_t tightest(const struct scheduler *scheduler, uint32_t systems)
{
    size_t best = scheduler->domain_count;

    for (size_t i = 0; i < scheduler->domain_count; i++)
        if (scheduler->domains[i].idle >= systems &&
            (best == scheduler->domain_count ||
             scheduler->domains[i].idle < scheduler->domains[best].idle))
            best = i;
    return best;
}

/* Start from the head of the queue what fits; the first that does not, or NULL. */
static struct schedule_entry *start_in_order(const struct pass *pass)
{
    struct schedule_entry *head;

    while ((head = waiting_first(&pass->scheduler->waiting))) {
        size_t domain = tightest(pass->scheduler, head->systems);
        if (domain == pass->scheduler->domain_count)
            return head;
        start(pass, head, domain);
    }
    return NULL;
}

/* ---- one reservation ---- */

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
    start(pass, entry, domain);
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

static int by_limit_then_order(const void *a, const void *b)
{
    const struct schedule_entry *one = *(struct schedule_entry *const *)a;
    const struct schedule_entry *other = *(struct schedule_entry *const *)b;
    int order = compare(one->limit_us, other->limit_us);

    if (order)
        return order;
    struct waiting_place here = waiting_place_of(one), there = waiting_place_of(other);
    if (here.chunk != there.chunk)
        return here.chunk < there.chunk ? -1 : 1;
    return here.slot < there.slot ? -1 : here.slot > there.slot;
}

static void add_candidate(struct scheduler *scheduler, struct schedule_entry *entry)
{
    ARRAY_RESERVE(scheduler->candidates, scheduler->candidate_count, scheduler->candidate_capacity);
    scheduler->candidates[scheduler->candidate_count++] = entry;
}

static void backfill_shortest(const struct pass *pass, struct reservation *held)
{
    struct scheduler *scheduler = pass->scheduler;
    struct waiting_filter filter = filter_of(pass, held);
    struct waiting_place place = { 0, 1 }; /* behind the head */

    scheduler->candidate_count = 0;
    for (struct schedule_entry *entry; (entry = waiting_find(&scheduler->waiting, &place, &filter));
         place.slot++) {
        add_candidate(scheduler, entry);
    }
    if (scheduler->candidate_count > 1)
        qsort(scheduler->candidates, scheduler->candidate_count, sizeof(*scheduler->candidates),
              by_limit_then_order);
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

static void pass_easy(const struct pass *pass)
{
    const struct schedule_entry *head = start_in_order(pass);

    if (!head || pass->scheduler->waiting.count < 2)
        return;
    struct reservation held = reserve(pass->scheduler, head->systems);
    if (pass->scheduler->rules.backfill == SCHEDULE_BACKFILL_EASY_SJBF)
        backfill_shortest(pass, &held);
    else
        backfill_in_order(pass, &held);
}

/* ---- a reservation for each ---- */

/* The earliest hole from now on; a job that has a reservation looks for an earlier one. False:
 * there is none before `before_us`. */
static bool find_hole(const struct pass *pass, const struct schedule_entry *entry,
                      int64_t before_us, size_t *ret_domain, int64_t *ret_us)
{
    const struct scheduler *scheduler = pass->scheduler;

    *ret_us = before_us;
    for (size_t i = 0; i < scheduler->domain_count; i++) {
        int64_t own_us = i == entry->domain ? entry->planned_us : INT64_MAX;
        int64_t us = profile_find(&scheduler->domains[i].profile, pass->now_us, *ret_us,
                                  entry->limit_us, entry->systems, own_us);
        if (us < *ret_us) {
            *ret_us = us;
            *ret_domain = i;
        }
    }
    return *ret_us < before_us;
}

static void plan_at(const struct pass *pass, struct schedule_entry *entry, size_t domain,
                    int64_t us)
{
    entry->domain = (uint32_t)domain;
    entry->planned_us = us;
    pass->scheduler->planned_count++;
    profile_add(&pass->scheduler->domains[domain].profile, us, later_us(us, entry->limit_us),
                -(int64_t)entry->systems);
}

/* One that fits nowhere (its domain is away) stays without, and keeps nobody back. */
static void plan(const struct pass *pass, struct schedule_entry *entry)
{
    size_t domain;
    int64_t us;

    if (find_hole(pass, entry, INT64_MAX, &domain, &us))
        plan_at(pass, entry, domain, us);
}

/* Each of the first has one; where one that has none comes before others, they make room. */
static void plan_new(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    size_t depth = depth_of(scheduler), seen = 0;
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
        int64_t us;
        if (entry->planned_us == INT64_MAX)
            continue;
        left--;
        if (entry->planned_us > pass->now_us &&
            find_hole(pass, entry, entry->planned_us, &domain, &us)) {
            give_back(scheduler, entry);
            plan_at(pass, entry, domain, us);
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
            add_candidate(scheduler, entry);
        else if (entry->planned_us < scheduler->next_us)
            scheduler->next_us = entry->planned_us;
    }
    for (size_t i = 0; i < scheduler->candidate_count; i++) {
        struct schedule_entry *entry = scheduler->candidates[i];
        if (scheduler->domains[entry->domain].idle >= entry->systems)
            start(pass, entry, entry->domain);
    }
}

/* Further back than the depth: what fits between the reservations. */
static void backfill_behind(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;
    struct waiting_filter filter = { 0, 0, 0 };
    struct waiting_place place = { 0, 0 };
    size_t skip = depth_of(scheduler);

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
        int64_t us;
        next = waiting_next(&scheduler->waiting, entry);
        if (find_hole(pass, entry, pass->now_us + 1, &domain, &us) &&
            scheduler->domains[domain].idle >= entry->systems)
            start(pass, entry, domain);
        if (!next)
            return;
        place = waiting_place_of(next);
    }
}

static void pass_conservative(const struct pass *pass)
{
    struct scheduler *scheduler = pass->scheduler;

    for (size_t i = 0; i < scheduler->domain_count; i++) {
        profile_forget(&scheduler->domains[i].profile, pass->now_us);
        if (scheduler->doubtful && scheduler->planned_count &&
            profile_least(&scheduler->domains[i].profile, pass->now_us) < 0) {
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

void scheduler_pass(struct scheduler *scheduler, int64_t now_us, scheduler_grant_fn grant,
                    void *userdata)
{
    struct pass pass = { scheduler, now_us, grant, userdata };

    if (!scheduler->waiting.count)
        return;
    scheduler->in_pass = true;
    if (scheduler->rules.order == SCHEDULE_ORDER_WFP)
        score_all(scheduler, now_us);
    switch (scheduler->rules.backfill) { /* no default: adding one makes the compiler point here */
    case SCHEDULE_BACKFILL_NONE: start_in_order(&pass); break;
    case SCHEDULE_BACKFILL_EASY:
    case SCHEDULE_BACKFILL_EASY_SJBF: pass_easy(&pass); break;
    case SCHEDULE_BACKFILL_CONSERVATIVE: pass_conservative(&pass); break;
    }
    scheduler->in_pass = false;
}

/* ---- questions ---- */

int64_t scheduler_next(const struct scheduler *scheduler)
{
    return scheduler->planned_count ? scheduler->next_us : INT64_MAX;
}

/* What is free without reservations. A job that has outlasted its limit may end any moment. */
static void profile_of(const struct domain *domain, int64_t now_us, struct profile *ret)
{
    profile_init(ret);
    profile_add(ret, INT64_MIN, INT64_MAX, domain->idle);
    for (size_t at = 0; at < domain->end_count; at++) {
        int64_t end_us = domain->ends[at].end_us > now_us ? domain->ends[at].end_us : now_us + 1;
        profile_add(ret, end_us, INT64_MAX, domain->ends[at].entry->returns);
    }
}

static int64_t forecast(struct profile *profiles, size_t count, const struct schedule_entry *entry,
                        int64_t from_us)
{
    int64_t start_us = INT64_MAX;
    size_t domain = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t us = profile_find(&profiles[i], from_us, start_us, entry->limit_us, entry->systems,
                                  INT64_MAX);
        if (us < start_us) {
            start_us = us;
            domain = i;
        }
    }
    if (start_us < INT64_MAX)
        profile_add(&profiles[domain], start_us, later_us(start_us, entry->limit_us),
                    -(int64_t)entry->systems);
    return start_us;
}

size_t scheduler_forecast(const struct scheduler *scheduler, int64_t now_us, int64_t *ret_starts,
                          size_t count)
{
    struct profile *profiles = memory_new((scheduler->domain_count + 1) * sizeof(*profiles));
    struct waiting_place place = { 0, 0 };
    int64_t from_us = now_us;
    size_t seen = 0;

    for (size_t i = 0; i < scheduler->domain_count; i++)
        profile_of(&scheduler->domains[i], now_us, &profiles[i]);
    for (struct schedule_entry *entry;
         seen < count && (entry = waiting_walk(&scheduler->waiting, &place)); seen++) {
        int64_t start_us = entry->planned_us;
        if (start_us == INT64_MAX)
            start_us = forecast(profiles, scheduler->domain_count, entry, from_us);
        else if (start_us < now_us)
            start_us = now_us;
        /* Where nobody passes, whoever waits for ever keeps all behind him waiting. */
        if (scheduler->rules.backfill == SCHEDULE_BACKFILL_NONE)
            from_us = start_us;
        ret_starts[seen] = start_us;
        if (from_us == INT64_MAX) {
            while (++seen < count && waiting_walk(&scheduler->waiting, &place))
                ret_starts[seen] = INT64_MAX;
            break;
        }
    }
    for (size_t i = 0; i < scheduler->domain_count; i++)
        profile_done(&profiles[i]);
    free(profiles);
    return seen;
}

size_t scheduler_count(const struct scheduler *scheduler)
{
    return scheduler->waiting.count;
}

struct schedule_entry *scheduler_first(const struct scheduler *scheduler)
{
    return waiting_first(&scheduler->waiting);
}

struct schedule_entry *scheduler_after(const struct scheduler *scheduler,
                                       const struct schedule_entry *entry)
{
    return waiting_next(&scheduler->waiting, entry);
}

size_t scheduler_ahead(const struct scheduler *scheduler, const struct schedule_entry *entry,
                       size_t most)
{
    return waiting_ahead(&scheduler->waiting, entry, most);
}
