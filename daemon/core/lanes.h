/* lanes — which systems of a pool are there when, where windows keep some of them back.
 *
 * A lane is the systems of one domain that have the same windows. Within a lane systems are alike,
 * so that counts are enough; a job may take its systems from several lanes of its domain, of each
 * those that are free, and outside of all windows, for all of its limit. Lanes are made for one
 * pass, or one question, from what the systems are doing.
 *
 * Units      microseconds of cluster time; windows are half-open; INT64_MAX is never
 * Ownership  windows are borrowed, and outlive the lanes */
#ifndef WAFERD_CORE_LANES_H
#define WAFERD_CORE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile.h"

/* Time in which systems are for nobody but those who name the reservation. */
struct lane_window {
    int64_t from_us, until_us;
    uint8_t reservation; /* a number of the caller's; 0: they are for nobody */
};

struct lane {
    size_t domain;
    const struct lane_window *windows; /* rising `from_us`; those of two reservations may overlap */
    size_t window_count;
    struct profile profile; /* what is free, whatever the windows */
    int64_t idle;           /* now; the profile may have more: of jobs that outlast their limits */
};

struct lanes { /* by rising domains */
    struct lane *items;
    size_t count, capacity;
    int64_t now_us;
};

/* What a job asks of them. */
struct lane_demand {
    uint32_t systems;
    int64_t span_us;     /* INT64_MAX: nobody knows when it ends */
    uint8_t reservation; /* it runs within a window of it; 0: outside of all windows */
    bool at_once;        /* it starts now: on what is idle */
};

void lanes_init(struct lanes *lanes, int64_t now_us);
void lanes_done(struct lanes *lanes);

/* A further one, of the last domain or a later one; nothing is free there yet. */
struct lane *lanes_add(struct lanes *lanes, size_t domain, const struct lane_window *windows,
                       size_t window_count);
/* So many of its systems are idle, or will be from then on. */
void lane_idle(struct lane *lane, int64_t systems);
void lane_free_from(struct lane *lane, int64_t from_us, int64_t systems);

/* Does such a job meet no window that it may not run in? */
bool lane_is_open(const struct lane *lane, uint8_t reservation, int64_t from_us, int64_t until_us);
/* How many of the lane the job could have from `from_us` on. */
int64_t lane_available(const struct lane *lane, const struct lane_demand *demand, int64_t from_us);

/* The earliest start from `from_us` on, and before `before_us`, of all domains; INT64_MAX: there is
 * none. At equal times: now the domain with the least room, so that large holes stay whole; later
 * the first. */
int64_t lanes_find(const struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                   int64_t before_us, size_t *ret_domain);
/* Is it there at that time? */
bool lanes_fit(const struct lanes *lanes, const struct lane_demand *demand, size_t domain,
               int64_t from_us);

/* Are the lanes of both the same, whatever is free in them? */
bool lanes_are_alike(const struct lanes *a, const struct lanes *b);
/* Take these again, if they are all there: false: they are not, and nothing is taken. */
bool lanes_retake(struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                  const uint32_t *shares);
/* Take them from that time on, which fits: of the lanes whose next window is nearest first. How
 * many of each lane is written to `shares`, which has as many as there are lanes. */
void lanes_take(struct lanes *lanes, const struct lane_demand *demand, size_t domain,
                int64_t from_us, uint32_t *shares);
void lanes_give_back(struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                     const uint32_t *shares);

/* Which windows alone keep the job from starting now: in some domain enough systems are idle. */
struct lane_obstacle {
    int64_t span_us;     /* so long a job could start now, until ... */
    int64_t edge_us;     /* ... then; span 0: when that may change (INT64_MAX: never) */
    uint8_t reservation; /* whose window begins or ends then */
};
bool lanes_obstacle(const struct lanes *lanes, const struct lane_demand *demand,
                    struct lane_obstacle *ret);

/* When windows begin or end next, after `us`. */
int64_t lanes_next_edge(const struct lanes *lanes, int64_t us);

#endif
