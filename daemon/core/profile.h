/* profile — how many systems are free over the time to come.
 *
 * A step function: each step holds from its time to that of the next, the last one for ever. Counts
 * may fall below 0 where more is promised than is there (a job outlasted its limit, or a system
 * broke).
 *
 * Units  times are microseconds of any clock; intervals are half-open */
#ifndef WAFERD_CORE_PROFILE_H
#define WAFERD_CORE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

struct profile_step {
    int64_t from_us, more;
};

struct profile {
    int64_t base;               /* what is free is this and a step's `more` */
    struct profile_step *steps; /* rising times; the first holds since ever */
    size_t count, capacity;
};

void profile_init(struct profile *profile); /* nothing is free, ever */
void profile_done(struct profile *profile);
void profile_copy(struct profile *to,
                  const struct profile *from); /* in the place of what `to` is */

/* From `from_us` until before `until_us` (INT64_MAX: for ever) `systems` more are free; fewer, if
 * it is negative. */
void profile_add(struct profile *profile, int64_t from_us, int64_t until_us, int64_t systems);
/* What was before `now_us` will not be asked for again. */
void profile_forget(struct profile *profile, int64_t now_us);

/* The earliest time from `from_us` on, and before `before_us`, at which so many systems are free
 * for that long; INT64_MAX: there is none. Who asks may hold a reservation for the same systems and
 * span already, which begins at `own_us` (or INT64_MAX): it does not stand in its own way. */
int64_t profile_find(const struct profile *profile, int64_t from_us, int64_t before_us,
                     int64_t span_us, int64_t systems, int64_t own_us);
/* The fewest that are free at any time from `from_us` until before `until_us` (INT64_MAX: ever). */
int64_t profile_least(const struct profile *profile, int64_t from_us, int64_t until_us);
/* When the first step after that time begins; INT64_MAX: never. */
int64_t profile_next(const struct profile *profile, int64_t us);
/* How many are free at that time, and until when at least one is. */
int64_t profile_at(const struct profile *profile, int64_t us, int64_t *ret_until_us);

#endif
