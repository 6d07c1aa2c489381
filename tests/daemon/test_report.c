/* Where time went: each microsecond counts once, and what is not known is said. */
#include "report.h"

#include "base/memory.h"
#include "tap.h"

#define S INT64_C(1000000)

static struct report_past past;
static Wafer__Job job;
static Wafer__Time submitted, ended;

static void begin(void)
{
    past = (struct report_past){ .attempts = NULL };
    job = (Wafer__Job)WAFER__JOB__INIT;
    submitted = ended = (Wafer__Time)WAFER__TIME__INIT;
    job.id = 7;
    job.submitted_at = &submitted;
}

static void end(void)
{
    report_past_done(&past);
}

static void ends_at(int64_t us)
{
    ended.us = us;
    job.ended_at = &ended;
}

/* Attempt `number`: granted, started (0: never) and over at these times, by steps `first` to
 * `last`. */
static Wafer__AttemptState attempt(uint32_t number, int64_t granted_us, int64_t started_us,
                                   int64_t ended_us, uint64_t first, uint64_t last)
{
    Wafer__AttemptState state = WAFER__ATTEMPT_STATE__INIT;

    state.job = 7;
    state.epoch = number;
    state.attempt = started_us ? number : 0;
    state.granted_us = granted_us;
    state.has_started_us = started_us != 0;
    state.started_us = started_us;
    state.ended_us = ended_us;
    state.has_first_step = state.has_last_step = true;
    state.first_step = first;
    state.last_step = last;
    job.has_attempt = true;
    job.attempt = number;
    return state;
}

static Wafer__PhaseTimes times(int64_t compile_us, int64_t execute_us)
{
    Wafer__PhaseTimes ret = WAFER__PHASE_TIMES__INIT;

    ret.has_compile_us = ret.has_execute_us = true;
    ret.compile_us = compile_us;
    ret.execute_us = execute_us;
    return ret;
}

START_TEST(a_job_that_waits_has_only_waited)
{
    report_add_hold(&past, 0, true);
    report_add_hold(&past, 10 * S, false);
    Wafer__JobReport *report = report_new(&job, &past, 15 * S);
    ck_assert_int_eq(report->time->held_s, 10);
    ck_assert_int_eq(report->time->queue_s, 5);
    ck_assert_int_eq(report->time->total_s, 15);
    ck_assert(report->time->has_execute_s);
    ck_assert_int_eq(report->time->execute_s, 0);
    wafer__job_report__free_unpacked(report, NULL);
}
END_TEST

START_TEST(a_failure_is_followed_by_its_back_off_and_its_loss)
{
    Wafer__PhaseTimes first_times = times(10 * S, 80 * S), last_times = times(5 * S, 90 * S);
    Wafer__AttemptState first = attempt(1, 5 * S, 6 * S, 100 * S, 0, 80);
    first.times = &first_times;
    first.has_not_before_us = true;
    first.not_before_us = 110 * S;
    report_add_attempt(&past, &first);
    Wafer__AttemptState last = attempt(2, 115 * S, 116 * S, 216 * S, 60, 160);
    last.times = &last_times;
    report_add_attempt(&past, &last);
    ends_at(216 * S);

    Wafer__JobReport *report = report_new(&job, &past, 999 * S);
    const Wafer__TimeSplit *time = report->attempts[1]->time;
    ck_assert_int_eq(time->backoff_s, 10);
    ck_assert_int_eq(time->queue_s, 5);
    ck_assert_int_eq(report->attempts[0]->time->unknown_s, 4);
    ck_assert_uint_eq(report->attempts[0]->steps_lost, 20);
    ck_assert_int_eq(report->attempts[0]->time->lost_s, 20);
    ck_assert(!report->attempts[1]->has_steps_lost);
    ck_assert(!time->has_load_s);
    ck_assert_int_eq(report->time->execute_s, 170);
    ck_assert_int_eq(report->time->total_s, 216);
    wafer__job_report__free_unpacked(report, NULL);
}
END_TEST

START_TEST(a_limit_of_retries_holds_it_until_somebody_lets_it_go)
{
    Wafer__AttemptState first = attempt(1, 0, 1 * S, 10 * S, 0, 0);
    first.has_held = first.held = true;
    report_add_attempt(&past, &first);
    report_add_hold(&past, 30 * S, false);
    Wafer__JobReport *report = report_new(&job, &past, 31 * S);
    ck_assert_int_eq(report->time->held_s, 20);
    ck_assert_int_eq(report->time->queue_s, 1);
    ck_assert(!report->time->has_execute_s); /* of none of its attempts is it known */
    wafer__job_report__free_unpacked(report, NULL);
}
END_TEST

START_TEST(an_agent_may_say_anything)
{
    Wafer__PhaseTimes wild = times(INT64_MAX, INT64_MAX);
    Wafer__AttemptState state = attempt(1, 10 * S, 5 * S, 2 * S, 9, 3);
    state.times = &wild;
    state.has_not_before_us = true;
    state.not_before_us = INT64_MAX;
    report_add_attempt(&past, &state);
    state = attempt(2, 3 * S, 4 * S, 10 * S, 0, 0);
    state.times = &wild;
    report_add_attempt(&past, &state);
    past.last_goes_on = true;
    Wafer__JobReport *report = report_new(&job, &past, 10 * S);
    ck_assert_int_eq(report->attempts[1]->time->compile_s, 6);
    ck_assert_int_eq(report->attempts[1]->time->execute_s, 0);
    ck_assert_ptr_null(report->attempts[1]->ended_at);
    wafer__job_report__free_unpacked(report, NULL);
}
END_TEST

START_TEST(attempts_of_before_they_were_kept_are_counted)
{
    job.has_attempt = true;
    job.attempt = 3;
    ends_at(100 * S);
    Wafer__JobReport *report = report_new(&job, &past, 100 * S);
    ck_assert_uint_eq(report->attempts_unknown, 3);
    ck_assert_int_eq(report->time->unknown_s, 100);
    ck_assert_int_eq(report->time->queue_s, 0);
    wafer__job_report__free_unpacked(report, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *tcase = tcase_create("report");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_job_that_waits_has_only_waited);
    tcase_add_test(tcase, a_failure_is_followed_by_its_back_off_and_its_loss);
    tcase_add_test(tcase, a_limit_of_retries_holds_it_until_somebody_lets_it_go);
    tcase_add_test(tcase, an_agent_may_say_anything);
    tcase_add_test(tcase, attempts_of_before_they_were_kept_are_counted);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
