/* loop — an event loop that a test turns until what it waits for has happened. */
#ifndef WAFERD_TESTS_NET_LOOP_H
#define WAFERD_TESTS_NET_LOOP_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include <time.h>

#define LOOP_PATIENCE_US UINT64_C(5000000)

/* Never reached on a machine that works; a test that waits in vain ends here. */
static inline void loop_turn(sd_event *event)
{
    int r = sd_event_run(event, LOOP_PATIENCE_US);
    ck_assert_msg(r > 0, "nothing happened in the loop: %d", r);
}

#define LOOP_UNTIL(event, condition)                                                               \
    do {                                                                                           \
        while (!(condition))                                                                       \
            loop_turn(event);                                                                      \
    } while (0)

/* Serve everything that is ready, and no more. */
static inline void loop_settle(sd_event *event)
{
    while (sd_event_run(event, 0) > 0)
        continue;
}

static inline uint64_t loop_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
