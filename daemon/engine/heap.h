/* heap — timers by due time; each timer lives in the object that it wakes. */
#ifndef WAFERD_ENGINE_HEAP_H
#define WAFERD_ENGINE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t due_us;
    size_t place;   /* 1 + its index in the heap; 0: not in it */
    uint64_t order; /* ties go to the smaller one, so that equal inputs give equal effects */
};

struct heap {
    struct timer **items;
    size_t count, capacity;
};

#define HEAP_EMPTY                                                                                 \
    {                                                                                              \
        .items = NULL                                                                              \
    }

void heap_done(struct heap *heap); /* the timers are the caller's */
void heap_set(struct heap *heap, struct timer *timer, int64_t due_us); /* INT64_MAX removes it */
struct timer *heap_first(const struct heap *heap);                     /* or NULL */

#endif
