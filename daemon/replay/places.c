#include "replay/places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct places {
    uint32_t count, free_count;
    uint32_t free[]; /* the last is the next to be taken */
};

struct places *places_new(uint32_t count)
{
    struct places *places = memory_new(sizeof(*places) + count * sizeof(places->free[0]));

    places->count = places->free_count = count;
    for (uint32_t i = 0; i < count; i++)
        places->free[i] = count - 1 - i;
    return places;
}

struct places *places_free(struct places *places)
{
    free(places);
    return NULL;
}

void places_take(struct places *places, uint32_t count, struct held *ret)
{
    assert(count <= places->free_count);
    places->free_count -= count;
    ret->count = count;
    ret->systems = memory_copy(&places->free[places->free_count], count * sizeof(*ret->systems));
}

void places_give(struct places *places, struct held *held)
{
    assert(held->count <= places->count - places->free_count);
    if (held->count)
        memcpy(&places->free[places->free_count], held->systems,
               held->count * sizeof(*held->systems));
    places->free_count += held->count;
    free(held->systems);
    *held = (struct held){ .systems = NULL };
}

/* Its place among them; `count`: it is none. Without an end in the middle, so that many are
 * compared at once. */
static uint32_t find(const uint32_t *systems, uint32_t count, uint32_t system)
{
    uint32_t found = count;

    for (uint32_t i = 0; i < count; i++)
        found = systems[i] == system ? i : found;
    return found;
}

bool held_has(const struct held *held, uint32_t system)
{
    return find(held->systems, held->count, system) < held->count;
}

void places_close(struct places *places, uint32_t system)
{
    uint32_t at = find(places->free, places->free_count, system);

    assert(at < places->free_count);
    places->free[at] = places->free[--places->free_count];
}

void places_open(struct places *places, uint32_t system)
{
    assert(places->free_count < places->count);
    places->free[places->free_count++] = system;
}
