/* What the scheduler promises, on workloads that nobody chose: never more than there is, no promise
 * broken by who passes, and everybody starts. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "core/lanes.h"
#include "core/scheduler.h"
#include "tap.h"

enum { JOBS = 300, DOMAINS_MAX = 3, SEEDS = 5 };

struct load {
    struct schedule_entry entry; /* first: grants find it */
    int64_t run_us;
    int64_t promised_us; /* the earliest that it was promised; INT64_MAX: nothing yet */
    int64_t start_us;    /* -1: not yet */
};

struct site {
    struct scheduler *scheduler;
    struct load loads[JOBS];
    int64_t idle[DOMAINS_MAX], now_us;
    struct random random; /* of scores */
    size_t domain_count, started;
};

static void on_grant(void *userdata, struct schedule_entry *entry, size_t domain)
{
    struct site *site = userdata;
    struct load *load = (struct load *)entry;
    int64_t systems = entry->systems;

    ck_assert_int_ge(site->idle[domain], systems);
    ck_assert_int_le(site->now_us, load->promised_us);
    ck_assert_int_eq(load->start_us, -1);
    site->idle[domain] -= systems;
    site->started++;
    load->start_us = site->now_us;
    scheduler_idle(site->scheduler, domain, -systems);
    scheduler_run(site->scheduler, entry, domain, site->now_us + entry->limit_us);
    scheduler_returns(site->scheduler, entry, systems);
}

static void end(struct site *site, struct load *load)
{
    int64_t systems = load->entry.returns;

    site->idle[load->entry.domain] += systems;
    scheduler_returns(site->scheduler, &load->entry, -systems);
    scheduler_idle(site->scheduler, load->entry.domain, systems);
    scheduler_done(site->scheduler, &load->entry);
    scheduler_ended(site->scheduler);
}

/* What is promised may come earlier, never later. */
static void remember_promises(struct site *site)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct load *load = &site->loads[i];
        if (!load->entry.chunk || load->entry.planned_us == INT64_MAX)
            continue;
        ck_assert_int_le(load->entry.planned_us, load->promised_us);
        load->promised_us = load->entry.planned_us;
    }
}

/* Any score, but another each time. */
static int64_t random_score(void *userdata, const struct schedule_entry *entry)
{
    (void)entry;
    return (int64_t)random_below(userdata, 1000);
}

static void pass(struct site *site)
{
    if (scheduler_rules(site->scheduler)->order == SCHEDULE_ORDER_POLICY)
        scheduler_score(site->scheduler, random_score, &site->random);
    scheduler_pass(site->scheduler, site->now_us, on_grant, site);
    /* Where the order changes, who comes first by now may need the place that was promised. */
    if (scheduler_rules(site->scheduler)->order != SCHEDULE_ORDER_POLICY)
        remember_promises(site);
}

/* Arrivals and ends at their times, until all have started; `ends_early`: jobs do not take all of
 * their limit. */
static void run(struct site *site, uint64_t seed, const struct schedule_rules *rules,
                size_t domain_count, bool ends_early)
{
    struct random random;
    size_t arrived = 0, ended = 0;
    int64_t arrival_us = 0;

    *site = (struct site){ .scheduler = scheduler_new(rules), .domain_count = domain_count };
    random_init(&random, random_mix(seed));
    random_init(&site->random, random_mix(seed + 1));
    for (size_t i = 0; i < domain_count; i++) {
        site->idle[i] = 8;
        scheduler_add_domain(site->scheduler);
        scheduler_idle(site->scheduler, i, 8);
    }
    while (ended < JOBS) {
        struct load *next = NULL; /* to end */
        int64_t due_us = scheduler_next(site->scheduler);
        for (size_t i = 0; i < arrived; i++) {
            struct load *load = &site->loads[i];
            if (load->entry.is_running &&
                (!next || load->start_us + load->run_us < next->start_us + next->run_us))
                next = load;
        }
        int64_t end_us = next ? next->start_us + next->run_us : INT64_MAX;
        if (arrived < JOBS && arrival_us <= end_us && arrival_us <= due_us) {
            struct load *load = &site->loads[arrived];
            site->now_us = arrival_us;
            *load = (struct load){ .promised_us = INT64_MAX, .start_us = -1 };
            load->entry.number = ++arrived;
            load->entry.submitted_us = arrival_us;
            load->entry.limit_us = 1 + (int64_t)random_below(&random, 100);
            load->run_us = ends_early
                               ? 1 + (int64_t)random_below(&random, (uint64_t)load->entry.limit_us)
                               : load->entry.limit_us;
            load->entry.systems = 1 + (uint32_t)random_below(&random, 8);
            scheduler_wait(site->scheduler, &load->entry);
            arrival_us += (int64_t)random_below(&random, 40);
        } else if (due_us < end_us) {
            site->now_us = due_us;
        } else {
            ck_assert_ptr_nonnull(next); /* else somebody waits for ever */
            site->now_us = end_us;
            end(site, next);
            ended++;
        }
        pass(site);
    }
    ck_assert_uint_eq(site->started, JOBS);
    for (size_t i = 0; i < domain_count; i++)
        ck_assert_int_eq(site->idle[i], 8);
    scheduler_free(site->scheduler);
}

static const struct {
    struct schedule_rules rules;
    size_t domains;
} kinds[] = {
    { { SCHEDULE_BACKFILL_NONE, SCHEDULE_ORDER_FCFS, 0 }, 1 },
    { { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_FCFS, 0 }, 1 },
    { { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_FCFS, 0 }, 3 },
    { { SCHEDULE_BACKFILL_EASY_SJBF, SCHEDULE_ORDER_FCFS, 0 }, 2 },
    { { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_SJF, 0 }, 1 },
    { { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_WFP, 0 }, 2 },
    { { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_FCFS, 0 }, 1 },
    { { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_FCFS, 0 }, 3 },
    { { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_FCFS, 5 }, 2 },
    { { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_POLICY, 0 }, 2 },
    { { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_POLICY, 5 }, 2 },
};

/* Under conservative backfill on_grant() and remember_promises() hold it to every promise, also
 * when jobs end early. */
START_TEST(all_start_within_what_there_is_and_was_promised)
{
    static struct site site;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(&site, seed, &kinds[_i].rules, kinds[_i].domains, true);
        run(&site, seed, &kinds[_i].rules, kinds[_i].domains, false);
    }
}
END_TEST

/* ---- windows ---- */

enum { WINDOWED_JOBS = 120, HOSTS = 2, HOST_SYSTEMS = 6, LANES = 3, WINDOWS = 12 };

/* The systems of each host in turn are of each lane; all lanes have windows of their own. */
struct windowed {
    struct scheduler *scheduler;
    struct lane_window windows[LANES][WINDOWS];
    struct load loads[WINDOWED_JOBS];
    struct load *holders[HOSTS][HOST_SYSTEMS];
    int64_t now_us;
    size_t started;
};

static void fill_lanes(void *userdata, struct lanes *lanes)
{
    const struct windowed *site = userdata;

    for (size_t host = 0; host < HOSTS; host++)
        for (size_t i = 0; i < LANES; i++) {
            struct lane *lane = lanes_add(lanes, host, site->windows[i], i ? WINDOWS : 0);
            for (size_t at = i; at < HOST_SYSTEMS; at += LANES) {
                const struct load *load = site->holders[host][at];
                if (load)
                    lane_free_from(lane, load->entry.end_us, 1);
                else
                    lane_idle(lane, 1);
            }
        }
}

/* No system is given to a job that would meet a window of it. */
static void check_windows(const struct windowed *site, const struct load *load, size_t lane)
{
    int64_t end_us = site->now_us + load->entry.limit_us;
    bool within = !load->entry.reservation;

    for (size_t i = 0; lane && i < WINDOWS; i++) {
        const struct lane_window *window = &site->windows[lane][i];
        bool meets = window->from_us < end_us && site->now_us < window->until_us;
        if (window->reservation && window->reservation == load->entry.reservation)
            within |= window->from_us <= site->now_us && end_us <= window->until_us;
        else
            ck_assert(!meets);
    }
    ck_assert(within);
}

static void on_windowed_grant(void *userdata, struct schedule_entry *entry, size_t host)
{
    struct windowed *site = userdata;
    struct load *load = (struct load *)entry;
    uint32_t *shares = scheduler_shares(site->scheduler), taken = 0;
    int64_t systems = entry->systems;

    ck_assert_ptr_nonnull(shares);
    ck_assert_int_eq(load->start_us, -1);
    ck_assert_int_le(site->now_us, load->promised_us);
    for (size_t at = 0; at < HOST_SYSTEMS; at++) {
        uint32_t *share = &shares[host * LANES + at % LANES];
        if (site->holders[host][at] || !*share)
            continue;
        check_windows(site, load, at % LANES);
        site->holders[host][at] = load;
        --*share;
        taken++;
    }
    ck_assert_uint_eq(taken, entry->systems);
    site->started++;
    load->start_us = site->now_us;
    scheduler_idle(site->scheduler, host, -systems);
    scheduler_run(site->scheduler, entry, host, site->now_us + entry->limit_us);
    scheduler_returns(site->scheduler, entry, systems);
}

static void end_windowed(struct windowed *site, struct load *load)
{
    int64_t systems = load->entry.returns;

    for (size_t at = 0; at < HOST_SYSTEMS; at++)
        if (site->holders[load->entry.domain][at] == load)
            site->holders[load->entry.domain][at] = NULL;
    scheduler_returns(site->scheduler, &load->entry, -systems);
    scheduler_idle(site->scheduler, load->entry.domain, systems);
    scheduler_done(site->scheduler, &load->entry);
    scheduler_ended(site->scheduler);
}

/* Windows of lane 1 are for nobody, those of lane 2 for whoever names reservation 7. */
static void make_windows(struct windowed *site, struct random *random)
{
    for (size_t i = 1; i < LANES; i++) {
        int64_t us = 50, long_us = 1000000; /* the last of reservation 7: all find a place in it */
        for (size_t at = 0; at < WINDOWS; at++) {
            int64_t span_us = i == 2 && at + 1 == WINDOWS ? long_us : 60;
            us += (int64_t)random_below(random, 300);
            site->windows[i][at] = (struct lane_window){ us, us + span_us, i == 1 ? 3 : 7 };
            us += span_us;
        }
    }
}

static void make_load(struct windowed *site, struct random *random, size_t number, bool ends_early)
{
    struct load *load = &site->loads[number];

    *load = (struct load){ .promised_us = INT64_MAX, .start_us = -1 };
    load->entry.number = number + 1;
    load->entry.submitted_us = site->now_us;
    load->entry.limit_us = 1 + (int64_t)random_below(random, 100);
    load->entry.systems = 1 + (uint32_t)random_below(random, 4);
    if (random_below(random, 20) == 0) {
        load->entry.reservation = 7;
        load->entry.systems = 1;
    }
    load->run_us = ends_early ? 1 + (int64_t)random_below(random, (uint64_t)load->entry.limit_us)
                              : load->entry.limit_us;
    scheduler_wait(site->scheduler, &load->entry);
}

static void keep_promises(struct windowed *site)
{
    for (size_t i = 0; i < WINDOWED_JOBS; i++) {
        struct load *load = &site->loads[i];
        if (!load->entry.chunk || load->entry.planned_us == INT64_MAX)
            continue;
        ck_assert_int_le(load->entry.planned_us, load->promised_us);
        load->promised_us = load->entry.planned_us;
    }
    /* And what is foretold of a reservation is the reservation. */
    static int64_t starts_us[WINDOWED_JOBS];
    size_t count = scheduler_forecast(site->scheduler, site->now_us, starts_us, WINDOWED_JOBS);
    ck_assert_uint_eq(count, scheduler_count(site->scheduler));
    const struct schedule_entry *entry = scheduler_first(site->scheduler);
    for (size_t i = 0; i < count; i++, entry = scheduler_after(site->scheduler, entry))
        if (entry->planned_us > site->now_us && entry->planned_us < INT64_MAX)
            ck_assert_int_eq(starts_us[i], entry->planned_us);
}

static void run_windowed(struct windowed *site, uint64_t seed, const struct schedule_rules *rules,
                         bool ends_early)
{
    struct random random;
    size_t arrived = 0, ended = 0;
    int64_t arrival_us = 0;

    *site = (struct windowed){ .scheduler = scheduler_new(rules) };
    random_init(&random, random_mix(seed));
    make_windows(site, &random);
    for (size_t i = 0; i < HOSTS; i++) {
        scheduler_add_domain(site->scheduler);
        scheduler_idle(site->scheduler, i, HOST_SYSTEMS);
    }
    scheduler_set_windows(site->scheduler, fill_lanes, site);
    while (ended < WINDOWED_JOBS) {
        struct load *next = NULL;
        int64_t due_us = scheduler_next(site->scheduler);
        for (size_t i = 0; i < arrived; i++) {
            struct load *load = &site->loads[i];
            if (load->entry.is_running &&
                (!next || load->start_us + load->run_us < next->start_us + next->run_us))
                next = load;
        }
        int64_t end_us = next ? next->start_us + next->run_us : INT64_MAX;
        if (arrived < WINDOWED_JOBS && arrival_us <= end_us && arrival_us <= due_us) {
            site->now_us = arrival_us;
            make_load(site, &random, arrived++, ends_early);
            arrival_us += (int64_t)random_below(&random, 30);
        } else if (due_us < end_us) {
            ck_assert_int_gt(due_us, site->now_us);
            site->now_us = due_us;
        } else {
            ck_assert_ptr_nonnull(next); /* else somebody waits for ever */
            site->now_us = end_us;
            end_windowed(site, next);
            ended++;
        }
        scheduler_pass(site->scheduler, site->now_us, on_windowed_grant, site);
        keep_promises(site);
    }
    ck_assert_uint_eq(site->started, WINDOWED_JOBS);
    scheduler_free(site->scheduler);
}

START_TEST(no_job_meets_a_window_and_all_start)
{
    static struct windowed site;

    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        run_windowed(&site, seed, &kinds[_i].rules, true);
        run_windowed(&site, seed, &kinds[_i].rules, false);
    }
}
END_TEST

/* ---- small cases, by hand ---- */

static int64_t given_score(void *userdata, const struct schedule_entry *entry)
{
    return ((const int64_t *)userdata)[entry->number];
}

START_TEST(the_greatest_score_is_first_and_equals_keep_their_order)
{
    const struct schedule_rules rules = { SCHEDULE_BACKFILL_NONE, SCHEDULE_ORDER_POLICY, 0 };
    struct scheduler *scheduler = scheduler_new(&rules);
    struct schedule_entry entries[6], *entry;
    int64_t scores[] = { 0, 5, 9, 5, 9, 1, 0 };
    static const uint64_t want[] = { 6, 2, 4, 1, 3, 5 };

    for (uint64_t i = 0; i < ELEMENTS(entries); i++) {
        entries[i] = (struct schedule_entry){ .number = i + 1, .systems = 1, .bucket = i < 5 };
        scheduler_wait(scheduler, &entries[i]);
    }
    scheduler_score(scheduler, given_score, scores);
    entry = scheduler_first(scheduler);
    for (size_t i = 0; i < ELEMENTS(want); i++, entry = scheduler_after(scheduler, entry))
        ck_assert_uint_eq(entry->number, want[i]);
    scheduler_free(scheduler);
}
END_TEST

struct small {
    struct scheduler *scheduler;
    struct schedule_entry entries[8];
    size_t count;
    int64_t now_us;
    uint64_t started[16];
    size_t started_count;
};

static void small_grant(void *userdata, struct schedule_entry *entry, size_t domain)
{
    struct small *small = userdata;
    int64_t limit_us = entry->limit_us;

    small->started[small->started_count++] = entry->number;
    scheduler_idle(small->scheduler, domain, -(int64_t)entry->systems);
    scheduler_run(small->scheduler, entry, domain,
                  limit_us < INT64_MAX ? small->now_us + limit_us : INT64_MAX);
    scheduler_returns(small->scheduler, entry, entry->systems);
}

static struct schedule_entry *submit(struct small *small, uint32_t systems, int64_t limit_us,
                                     uint16_t bucket)
{
    struct schedule_entry *entry = &small->entries[small->count++];

    *entry = (struct schedule_entry){ .number = small->count,
                                      .submitted_us = small->now_us,
                                      .limit_us = limit_us,
                                      .systems = systems,
                                      .bucket = bucket };
    scheduler_wait(small->scheduler, entry);
    scheduler_pass(small->scheduler, small->now_us, small_grant, small);
    return entry;
}

static struct small small_new(enum schedule_backfill backfill, int64_t systems)
{
    const struct schedule_rules rules = { backfill, SCHEDULE_ORDER_FCFS, 0 };
    struct small small = { .scheduler = scheduler_new(&rules) };

    scheduler_add_domain(small.scheduler);
    scheduler_idle(small.scheduler, 0, systems);
    return small;
}

START_TEST(easy_lets_pass_who_ends_in_time_or_fits_beside)
{
    static const struct {
        uint32_t systems;
        int64_t limit_us;
        bool passes;
    } rows[] = {
        { 1, 100, true },  /* ends when the first can start */
        { 1, 101, false }, /* one too late, and nothing is left over */
        { 2, 50, false },  /* does not fit */
        { 1, INT64_MAX, false },
    };

    /* 3 of 4 run until 100; the first waits for all 4. */
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct small small = small_new(SCHEDULE_BACKFILL_EASY, 4);
        submit(&small, 3, 100, 0);
        submit(&small, 4, 10, 0);
        const struct schedule_entry *entry = submit(&small, rows[i].systems, rows[i].limit_us, 0);
        ck_assert_int_eq(entry->is_running, rows[i].passes);
        scheduler_free(small.scheduler);
    }
}
END_TEST

START_TEST(easy_counts_what_is_left_over_once)
{
    struct small small = small_new(SCHEDULE_BACKFILL_EASY, 6);

    submit(&small, 4, 100, 0);
    submit(&small, 5, 10, 0); /* waits until 100; one is left over then */
    ck_assert(submit(&small, 1, 1000, 0)->is_running);
    ck_assert(!submit(&small, 1, 1000, 0)->is_running);
    scheduler_free(small.scheduler);
}
END_TEST

START_TEST(nobody_knows_when_a_job_without_limit_ends_but_others_have_limits)
{
    struct small small = small_new(SCHEDULE_BACKFILL_EASY, 4);

    submit(&small, 3, INT64_MAX, 0);
    submit(&small, 2, 10, 0);
    ck_assert(submit(&small, 1, 1000, 0)->is_running);
    scheduler_free(small.scheduler);
}
END_TEST

START_TEST(what_never_fits_keeps_nobody_back)
{
    for (int backfill = SCHEDULE_BACKFILL_EASY; backfill <= SCHEDULE_BACKFILL_CONSERVATIVE;
         backfill++) {
        struct small small = small_new((enum schedule_backfill)backfill, 4);
        submit(&small, 5, 10, 0);
        ck_assert(submit(&small, 4, 1000, 0)->is_running);
        scheduler_free(small.scheduler);
    }
}
END_TEST

START_TEST(a_higher_priority_takes_its_place_among_the_reservations)
{
    struct small small = small_new(SCHEDULE_BACKFILL_CONSERVATIVE, 4);

    submit(&small, 4, 100, 0);
    const struct schedule_entry *late = submit(&small, 4, 50, 1);
    ck_assert_int_eq(late->planned_us, 100);
    const struct schedule_entry *urgent = submit(&small, 4, 30, 0);
    ck_assert_int_eq(urgent->planned_us, 100);
    ck_assert_int_eq(late->planned_us, 130);
    scheduler_free(small.scheduler);
}
END_TEST

/* A job outlasts its limit, and a system breaks: nothing is promised that is not there. */
START_TEST(what_breaks_a_plan_is_planned_around)
{
    struct small small = small_new(SCHEDULE_BACKFILL_CONSERVATIVE, 4);
    struct schedule_entry *running = submit(&small, 2, 100, 0);
    const struct schedule_entry *wide = submit(&small, 4, 50, 0);

    ck_assert_int_eq(wide->planned_us, 100);
    scheduler_idle(small.scheduler, 0, -1);
    scheduler_pass(small.scheduler, small.now_us, small_grant, &small);
    ck_assert_int_eq(wide->planned_us, INT64_MAX); /* of 3 systems */
    scheduler_idle(small.scheduler, 0, 1);
    small.now_us = 100;
    scheduler_pass(small.scheduler, small.now_us, small_grant, &small);
    ck_assert(!wide->is_running && running->is_running);
    scheduler_returns(small.scheduler, running, -2);
    scheduler_done(small.scheduler, running);
    scheduler_run(small.scheduler, running, 0, 160); /* it has a grace */
    scheduler_returns(small.scheduler, running, 2);
    scheduler_pass(small.scheduler, small.now_us, small_grant, &small);
    ck_assert_int_eq(wide->planned_us, 160);
    scheduler_free(small.scheduler);
}
END_TEST

START_TEST(other_rules_hold_from_the_next_pass_on)
{
    struct small small = small_new(SCHEDULE_BACKFILL_NONE, 4);
    const struct schedule_rules easy = { SCHEDULE_BACKFILL_EASY, SCHEDULE_ORDER_FCFS, 0 };
    const struct schedule_rules all = { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_SJF, 0 };

    submit(&small, 3, 100, 0);
    const struct schedule_entry *wide = submit(&small, 4, 10, 0);
    const struct schedule_entry *brief = submit(&small, 1, 100, 0);
    ck_assert(!brief->is_running);
    scheduler_set_rules(small.scheduler, &easy);
    scheduler_pass(small.scheduler, small.now_us, small_grant, &small);
    ck_assert(brief->is_running);
    scheduler_set_rules(small.scheduler, &all);
    scheduler_pass(small.scheduler, small.now_us, small_grant, &small);
    ck_assert_int_eq(wide->planned_us, 100);
    ck_assert_int_eq(scheduler_next(small.scheduler), 100);
    scheduler_free(small.scheduler);
}
END_TEST

/* The first has a reservation, and those behind it none: they are told when it leaves them room. */
START_TEST(a_forecast_stands_on_the_reservations_of_others)
{
    struct small small = small_new(SCHEDULE_BACKFILL_CONSERVATIVE, 4);
    const struct schedule_rules first_only = { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_FCFS,
                                               1 };
    int64_t starts_us[4];

    scheduler_set_rules(small.scheduler, &first_only);
    submit(&small, 3, 100, 0);
    submit(&small, 4, 50, 0); /* at 100 */
    submit(&small, 1, 200, 0);
    submit(&small, 2, INT64_MAX, 0);
    submit(&small, 4, 10, 0); /* never: two are held for ever */
    ck_assert_uint_eq(scheduler_forecast(small.scheduler, 0, starts_us, 4), 4);
    ck_assert_int_eq(starts_us[0], 100);
    ck_assert_int_eq(starts_us[1], 150);
    ck_assert_int_eq(starts_us[2], 150);
    ck_assert_int_eq(starts_us[3], INT64_MAX);
    scheduler_free(small.scheduler);
}
END_TEST

/* Hundreds of chunks, joined and split: order and count stay right. */
START_TEST(a_long_queue_stays_in_order)
{
    enum { LONG = 20000 };
    const struct schedule_rules rules = { SCHEDULE_BACKFILL_NONE, SCHEDULE_ORDER_SJF, 0 };
    struct scheduler *scheduler = scheduler_new(&rules);
    struct schedule_entry *entries = memory_new(LONG * sizeof(*entries));
    struct random random;
    size_t count = 0, left = 0;

    random_init(&random, random_mix(7));
    for (size_t i = 0; i < LONG; i++) {
        entries[i] = (struct schedule_entry){ .number = i + 1,
                                              .limit_us = (int64_t)random_below(&random, 500),
                                              .systems = 1,
                                              .bucket = (uint16_t)random_below(&random, 3) };
        scheduler_wait(scheduler, &entries[i]);
        if (random_below(&random, 3) == 0) {
            struct schedule_entry *gone = &entries[random_below(&random, i + 1)];
            if (gone->chunk)
                scheduler_withdraw(scheduler, gone);
        }
    }
    for (size_t i = 0; i < LONG; i++)
        left += entries[i].chunk != NULL;
    const struct schedule_entry *before = NULL;
    for (const struct schedule_entry *entry = scheduler_first(scheduler); entry;
         before = entry, entry = scheduler_after(scheduler, entry)) {
        ck_assert_uint_eq(scheduler_ahead(scheduler, entry, LONG), count++);
        ck_assert(!before || before->bucket < entry->bucket ||
                  (before->bucket == entry->bucket &&
                   (before->limit_us < entry->limit_us ||
                    (before->limit_us == entry->limit_us && before->number < entry->number))));
    }
    ck_assert_uint_eq(count, left);
    ck_assert_uint_eq(scheduler_count(scheduler), left);
    scheduler_free(scheduler);
    free(entries);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler");
    TCase *tcase = tcase_create("scheduler");

    tcase_add_loop_test(tcase, all_start_within_what_there_is_and_was_promised, 0, ELEMENTS(kinds));
    tcase_add_loop_test(tcase, no_job_meets_a_window_and_all_start, 0, ELEMENTS(kinds));
    tcase_add_test(tcase, easy_lets_pass_who_ends_in_time_or_fits_beside);
    tcase_add_test(tcase, easy_counts_what_is_left_over_once);
    tcase_add_test(tcase, nobody_knows_when_a_job_without_limit_ends_but_others_have_limits);
    tcase_add_test(tcase, what_never_fits_keeps_nobody_back);
    tcase_add_test(tcase, a_higher_priority_takes_its_place_among_the_reservations);
    tcase_add_test(tcase, what_breaks_a_plan_is_planned_around);
    tcase_add_test(tcase, other_rules_hold_from_the_next_pass_on);
    tcase_add_test(tcase, a_forecast_stands_on_the_reservations_of_others);
    tcase_add_test(tcase, a_long_queue_stays_in_order);
    tcase_add_test(tcase, the_greatest_score_is_first_and_equals_keep_their_order);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
