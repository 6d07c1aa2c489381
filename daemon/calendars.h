/* calendars — the windows of reservations, with what this machine knows of time zones.
 *
 * Zones are files of tzdata, below TZDIR or /usr/share/zoneinfo. The core is told windows, never
 * zones: what it has decided does not change with the next tzdata. */
#ifndef WAFERD_CALENDARS_H
#define WAFERD_CALENDARS_H

#include "core/core.h"
#include "model/calendar.h"

struct daemon;

/* As calendar_expand(), with the zone that the calendar names.
 * -EINVAL  the zone or the calendar makes no sense; other errors: of reading the zone's file */
int calendars_expand(const Wafer__Calendar *calendar, int64_t now_us, struct calendar_windows *ret,
                     struct diag *diag);

/* Carry out EFFECT_CALENDAR on a worker thread: the answer comes back to the core as an input. */
void calendars_renew(struct daemon *daemon, const struct effect *effect);

#endif
