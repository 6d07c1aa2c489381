#include "holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/memory.h"

#define NAME_BYTES 32
#define DAY_US     (24 * HOUR_US)

struct holder {
    uint32_t uid, systems;
    int64_t granted_us, used_us; /* of its systems; earlier attempts */
    char project[NAME_BYTES], queue[NAME_BYTES];
};

static void name_copy(char to[static NAME_BYTES], const char *from)
{
    strncpy(to, from ? from : "", NAME_BYTES - 1);
}

static struct holder *holder_of(struct holders *holders, uint64_t job)
{
    if (job >= holders->count) {
        size_t count = job + 1;
        holders->items = memory_resize(holders->items, count, sizeof(*holders->items));
        memset(&holders->items[holders->count], 0,
               (count - holders->count) * sizeof(*holders->items));
        holders->count = count;
    }
    return &holders->items[job];
}

static void read_spec(struct holders *holders, const Wafer__Record *record)
{
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, record->spec.len, record->spec.data);
    uint32_t count = record->has_array_count ? record->array_count : 1;

    for (uint32_t i = 0; i < count; i++) {
        struct holder *holder = holder_of(holders, record->job_state->id + i);
        name_copy(holder->project, spec->project);
        name_copy(holder->queue, spec->queue ? spec->queue : "wafer");
    }
    wafer__job_spec__free_unpacked(spec, NULL);
}

static bool is_counted(const struct holder *holder, const struct holder *like, enum quota_kind kind)
{
    switch (kind) {
    case QUOTA_USER: return holder->uid == like->uid;
    case QUOTA_PROJECT: return *like->project && strcmp(holder->project, like->project) == 0;
    default: return strcmp(holder->queue, like->queue) == 0;
    }
}

static bool is_named(const struct quota_rule *rule, const struct holder *holder)
{
    return rule->kind == QUOTA_USER      ? rule->uid == holder->uid
           : rule->kind == QUOTA_PROJECT ? strcmp(rule->name, holder->project) == 0
                                         : strcmp(rule->name, holder->queue) == 0;
}

/* NULL: none. */
static const struct quota_limits *limits_of(const struct quota_rules *rules,
                                            const struct holder *holder, enum quota_kind kind)
{
    const struct quota_limits *found = NULL;

    for (size_t i = 0; i < rules->count; i++) {
        const struct quota_rule *rule = &rules->items[i];
        if (rule->kind == kind && !rule->every && is_named(rule, holder))
            return &rule->limits;
        if (rule->kind == kind && rule->every)
            found = &rule->limits;
    }
    return found;
}

/* Of the first day, which is in all windows until it is over. */
static void add(const struct holder *holder, int64_t now_us, uint64_t *systems, int64_t *used_us)
{
    *systems += holder->systems;
    *used_us += holder->used_us + holder->systems * (now_us - holder->granted_us);
}

const char *holders_add(struct holders *holders, const Wafer__Record *record,
                        const struct quota_rules *rules)
{
    static const char *const whose[] = { "its user", "its project", "its queue" };
    const Wafer__JobState *state = record->job_state;

    if (record->has_spec && state)
        read_spec(holders, record);
    if (!state)
        return NULL;
    struct holder *holder = holder_of(holders, state->id);
    holder->uid = state->uid;
    if (!state->n_systems)
        holder->used_us += holder->systems * (record->time_us - holder->granted_us);
    holder->systems = (uint32_t)state->n_systems;
    if (record->kind == WAFER__RECORD_KIND__JOB_GRANTED)
        holder->granted_us = record->time_us;
    if (state->queue)
        name_copy(holder->queue, state->queue);
    if (record->kind != WAFER__RECORD_KIND__JOB_GRANTED)
        return NULL;
    for (int kind = 0; kind < QUOTA_KINDS; kind++) {
        uint64_t used = 0;
        const struct quota_limits *limits = limits_of(rules, holder, (enum quota_kind)kind);
        int64_t used_us = 0;
        for (size_t i = 0; i < holders->count; i++)
            if (is_counted(&holders->items[i], holder, (enum quota_kind)kind))
                add(&holders->items[i], record->time_us, &used, &used_us);
        if (limits && (kind != QUOTA_PROJECT || *holder->project) &&
            (used > limits->systems || (record->time_us < DAY_US && used_us >= limits->system_us)))
            return whose[kind];
    }
    return NULL;
}

void holders_done(struct holders *holders)
{
    free(holders->items);
    *holders = (struct holders){ .items = NULL };
}
