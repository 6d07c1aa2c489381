#include "replay/measure.h"

#include "base/memory.h"
#include "replay/drive.h"
#include "replay/trace.h"
#include "tap.h"

/* Worked by hand: two users, two queues, four systems. */
static struct trace_job jobs[] = {
    { 1, 100, 50, 60, 2, 2, 1, 1 },  /* waits 0: slowdown 1 */
    { 2, 110, 100, 99, 4, 4, 2, 1 }, /* waits 40: 1.4 */
    { 3, 120, 2, 5, 1, 1, 2, 2 },    /* waits 58, of at least 10 s: 6 */
    { 4, 130, 10, 10, 1, 1, 0, 2 },  /* of no known user; waits 120: 13 */
    { 5, 140, 10, 10, 9, 9, 1, 1 },  /* never ran */
};
static int64_t starts_s[] = { 100, 150, 178, 250, -1 };
static int64_t ends_s[] = { 150, 250, 180, 260, -1 };

static const struct trace trace = { .jobs = jobs, .count = ELEMENTS(jobs) };
static const struct replay_result result = { .start_s = starts_s, .end_s = ends_s };

START_TEST(measures_are_what_their_definitions_say)
{
    struct measured measured;

    measure(&trace, &result, 4, &measured);
    ck_assert_uint_eq(measured.all.jobs, 4);
    ck_assert_double_eq(measured.all.mean_wait_s, (0 + 40 + 58 + 120) / 4.0);
    ck_assert_double_eq_tol(measured.all.mean_slowdown, (1 + 1.4 + 6 + 13) / 4, 1e-12);
    ck_assert_int_eq(measured.all.median_wait_s, 40);
    ck_assert_int_eq(measured.all.wait_90_s, 120);
    ck_assert_int_eq(measured.all.longest_wait_s, 120);
    ck_assert_int_eq(measured.all.makespan_s, 160);
    ck_assert_double_eq(measured.all.system_seconds, 2 * 50 + 4 * 100 + 2 + 10);
    ck_assert_double_eq(measured.utilisation, 512 / (4.0 * 160));
    measured_done(&measured);
}
END_TEST

START_TEST(fairness_is_over_the_users_that_are_known)
{
    struct measured measured;
    double one = 1, other = (1.4 + 6) / 2;

    measure(&trace, &result, 4, &measured);
    ck_assert_uint_eq(measured.users, 2);
    ck_assert_double_eq_tol(measured.fairness,
                            (one + other) * (one + other) / (2 * (one * one + other * other)),
                            1e-12);
    ck_assert_uint_eq(measured.worst_user, 2);
    ck_assert_double_eq_tol(measured.worst_slowdown, other, 1e-12);
    measured_done(&measured);
}
END_TEST

START_TEST(each_queue_has_measures_of_its_own)
{
    struct measured measured;

    measure(&trace, &result, 4, &measured);
    ck_assert_uint_eq(measured.queue_count, 2);
    ck_assert_uint_eq(measured.queues[0].queue, 1);
    ck_assert_uint_eq(measured.queues[0].measures.jobs, 2);
    ck_assert_double_eq(measured.queues[0].measures.mean_wait_s, 20);
    ck_assert_uint_eq(measured.queues[1].queue, 2);
    ck_assert_double_eq(measured.queues[1].measures.mean_wait_s, 89);
    ck_assert_int_eq(measured.queues[1].measures.makespan_s, 140);
    measured_done(&measured);
}
END_TEST

/* Stopped at 120 and started again at 200: its slowdown is of all the time that it took. */
START_TEST(a_job_that_was_restarted_was_slow_for_all_of_it)
{
    int64_t start_s = 100, end_s = 250;
    const struct trace one = { .jobs = jobs, .count = 1 };
    const struct replay_result restarted = { .start_s = &start_s, .end_s = &end_s, .restarts = 1 };
    struct measured measured;

    measure(&one, &restarted, 4, &measured);
    ck_assert_double_eq(measured.all.mean_wait_s, 0);
    ck_assert_double_eq(measured.all.mean_slowdown, 3);
    ck_assert_double_eq(measured.utilisation, 100 / (4.0 * 150));
    measured_done(&measured);
}
END_TEST

START_TEST(of_nothing_there_is_nothing_to_measure)
{
    const struct trace none = { .jobs = NULL };
    struct measured measured;

    measure(&none, &result, 4, &measured);
    ck_assert_uint_eq(measured.all.jobs, 0);
    ck_assert_double_eq(measured.utilisation, 0);
    ck_assert_double_eq(measured.fairness, 0);
    measured_done(&measured);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measure");
    TCase *tcase = tcase_create("measure");

    tcase_add_test(tcase, measures_are_what_their_definitions_say);
    tcase_add_test(tcase, fairness_is_over_the_users_that_are_known);
    tcase_add_test(tcase, each_queue_has_measures_of_its_own);
    tcase_add_test(tcase, a_job_that_was_restarted_was_slow_for_all_of_it);
    tcase_add_test(tcase, of_nothing_there_is_nothing_to_measure);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
