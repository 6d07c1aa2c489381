#include "core/timers.h"

#include <stdlib.h>

#include "base/memory.h"

void timers_done(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){ NULL, 0, 0 };
}

static void put(struct timers *timers, size_t place, struct timer *timer)
{
    timers->heap[place] = timer;
    timer->place = (uint32_t)place;
}

static void settle(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;

    while (place > 1 && timer->due_us < timers->heap[place / 2]->due_us) {
        put(timers, place, timers->heap[place / 2]);
        place /= 2;
    }
    for (;;) {
        size_t child = place * 2;
        if (child > timers->count)
            break;
        if (child < timers->count && timers->heap[child + 1]->due_us < timers->heap[child]->due_us)
            child++;
        if (timers->heap[child]->due_us >= timer->due_us)
            break;
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

void timer_set(struct timers *timers, struct timer *timer, int64_t due_us)
{
    timer->due_us = due_us;
    if (!timer->place) {
        if (timers->count + 1 >= timers->capacity) {
            timers->capacity = timers->capacity ? timers->capacity * 2 : 16;
            timers->heap = memory_resize(timers->heap, timers->capacity, sizeof(*timers->heap));
        }
        timer->place = (uint32_t)++timers->count;
    }
    settle(timers, timer);
}

void timer_clear(struct timers *timers, struct timer *timer)
{
    if (!timer->place)
        return;
    struct timer *last = timers->heap[timers->count--];
    if (last != timer) {
        last->place = timer->place;
        settle(timers, last);
    }
    timer->place = 0;
}

struct timer *timers_first(const struct timers *timers)
{
    return timers->count ? timers->heap[1] : NULL;
}
