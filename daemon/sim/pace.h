/* pace — how much cluster time the agent is given at once, and what speed that comes to.
 *
 * An agent that cannot keep up gets no more at a time than a slice of real time is worth, so that
 * the loop serves messages and beats in between; over a stretch in which nothing happens it jumps.
 *
 * Pure: callers say what the boot clock shows. */
#ifndef WAFERD_SIM_PACE_H
#define WAFERD_SIM_PACE_H

#include "sim/clock.h"

#define PACE_SLICE_US 100000 /* of real time */

struct pace { /* all zero: there is no time yet */
    struct clock clock;
    int64_t given_us;                          /* cluster time that the agent knows */
    int64_t measured_boottime_us, measured_us; /* where the measured stretch began */
};

void pace_set(struct pace *pace, const Wafer__ClockAnchor *anchor, int64_t boottime_us);

/* The cluster time to give now, never less than before. `next_us`: when the agent next has
 * something to do. */
int64_t pace_take(struct pace *pace, int64_t boottime_us, int64_t next_us);

/* Cluster seconds given in a real second since the last call or anchor; less than the clock's speed
 * only when the agent lags. */
double pace_reached(struct pace *pace, int64_t boottime_us);

#endif
