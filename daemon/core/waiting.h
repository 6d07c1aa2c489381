/* waiting — the jobs that wait for systems, in the order in which they are considered.
 *
 * An ordered list in chunks. Each chunk knows the fewest systems and the shortest limit of its
 * jobs, so that a search for one that fits passes over 64 that do not at once.
 *
 * Invariants
 *   - no chunk is empty; entries follow each other by the order of the list
 *   - a chunk's `least_systems` and `least_limit_us` are bounds: no job of it is below, and
 *     after an entry was removed perhaps none is as low
 *
 * Ownership  entries belong to the caller and stay where they are while they wait */
#ifndef WAFERD_CORE_WAITING_H
#define WAFERD_CORE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITING_CHUNK 64

struct schedule_entry;

struct waiting_slot { /* what a search looks at, without touching the entry */
    int64_t limit_us;
    struct schedule_entry *entry;
    uint32_t systems;
};

struct waiting_chunk {
    size_t index; /* in the list */
    uint32_t count, least_systems;
    int64_t least_limit_us;
    struct waiting_slot slots[WAITING_CHUNK];
};

/* Less than 0: `a` is considered before `b`. Never 0. */
typedef int (*waiting_order_fn)(const struct schedule_entry *a, const struct schedule_entry *b);

struct waiting {
    waiting_order_fn order;
    struct waiting_chunk **chunks;
    size_t chunk_count, capacity, count;
};

/* A place in the list: of an entry, or behind the last. */
struct waiting_place {
    size_t chunk;
    uint32_t slot;
};

void waiting_init(struct waiting *waiting, waiting_order_fn order);
void waiting_done(struct waiting *waiting); /* the entries stay as they are */

void waiting_insert(struct waiting *waiting, struct schedule_entry *entry);
void waiting_append(struct waiting *waiting, struct schedule_entry *entry);
void waiting_remove(struct waiting *waiting, struct schedule_entry *entry);
/* Bring all into the order that `compare` gives to slots; equals stay as they are. */
void waiting_sort(struct waiting *waiting, int (*compare)(const void *a, const void *b));

struct waiting_place waiting_place_of(const struct schedule_entry *entry);
struct schedule_entry *waiting_first(const struct waiting *waiting); /* NULL: nobody waits */
struct schedule_entry *waiting_next(const struct waiting *waiting,
                                    const struct schedule_entry *entry);
/* The entry at `place`, which moves on; NULL: it was behind the last. Nobody may come or go
 * meanwhile.
 */
struct schedule_entry *waiting_walk(const struct waiting *waiting, struct waiting_place *place);
/* How many are considered before it, or would be if it waited; `most` if they are more. */
size_t waiting_ahead(const struct waiting *waiting, const struct schedule_entry *entry,
                     size_t most);

/* What a job that may start now looks like: it needs at most `systems`, and either its limit is at
 * most `limit_us` or it needs at most `spare`. */
struct waiting_filter {
    uint32_t systems, spare;
    int64_t limit_us;
};

/* The first that fits, from `place` on, which moves to it; NULL: none does. */
struct schedule_entry *waiting_find(const struct waiting *waiting, struct waiting_place *place,
                                    const struct waiting_filter *filter);

#endif
