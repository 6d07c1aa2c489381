#include "sim/clock.h"

#include "tap.h"

static const int64_t S = 1000000;

static void anchor(struct clock *clock, int64_t boottime_us, int64_t cluster_us, uint32_t speed)
{
    Wafer__ClockAnchor set = WAFER__CLOCK_ANCHOR__INIT;

    set.boottime_us = boottime_us;
    set.cluster_us = cluster_us;
    set.speed = speed;
    clock_set(clock, &set);
}

START_TEST(there_is_no_time_before_the_first_anchor)
{
    struct clock clock = { .is_set = false };

    ck_assert_int_eq(clock_cluster_us(&clock, 5 * S), 0);
    ck_assert_int_eq(clock_due_us(&clock, 1), INT64_MAX);
}
END_TEST

START_TEST(cluster_time_runs_from_the_anchor_at_its_speed)
{
    struct clock clock = { .is_set = false };

    anchor(&clock, 100 * S, 7000 * S, 600);
    ck_assert_int_eq(clock_cluster_us(&clock, 100 * S), 7000 * S);
    ck_assert_int_eq(clock_cluster_us(&clock, 102 * S), 8200 * S);
}
END_TEST

START_TEST(cluster_time_never_runs_backwards)
{
    struct clock clock = { .is_set = false };

    anchor(&clock, 100 * S, 7000 * S, 10);
    ck_assert_int_eq(clock_cluster_us(&clock, 110 * S), 7100 * S);
    anchor(&clock, 110 * S, 7050 * S, 10); /* the controller slowed down */
    ck_assert_int_eq(clock_cluster_us(&clock, 112 * S), 7100 * S);
    ck_assert_int_eq(clock_cluster_us(&clock, 116 * S), 7110 * S);
    ck_assert_int_eq(clock_cluster_us(&clock, 90 * S), 7110 * S);
}
END_TEST

START_TEST(a_due_time_is_never_early)
{
    struct clock clock = { .is_set = false };

    anchor(&clock, 1000, 50000, 7);
    for (int64_t cluster_us = 50001; cluster_us < 50200; cluster_us++) {
        int64_t due_us = clock_due_us(&clock, cluster_us);
        struct clock copy = clock;
        ck_assert_int_ge(clock_cluster_us(&copy, due_us), cluster_us);
        copy = clock;
        ck_assert_int_lt(clock_cluster_us(&copy, due_us - 1), cluster_us);
    }
    ck_assert_int_le(clock_due_us(&clock, 49000), 1000);
}
END_TEST

START_TEST(a_clock_that_stands_still_is_never_due)
{
    struct clock clock = { .is_set = false };

    anchor(&clock, 100 * S, 7000 * S, 0);
    ck_assert_int_eq(clock_cluster_us(&clock, 200 * S), 7000 * S);
    ck_assert_int_eq(clock_due_us(&clock, 7001 * S), INT64_MAX);
}
END_TEST

START_TEST(no_anchor_overflows)
{
    struct clock clock = { .is_set = false };

    anchor(&clock, INT64_MIN, INT64_MAX, UINT32_MAX);
    ck_assert_int_eq(clock_cluster_us(&clock, INT64_MAX), INT64_MAX);
    ck_assert_int_ge(clock_due_us(&clock, 0), 0);
    ck_assert_int_eq(clock_due_us(&clock, INT64_MAX), INT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");

    tcase_add_test(tcase, there_is_no_time_before_the_first_anchor);
    tcase_add_test(tcase, cluster_time_runs_from_the_anchor_at_its_speed);
    tcase_add_test(tcase, cluster_time_never_runs_backwards);
    tcase_add_test(tcase, a_due_time_is_never_early);
    tcase_add_test(tcase, a_clock_that_stands_still_is_never_due);
    tcase_add_test(tcase, no_anchor_overflows);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
