#include "core/scheduler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"
#include "core/scheduler_inside.h"

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
static int by_score(const void *a, const void *b)
{
    const struct schedule_entry *one = ((const struct waiting_slot *)a)->entry;
    const struct schedule_entry *other = ((const struct waiting_slot *)b)->entry;

    if (one->bucket != other->bucket)
        return one->bucket < other->bucket ? -1 : 1;
    return (one->score < other->score) - (one->score > other->score);
}

static int by_score_then_number(const struct schedule_entry *a, const struct schedule_entry *b)
{
    int order = a->bucket == b->bucket ? compare(b->score, a->score) : 0;

    return order ? order : by_number(a, b);
}

/* For waiting_sort(). */
static int by_policy(const void *a, const void *b)
{
    return by_score_then_number(((const struct waiting_slot *)a)->entry,
                                ((const struct waiting_slot *)b)->entry);
}

static const waiting_order_fn orders[] = {
    [SCHEDULE_ORDER_FCFS] = by_number,
    [SCHEDULE_ORDER_SJF] = by_limit,
    [SCHEDULE_ORDER_WFP] = by_number, /* where a new one goes: to the end, until the next sort */
    [SCHEDULE_ORDER_POLICY] = by_score_then_number,
};

/* The bits of a double that is not negative rise with it, so that a score is a number. */
static int64_t wfp_score(const struct schedule_entry *entry, int64_t now_us)
{
    double ratio = (double)(now_us - entry->submitted_us) / (double)entry->limit_us;
    double score = ratio * ratio * ratio * entry->systems;
    int64_t bits;

    _Static_assert(sizeof(bits) == sizeof(score), "an IEEE double");
    memcpy(&bits, &score, sizeof(bits));
    return bits;
}

static void score_all(struct scheduler *scheduler, int64_t now_us)
{
    struct waiting_place place = { 0, 0 };

    for (struct schedule_entry *entry; (entry = waiting_walk(&scheduler->waiting, &place));)
        entry->score = wfp_score(entry, now_us);
    waiting_sort(&scheduler->waiting, by_score);
}

void scheduler_score(struct scheduler *scheduler, scheduler_score_fn score, void *userdata)
{
    struct waiting_place place = { 0, 0 };

    for (struct schedule_entry *entry; (entry = waiting_walk(&scheduler->waiting, &place));)
        entry->score = score(userdata, entry);
    waiting_sort(&scheduler->waiting, by_policy);
    scheduler->plan_wanted = true; /* who comes first by now may have no reservation */
}

/* ---- what the caller tells ---- */

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
    plan_done(&scheduler->plan);
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

void scheduler_set_rules(struct scheduler *scheduler, const struct schedule_rules *rules)
{
    struct waiting before = scheduler->waiting;

    if (rules->backfill == scheduler->rules.backfill && rules->order == scheduler->rules.order &&
        rules->depth == scheduler->rules.depth)
        return;
    scheduler->rules = *rules;
    reservations_reset(scheduler);
    waiting_init(&scheduler->waiting, orders[rules->order]);
    for (size_t i = 0; i < before.chunk_count; i++)
        for (uint32_t slot = 0; slot < before.chunks[i]->count; slot++)
            waiting_insert(&scheduler->waiting, before.chunks[i]->slots[slot].entry);
    waiting_done(&before);
}

void scheduler_set_windows(struct scheduler *scheduler, scheduler_lanes_fn fill, void *userdata)
{
    /* Reservations that were made without windows know nothing of them, and the other way round. */
    if (fill || scheduler->fill)
        reservations_reset(scheduler);
    plan_done(&scheduler->plan);
    scheduler->next_us = INT64_MAX;
    scheduler->fill = fill;
    scheduler->fill_userdata = userdata;
}

uint32_t *scheduler_shares(const struct scheduler *scheduler)
{
    return scheduler->shares;
}

void scheduler_idle(struct scheduler *scheduler, size_t domain, int64_t change)
{
    struct domain *at = &scheduler->domains[domain];

    at->idle += change;
    if (!scheduler_plans(scheduler))
        return;
    profile_add(&at->profile, INT64_MIN, INT64_MAX, change);
    if (change < 0 && !scheduler->in_pass)
        scheduler->doubtful = true;
}

void scheduler_returns(struct scheduler *scheduler, struct schedule_entry *entry, int64_t change)
{
    entry->returns = (uint32_t)(entry->returns + change);
    if (!scheduler_plans(scheduler))
        return;
    profile_add(&scheduler->domains[entry->domain].profile, entry->end_us, INT64_MAX, change);
    if (change < 0)
        scheduler->doubtful = true;
}

void scheduler_wait(struct scheduler *scheduler, struct schedule_entry *entry)
{
    entry->planned_us = INT64_MAX;
    if (scheduler->rules.order == SCHEDULE_ORDER_WFP)
        waiting_append(&scheduler->waiting, entry);
    else
        waiting_insert(&scheduler->waiting, entry);
    if (scheduler_plans(scheduler) &&
        waiting_ahead(&scheduler->waiting, entry, reservations_depth(scheduler)) <
            reservations_depth(scheduler))
        scheduler->plan_wanted = true;
}

void scheduler_withdraw(struct scheduler *scheduler, struct schedule_entry *entry)
{
    scheduler->plan_wanted |= entry->planned_us < INT64_MAX;
    reservation_give_back(scheduler, entry);
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

void pass_start(const struct pass *pass, struct schedule_entry *entry, size_t domain)
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

struct schedule_entry *pass_start_in_order(const struct pass *pass)
{
    struct schedule_entry *head;

    while ((head = waiting_first(&pass->scheduler->waiting))) {
        size_t domain = tightest(pass->scheduler, head->systems);
        if (domain == pass->scheduler->domain_count)
            return head;
        pass_start(pass, head, domain);
    }
    return NULL;
}

void pass_add_candidate(const struct pass *pass, struct schedule_entry *entry)
{
    struct scheduler *scheduler = pass->scheduler;

    ARRAY_RESERVE(scheduler->candidates, scheduler->candidate_count, scheduler->candidate_capacity);
    scheduler->candidates[scheduler->candidate_count++] = entry;
}

static void pass_counts(const struct pass *pass)
{
    switch (pass->scheduler->rules.backfill) { /* no default: the compiler points here */
    case SCHEDULE_BACKFILL_NONE: pass_start_in_order(pass); break;
    case SCHEDULE_BACKFILL_EASY:
    case SCHEDULE_BACKFILL_EASY_SJBF: pass_easy(pass); break;
    case SCHEDULE_BACKFILL_CONSERVATIVE: pass_conservative(pass); break;
    }
}

void scheduler_pass(struct scheduler *scheduler, int64_t now_us, scheduler_grant_fn grant,
                    void *userdata)
{
    struct pass pass = { scheduler, now_us, grant, userdata };

    if (scheduler->fill)
        scheduler->next_us = INT64_MAX; /* whoever waits says when to look again */
    if (!scheduler->waiting.count)
        return;
    scheduler->in_pass = true;
    if (scheduler->rules.order == SCHEDULE_ORDER_WFP)
        score_all(scheduler, now_us);
    if (scheduler->fill)
        pass_windows(&pass);
    else
        pass_counts(&pass);
    scheduler->in_pass = false;
}

/* ---- questions ---- */

/* A scheduler that is to be as another is, and the entries that it has for those of the other. */
struct trial {
    struct scheduler *scheduler;
    struct schedule_entry *entries;
    size_t count;
    const struct schedule_entry *asked; /* of these */
    int64_t now_us;
    bool started;
};

static struct schedule_entry *copy_entry(struct trial *trial, const struct schedule_entry *entry)
{
    struct schedule_entry *copy = &trial->entries[trial->count++];

    *copy = *entry;
    copy->chunk = NULL;
    return copy;
}

static void copy_domain(struct trial *trial, const struct domain *from)
{
    scheduler_add_domain(trial->scheduler);
    struct domain *to = &trial->scheduler->domains[trial->scheduler->domain_count - 1];
    to->idle = from->idle;
    profile_copy(&to->profile, &from->profile);
    for (size_t at = 0; at < from->end_count; at++) {
        ARRAY_RESERVE(to->ends, to->end_count, to->end_capacity);
        to->ends[to->end_count++] =
            (struct end){ from->ends[at].end_us, copy_entry(trial, from->ends[at].entry) };
    }
}

static void trial_init(struct trial *trial, const struct scheduler *from,
                       const struct schedule_entry *asked)
{
    size_t count = from->waiting.count;
    struct waiting_place place = { 0, 0 };

    for (size_t i = 0; i < from->domain_count; i++)
        count += from->domains[i].end_count;
    trial->entries = memory_new((count + 1) * sizeof(*trial->entries));
    trial->scheduler = scheduler_new(&from->rules);
    for (size_t i = 0; i < from->domain_count; i++)
        copy_domain(trial, &from->domains[i]);
    for (struct schedule_entry *entry; (entry = waiting_walk(&from->waiting, &place));) {
        struct schedule_entry *copy = copy_entry(trial, entry);
        waiting_append(&trial->scheduler->waiting, copy);
        if (entry == asked)
            trial->asked = copy;
    }
    trial->scheduler->planned_count = from->planned_count;
    trial->scheduler->next_us = from->next_us;
    trial->scheduler->plan_wanted = from->plan_wanted;
    trial->scheduler->ended = from->ended;
    trial->scheduler->doubtful = from->doubtful;
    trial->scheduler->fill = from->fill;
    trial->scheduler->fill_userdata = from->fill_userdata;
}

static void on_trial_grant(void *userdata, struct schedule_entry *entry, size_t domain)
{
    struct trial *trial = userdata;
    int64_t systems = entry->systems;

    trial->started |= entry == trial->asked;
    scheduler_idle(trial->scheduler, domain, -systems);
    scheduler_run(trial->scheduler, entry, domain, later_us(trial->now_us, entry->limit_us));
    scheduler_returns(trial->scheduler, entry, systems);
}

bool scheduler_would_start(const struct scheduler *scheduler, const struct schedule_entry *entry,
                           int64_t now_us)
{
    struct trial trial = { .now_us = now_us };

    trial_init(&trial, scheduler, entry);
    scheduler_pass(trial.scheduler, now_us, on_trial_grant, &trial);
    scheduler_free(trial.scheduler);
    free(trial.entries);
    return trial.started;
}

int64_t scheduler_next(const struct scheduler *scheduler)
{
    return scheduler->planned_count || scheduler->fill ? scheduler->next_us : INT64_MAX;
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
