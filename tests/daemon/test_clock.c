#include "clock.h"

#include "tap.h"

#define SECOND INT64_C(1000000)
#define WALL   (1700000000 * SECOND)

static struct clock begin(const struct clock_start *start)
{
    struct clock clock;

    ck_assert_int_eq(clock_begin(&clock, start), 0);
    return clock;
}

static Wafer__ClockState anchor(const char *boot_id, int64_t boottime_us, int64_t cluster_us,
                                uint32_t speed)
{
    Wafer__ClockState state = WAFER__CLOCK_STATE__INIT;

    state.boot_id = (char *)boot_id;
    state.boottime_us = boottime_us;
    state.cluster_us = cluster_us;
    state.speed = speed;
    return state;
}

START_TEST(the_first_start_takes_the_wall_clock)
{
    struct clock clock = begin(&(struct clock_start){
        .boot_id = "a", .boottime_us = 50 * SECOND, .wall_us = WALL, .speed = 1 });

    ck_assert_int_eq(clock_time_us(&clock, 50 * SECOND), WALL);
    ck_assert_int_eq(clock_time_us(&clock, 53 * SECOND), WALL + 3 * SECOND);
}
END_TEST

START_TEST(on_the_same_boot_time_runs_on_over_a_restart_whatever_the_wall_clock_says)
{
    Wafer__ClockState journaled = anchor("a", 10 * SECOND, WALL, 600);
    struct clock clock = begin(&(struct clock_start){ .boot_id = "a",
                                                      .boottime_us = 12 * SECOND,
                                                      .wall_us = WALL - 3600 * SECOND,
                                                      .speed = 1,
                                                      .journaled = &journaled });

    ck_assert_int_eq(clock_time_us(&clock, 12 * SECOND), WALL + 1200 * SECOND);
    ck_assert_int_eq(clock_time_us(&clock, 13 * SECOND), WALL + 1201 * SECOND); /* the new speed */
}
END_TEST

START_TEST(after_a_reboot_time_follows_the_wall_clock)
{
    Wafer__ClockState journaled = anchor("a", 999 * SECOND, WALL, 1);
    struct clock clock = begin(&(struct clock_start){ .boot_id = "b",
                                                      .boottime_us = 5 * SECOND,
                                                      .wall_us = WALL + 86400 * SECOND,
                                                      .speed = 1,
                                                      .journaled = &journaled,
                                                      .newest_us = WALL + 60 * SECOND });

    ck_assert_int_eq(clock_time_us(&clock, 5 * SECOND), WALL + 86400 * SECOND);
}
END_TEST

START_TEST(after_a_reboot_time_never_goes_back_before_the_newest_record)
{
    Wafer__ClockState journaled = anchor("a", 999 * SECOND, WALL, 1);
    struct clock clock;
    int64_t behind_us =
        clock_begin(&clock, &(struct clock_start){ .boot_id = "b",
                                                   .boottime_us = 5 * SECOND,
                                                   .wall_us = WALL - 40 * SECOND,
                                                   .speed = 1,
                                                   .journaled = &journaled,
                                                   .newest_us = WALL + 60 * SECOND });

    ck_assert_int_eq(behind_us, 100 * SECOND);
    ck_assert_int_eq(clock_time_us(&clock, 5 * SECOND), WALL + 60 * SECOND);
    ck_assert_int_eq(clock_time_us(&clock, 6 * SECOND), WALL + 61 * SECOND);
}
END_TEST

START_TEST(what_stood_still_goes_on_frozen_at_the_newest_record)
{
    Wafer__ClockState journaled = anchor("a", 10 * SECOND, WALL, 600);
    struct clock clock = begin(&(struct clock_start){ .boot_id = "a",
                                                      .boottime_us = 100 * SECOND,
                                                      .wall_us = WALL,
                                                      .speed = 600,
                                                      .journaled = &journaled,
                                                      .newest_us = WALL + 700 * SECOND,
                                                      .may_freeze = true,
                                                      .stood_still = true });

    ck_assert_int_eq(clock_time_us(&clock, 200 * SECOND), WALL + 700 * SECOND);
    clock_thaw(&clock, 200 * SECOND, 0);
    ck_assert_int_eq(clock_time_us(&clock, 201 * SECOND), WALL + 1300 * SECOND);
}
END_TEST

START_TEST(a_clock_that_was_frozen_when_the_process_ended_is_frozen_still)
{
    Wafer__ClockState journaled = anchor("a", 10 * SECOND, WALL, 0);
    struct clock clock = begin(&(struct clock_start){ .boot_id = "a",
                                                      .boottime_us = 12 * SECOND,
                                                      .wall_us = WALL,
                                                      .speed = 600,
                                                      .journaled = &journaled,
                                                      .may_freeze = true });

    ck_assert_int_eq(clock_time_us(&clock, 13 * SECOND), WALL);
    clock_thaw(&clock, 13 * SECOND, WALL + 900 * SECOND); /* the agent ran on */
    ck_assert_int_eq(clock_time_us(&clock, 13 * SECOND), WALL + 900 * SECOND);
}
END_TEST

/* What an agent says when it comes back after 2 s of a freeze at speed 10, and what it then is. */
static const struct {
    int64_t seen_us, time_us;
} thaws[] = {
    { 0, WALL },                                   /* a new process: it knows no time */
    { WALL - SECOND, WALL },                       /* never backwards */
    { WALL + 15 * SECOND, WALL + 15 * SECOND },    /* it ran on for a while */
    { WALL + 20 * SECOND, WALL + 20 * SECOND },    /* it never stood still */
    { WALL + 86400 * SECOND, WALL + 20 * SECOND }, /* nobody can have come that far */
};

START_TEST(a_thaw_takes_what_the_agent_can_have_seen)
{
    struct clock clock = begin(
        &(struct clock_start){ .boot_id = "a", .boottime_us = 0, .wall_us = WALL, .speed = 10 });

    clock_freeze(&clock, 0);
    clock_thaw(&clock, 2 * SECOND, thaws[_i].seen_us);
    ck_assert_int_eq(clock_time_us(&clock, 2 * SECOND), thaws[_i].time_us);
    ck_assert_int_eq(clock_time_us(&clock, 3 * SECOND), thaws[_i].time_us + 10 * SECOND);
}
END_TEST

START_TEST(a_frozen_clock_is_journaled_with_speed_0_and_a_running_one_with_its_own)
{
    Wafer__ClockState state;
    struct clock clock = begin(
        &(struct clock_start){ .boot_id = "a", .boottime_us = 0, .wall_us = WALL, .speed = 10 });

    clock_freeze(&clock, 3 * SECOND);
    clock_state(&clock, &state);
    ck_assert_uint_eq(state.speed, 0);
    ck_assert_int_eq(state.cluster_us, WALL + 30 * SECOND);
    clock_thaw(&clock, 4 * SECOND, 0);
    clock_state(&clock, &state);
    ck_assert_uint_eq(state.speed, 10);
    ck_assert_int_eq(state.boottime_us, 4 * SECOND);
    ck_assert_str_eq(state.boot_id, "a");
}
END_TEST

START_TEST(moving_the_anchor_changes_no_time)
{
    struct clock clock = begin(
        &(struct clock_start){ .boot_id = "a", .boottime_us = 7, .wall_us = WALL, .speed = 599 });
    int64_t before_us = clock_time_us(&clock, 123456789);

    clock_anchor(&clock, 100000001);
    ck_assert_int_eq(clock_time_us(&clock, 123456789), before_us);
}
END_TEST

START_TEST(a_timer_is_due_at_the_first_moment_at_which_its_time_has_come)
{
    struct clock clock = begin(
        &(struct clock_start){ .boot_id = "a", .boottime_us = 1000, .wall_us = WALL, .speed = 7 });

    for (int64_t wait_us = 1; wait_us < 30; wait_us++) {
        int64_t due_us = clock_due_us(&clock, WALL + wait_us);
        ck_assert_int_ge(clock_time_us(&clock, due_us), WALL + wait_us);
        ck_assert_int_lt(clock_time_us(&clock, due_us - 1), WALL + wait_us);
    }
    ck_assert_int_eq(clock_due_us(&clock, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(clock_due_us(&clock, WALL - SECOND), 1000);
}
END_TEST

START_TEST(a_frozen_clock_makes_nothing_due_but_what_is_past)
{
    struct clock clock = begin(
        &(struct clock_start){ .boot_id = "a", .boottime_us = 1000, .wall_us = WALL, .speed = 7 });

    clock_freeze(&clock, 1000);
    ck_assert_int_eq(clock_due_us(&clock, WALL + 1), INT64_MAX);
    ck_assert_int_le(clock_due_us(&clock, WALL), 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");

    tcase_add_test(tcase, the_first_start_takes_the_wall_clock);
    tcase_add_test(tcase,
                   on_the_same_boot_time_runs_on_over_a_restart_whatever_the_wall_clock_says);
    tcase_add_test(tcase, after_a_reboot_time_follows_the_wall_clock);
    tcase_add_test(tcase, after_a_reboot_time_never_goes_back_before_the_newest_record);
    tcase_add_test(tcase, what_stood_still_goes_on_frozen_at_the_newest_record);
    tcase_add_test(tcase, a_clock_that_was_frozen_when_the_process_ended_is_frozen_still);
    tcase_add_loop_test(tcase, a_thaw_takes_what_the_agent_can_have_seen, 0,
                        sizeof(thaws) / sizeof(thaws[0]));
    tcase_add_test(tcase, a_frozen_clock_is_journaled_with_speed_0_and_a_running_one_with_its_own);
    tcase_add_test(tcase, moving_the_anchor_changes_no_time);
    tcase_add_test(tcase, a_timer_is_due_at_the_first_moment_at_which_its_time_has_come);
    tcase_add_test(tcase, a_frozen_clock_makes_nothing_due_but_what_is_past);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
