#include "sim/clock.h"

/* No anchor, however strange, may overflow. */
static int64_t saturate(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < 0 ? 0 : (int64_t)value;
}

void clock_set(struct clock *clock, const Wafer__ClockAnchor *anchor)
{
    clock->is_set = true;
    clock->boottime_us = anchor->boottime_us;
    clock->cluster_us = anchor->cluster_us;
    clock->speed = anchor->speed;
}

int64_t clock_cluster_us(struct clock *clock, int64_t boottime_us)
{
    if (!clock->is_set)
        return 0;
    int64_t cluster_us =
        saturate(clock->cluster_us + ((__int128)boottime_us - clock->boottime_us) * clock->speed);
    if (cluster_us > clock->shown_us)
        clock->shown_us = cluster_us;
    return clock->shown_us;
}

int64_t clock_due_us(const struct clock *clock, int64_t cluster_us)
{
    if (!clock->is_set || clock->speed == 0 || cluster_us == INT64_MAX)
        return INT64_MAX;
    __int128 ahead = (__int128)cluster_us - clock->cluster_us;
    if (ahead > 0) /* not a moment too early */
        ahead += clock->speed - 1;
    return saturate(clock->boottime_us + ahead / clock->speed);
}
