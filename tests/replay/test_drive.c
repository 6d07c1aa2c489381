#include "replay/drive.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "replay/failures.h"
#include "replay/trace.h"
#include "tap.h"

/* ---- one failure, worked by hand ---- */

static const struct replay_options two_systems = {
    .systems = 2,
    .rules = { .backfill = SCHEDULE_BACKFILL_EASY },
    .checkpoint_s = 30,
};

static struct replay_result run(const struct replay_options *options, struct trace_job *jobs,
                                size_t count, struct failure *items, size_t failure_count)
{
    const struct trace trace = { .jobs = jobs, .count = count };
    const struct failures failures = { .items = items, .count = failure_count };
    struct replay_options chosen = *options;
    struct replay_result result;

    chosen.failures = &failures;
    replay_run(&trace, &chosen, NULL, NULL, &result);
    return result;
}

static struct trace_job job_of(int64_t submit_s, int64_t run_s, uint32_t systems)
{
    return (struct trace_job){ .submit_s = submit_s,
                               .run_s = run_s,
                               .request_s = run_s,
                               .systems = systems,
                               .width = systems };
}

START_TEST(a_job_goes_on_from_its_last_checkpoint)
{
    struct trace_job jobs[] = { job_of(0, 100, 2) };
    struct failure failures[] = { { 70, 10, 1 } };
    struct replay_result result = run(&two_systems, jobs, 1, failures, 1);

    ck_assert_int_eq(result.start_s[0], 0);
    ck_assert_int_eq(result.end_s[0], 80 + (100 - 60));
    ck_assert_uint_eq(result.lost_system_s, 2 * 10);
    ck_assert_uint_eq(result.failures, 1);
    ck_assert_uint_eq(result.restarts, 1);
    ck_assert_uint_eq(result.attempt_count, 2);
    ck_assert_int_eq(result.attempts[0].end_s, 70);
    ck_assert_int_eq(result.attempts[1].queued_s, 70);
    ck_assert_int_eq(result.attempts[1].start_s, 80);
    replay_result_done(&result);
}
END_TEST

START_TEST(without_checkpoints_it_begins_anew)
{
    struct replay_options never = two_systems;
    struct trace_job jobs[] = { job_of(0, 100, 2) };
    struct failure failures[] = { { 70, 10, 1 } };

    never.checkpoint_s = 0;
    struct replay_result result = run(&never, jobs, 1, failures, 1);
    ck_assert_int_eq(result.end_s[0], 180);
    ck_assert_uint_eq(result.lost_system_s, 2 * 70);
    replay_result_done(&result);
}
END_TEST

START_TEST(it_runs_before_the_jobs_that_came_after_it)
{
    struct trace_job jobs[] = { job_of(0, 100, 2), job_of(10, 50, 2) };
    struct failure failures[] = { { 70, 10, 0 } };
    struct replay_result result = run(&two_systems, jobs, 2, failures, 1);

    ck_assert_int_eq(result.end_s[0], 120);
    ck_assert_int_eq(result.start_s[1], 120);
    replay_result_done(&result);
}
END_TEST

START_TEST(a_system_that_nobody_holds_stops_nobody_and_is_missed_until_it_is_back)
{
    struct trace_job jobs[] = { job_of(0, 100, 1), job_of(50, 10, 2), job_of(60, 10, 1) };
    struct failure failures[] = { { 20, 500, 1 } };
    struct replay_result result = run(&two_systems, jobs, 3, failures, 1);

    ck_assert_uint_eq(result.restarts, 0);
    ck_assert_int_eq(result.start_s[1], 520);
    replay_result_done(&result);
}
END_TEST

START_TEST(a_job_that_ends_in_the_second_of_a_failure_has_ended)
{
    struct trace_job jobs[] = { job_of(0, 100, 2) };
    struct failure failures[] = { { 100, 10, 0 } };
    struct replay_result result = run(&two_systems, jobs, 1, failures, 1);

    ck_assert_int_eq(result.end_s[0], 100);
    ck_assert_uint_eq(result.restarts, 0);
    replay_result_done(&result);
}
END_TEST

/* ---- any failures ---- */

enum { JOBS = 300, SYSTEMS = 16, LENGTH_S = 200000, RULES = 4, TIES = 4 };

static void random_jobs(struct trace_job jobs[static JOBS], uint64_t seed)
{
    struct random random;
    int64_t now_s = 0;

    random_init(&random, seed);
    for (size_t i = 0; i < JOBS; i++) {
        now_s += (int64_t)random_below(&random, 40);
        jobs[i] = job_of(now_s, 1 + (int64_t)random_below(&random, 300),
                         1 + (uint32_t)random_below(&random, SYSTEMS));
        jobs[i].request_s += (int64_t)random_below(&random, 200);
    }
}

/* [from_s, to_s) of `level`, in a table of how it changes each second. */
static void add_level(int64_t *changes, int64_t from_s, int64_t to_s, int64_t level)
{
    ck_assert_int_lt(to_s, LENGTH_S);
    changes[from_s] += level;
    changes[to_s] -= level;
}

static void check_capacity(const struct trace_job *jobs, const struct failures *failures,
                           const struct replay_result *result)
{
    int64_t *used = memory_new(LENGTH_S * sizeof(*used)),
            *ran_s = memory_new(JOBS * sizeof(*ran_s));
    int64_t lost = (int64_t)result->lost_system_s, level = 0, most = 0;

    for (size_t i = 0; i < result->attempt_count; i++) {
        const struct replay_attempt *attempt = &result->attempts[i];
        add_level(used, attempt->start_s, attempt->end_s, jobs[attempt->job].systems);
        ran_s[attempt->job] += attempt->end_s - attempt->start_s;
        ck_assert_int_ge(attempt->start_s, attempt->queued_s);
    }
    for (size_t i = 0; i < JOBS; i++) {
        ck_assert_int_ge(result->start_s[i], jobs[i].submit_s);
        if (!ran_s[i]) {
            add_level(used, result->start_s[i], result->end_s[i], jobs[i].systems);
            ran_s[i] = result->end_s[i] - result->start_s[i];
        }
        lost -= (ran_s[i] - jobs[i].run_s) * jobs[i].systems;
    }
    ck_assert_int_eq(lost, 0); /* what ran beyond the runs is what was lost */
    for (size_t i = 0; i < failures->count; i++)
        if (failures->items[i].time_s + failures->items[i].down_s < LENGTH_S)
            add_level(used, failures->items[i].time_s,
                      failures->items[i].time_s + failures->items[i].down_s, 1);
    for (size_t at_s = 0; at_s < LENGTH_S; at_s++) {
        level += used[at_s];
        most = level > most ? level : most;
    }
    ck_assert_int_eq(most, SYSTEMS); /* all of them, now and then */
    free(used);
    free(ran_s);
}

START_TEST(whatever_fails_no_system_is_held_twice_and_every_job_ends)
{
    static const struct failure_rate rate = { 4000, 90 };
    const struct replay_options options = {
        .systems = SYSTEMS,
        .rules = { .backfill = (enum schedule_backfill)(_i % RULES),
                   .order = _i < 8 ? SCHEDULE_ORDER_FCFS : SCHEDULE_ORDER_WFP },
        .ties = (enum replay_ties)(_i / RULES % TIES),
        .checkpoint_s = 25,
    };
    struct trace_job jobs[JOBS];
    owned(failures_done) struct failures failures = { .items = NULL };

    random_jobs(jobs, (uint64_t)_i + 1);
    ck_assert_int_eq(
        failures_draw(&rate, (uint64_t)_i, SYSTEMS, 0, jobs[JOBS - 1].submit_s, &failures, NULL),
        0);
    struct replay_result result = run(&options, jobs, JOBS, failures.items, failures.count);
    struct replay_result again = run(&options, jobs, JOBS, failures.items, failures.count);

    ck_assert_uint_gt(result.restarts, 5);
    check_capacity(jobs, &failures, &result);
    ck_assert(memcmp(result.start_s, again.start_s, JOBS * sizeof(*result.start_s)) == 0);
    ck_assert(memcmp(result.end_s, again.end_s, JOBS * sizeof(*result.end_s)) == 0);
    replay_result_done(&result);
    replay_result_done(&again);
}
END_TEST

START_TEST(where_nothing_fails_the_schedule_is_as_if_nothing_could)
{
    struct replay_options options = { .systems = SYSTEMS,
                                      .rules = { .backfill = (enum schedule_backfill)_i } };
    struct trace_job jobs[JOBS];
    struct replay_result without;

    random_jobs(jobs, 77);
    const struct trace trace = { .jobs = jobs, .count = JOBS };
    replay_run(&trace, &options, NULL, NULL, &without);
    struct replay_result with = run(&options, jobs, JOBS, NULL, 0);
    ck_assert(memcmp(with.start_s, without.start_s, JOBS * sizeof(*with.start_s)) == 0);
    replay_result_done(&with);
    replay_result_done(&without);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drive");
    TCase *tcase = tcase_create("drive");

    tcase_add_test(tcase, a_job_goes_on_from_its_last_checkpoint);
    tcase_add_test(tcase, without_checkpoints_it_begins_anew);
    tcase_add_test(tcase, it_runs_before_the_jobs_that_came_after_it);
    tcase_add_test(tcase, a_system_that_nobody_holds_stops_nobody_and_is_missed_until_it_is_back);
    tcase_add_test(tcase, a_job_that_ends_in_the_second_of_a_failure_has_ended);
    tcase_add_loop_test(tcase, whatever_fails_no_system_is_held_twice_and_every_job_ends, 0,
                        RULES * TIES);
    tcase_add_loop_test(tcase, where_nothing_fails_the_schedule_is_as_if_nothing_could, 0, RULES);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
