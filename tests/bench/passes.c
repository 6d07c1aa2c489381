/* passes PENDING: a pool of 2,048 systems that is full, so many jobs that wait, the first 1,000
 * of them with reservations. How long is a pass that plans all of them anew, and one after an
 * arrival or an end?
 *
 * passes TRACE SYSTEMS: a replay, without the reading of its file. */
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "core/core.h"
#include "measure.h"
#include "replay/drive.h"
#include "replay/trace.h"

enum { SYSTEMS = 2048, DEPTH = 1000, EVENTS = 300, FULL_PASSES = 15 };

#define HOUR_US (3600 * (int64_t)1000000)

struct pool {
    struct core *core;
    struct random random;
    struct records records;
    struct effects effects;
    struct schedule_entry **running;
    size_t running_count, running_capacity;
    int64_t now_us;
    uint64_t number;
};

/* How long the step took, in ms. */
static double tell_core(struct pool *pool, enum trace_event event, struct schedule_entry *entry,
                        int64_t systems, bool pass)
{
    const struct input input = {
        .type = INPUT_TRACE,
        .time_us = pool->now_us,
        .trace = { .event = event, .entry = entry, .systems = systems, .pass = pass },
    };
    double began = now_s();

    core_step(pool->core, &input, &pool->records, &pool->effects);
    double spent_s = now_s() - began;
    for (size_t i = 0; i < pool->effects.count; i++) {
        ARRAY_RESERVE(pool->running, pool->running_count, pool->running_capacity);
        pool->running[pool->running_count++] = pool->effects.items[i].entry;
    }
    pool->effects.count = 0; /* nothing of them is owned */
    return spent_s * 1000;
}

/* Gangs of 1 to 128 systems, for a quarter of an hour to a day. */
static double submit(struct pool *pool, bool pass)
{
    struct schedule_entry *entry = NEW(struct schedule_entry);

    entry->number = ++pool->number;
    entry->submitted_us = pool->now_us;
    entry->systems = 1u << random_below(&pool->random, 8);
    entry->limit_us = HOUR_US / 4 * (int64_t)(1 + random_below(&pool->random, 96));
    return tell_core(pool, TRACE_SUBMITTED, entry, 0, pass);
}

static double end(struct pool *pool)
{
    size_t which = random_below(&pool->random, pool->running_count);
    struct schedule_entry *entry = pool->running[which];

    pool->running[which] = pool->running[--pool->running_count];
    return tell_core(pool, TRACE_ENDED, entry, 0, true); /* its memory goes with the process */
}

static void tell_spread(const char *what, double *values, size_t count)
{
    owned(free) char *median = text_format("%s_median_ms", what);
    owned(free) char *most = text_format("%s_worst_ms", what);

    tell(median, percentile(values, count, 50));
    tell(most, percentile(values, count, 100));
}

static void time_passes(size_t pending)
{
    const struct core_pool sort = { .name = "bench", .platform = "bench" };
    const struct core_config config = {
        .pools = &sort,
        .pool_count = 1,
        .version = "bench",
        .schedule = { SCHEDULE_BACKFILL_CONSERVATIVE, SCHEDULE_ORDER_FCFS, DEPTH },
    };
    struct schedule_rules rules = config.schedule;
    struct pool pool = { .core = core_new(&config) };
    double full[FULL_PASSES], arrivals[EVENTS], ends[EVENTS];

    random_init(&pool.random, random_mix(1));
    tell_core(&pool, TRACE_SYSTEMS, NULL, SYSTEMS, false);
    for (size_t i = 0; i < pending; i++)
        submit(&pool, false);
    tell_core(&pool, TRACE_PASS, NULL, 0, true);
    for (size_t i = 0; i < FULL_PASSES; i++) {
        rules.depth = DEPTH + 1 + i % 2; /* other rules: all is planned anew */
        core_set_schedule(pool.core, &rules);
        full[i] = tell_core(&pool, TRACE_PASS, NULL, 0, true);
    }
    for (size_t i = 0; i < EVENTS; i++) {
        pool.now_us += HOUR_US / 3600;
        arrivals[i] = submit(&pool, true);
        pool.now_us += HOUR_US / 3600;
        ends[i] = end(&pool);
    }
    tell_spread("full", full, FULL_PASSES);
    tell_spread("arrival", arrivals, EVENTS);
    tell_spread("end", ends, EVENTS);
    core_free(pool.core);
}

static void time_replay(const char *path, uint32_t systems)
{
    struct trace trace;
    struct replay_options options = { .systems = systems,
                                      .rules = { .backfill = SCHEDULE_BACKFILL_EASY },
                                      .ties = TIES_SUBMIT_FIRST };
    struct replay_result result;
    struct diag diag;
    double rates[9];

    if (trace_read(open(path, O_RDONLY | O_CLOEXEC), path, &trace, &diag) < 0)
        give_up("%s", diag.text);
    for (size_t i = 0; i < ELEMENTS(rates); i++) {
        double began = now_s();
        replay_run(&trace, &options, NULL, NULL, &result);
        rates[i] = (double)trace.count / (now_s() - began);
        replay_result_done(&result);
    }
    tell("jobs_per_s", percentile(rates, ELEMENTS(rates), 50));
    trace_done(&trace);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        time_passes(strtoul(argv[1], NULL, 10));
    else if (argc == 3)
        time_replay(argv[1], (uint32_t)strtoul(argv[2], NULL, 10));
    else
        give_up("usage: passes PENDING, or passes TRACE SYSTEMS");
    return 0;
}
