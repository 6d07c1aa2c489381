/* ring — the newest bytes of one log, by their offsets in it. */
#ifndef WAFERD_RING_H
#define WAFERD_RING_H

#include <stddef.h>
#include <stdint.h>

#define RING_BYTES (64 << 10)

struct ring {
    uint64_t start, end; /* offsets in the log: [start, end) is here; end - start <= RING_BYTES */
    size_t capacity;     /* grows with what is held; a power of two, at most RING_BYTES */
    uint8_t *bytes;      /* offset o is at o % capacity; NULL until there is something */
};

void ring_done(struct ring *ring);
/* Forget everything: the next bytes begin a log. */
void ring_reset(struct ring *ring);

/* Add what a log has at `offset`. What is there already is not added again; after a gap only what
 * follows it is kept. */
void ring_add(struct ring *ring, uint64_t offset, const void *bytes, size_t length);

/* The bytes from `offset` on, as many as lie in one piece; valid until the next change. 0: none. */
size_t ring_at(const struct ring *ring, uint64_t offset, const uint8_t **ret);

#endif
