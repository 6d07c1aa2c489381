#include "base/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define UNTOUCHED  INT64_C(-7)
#define S(seconds) (INT64_C(1000000) * (seconds))

static const struct {
    const char *text;
    int error;
    int64_t us;
} times[] = {
    { "1970-01-01T00:00:00Z", 0, 0 },
    { "2026-02-01T08:00:00+01:00", 0, S(1769929200) },
    { "2026-02-01t07:00:00z", 0, S(1769929200) },
    { "2026-02-01T07:00:00-00:00", 0, S(1769929200) },
    { "2026-01-31T20:30:00-10:30", 0, S(1769929200) },
    { "2026-02-01T07:00:00.25Z", 0, S(1769929200) + 250000 },
    { "2026-02-01T07:00:00.000001Z", 0, S(1769929200) + 1 },
    { "2026-02-01T08:00+01:00", 0, S(1769929200) },
    { "2026-02-01T07:00Z", 0, S(1769929200) },
    { "2024-02-29T00:00:00Z", 0, S(1709164800) },
    { "2000-02-29T00:00:00Z", 0, S(951782400) },
    { "1969-12-31T23:59:59.999999Z", 0, -1 },

    { "2026-02-01", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:+01:00", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00.5Z", -EINVAL, UNTOUCHED },
    { "2026-03-29T02:30 Europe/Berlin", -EINVAL, UNTOUCHED },
    { "2026-03-29T02:30:00 Europe/Berlin", -EINVAL, UNTOUCHED },
    { "2026-02-01 08:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-02-30T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2023-02-29T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2100-02-29T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-13-01T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-00-01T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-01-00T08:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T24:00:00Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:60:00Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:60Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00+24:00", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00+0100", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00.Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00.1234567Z", -EINVAL, UNTOUCHED },
    { "2026-02-01T08:00:00Zulu", -EINVAL, UNTOUCHED },
    { "26-02-01T08:00:00Z", -EINVAL, UNTOUCHED },
    { "tomorrow", -EINVAL, UNTOUCHED },
    { "", -EINVAL, UNTOUCHED },
};

START_TEST(a_time_parses_or_leaves_the_result_alone_and_says_why)
{
    int64_t us = UNTOUCHED;
    struct diag diag = { "" };

    ck_assert_int_eq(timestamp_parse(times[_i].text, &us, &diag), times[_i].error);
    ck_assert_int_eq(us, times[_i].us);
    ck_assert_int_eq(diag.text[0] != '\0', times[_i].error != 0);
}
END_TEST

static const struct {
    const char *text, *says;
} remedies[] = {
    { "2026-03-29T02:30 Europe/Berlin", "write the offset" },
    { "2026-02-01T08:00:00", "no offset" },
    { "2026-02-30T08:00:00Z", "no date" },
    { "tomorrow", "like 2026-02-01T08:00:00+01:00" },
};

START_TEST(a_refused_time_comes_with_its_remedy)
{
    int64_t us;
    struct diag diag;

    ck_assert_int_lt(timestamp_parse(remedies[_i].text, &us, &diag), 0);
    ck_assert_msg(strstr(diag.text, remedies[_i].says), "%s", diag.text);
}
END_TEST

START_TEST(the_calendar_is_that_of_the_c_library_and_reads_back_the_same)
{
    struct random random;

    random_init(&random, 4);
    for (int i = 0; i < 20000; i++) {
        /* from the year 1 to 9999 */
        int64_t s = -INT64_C(62135596800) + (int64_t)random_below(&random, 315537897600), back;
        int64_t fraction_us = i % 3 ? 0 : (int64_t)random_below(&random, 1000000);
        char text[TIMESTAMP_TEXT_SIZE], libc[64];
        struct tm tm;

        timestamp_format(S(s) + fraction_us, text);
        ck_assert_int_eq(timestamp_parse(text, &back, NULL), 0);
        ck_assert_int_eq(back, S(s) + fraction_us);
        gmtime_r(&(time_t){ s }, &tm);
        snprintf(libc, sizeof(libc), "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        ck_assert_int_eq(strncmp(text, libc, strlen(libc)), 0);
    }
}
END_TEST

START_TEST(no_number_is_too_far_away_to_be_shown)
{
    char text[TIMESTAMP_TEXT_SIZE];

    timestamp_format(INT64_MAX, text);
    ck_assert_str_eq(text, "294247-01-10T04:00:54.775807Z");
    timestamp_format(INT64_MIN, text);
    ck_assert_str_eq(text, "-290308-12-21T19:59:05.224192Z");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timestamp");
    TCase *tcase = tcase_create("timestamp");

    tcase_add_loop_test(tcase, a_time_parses_or_leaves_the_result_alone_and_says_why, 0,
                        ELEMENTS(times));
    tcase_add_loop_test(tcase, a_refused_time_comes_with_its_remedy, 0, ELEMENTS(remedies));
    tcase_add_test(tcase, the_calendar_is_that_of_the_c_library_and_reads_back_the_same);
    tcase_add_test(tcase, no_number_is_too_far_away_to_be_shown);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
