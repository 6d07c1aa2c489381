/* replayed: what a controller told its scheduler goes through another one, and each start must be
 * the same. Lines of standard input, in the order of its journal, times in microseconds:
 *
 *   systems N
 *   submitted JOB TIME SYSTEMS LIMIT   it waits from now on
 *   started JOB TIME                   the agent began: its limit counts from now on
 *   ended JOB TIME
 *   granted JOB TIME                   what the controller did
 *
 * Says what differs, and exits with 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/core.h"

struct replayed {
    struct core *core;
    struct map entries; /* job -> entry */
    struct effects effects;
    struct records records;
    uint64_t starts, differences;
};

static void tell(struct replayed *replayed, enum trace_event event, struct schedule_entry *entry,
                 int64_t time_us, int64_t systems)
{
    const struct input input = {
        .type = INPUT_TRACE,
        .time_us = time_us,
        .trace = { .event = event, .entry = entry, .systems = systems, .pass = true },
    };

    core_step(replayed->core, &input, &replayed->records, &replayed->effects);
}

/* The next start that the scheduler named must be this one. */
static void compare(struct replayed *replayed, uint64_t job, int64_t time_us)
{
    const struct schedule_entry *entry =
        replayed->effects.count ? replayed->effects.items[0].entry : NULL;

    replayed->starts++;
    if (!entry || entry->number != job) {
        printf("job %" PRIu64 " was granted at %" PRId64 ", here %s%" PRIu64 "\n", job, time_us,
               entry ? "it is job " : "nobody: ", entry ? entry->number : 0);
        replayed->differences++;
    }
    if (!entry)
        return;
    replayed->effects.count--;
    memmove(&replayed->effects.items[0], &replayed->effects.items[1],
            replayed->effects.count * sizeof(replayed->effects.items[0]));
}

static void take(struct replayed *replayed, const char *verb, const int64_t values[4])
{
    uint64_t job = (uint64_t)values[0];
    struct schedule_entry *entry = map_get(&replayed->entries, job);

    if (strcmp(verb, "granted") == 0) {
        compare(replayed, job, values[1]);
        return;
    }
    if (replayed->effects.count) {
        printf("here job %" PRIu64 " starts, but it was not granted before %s %" PRIu64 "\n",
               replayed->effects.items[0].entry->number, verb, job);
        replayed->differences++;
        replayed->effects.count = 0;
    }
    if (strcmp(verb, "systems") == 0) {
        tell(replayed, TRACE_SYSTEMS, NULL, 0, values[0]);
    } else if (strcmp(verb, "submitted") == 0) {
        entry = NEW(struct schedule_entry);
        *entry = (struct schedule_entry){ .number = job,
                                          .submitted_us = values[1],
                                          .systems = (uint32_t)values[2],
                                          .limit_us = values[3] };
        map_put(&replayed->entries, job, entry);
        tell(replayed, TRACE_SUBMITTED, entry, values[1], 0);
    } else if (entry) {
        tell(replayed, strcmp(verb, "started") == 0 ? TRACE_BEGAN : TRACE_ENDED, entry, values[1],
             0);
    }
}

int main(int argc, char **argv)
{
    static const char *const backfills[] = { "none", "easy", "easy_sjbf", "conservative" };
    const struct core_pool pool = { .name = "replay", .platform = "replay" };
    struct core_config config = { .pools = &pool, .pool_count = 1, .version = "replay" };
    struct replayed replayed = { .entries = MAP_EMPTY };
    char verb[16];
    int64_t values[4] = { 0 };

    for (size_t i = 0; i < ELEMENTS(backfills); i++)
        if (argc == 2 && strcmp(argv[1], backfills[i]) == 0)
            config.schedule.backfill = (enum schedule_backfill)i;
    replayed.core = core_new(&config);
    for (char line[200]; fgets(line, sizeof(line), stdin);)
        if (sscanf(line, "%15s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, verb, &values[0],
                   &values[1], &values[2], &values[3]) >= 2)
            take(&replayed, verb, values);
    for (size_t i = 0; i < replayed.effects.count; i++, replayed.differences++)
        printf("here job %" PRIu64 " starts, but it was never granted\n",
               replayed.effects.items[i].entry->number);
    printf("%" PRIu64 " starts, %" PRIu64 " differences\n", replayed.starts, replayed.differences);
    core_free(replayed.core);
    size_t cursor = 0;
    for (void *entry; (entry = map_next(&replayed.entries, &cursor));)
        free(entry);
    map_done(&replayed.entries);
    effects_clear(&replayed.effects);
    return replayed.differences || !replayed.starts;
}
