/* map — from a 64-bit key to a pointer, in no order.
 *
 * Keys are any number but the two largest. Whoever needs an order keeps a list beside the map. */
#ifndef WAFERD_BASE_MAP_H
#define WAFERD_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot *slots;
    size_t capacity, used, filled; /* filled counts the graves of removed keys too */
};

struct map_slot {
    uint64_t key;
    void *value;
};

#define MAP_EMPTY                                                                                  \
    {                                                                                              \
        .slots = NULL                                                                              \
    }

void map_done(struct map *map);                           /* the values are the caller's */
void *map_get(const struct map *map, uint64_t key);       /* or NULL */
void map_put(struct map *map, uint64_t key, void *value); /* replaces */
void *map_remove(struct map *map, uint64_t key);          /* the value that was there, or NULL */

static inline size_t map_count(const struct map *map)
{
    return map->used;
}

/* Walk: start with *cursor = 0; NULL at the end. Removing the current key is allowed. */
void *map_next(const struct map *map, size_t *cursor);

#endif
