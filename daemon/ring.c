#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_BYTES 2048 /* most logs are short, and thousands are held at a time */

void ring_done(struct ring *ring)
{
    free(ring->bytes);
    *ring = (struct ring){ 0 };
}

void ring_reset(struct ring *ring)
{
    ring->start = ring->end = 0;
}

static void copy_in(struct ring *ring, uint64_t offset, const uint8_t *bytes, size_t length)
{
    size_t at = offset % ring->capacity;
    size_t first = length < ring->capacity - at ? length : ring->capacity - at;

    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, length - first);
}

/* So that what is there and `length` more can be held, as far as a ring goes. */
static void make_room(struct ring *ring, size_t length)
{
    struct ring larger = { .start = ring->start,
                           .end = ring->end,
                           .capacity = ring->capacity ? ring->capacity : FIRST_BYTES };
    const uint8_t *bytes;
    size_t piece;

    while (larger.capacity < RING_BYTES && larger.capacity < ring->end - ring->start + length)
        larger.capacity *= 2;
    if (larger.capacity == ring->capacity)
        return;
    larger.bytes = memory_resize(NULL, larger.capacity, 1);
    for (uint64_t offset = ring->start; (piece = ring_at(ring, offset, &bytes)); offset += piece)
        copy_in(&larger, offset, bytes, piece);
    free(ring->bytes);
    *ring = larger;
}

void ring_add(struct ring *ring, uint64_t offset, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    if (offset > ring->end)
        ring->start = ring->end = offset;
    size_t known = ring->end - offset;
    if (known >= length)
        return;
    from += known;
    length -= known;
    make_room(ring, length);
    if (length > RING_BYTES) {
        ring->end += length - RING_BYTES;
        from += length - RING_BYTES;
        length = RING_BYTES;
        ring->start = ring->end;
    }
    copy_in(ring, ring->end, from, length);
    ring->end += length;
    if (ring->end - ring->start > RING_BYTES)
        ring->start = ring->end - RING_BYTES;
}

size_t ring_at(const struct ring *ring, uint64_t offset, const uint8_t **ret)
{
    if (offset < ring->start || offset >= ring->end)
        return 0;
    size_t at = offset % ring->capacity, length = ring->end - offset;
    *ret = ring->bytes + at;
    return length < ring->capacity - at ? length : ring->capacity - at;
}
