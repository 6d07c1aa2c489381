#include "base/duration.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define UNTOUCHED  INT64_C(-7)
#define S(seconds) ((seconds)*SECOND_US)

static const struct {
    const char *text;
    int error;
    int64_t us;
} durations[] = {
    { "30:00", 0, S(1800) }, /* minutes and seconds, as Slurm has it */
    { "1:30:00", 0, S(5400) },
    { "1-12", 0, S(129600) },
    { "1-12:30", 0, S(131400) },
    { "1-00:00:00", 0, S(86400) },
    { "0-1", 0, S(3600) },
    { "90:00", 0, S(5400) },
    { "100:00:00", 0, S(360000) },
    { "90m", 0, S(5400) },
    { "1.5h", 0, S(5400) },
    { "1h30m", 0, S(5400) },
    { "1d1s", 0, S(86401) },
    { "2d", 0, S(172800) },
    { "30s", 0, S(30) },
    { "0.000001s", 0, 1 },
    { "1.000000s", 0, S(1) },
    { "1h0m", 0, S(3600) },
    { "36500d", 0, DURATION_MAX_US },
    { "36500-0", 0, DURATION_MAX_US },

    { "90", -EINVAL, UNTOUCHED }, /* ninety what? */
    { "1.5", -EINVAL, UNTOUCHED },
    { "", -EINVAL, UNTOUCHED },
    { "abc", -EINVAL, UNTOUCHED },
    { "1-", -EINVAL, UNTOUCHED },
    { "-", -EINVAL, UNTOUCHED },
    { ":30", -EINVAL, UNTOUCHED },
    { "1:", -EINVAL, UNTOUCHED },
    { "5:3", -EINVAL, UNTOUCHED },
    { "1:60", -EINVAL, UNTOUCHED },
    { "1:60:00", -EINVAL, UNTOUCHED },
    { "1:00:00:00", -EINVAL, UNTOUCHED },
    { "1-24", -EINVAL, UNTOUCHED },
    { "1-1:5", -EINVAL, UNTOUCHED },
    { "1-12h", -EINVAL, UNTOUCHED },
    { "01:30:00", -EINVAL, UNTOUCHED },
    { "090m", -EINVAL, UNTOUCHED },
    { "30m1h", -EINVAL, UNTOUCHED },
    { "1m1m", -EINVAL, UNTOUCHED },
    { "1.h", -EINVAL, UNTOUCHED },
    { ".5h", -EINVAL, UNTOUCHED },
    { "1e3s", -EINVAL, UNTOUCHED },
    { "90 m", -EINVAL, UNTOUCHED },
    { "90M", -EINVAL, UNTOUCHED },
    { "+90m", -EINVAL, UNTOUCHED },
    { "10 minuts", -EINVAL, UNTOUCHED },
    { "unlimited", -EINVAL, UNTOUCHED },
    { "0.0000001s", -EINVAL, UNTOUCHED }, /* finer than what is kept */
    { "0", -ERANGE, UNTOUCHED },
    { "0s", -ERANGE, UNTOUCHED },
    { "0:00", -ERANGE, UNTOUCHED },
    { "-5m", -ERANGE, UNTOUCHED },
    { "36500-0:00:01", -ERANGE, UNTOUCHED },
    { "36501d", -ERANGE, UNTOUCHED },
    { "36500d1h", -ERANGE, UNTOUCHED },
    { "99999999999999999999999d", -ERANGE, UNTOUCHED },
    { "4294967295-0", -ERANGE, UNTOUCHED },
    { "4294967295:00:00", -ERANGE, UNTOUCHED },
};

START_TEST(a_duration_parses_or_leaves_the_result_alone_and_says_why)
{
    int64_t us = UNTOUCHED;
    struct diag diag = { "" };

    ck_assert_int_eq(duration_parse(durations[_i].text, &us, &diag), durations[_i].error);
    ck_assert_int_eq(us, durations[_i].us);
    ck_assert_int_eq(diag.text[0] != '\0', durations[_i].error != 0);
}
END_TEST

static const struct {
    const char *text, *says;
} remedies[] = {
    { "90", "90: a bare number is not a duration (90m? 90s?)" },
    { "10 minuts", "\"10 minuts\" is not a duration (try 10m)" },
    { "2 Hours", "\"2 Hours\" is not a duration (try 2h)" },
    { "-5m", "-5m: a duration is more than 0" },
    { "unlimited", "unlimited is not a duration (leave the key out)" },
    { "soon", "\"soon\" is not a duration: its units are d, h, m and s (like 90m, 1.5s, "
              "1-00:00:00)" },
    { "100ms", "\"100ms\" is not a duration: its units are d, h, m and s (like 90m, 1.5s, "
               "1-00:00:00)" },
    { "40000d", "40000d: longer than 36500 days" },
};

START_TEST(a_refused_duration_comes_with_its_remedy)
{
    int64_t us;
    struct diag diag;

    ck_assert_int_lt(duration_parse(remedies[_i].text, &us, &diag), 0);
    ck_assert_str_eq(diag.text, remedies[_i].says);
}
END_TEST

static const struct {
    int64_t us;
    const char *text, *clock;
} formats[] = {
    { S(600), "10m", "00:10:00" },
    { S(5400), "1h30m", "01:30:00" },
    { S(3601), "1h1s", "01:00:01" },
    { S(751), "12m31s", "00:12:31" },
    { S(86400), "1-00:00:00", "1-00:00:00" },
    { S(90000), "1-01:00:00", "1-01:00:00" },
    { 1500000, "1.5s", "00:00:01" },
    { S(86400) + 1, "1d0.000001s", "1-00:00:00" },
    { 0, "0s", "00:00:00" },
    { S(-600), "-10m", "-00:10:00" },
    { INT64_MIN, "-106751991d4h54.775808s", "-106751991-04:00:54" },
};

START_TEST(a_duration_is_shown_as_people_write_it)
{
    char text[DURATION_TEXT_SIZE];

    duration_format(formats[_i].us, text);
    ck_assert_str_eq(text, formats[_i].text);
    duration_format_clock(formats[_i].us, text);
    ck_assert_str_eq(text, formats[_i].clock);
}
END_TEST

START_TEST(what_is_shown_reads_back_the_same)
{
    struct random random;

    random_init(&random, 1);
    for (int i = 0; i < 20000; i++) {
        char text[DURATION_TEXT_SIZE];
        static const int64_t grains[] = { 1, SECOND_US, MINUTE_US, HOUR_US, DAY_US };
        int64_t grain = grains[i % 5], back;
        int64_t us =
            (1 + (int64_t)random_below(&random, (uint64_t)(DURATION_MAX_US / grain))) * grain;

        duration_format(us, text);
        ck_assert_int_eq(duration_parse(text, &back, NULL), 0);
        ck_assert_int_eq(back, us);
        duration_format_clock(us, text);
        if (us < SECOND_US)
            continue;
        /* 01:30:00 is for columns: a person writes 1:30:00 */
        ck_assert_int_eq(duration_parse(text + (text[0] == '0' && text[1] != ':'), &back, NULL), 0);
        ck_assert_int_eq(back, us - us % SECOND_US);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("duration");
    TCase *tcase = tcase_create("duration");

    tcase_add_loop_test(tcase, a_duration_parses_or_leaves_the_result_alone_and_says_why, 0,
                        ELEMENTS(durations));
    tcase_add_loop_test(tcase, a_refused_duration_comes_with_its_remedy, 0, ELEMENTS(remedies));
    tcase_add_loop_test(tcase, a_duration_is_shown_as_people_write_it, 0, ELEMENTS(formats));
    tcase_add_test(tcase, what_is_shown_reads_back_the_same);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
