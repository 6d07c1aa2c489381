#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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
    size_t at = offset % RING_BYTES;
    size_t first = length < RING_BYTES - at ? length : RING_BYTES - at;

    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, length - first);
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
    if (!ring->bytes)
        ring->bytes = memory_new(RING_BYTES);
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
    size_t at = offset % RING_BYTES, length = ring->end - offset;
    *ret = ring->bytes + at;
    return length < RING_BYTES - at ? length : RING_BYTES - at;
}
