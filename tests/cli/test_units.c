#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "cli/units.h"
#include "tap.h"

static const struct {
    uint64_t count;
    const char *text, *grouped, *digits;
} counts[] = {
    { 0, "0", "0", "0" },
    { 999, "999", "999", "999" },
    { 1000, "1k", "1,000", "1000" },
    { 3100, "3.1k", "3,100", "3100" },
    { 9999, "9.9k", "9,999", "9999" }, /* never more than there is */
    { 41999, "41k", "41,999", "41999" },
    { 999999, "999k", "999,999", "999999" },
    { 1234567, "1.2M", "1,234,567", "1234567" },
    { UINT64_MAX, "18E", "18,446,744,073,709,551,615", "18446744073709551615" },
};

START_TEST(counts_are_short_and_never_rounded_up)
{
    ck_assert_str_eq(units_count(counts[_i].count).text, counts[_i].text);
    ck_assert_str_eq(units_grouped(counts[_i].count).text, counts[_i].grouped);
    ck_assert_str_eq(units_digits(counts[_i].count).text, counts[_i].digits);
}
END_TEST

static const struct {
    int64_t seconds;
    const char *clock, *ago;
} durations[] = {
    { 0, "00:00:00", "0s" },
    { 59, "00:00:59", "59s" },
    { 35467, "09:51:07", "9h" },
    { 86400, "1-00:00:00", "1d" },
    { 125, "00:02:05", "2m" },
    { -5, "00:00:00", "0s" },              /* a clock that was set back */
    { INT64_MAX, "36500-00:00:00", NULL }, /* no overflow */
};

START_TEST(durations_read_as_a_clock_and_as_an_age)
{
    ck_assert_str_eq(units_seconds(durations[_i].seconds).text, durations[_i].clock);
    if (durations[_i].ago)
        ck_assert_str_eq(units_ago(durations[_i].seconds).text, durations[_i].ago);
}
END_TEST

START_TEST(sizes_and_decimals)
{
    ck_assert_str_eq(units_bytes(0).text, "0 B");
    ck_assert_str_eq(units_bytes(1023).text, "1023 B");
    ck_assert_str_eq(units_bytes(INT64_C(28991029248)).text, "27.0 GiB");
    ck_assert_str_eq(units_bytes(INT64_MAX).text, "8.0 EiB");
    ck_assert_str_eq(units_decimal(2412345, 4).text, "2.4123");
    ck_assert_str_eq(units_decimal(-500000, 1).text, "-0.5");
}
END_TEST

START_TEST(times_carry_their_offset)
{
    int64_t us = INT64_C(1768467600) * 1000000; /* 2026-01-15T09:00:00Z */

    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    ck_assert_str_eq(units_time(us, true).text, "2026-01-15 09:00:00Z");
    ck_assert_str_eq(units_time(us, false).text, "2026-01-15 10:00:00+01:00");
    setenv("TZ", "IST-5:30", 1);
    tzset();
    ck_assert_str_eq(units_time(us, false).text, "2026-01-15 14:30:00+05:30");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tcase = tcase_create("units");

    tcase_add_loop_test(tcase, counts_are_short_and_never_rounded_up, 0,
                        sizeof(counts) / sizeof(counts[0]));
    tcase_add_loop_test(tcase, durations_read_as_a_clock_and_as_an_age, 0,
                        sizeof(durations) / sizeof(durations[0]));
    tcase_add_test(tcase, sizes_and_decimals);
    tcase_add_test(tcase, times_carry_their_offset);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
