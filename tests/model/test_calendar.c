#include "model/calendar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "tap.h"
#include "zone_file.h"

static struct zone *berlin(void)
{
    uint8_t file[256];
    struct zone *zone = NULL;
    struct diag diag = { "" };
    size_t length = zone_file_make(ZONE_FILE_BERLIN, 3600, file);

    ck_assert_msg(zone_parse(file, length, &zone, &diag) == 0, "%s", diag.text);
    return zone;
}

static int64_t at(const char *text)
{
    int64_t us = 0;
    struct diag diag = { "" };

    ck_assert_msg(timestamp_parse(text, &us, &diag) == 0, "%s", diag.text);
    return us;
}

static Wafer__Duration two_hours = { .us = 2 * HOUR_US };

static Wafer__Calendar make(const char *start, Wafer__Calendar__Every every)
{
    Wafer__Calendar calendar = WAFER__CALENDAR__INIT;

    wafer__duration__init(&two_hours);
    two_hours.us = 2 * HOUR_US;
    calendar.start = (char *)start;
    calendar.zone = (char *)"Europe/Berlin";
    calendar.duration = &two_hours;
    calendar.every = every;
    return calendar;
}

/* The first windows after `now`, as "2026-03-28T01:00:00Z 2026-03-29T01:00:00Z". */
static char *first_of(const Wafer__Calendar *calendar, const char *now, size_t count)
{
    owned(zone_free) struct zone *zone = calendar->zone ? berlin() : NULL;
    struct calendar_windows windows;
    struct diag diag = { "" };
    char *text = text_copy("");

    ck_assert_msg(calendar_expand(calendar, zone, at(now), &windows, &diag) == 0, "%s", diag.text);
    for (size_t i = 0; i < windows.count && i < count; i++) {
        char from[TIMESTAMP_TEXT_SIZE];
        timestamp_format(windows.items[i].from_us, from);
        ck_assert_int_eq(windows.items[i].until_us - windows.items[i].from_us,
                         calendar->duration->us);
        char *longer = text_format("%s%s%s", text, i ? " " : "", from);
        free(text);
        text = longer;
    }
    calendar_windows_done(&windows);
    return text;
}

static const struct {
    const char *what, *start;
    Wafer__Calendar__Every every;
    const char *now, *windows;
} rows[] = {
    { "clocks are put forward", "2026-01-01T08:00", WAFER__CALENDAR__EVERY__daily,
      "2026-03-28T00:00:00Z", "2026-03-28T07:00:00Z 2026-03-29T06:00:00Z 2026-03-30T06:00:00Z" },
    { "at a time that is never shown", "2026-01-01T02:30", WAFER__CALENDAR__EVERY__daily,
      "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z 2026-03-31T00:30:00Z" },
    { "clocks are put back, at a time that is shown twice", "2026-01-01T02:30",
      WAFER__CALENDAR__EVERY__daily, "2026-10-24T12:00:00Z",
      "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z 2026-10-27T01:30:00Z" },
    { "weekly across the change", "2026-03-22T08:00", WAFER__CALENDAR__EVERY__weekly,
      "2026-03-21T00:00:00Z", "2026-03-22T07:00:00Z 2026-03-29T06:00:00Z 2026-04-05T06:00:00Z" },
    { "a leap day", "2028-02-27T08:00", WAFER__CALENDAR__EVERY__daily, "2028-02-28T12:00:00Z",
      "2028-02-29T07:00:00Z 2028-03-01T07:00:00Z 2028-03-02T07:00:00Z" },
    { "one that goes on is there", "2026-01-01T08:00", WAFER__CALENDAR__EVERY__daily,
      "2026-01-15T08:59:59Z", "2026-01-15T07:00:00Z 2026-01-16T07:00:00Z 2026-01-17T07:00:00Z" },
    { "one that is just over is not", "2026-01-01T08:00", WAFER__CALENDAR__EVERY__daily,
      "2026-01-15T09:00:00Z", "2026-01-16T07:00:00Z 2026-01-17T07:00:00Z 2026-01-18T07:00:00Z" },
    { "none before the first", "2026-02-01T00:30", WAFER__CALENDAR__EVERY__daily,
      "2026-01-15T09:00:00Z", "2026-01-31T23:30:00Z 2026-02-01T23:30:00Z 2026-02-02T23:30:00Z" },
    { "once, however far away", "2027-08-01T08:00", WAFER__CALENDAR__EVERY__once,
      "2026-01-15T09:00:00Z", "2027-08-01T06:00:00Z" },
    { "once, and over", "2026-01-01T08:00", WAFER__CALENDAR__EVERY__once, "2026-01-15T09:00:00Z",
      "" },
};

START_TEST(windows_begin_at_the_time_of_the_wall_clock)
{
    Wafer__Calendar calendar = make(rows[_i].start, rows[_i].every);

    owned(free) char *windows = first_of(&calendar, rows[_i].now, 3);
    ck_assert_msg(strcmp(windows, rows[_i].windows) == 0, "%s: %s", rows[_i].what, windows);
}
END_TEST

START_TEST(weekly_ones_are_on_the_days_that_are_named)
{
    Wafer__Calendar__Weekday days[] = { WAFER__CALENDAR__WEEKDAY__sun,
                                        WAFER__CALENDAR__WEEKDAY__tue };
    Wafer__Calendar calendar =
        make("2026-03-25T08:00" /* a Wednesday */, WAFER__CALENDAR__EVERY__weekly);

    calendar.on = days;
    calendar.n_on = ELEMENTS(days);
    owned(free) char *windows = first_of(&calendar, "2026-03-24T00:00:00Z", 3);
    ck_assert_str_eq(windows, "2026-03-29T06:00:00Z 2026-03-31T06:00:00Z 2026-04-05T06:00:00Z");
}
END_TEST

START_TEST(without_a_zone_the_day_has_24_hours)
{
    Wafer__Calendar calendar = make("2026-03-28T08:00:00+01:00", WAFER__CALENDAR__EVERY__daily);

    calendar.zone = NULL;
    owned(free) char *windows = first_of(&calendar, "2026-03-28T00:00:00Z", 2);
    ck_assert_str_eq(windows, "2026-03-28T07:00:00Z 2026-03-29T07:00:00Z");
}
END_TEST

START_TEST(what_is_known_has_an_end_unless_the_calendar_has_one)
{
    Wafer__Calendar calendar = make("2026-01-01T08:00", WAFER__CALENDAR__EVERY__daily);
    owned(zone_free) struct zone *zone = berlin();
    struct calendar_windows windows;
    Wafer__Time until = WAFER__TIME__INIT;

    ck_assert_int_eq(calendar_expand(&calendar, zone, at("2026-01-01T00:00:00Z"), &windows, NULL),
                     0);
    ck_assert_uint_eq(windows.count, CALENDAR_AHEAD_DAYS);
    ck_assert_int_eq(windows.known_until_us,
                     at("2026-01-01T00:00:00Z") + CALENDAR_AHEAD_DAYS * DAY_US);
    calendar_windows_done(&windows);
    until.us = at("2026-01-03T07:00:00Z"); /* when the third would begin */
    calendar.until = &until;
    ck_assert_int_eq(calendar_expand(&calendar, zone, at("2026-01-01T00:00:00Z"), &windows, NULL),
                     0);
    ck_assert_uint_eq(windows.count, 2);
    ck_assert_int_eq(windows.known_until_us, INT64_MAX);
    calendar_windows_done(&windows);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    Wafer__Calendar calendar = make("2026-01-01T08:00", WAFER__CALENDAR__EVERY__daily);
    Wafer__Calendar__Weekday day = WAFER__CALENDAR__WEEKDAY__mon;
    owned(zone_free) struct zone *zone = berlin();
    struct calendar_windows windows;
    struct diag diag;

    two_hours.us = 25 * HOUR_US;
    ck_assert_int_eq(calendar_expand(&calendar, zone, 0, &windows, &diag), -EINVAL);
    ck_assert_ptr_nonnull(strstr(diag.text, "a day at most"));
    two_hours.us = HOUR_US;
    calendar.on = &day;
    calendar.n_on = 1;
    ck_assert_int_eq(calendar_expand(&calendar, zone, 0, &windows, &diag), -EINVAL);
    calendar.n_on = 0;
    calendar.start = (char *)"2026-01-01T08:00:00Z"; /* an offset, and a zone */
    ck_assert_int_eq(calendar_expand(&calendar, zone, 0, &windows, &diag), -EINVAL);
    calendar.zone = NULL;
    calendar.start = (char *)"2026-01-01T08:00"; /* neither */
    ck_assert_int_eq(calendar_expand(&calendar, NULL, 0, &windows, &diag), -EINVAL);
}
END_TEST

static const struct {
    const char *start, *says; /* NULL: it is taken */
} changed[] = {
    { "2026-03-29T01:59:59", NULL },
    { "2026-03-29T02:00", "never, as they are changed: write 2026-03-29T01:00:00Z or "
                          "2026-03-29T00:00:00Z" },
    { "2026-03-29T02:59:59", "never" },
    { "2026-03-29T03:00", NULL },
    { "2026-10-25T01:59:59", NULL },
    { "2026-10-25T02:00", "twice, as they are changed: write 2026-10-25T00:00:00Z or "
                          "2026-10-25T01:00:00Z" },
    { "2026-10-25T02:59:59", "twice" },
    { "2026-10-25T03:00", NULL },
};

START_TEST(a_single_window_is_at_a_time_that_there_is_once)
{
    Wafer__Calendar calendar = make(changed[_i].start, WAFER__CALENDAR__EVERY__once);
    owned(zone_free) struct zone *zone = berlin();
    struct calendar_windows windows;
    struct diag diag = { "" };
    int r = calendar_expand(&calendar, zone, 0, &windows, &diag);

    if (!changed[_i].says) {
        ck_assert_msg(r == 0, "%s", diag.text);
        ck_assert_uint_eq(windows.count, 1);
        calendar_windows_done(&windows);
    } else {
        ck_assert_int_eq(r, -EINVAL);
        ck_assert_msg(strstr(diag.text, changed[_i].says) != NULL, "%s", diag.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calendar");
    TCase *tcase = tcase_create("calendar");

    tcase_add_loop_test(tcase, windows_begin_at_the_time_of_the_wall_clock, 0, ELEMENTS(rows));
    tcase_add_test(tcase, weekly_ones_are_on_the_days_that_are_named);
    tcase_add_test(tcase, without_a_zone_the_day_has_24_hours);
    tcase_add_test(tcase, what_is_known_has_an_end_unless_the_calendar_has_one);
    tcase_add_test(tcase, what_makes_no_sense_is_refused);
    tcase_add_loop_test(tcase, a_single_window_is_at_a_time_that_there_is_once, 0,
                        ELEMENTS(changed));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
