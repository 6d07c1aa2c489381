#include "engine/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "engine/effects.h"

static uint64_t name_key(const char *name)
{
    return hash64(name, strlen(name)) >> 1; /* the map reserves two keys */
}

static void add_pool(struct units *units, const struct agent_pool *pool)
{
    for (unsigned i = 1; i <= pool->count; i++) {
        struct unit *unit = &units->items[units->count++];
        *unit = (struct unit){ .pool = text_copy(pool->name),
                               .platform = pool->platform,
                               .name = text_format("%s%u", pool->prefix, i),
                               .heal = { .order = units->count } };
        assert(!map_get(&units->by_name, name_key(unit->name))); /* two pools, one prefix */
        map_put(&units->by_name, name_key(unit->name), unit);
    }
}

void units_init(struct units *units, const struct agent_pool *pools, size_t pool_count)
{
    size_t count = 0;

    for (size_t i = 0; i < pool_count; i++)
        count += pools[i].count;
    *units = (struct units){ .items = memory_new((count + 1) * sizeof(*units->items)) };
    for (size_t i = 0; i < pool_count; i++)
        add_pool(units, &pools[i]);
}

void units_done(struct units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        free(units->items[i].name);
        free(units->items[i].pool);
    }
    free(units->items);
    map_done(&units->by_name);
    heap_done(&units->heals);
}

struct unit *units_find(const struct units *units, const char *name)
{
    struct unit *unit = map_get(&units->by_name, name_key(name));

    return unit && strcmp(unit->name, name) == 0 ? unit : NULL;
}

Wafer__HostedSystem *unit_hosted_system(const struct unit *unit)
{
    Wafer__HostedSystem *system = MESSAGE_NEW(Wafer__HostedSystem, hosted_system);

    system->name = text_copy(unit->name);
    system->pool = text_copy(unit->pool);
    system->platform = text_copy(unit->platform->name);
    system->state = unit->down ? WAFER__SYSTEM__STATE__DOWN : WAFER__SYSTEM__STATE__UP;
    system->reason = unit->down ? text_copy("crashed") : NULL;
    return system;
}
