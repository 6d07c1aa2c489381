#include "base/zone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/date.h"
#include "base/memory.h"
#include "tap.h"
#include "zone_file.h"

#define HOUR_S 3600

static struct zone *make_zone(const char *footer)
{
    uint8_t file[256];
    struct zone *zone = NULL;
    struct diag diag = { "" };

    ck_assert_msg(zone_parse(file, zone_file_make(footer, HOUR_S, file), &zone, &diag) == 0,
                  "%s: %s", footer, diag.text);
    return zone;
}

static int64_t at(int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute)
{
    return date_to_days(year, month, day) * DAY_S + hour * HOUR_S + minute * 60;
}

/* Of Europe/Berlin: clocks are put forward at 01:00 UTC on the last Sunday of March, and back at
 * 01:00 UTC on that of October. */
START_TEST(a_wall_clock_time_is_one_moment)
{
    owned(zone_free) struct zone *zone = make_zone("CET-1CEST,M3.5.0,M10.5.0/3");

    ck_assert_int_eq(zone_utc_s(zone, at(2026, 1, 15, 8, 0)), at(2026, 1, 15, 7, 0));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 7, 15, 8, 0)), at(2026, 7, 15, 6, 0));
    /* 02:30 is not shown on that day: the first moment after. */
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 3, 29, 1, 59)), at(2026, 3, 29, 0, 59));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 3, 29, 2, 0)), at(2026, 3, 29, 1, 0));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 3, 29, 2, 30)), at(2026, 3, 29, 1, 0));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 3, 29, 3, 0)), at(2026, 3, 29, 1, 0));
    /* 02:30 is shown twice: the first. */
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 10, 25, 1, 59)), at(2026, 10, 24, 23, 59));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 10, 25, 2, 30)), at(2026, 10, 25, 0, 30));
    ck_assert_int_eq(zone_utc_s(zone, at(2026, 10, 25, 3, 0)), at(2026, 10, 25, 2, 0));
    /* A leap day. */
    ck_assert_int_eq(zone_utc_s(zone, at(2028, 2, 29, 12, 0)), at(2028, 2, 29, 11, 0));
}
END_TEST

static const struct {
    const char *footer;
    int64_t utc_s, offset_s;
} offsets[] = {
    { "UTC0", 0, 0 },
    { "<+0530>-5:30", 0, 19800 },
    { "<-03>3", 0, -10800 },
    { "AEST-10AEDT,M10.1.0,M4.1.0/3", 1768435200 /* 2026-01-15 */, 39600 }, /* in the south */
    { "AEST-10AEDT,M10.1.0,M4.1.0/3", 1784073600 /* 2026-07-15 */, 36000 },
    { "EST5EDT,M3.2.0,M11.1.0", 1784073600, -14400 },
    { "IST-1GMT0,M10.5.0,M3.5.0/1", 1768435200, 0 },        /* "summer" is behind */
    { "AAA0BBB,J60,J300", 1835308800 /* 2028-02-28 */, 0 }, /* J60 is 1 March in every year */
    { "AAA0BBB,J60,J300", 1835488800 /* 2028-03-01T02:00 */, 3600 },
    { "AAA0BBB,59,300", 1835402400 /* 2028-02-29T02:00: day 59 of a leap year */, 3600 },
};

START_TEST(the_rule_of_the_footer_holds)
{
    owned(zone_free) struct zone *zone = make_zone(offsets[_i].footer);

    ck_assert_int_eq(zone_offset_s(zone, offsets[_i].utc_s), offsets[_i].offset_s);
}
END_TEST

START_TEST(what_is_no_such_file_is_refused)
{
    static const char *const footers[] = { "C1",        "CET",
                                           "CET-1CEST", "CET-1CEST,M3.5.0",
                                           "CET-200",   "CET-1CEST,M0.5.0,M10.5.0" };
    uint8_t file[256];
    struct zone *zone = NULL;
    struct diag diag;

    for (size_t i = 0; i < ELEMENTS(footers); i++)
        ck_assert_int_eq(zone_parse(file, zone_file_make(footers[i], 0, file), &zone, &diag),
                         -EINVAL);
    size_t length = zone_file_make("UTC0", 0, file);
    for (size_t cut = 0; cut < length; cut++)
        ck_assert_int_eq(zone_parse(file, cut, &zone, &diag), -EINVAL);
    for (size_t i = 20; i < 44; i++) { /* counts that promise more than there is */
        zone_file_make("UTC0", 0, file);
        file[i] = 0xff;
        ck_assert_int_eq(zone_parse(file, length, &zone, &diag), -EINVAL);
    }
    ck_assert_ptr_null(zone);
}
END_TEST

static const char *const names[] = { "Europe/Berlin",     "America/New_York", "Australia/Lord_Howe",
                                     "Africa/Casablanca", "Asia/Kolkata",     "America/St_Johns",
                                     "Europe/Dublin",     "Pacific/Apia" };

/* Where tzdata is there: each twelve hours from 1960 to 2060, and the hours of one year. */
START_TEST(it_is_the_zone_that_the_c_library_knows)
{
    owned(free) char *path = text_format("/usr/share/zoneinfo/%s", names[_i]);
    static uint8_t file[64 << 10];
    struct zone *zone = NULL;
    struct diag diag = { "" };
    owned(fclose) FILE *stream = fopen(path, "re");

    if (!stream)
        return;
    size_t length = fread(file, 1, sizeof(file), stream);
    ck_assert_msg(zone_parse(file, length, &zone, &diag) == 0, "%s", diag.text);
    setenv("TZ", names[_i], 1);
    tzset();
    for (time_t s = at(1960, 1, 1, 0, 0); s < at(2060, 1, 1, 0, 0);
         s += s < at(2026, 1, 1, 0, 0) || s > at(2027, 1, 1, 0, 0) ? DAY_S / 2 : HOUR_S / 2) {
        struct tm local;
        localtime_r(&s, &local);
        ck_assert_msg(zone_offset_s(zone, s) == local.tm_gmtoff, "%s at %lld", names[_i],
                      (long long)s);
        int64_t shown_s = s + local.tm_gmtoff, first_s = zone_utc_s(zone, shown_s);
        ck_assert_int_le(first_s, s);
        ck_assert_int_eq(first_s + zone_offset_s(zone, first_s), shown_s);
    }
    zone_free(zone);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zone");
    TCase *tcase = tcase_create("zone");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_wall_clock_time_is_one_moment);
    tcase_add_loop_test(tcase, the_rule_of_the_footer_holds, 0, ELEMENTS(offsets));
    tcase_add_test(tcase, what_is_no_such_file_is_refused);
    tcase_add_loop_test(tcase, it_is_the_zone_that_the_c_library_knows, 0, ELEMENTS(names));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
