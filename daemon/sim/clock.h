/* clock — cluster time as the controller sets it, read from this machine's boot clock.
 *
 * Pure: callers say what the boot clock shows. Anchors may come at any time and say anything; what
 * comes out never goes backwards.
 *
 * Units  `boottime` microseconds of CLOCK_BOOTTIME, `cluster` microseconds of cluster time */
#ifndef WAFERD_SIM_CLOCK_H
#define WAFERD_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent.pb-c.h"

struct clock { /* all zero: there is no time yet */
    bool is_set;
    int64_t boottime_us, cluster_us; /* the anchor */
    int64_t speed;                   /* 0: time stands still */
    int64_t shown_us;                /* the latest cluster time that came out */
};

void clock_set(struct clock *clock, const Wafer__ClockAnchor *anchor);

/* 0 while there is no time. */
int64_t clock_cluster_us(struct clock *clock, int64_t boottime_us);

/* When the boot clock shows that `cluster_us` has come; INT64_MAX: never as things are. */
int64_t clock_due_us(const struct clock *clock, int64_t cluster_us);

#endif
