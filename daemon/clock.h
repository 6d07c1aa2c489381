/* clock — cluster time: microseconds since 1970 UTC, at `speed` times the pace of this machine.
 *
 *     cluster = cluster_us + (boottime - boottime_us) * speed
 *
 * The anchor is journaled. On the same boot cluster time runs on over a restart of the daemon;
 * after a reboot it follows the wall clock, but never backwards. A frozen clock stands still: its
 * anchor has speed 0.
 *
 * Pure: callers read boot id, boottime and wall clock.
 * Units  `_us` microseconds: `boottime` of this boot, `time` and `cluster` of cluster time */
#ifndef WAFERD_CLOCK_H
#define WAFERD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "record.pb-c.h"

#define CLOCK_SPEED_MAX 100000

struct clock {
    char boot_id[64];
    int64_t boottime_us, cluster_us; /* the anchor */
    uint32_t speed;                  /* when it runs */
    bool frozen;
};

struct clock_start {
    const char *boot_id;
    int64_t boottime_us, wall_us;       /* now */
    uint32_t speed;                     /* from now on */
    const Wafer__ClockState *journaled; /* the last anchor; NULL: the first start */
    int64_t newest_us;                  /* no record is younger; 0: there is none */
    bool may_freeze;  /* time stands still while nobody hosts systems; and nobody did since: */
    bool stood_still; /* go on at newest_us, frozen */
};

/* Set the clock at start-up. Returns by how much the wall clock is behind what it was (after a
 * reboot only), else 0: cluster time then waits for nobody and goes on from where it was. */
int64_t clock_begin(struct clock *clock, const struct clock_start *start);

int64_t clock_time_us(const struct clock *clock, int64_t boottime_us);

/* The boottime at which `time_us` is reached; INT64_MAX: never, it stands still. */
int64_t clock_due_us(const struct clock *clock, int64_t time_us);

void clock_freeze(struct clock *clock, int64_t boottime_us);
/* Go on. `seen_us` is what somebody who did not stand still says the time is: taken when it is
 * between our own time and the time it would be without the freeze. */
void clock_thaw(struct clock *clock, int64_t boottime_us, int64_t seen_us);

/* Move the anchor to now, on the same line. */
void clock_anchor(struct clock *clock, int64_t boottime_us);

/* As the journal and the agents know it; borrows the boot id. */
void clock_state(const struct clock *clock, Wafer__ClockState *ret);

#endif
