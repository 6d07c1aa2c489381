#include "model/calendar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"

#define YEAR_DAYS 366 /* how long a window may be, and how far back the first may have begun */

/* The first day, and the time of each. */
struct start {
    int64_t day, time_s;
    const struct zone *zone; /* NULL: UTC */
};

static int64_t start_us(const struct start *start, int64_t day)
{
    int64_t local_s = day * DAY_S + start->time_s;
    int64_t utc_s = start->zone ? zone_utc_s(start->zone, local_s) : local_s;

    return utc_s * SECOND_US;
}

static int read_start(const Wafer__Calendar *calendar, struct start *ret, struct diag *diag)
{
    int64_t us, local_s;
    int r;

    if (calendar->zone) {
        r = timestamp_parse_local(calendar->start, &local_s, diag);
        if (r < 0)
            return diag_prefix(diag, r, "start");
    } else {
        r = timestamp_parse(calendar->start, &us, diag);
        if (r < 0)
            return diag_prefix(diag, r, "start, without a zone");
        local_s = us / SECOND_US;
    }
    ret->time_s = (local_s % DAY_S + DAY_S) % DAY_S;
    ret->day = (local_s - ret->time_s) / DAY_S;
    return 0;
}

/* Of a single window it is known what was meant, or it is asked: the clocks may have been changed
 * then, and who is an hour off is off by all of what he planned. */
static int check_start(const Wafer__Calendar *calendar, const struct start *start,
                       struct diag *diag)
{
    if (!start->zone)
        return 0;
    int64_t local_s = start->day * DAY_S + start->time_s;
    int64_t early_s = local_s - zone_offset_s(start->zone, local_s - DAY_S);
    int64_t late_s = local_s - zone_offset_s(start->zone, local_s + DAY_S);
    bool is_early = early_s + zone_offset_s(start->zone, early_s) == local_s;
    bool is_late = late_s + zone_offset_s(start->zone, late_s) == local_s;
    if (is_early != is_late || early_s == late_s)
        return 0;
    char early[TIMESTAMP_TEXT_SIZE], late[TIMESTAMP_TEXT_SIZE];
    timestamp_format(early_s * SECOND_US, early);
    timestamp_format(late_s * SECOND_US, late);
    return diag_fail(
        diag, -EINVAL,
        "start: clocks in %s show %s %s, as they are changed: write %s or %s, without a zone",
        calendar->zone, calendar->start, is_early ? "twice" : "never", early, late);
}

static bool is_on(const Wafer__Calendar *calendar, int64_t day, int64_t first)
{
    if (calendar->every != WAFER__CALENDAR__EVERY__weekly)
        return true;
    for (size_t i = 0; i < calendar->n_on; i++)
        if ((int)calendar->on[i] == date_weekday(day))
            return true;
    return !calendar->n_on && date_weekday(day) == date_weekday(first);
}

static int check(const Wafer__Calendar *calendar, struct diag *diag)
{
    if (calendar->duration->us <= 0 || calendar->duration->us > YEAR_DAYS * DAY_US)
        return diag_fail(diag, -EINVAL, "duration: at least a moment, at most a year");
    if (calendar->every == WAFER__CALENDAR__EVERY__daily && calendar->duration->us > DAY_US)
        return diag_fail(diag, -EINVAL, "duration: a daily one lasts a day at most");
    if (calendar->every == WAFER__CALENDAR__EVERY__weekly && calendar->duration->us > 7 * DAY_US)
        return diag_fail(diag, -EINVAL, "duration: a weekly one lasts a week at most");
    if (calendar->n_on && calendar->every != WAFER__CALENDAR__EVERY__weekly)
        return diag_fail(diag, -EINVAL, "on: days of the week are for what is weekly");
    if (calendar->until && calendar->every == WAFER__CALENDAR__EVERY__once)
        return diag_fail(diag, -EINVAL, "until: is for what is daily or weekly");
    return 0;
}

static void add_window(struct calendar_windows *windows, size_t *capacity, int64_t from_us,
                       int64_t until_us)
{
    ARRAY_RESERVE(windows->items, windows->count, *capacity);
    Wafer__WindowState *window = &windows->items[windows->count++];
    wafer__window_state__init(window);
    window->from_us = from_us;
    window->until_us = until_us;
}

int calendar_expand(const Wafer__Calendar *calendar, const struct zone *zone, int64_t now_us,
                    struct calendar_windows *ret, struct diag *diag)
{
    int64_t span_us = calendar->duration->us, ahead_us = now_us + CALENDAR_AHEAD_DAYS * DAY_US;
    struct start start = { .zone = zone };
    size_t capacity = 0;
    int r = check(calendar, diag);

    if (r == 0)
        r = read_start(calendar, &start, diag);
    if (r < 0)
        return r;
    *ret = (struct calendar_windows){ .known_until_us = INT64_MAX };
    if (calendar->every == WAFER__CALENDAR__EVERY__once) {
        r = check_start(calendar, &start, diag);
        if (r < 0)
            return r;
        int64_t from_us = start_us(&start, start.day);
        if (from_us + span_us > now_us)
            add_window(ret, &capacity, from_us, from_us + span_us);
        return 0;
    }
    /* A day more at both ends: the zone's day is not that of UTC. */
    int64_t day = (now_us - span_us) / DAY_US - 2;
    for (day = day > start.day ? day : start.day;; day++) {
        int64_t from_us = start_us(&start, day);
        if (calendar->until && from_us >= calendar->until->us)
            return 0;
        if (from_us >= ahead_us)
            break;
        if (from_us + span_us > now_us && is_on(calendar, day, start.day))
            add_window(ret, &capacity, from_us, from_us + span_us);
    }
    ret->known_until_us = ahead_us;
    return 0;
}

void calendar_windows_done(struct calendar_windows *windows)
{
    free(windows->items);
    *windows = (struct calendar_windows){ .items = NULL };
}

char *calendar_text(const Wafer__Calendar *calendar)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    char span[DURATION_TEXT_SIZE], until[TIMESTAMP_TEXT_SIZE];
    owned(free) char *on = text_copy("");

    duration_format(calendar->duration->us, span);
    for (size_t i = 0; i < calendar->n_on; i++) {
        char *longer = text_format("%s %s", on, days[calendar->on[i]]);
        free(on);
        on = longer;
    }
    if (calendar->until)
        timestamp_format(calendar->until->us, until);
    return text_format("%s%s from %s%s%s for %s%s%s",
                       calendar->every == WAFER__CALENDAR__EVERY__once    ? "once"
                       : calendar->every == WAFER__CALENDAR__EVERY__daily ? "daily"
                                                                          : "weekly",
                       on, calendar->start, calendar->zone ? " " : "",
                       calendar->zone ? calendar->zone : "", span, calendar->until ? " until " : "",
                       calendar->until ? until : "");
}
