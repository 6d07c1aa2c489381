/* calendar — when a reservation has its windows.
 *
 * Daily and weekly windows begin at the same time of the wall clock of their zone, whatever is done
 * to the clocks; each is as long as its duration. One that would begin at a time that clocks there
 * never show (they are put forward) begins when they are; at a time that they show twice (they are
 * put back), at the first. One that comes once may not begin at either: both readings are shown.
 *
 * Units  microseconds since 1970 UTC; windows are half-open */
#ifndef WAFERD_MODEL_CALENDAR_H
#define WAFERD_MODEL_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/zone.h"
#include "record.pb-c.h"

#define CALENDAR_AHEAD_DAYS 60 /* how far windows of daily and weekly ones are told */

struct calendar_windows {
    Wafer__WindowState *items; /* rising */
    size_t count;
    /* Those that begin before are all there; INT64_MAX: there are no others. */
    int64_t known_until_us;
};

/* Those that end after `now_us` and begin within the next CALENDAR_AHEAD_DAYS; of one that is not
 * repeated the only one, whenever it is. `zone` is that of the calendar, NULL: it names none.
 * -EINVAL  the calendar makes no sense */
int calendar_expand(const Wafer__Calendar *calendar, const struct zone *zone, int64_t now_us,
                    struct calendar_windows *ret, struct diag *diag);
void calendar_windows_done(struct calendar_windows *windows);

/* "daily at 02:00 Europe/Berlin for 2h until ...": the caller frees. */
char *calendar_text(const Wafer__Calendar *calendar);

#endif
