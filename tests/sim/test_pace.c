#include "sim/pace.h"

#include "tap.h"

enum { SPEED = 600 };

static const int64_t S = 1000000, FIRST_US = 1800000000000000;
static struct pace pace;

static void set(int64_t boottime_us, int64_t cluster_us)
{
    Wafer__ClockAnchor anchor = WAFER__CLOCK_ANCHOR__INIT;

    anchor.boottime_us = boottime_us;
    anchor.cluster_us = cluster_us;
    anchor.speed = SPEED;
    pace_set(&pace, &anchor, boottime_us);
}

static void begin(void)
{
    pace = (struct pace){ .given_us = 0 };
    set(100 * S, FIRST_US);
}

START_TEST(the_first_anchor_gives_all_the_time_there_is)
{
    pace = (struct pace){ .given_us = 0 };
    ck_assert_int_eq(pace_take(&pace, 99 * S, INT64_MAX), 0);
    set(100 * S, FIRST_US);
    ck_assert_int_eq(pace_take(&pace, 100 * S, 5), FIRST_US);
}
END_TEST

START_TEST(an_agent_that_keeps_up_gets_the_clocks_time)
{
    ck_assert_int_eq(pace_take(&pace, 100 * S + 50000, FIRST_US), FIRST_US + 30 * S);
    ck_assert_int_eq(pace_take(&pace, 100 * S + 100000, FIRST_US), FIRST_US + 60 * S);
    ck_assert_double_eq_tol(pace_reached(&pace, 100 * S + 100000), SPEED, 1e-6);
}
END_TEST

START_TEST(an_agent_that_lags_gets_a_slice_at_a_time)
{
    const int64_t slice_us = (int64_t)PACE_SLICE_US * SPEED;

    ck_assert_int_eq(pace_take(&pace, 110 * S, FIRST_US + S), FIRST_US + slice_us);
    ck_assert_int_eq(pace_take(&pace, 110 * S, FIRST_US + S), FIRST_US + 2 * slice_us);
    ck_assert_double_eq_tol(pace_reached(&pace, 110 * S), 0.02 * SPEED, 1e-6);
}
END_TEST

START_TEST(a_stretch_without_events_is_jumped_over)
{
    ck_assert_int_eq(pace_take(&pace, 110 * S, FIRST_US + 5000 * S), FIRST_US + 5000 * S);
    ck_assert_int_eq(pace_take(&pace, 120 * S, INT64_MAX), FIRST_US + 12000 * S);
}
END_TEST

START_TEST(another_anchor_neither_takes_time_back_nor_counts_as_speed)
{
    ck_assert_int_eq(pace_take(&pace, 110 * S, INT64_MAX), FIRST_US + 6000 * S);
    set(110 * S, FIRST_US + 100 * S);
    ck_assert_int_eq(pace_take(&pace, 111 * S, INT64_MAX), FIRST_US + 6000 * S);
    ck_assert_double_eq_tol(pace_reached(&pace, 111 * S), 0, 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *tcase = tcase_create("pace");

    tcase_add_checked_fixture(tcase, begin, NULL);
    tcase_add_test(tcase, the_first_anchor_gives_all_the_time_there_is);
    tcase_add_test(tcase, an_agent_that_keeps_up_gets_the_clocks_time);
    tcase_add_test(tcase, an_agent_that_lags_gets_a_slice_at_a_time);
    tcase_add_test(tcase, a_stretch_without_events_is_jumped_over);
    tcase_add_test(tcase, another_anchor_neither_takes_time_back_nor_counts_as_speed);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
