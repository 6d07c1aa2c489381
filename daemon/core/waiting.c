#include "core/waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "core/scheduler.h"

void waiting_init(struct waiting *waiting, waiting_order_fn order)
{
    *waiting = (struct waiting){ .order = order };
}

void waiting_done(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->chunk_count; i++)
        free(waiting->chunks[i]);
    free(waiting->chunks);
    *waiting = (struct waiting){ .order = waiting->order };
}

static struct schedule_entry *last_of(const struct waiting_chunk *chunk)
{
    return chunk->slots[chunk->count - 1].entry;
}

static void number_from(struct waiting *waiting, size_t first)
{
    for (size_t i = first; i < waiting->chunk_count; i++)
        waiting->chunks[i]->index = i;
}

static struct waiting_chunk *chunk_new(struct waiting *waiting, size_t index)
{
    struct waiting_chunk *chunk = memory_new(sizeof(*chunk));

    ARRAY_RESERVE(waiting->chunks, waiting->chunk_count, waiting->capacity);
    memmove(&waiting->chunks[index + 1], &waiting->chunks[index],
            (waiting->chunk_count - index) * sizeof(*waiting->chunks));
    waiting->chunks[index] = chunk;
    waiting->chunk_count++;
    chunk->least_systems = UINT32_MAX;
    chunk->least_limit_us = INT64_MAX;
    number_from(waiting, index);
    return chunk;
}

static void chunk_free(struct waiting *waiting, struct waiting_chunk *chunk)
{
    size_t index = chunk->index;

    free(chunk);
    waiting->chunk_count--;
    memmove(&waiting->chunks[index], &waiting->chunks[index + 1],
            (waiting->chunk_count - index) * sizeof(*waiting->chunks));
    number_from(waiting, index);
}

static void bound(struct waiting_chunk *chunk, const struct waiting_slot *slot)
{
    if (slot->systems < chunk->least_systems)
        chunk->least_systems = slot->systems;
    if (slot->limit_us < chunk->least_limit_us)
        chunk->least_limit_us = slot->limit_us;
}

static void put(struct waiting_chunk *chunk, uint32_t place, struct waiting_slot slot)
{
    chunk->slots[place] = slot;
    slot.entry->chunk = chunk;
    bound(chunk, &slot);
}

/* Move the slots of `from` behind those of `to`. */
static void move_slots(struct waiting_chunk *to, struct waiting_chunk *from, uint32_t first)
{
    for (uint32_t i = first; i < from->count; i++)
        put(to, to->count++, from->slots[i]);
    from->count = first;
}

static void bound_anew(struct waiting_chunk *chunk)
{
    chunk->least_systems = UINT32_MAX;
    chunk->least_limit_us = INT64_MAX;
    for (uint32_t i = 0; i < chunk->count; i++)
        bound(chunk, &chunk->slots[i]);
}

/* Before `place` of the chunk, which is split in two when it is full. */
static void insert_at(struct waiting *waiting, struct waiting_chunk *chunk, uint32_t place,
                      struct schedule_entry *entry)
{
    if (chunk->count == WAITING_CHUNK) {
        /* Arrivals mostly come last: a full last chunk stays full. */
        bool is_end = place == WAITING_CHUNK && chunk->index + 1 == waiting->chunk_count;
        uint32_t half = is_end ? WAITING_CHUNK : WAITING_CHUNK / 2;
        struct waiting_chunk *behind = chunk_new(waiting, chunk->index + 1);
        move_slots(behind, chunk, half);
        bound_anew(chunk);
        if (place > half || is_end) {
            chunk = behind;
            place -= half;
        }
    }
    memmove(&chunk->slots[place + 1], &chunk->slots[place],
            (chunk->count - place) * sizeof(chunk->slots[0]));
    chunk->count++;
    put(chunk, place, (struct waiting_slot){ entry->limit_us, entry, entry->systems });
    waiting->count++;
}

void waiting_append(struct waiting *waiting, struct schedule_entry *entry)
{
    struct waiting_chunk *chunk =
        waiting->chunk_count ? waiting->chunks[waiting->chunk_count - 1] : chunk_new(waiting, 0);

    insert_at(waiting, chunk, chunk->count, entry);
}

/* Where an entry that does not wait would go. */
static struct waiting_place place_for(const struct waiting *waiting,
                                      const struct schedule_entry *entry)
{
    size_t low = 0, high = waiting->chunk_count;

    while (low < high) { /* the first chunk whose last comes after it */
        size_t middle = (low + high) / 2;
        if (waiting->order(last_of(waiting->chunks[middle]), entry) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == waiting->chunk_count)
        return (struct waiting_place){ low, 0 };
    const struct waiting_chunk *chunk = waiting->chunks[low];
    uint32_t first = 0, end = chunk->count;
    while (first < end) {
        uint32_t middle = (first + end) / 2;
        if (waiting->order(chunk->slots[middle].entry, entry) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return (struct waiting_place){ low, first };
}

void waiting_insert(struct waiting *waiting, struct schedule_entry *entry)
{
    struct waiting_place place = place_for(waiting, entry);

    if (place.chunk == waiting->chunk_count)
        waiting_append(waiting, entry);
    else
        insert_at(waiting, waiting->chunks[place.chunk], place.slot, entry);
}

struct waiting_place waiting_place_of(const struct schedule_entry *entry)
{
    const struct waiting_chunk *chunk = entry->chunk;
    uint32_t slot = 0;

    while (slot < chunk->count && chunk->slots[slot].entry != entry)
        slot++;
    assert(slot < chunk->count);
    return (struct waiting_place){ chunk->index, slot };
}

void waiting_remove(struct waiting *waiting, struct schedule_entry *entry)
{
    struct waiting_chunk *chunk = entry->chunk;
    uint32_t slot = waiting_place_of(entry).slot;

    chunk->count--;
    memmove(&chunk->slots[slot], &chunk->slots[slot + 1],
            (chunk->count - slot) * sizeof(chunk->slots[0]));
    entry->chunk = NULL;
    waiting->count--;
    if (!chunk->count) {
        chunk_free(waiting, chunk);
        return;
    }
    /* Two that together are half full become one, so that long lists stay short to walk. */
    if (chunk->index + 1 < waiting->chunk_count) {
        struct waiting_chunk *behind = waiting->chunks[chunk->index + 1];
        if (chunk->count + behind->count <= WAITING_CHUNK / 2) {
            move_slots(chunk, behind, 0);
            chunk_free(waiting, behind);
        }
    }
}

void waiting_sort(struct waiting *waiting, int (*compare)(const void *a, const void *b))
{
    struct waiting_slot *slots = memory_new((waiting->count + 1) * sizeof(*slots));
    size_t count = 0;

    for (size_t i = 0; i < waiting->chunk_count; i++) {
        memcpy(&slots[count], waiting->chunks[i]->slots,
               waiting->chunks[i]->count * sizeof(*slots));
        count += waiting->chunks[i]->count;
    }
    sort_stable(slots, count, sizeof(*slots), compare);
    count = 0;
    for (size_t i = 0; i < waiting->chunk_count; i++) {
        struct waiting_chunk *chunk = waiting->chunks[i];
        for (uint32_t slot = 0; slot < chunk->count; slot++)
            put(chunk, slot, slots[count++]);
        bound_anew(chunk);
    }
    free(slots);
}

struct schedule_entry *waiting_first(const struct waiting *waiting)
{
    return waiting->chunk_count ? waiting->chunks[0]->slots[0].entry : NULL;
}

struct schedule_entry *waiting_next(const struct waiting *waiting,
                                    const struct schedule_entry *entry)
{
    struct waiting_place place = waiting_place_of(entry);
    const struct waiting_chunk *chunk = entry->chunk;

    if (place.slot + 1 < chunk->count)
        return chunk->slots[place.slot + 1].entry;
    if (place.chunk + 1 < waiting->chunk_count)
        return waiting->chunks[place.chunk + 1]->slots[0].entry;
    return NULL;
}

struct schedule_entry *waiting_walk(const struct waiting *waiting, struct waiting_place *place)
{
    if (place->chunk == waiting->chunk_count)
        return NULL;
    const struct waiting_chunk *chunk = waiting->chunks[place->chunk];
    struct schedule_entry *entry = chunk->slots[place->slot].entry;
    if (++place->slot == chunk->count) {
        place->chunk++;
        place->slot = 0;
    }
    return entry;
}

size_t waiting_ahead(const struct waiting *waiting, const struct schedule_entry *entry, size_t most)
{
    struct waiting_place place = entry->chunk ? waiting_place_of(entry) : place_for(waiting, entry);
    size_t ahead = place.slot;

    for (size_t i = 0; i < place.chunk && ahead < most; i++)
        ahead += waiting->chunks[i]->count;
    return ahead < most ? ahead : most;
}

static bool fits(const struct waiting_filter *filter, uint32_t systems, int64_t limit_us)
{
    return systems <= filter->systems && (limit_us <= filter->limit_us || systems <= filter->spare);
}

struct schedule_entry *waiting_find(const struct waiting *waiting, struct waiting_place *place,
                                    const struct waiting_filter *filter)
{
    for (; place->chunk < waiting->chunk_count; place->chunk++, place->slot = 0) {
        const struct waiting_chunk *chunk = waiting->chunks[place->chunk];
        if (!fits(filter, chunk->least_systems, chunk->least_limit_us))
            continue;
        for (; place->slot < chunk->count; place->slot++) {
            const struct waiting_slot *slot = &chunk->slots[place->slot];
            if (fits(filter, slot->systems, slot->limit_us))
                return slot->entry;
        }
    }
    return NULL;
}
