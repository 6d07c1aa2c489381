#include "sim/pace.h"

static void measure_from_here(struct pace *pace, int64_t boottime_us)
{
    pace->measured_boottime_us = boottime_us;
    pace->measured_us = pace->given_us;
}

void pace_set(struct pace *pace, const Wafer__ClockAnchor *anchor, int64_t boottime_us)
{
    bool is_first = !pace->clock.is_set;

    clock_set(&pace->clock, anchor);
    if (is_first)
        pace->given_us = clock_cluster_us(&pace->clock, boottime_us);
    measure_from_here(pace, boottime_us);
}

int64_t pace_take(struct pace *pace, int64_t boottime_us, int64_t next_us)
{
    int64_t now_us = clock_cluster_us(&pace->clock, boottime_us);
    int64_t slice_us = PACE_SLICE_US * (pace->clock.speed > 0 ? pace->clock.speed : 1);

    if (now_us - pace->given_us > slice_us) {
        int64_t most_us = pace->given_us + slice_us;
        if (next_us > most_us)
            most_us = next_us;
        if (now_us > most_us)
            now_us = most_us;
    }
    if (now_us > pace->given_us)
        pace->given_us = now_us;
    return pace->given_us;
}

double pace_reached(struct pace *pace, int64_t boottime_us)
{
    int64_t passed_us = boottime_us - pace->measured_boottime_us;
    int64_t given_us = pace->given_us - pace->measured_us;

    measure_from_here(pace, boottime_us);
    return passed_us > 0 ? (double)given_us / (double)passed_us : 0;
}
