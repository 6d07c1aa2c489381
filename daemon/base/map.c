/* Open addressing with linear probes; at most 3/4 of the slots are filled, so a probe ends. */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

#define SLOT_FREE  UINT64_MAX
#define SLOT_GRAVE (UINT64_MAX - 1)

static size_t slot_of(const struct map *map, uint64_t key)
{
    /* Fibonacci hashing: consecutive ids, our usual keys, spread over all slots. */
    return (key * 0x9e3779b97f4a7c15u >> 32) & (map->capacity - 1);
}

void map_done(struct map *map)
{
    free(map->slots);
    *map = (struct map)MAP_EMPTY;
}

static struct map_slot *find(const struct map *map, uint64_t key)
{
    /* A key from outside may be one that marks a slot: nobody put it here. */
    if (!map->capacity || key >= SLOT_GRAVE)
        return NULL;
    for (size_t i = slot_of(map, key);; i = (i + 1) & (map->capacity - 1)) {
        if (map->slots[i].key == key)
            return &map->slots[i];
        if (map->slots[i].key == SLOT_FREE)
            return NULL;
    }
}

void *map_get(const struct map *map, uint64_t key)
{
    const struct map_slot *slot = find(map, key);
    return slot ? slot->value : NULL;
}

static void insert(struct map *map, uint64_t key, void *value)
{
    size_t i = slot_of(map, key);
    while (map->slots[i].key != SLOT_FREE)
        i = (i + 1) & (map->capacity - 1);
    map->slots[i] = (struct map_slot){ key, value };
    map->used++;
    map->filled++;
}

static void rebuild(struct map *map)
{
    struct map old = *map;
    size_t capacity = 16;

    while (capacity < (old.used + 1) * 2)
        capacity *= 2;
    *map = (struct map){ .slots = memory_resize(NULL, capacity, sizeof(*map->slots)),
                         .capacity = capacity };
    for (size_t i = 0; i < capacity; i++)
        map->slots[i].key = SLOT_FREE;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].key < SLOT_GRAVE)
            insert(map, old.slots[i].key, old.slots[i].value);
    free(old.slots);
}

void map_put(struct map *map, uint64_t key, void *value)
{
    assert(key < SLOT_GRAVE && value);
    struct map_slot *slot = find(map, key);

    if (slot) {
        slot->value = value;
        return;
    }
    if ((map->filled + 1) * 4 > map->capacity * 3)
        rebuild(map);
    insert(map, key, value);
}

void *map_remove(struct map *map, uint64_t key)
{
    struct map_slot *slot = find(map, key);

    if (!slot)
        return NULL;
    slot->key = SLOT_GRAVE;
    map->used--;
    return slot->value;
}

void *map_next(const struct map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        const struct map_slot *slot = &map->slots[(*cursor)++];
        if (slot->key < SLOT_GRAVE)
            return slot->value;
    }
    return NULL;
}
