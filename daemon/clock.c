#include "clock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ran_us(int64_t cluster_us, int64_t passed_us, uint32_t speed)
{
    if (passed_us <= 0)
        return cluster_us;
    __int128 time_us = (__int128)cluster_us + (__int128)passed_us * speed;
    return time_us < INT64_MAX ? (int64_t)time_us : INT64_MAX;
}

int64_t clock_begin(struct clock *clock, const struct clock_start *start)
{
    const Wafer__ClockState *journaled = start->journaled;
    int64_t known_us = later(start->newest_us, journaled ? journaled->cluster_us : 0);
    bool is_same_boot = journaled && strcmp(journaled->boot_id, start->boot_id) == 0;
    int64_t behind_us = 0, now_us;

    assert(start->speed > 0 && start->speed <= CLOCK_SPEED_MAX);
    if (!journaled) {
        now_us = later(start->wall_us, known_us);
    } else if (start->stood_still) {
        now_us = known_us;
    } else if (is_same_boot) {
        int64_t passed_us = start->boottime_us - journaled->boottime_us;
        now_us = later(ran_us(journaled->cluster_us, passed_us, journaled->speed), known_us);
    } else {
        now_us = later(start->wall_us, known_us);
        behind_us = now_us - start->wall_us;
    }
    *clock = (struct clock){ .boottime_us = start->boottime_us,
                             .cluster_us = now_us,
                             .speed = start->speed,
                             .frozen = start->stood_still };
    if (start->may_freeze && is_same_boot && journaled->speed == 0 && !start->stood_still) {
        /* It was frozen when we ended, and whoever hosts systems may have run on since then. */
        clock->boottime_us = journaled->boottime_us;
        clock->frozen = true;
    }
    snprintf(clock->boot_id, sizeof(clock->boot_id), "%s", start->boot_id);
    return behind_us;
}

int64_t clock_time_us(const struct clock *clock, int64_t boottime_us)
{
    if (clock->frozen)
        return clock->cluster_us;
    return ran_us(clock->cluster_us, boottime_us - clock->boottime_us, clock->speed);
}

int64_t clock_due_us(const struct clock *clock, int64_t time_us)
{
    if (time_us <= clock->cluster_us)
        return clock->boottime_us;
    if (clock->frozen || time_us == INT64_MAX)
        return INT64_MAX;
    uint64_t wait_us = ((uint64_t)time_us - (uint64_t)clock->cluster_us - 1) / clock->speed + 1;
    return wait_us < (uint64_t)(INT64_MAX - clock->boottime_us)
               ? clock->boottime_us + (int64_t)wait_us
               : INT64_MAX;
}

void clock_anchor(struct clock *clock, int64_t boottime_us)
{
    clock->cluster_us = clock_time_us(clock, boottime_us);
    clock->boottime_us = later(boottime_us, clock->boottime_us);
}

void clock_freeze(struct clock *clock, int64_t boottime_us)
{
    if (clock->frozen)
        return;
    clock_anchor(clock, boottime_us);
    clock->frozen = true;
}

void clock_thaw(struct clock *clock, int64_t boottime_us, int64_t seen_us)
{
    if (!clock->frozen)
        return;
    int64_t unfrozen_us = ran_us(clock->cluster_us, boottime_us - clock->boottime_us, clock->speed);
    if (seen_us > clock->cluster_us)
        clock->cluster_us = seen_us < unfrozen_us ? seen_us : unfrozen_us;
    clock->boottime_us = later(boottime_us, clock->boottime_us);
    clock->frozen = false;
}

void clock_state(const struct clock *clock, Wafer__ClockState *ret)
{
    *ret = (Wafer__ClockState)WAFER__CLOCK_STATE__INIT;
    ret->boot_id = (char *)clock->boot_id;
    ret->boottime_us = clock->boottime_us;
    ret->cluster_us = clock->cluster_us;
    ret->speed = clock->frozen ? 0 : clock->speed;
}
