#include "engine/heap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void put(struct heap *heap, size_t index, struct timer *timer)
{
    heap->items[index] = timer;
    timer->place = index + 1;
}

static size_t sift_up(struct heap *heap, size_t index, const struct timer *timer)
{
    while (index > 0 && is_before(timer, heap->items[(index - 1) / 2])) {
        put(heap, index, heap->items[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    return index;
}

static size_t sift_down(struct heap *heap, size_t index, const struct timer *timer)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child + 1 < heap->count && is_before(heap->items[child + 1], heap->items[child]))
            child++;
        if (child >= heap->count || !is_before(heap->items[child], timer))
            return index;
        put(heap, index, heap->items[child]);
        index = child;
    }
}

static void settle(struct heap *heap, size_t index, struct timer *timer)
{
    index = sift_up(heap, index, timer);
    put(heap, sift_down(heap, index, timer), timer);
}

static void take_out(struct heap *heap, struct timer *timer)
{
    size_t index = timer->place - 1;
    struct timer *last = heap->items[--heap->count];

    timer->place = 0;
    if (last != timer)
        settle(heap, index, last);
}

void heap_set(struct heap *heap, struct timer *timer, int64_t due_us)
{
    timer->due_us = due_us;
    if (due_us == INT64_MAX) {
        if (timer->place)
            take_out(heap, timer);
        return;
    }
    if (!timer->place) {
        ARRAY_RESERVE(heap->items, heap->count, heap->capacity);
        timer->place = ++heap->count;
    }
    settle(heap, timer->place - 1, timer);
}

struct timer *heap_first(const struct heap *heap)
{
    return heap->count ? heap->items[0] : NULL;
}

void heap_done(struct heap *heap)
{
    free(heap->items);
    *heap = (struct heap)HEAP_EMPTY;
}
