/* timers — a binary heap of due times whose nodes live in the objects that wait. */
#ifndef WAFERD_CORE_TIMERS_H
#define WAFERD_CORE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timer_owner { TIMER_JOB, TIMER_KEY, TIMER_CHECKPOINT, TIMER_RESERVED };

struct timer {
    int64_t due_us;
    uint32_t place; /* in the heap, from 1; 0: not set */
    enum timer_owner owner;
};

struct timers {
    struct timer **heap; /* heap[1] is due first */
    size_t count, capacity;
};

void timers_done(struct timers *timers);
void timer_set(struct timers *timers, struct timer *timer, int64_t due_us);
void timer_clear(struct timers *timers, struct timer *timer);
/* The first, or NULL. */
struct timer *timers_first(const struct timers *timers);

#endif
