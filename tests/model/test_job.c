#include "model/job.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/memory.h"
#include "errors.h"
#include "model/limits.h"
#include "tap.h"

#define STATE(name) WAFER__JOB__STATE__##name

/* ---- states ---- */

START_TEST(every_state_has_a_name_that_parses_back_in_any_case)
{
    Wafer__Job__State state, back;
    const char *name = job_state_name((Wafer__Job__State)_i);
    owned(free) char *lower = text_copy(name);

    ck_assert_int_eq(job_state_parse(name, &back), 0);
    ck_assert_int_eq((int)back, _i);
    for (char *p = lower; *p; p++)
        *p |= 0x20;
    ck_assert_int_eq(job_state_parse(lower, &state), 0);
    ck_assert_int_eq((int)state, _i);
}
END_TEST

START_TEST(what_is_no_state_is_refused)
{
    Wafer__Job__State state = STATE(LOST);

    ck_assert_int_eq(job_state_parse("RUN", &state), -EINVAL);
    ck_assert_int_eq(job_state_parse("", &state), -EINVAL);
    ck_assert_int_eq((int)state, (int)STATE(LOST));
    ck_assert_str_eq(job_state_name((Wafer__Job__State)99), "UNKNOWN"); /* of a later version */
}
END_TEST

static const struct {
    Wafer__Job__State from, to;
    bool may;
} moves[] = {
    { STATE(PENDING), STATE(STARTING), true },
    { STATE(PENDING), STATE(HELD), true },
    { STATE(PENDING), STATE(CANCELLED), true },
    { STATE(PENDING), STATE(RUNNING), false }, /* nothing runs that was not granted */
    { STATE(HELD), STATE(PENDING), true },
    { STATE(HELD), STATE(STARTING), false }, /* it is released first */
    { STATE(STARTING), STATE(RUNNING), true },
    { STATE(STARTING), STATE(PENDING), true }, /* launch refused */
    { STATE(STARTING), STATE(HELD), true },    /* refused too often */
    { STATE(RUNNING), STATE(SUSPENDED), true },
    { STATE(RUNNING), STATE(PENDING), true }, /* its system failed */
    { STATE(RUNNING), STATE(STARTING), false },
    { STATE(SUSPENDED), STATE(RUNNING), true },
    { STATE(STOPPING), STATE(RUNNING), false }, /* told to stop, it never runs on */
    { STATE(STOPPING), STATE(SUSPENDED), false },
    { STATE(STOPPING), STATE(PENDING), true },   /* preempted or requeued */
    { STATE(STOPPING), STATE(SUCCEEDED), true }, /* it finished as it was told */
    { STATE(RUNNING), STATE(RUNNING), true },
    { (Wafer__Job__State)99, STATE(RUNNING), false },
    { STATE(RUNNING), (Wafer__Job__State)99, false },
};

START_TEST(the_chart_allows_just_these_moves)
{
    ck_assert_int_eq(job_may_become(moves[_i].from, moves[_i].to), moves[_i].may);
}
END_TEST

START_TEST(terminal_is_final_and_every_other_state_can_end)
{
    Wafer__Job__State from = (Wafer__Job__State)_i;
    bool can_end = false;

    for (int to = 0; to < JOB_STATES; to++) {
        bool may = job_may_become(from, (Wafer__Job__State)to);
        ck_assert(!(may && job_state_is_terminal(from)));
        can_end |= may && job_state_is_terminal((Wafer__Job__State)to);
    }
    ck_assert_int_eq(can_end, !job_state_is_terminal(from));
    ck_assert_int_eq(job_state_exit(from) >= 0, job_state_is_terminal(from));
    ck_assert(!(job_state_has_systems(from) && job_state_is_terminal(from)));
}
END_TEST

START_TEST(outcomes_have_the_exit_codes_of_the_manual)
{
    ck_assert_int_eq(job_state_exit(STATE(SUCCEEDED)), 0);
    ck_assert_int_eq(job_state_exit(STATE(FAILED)), 1);
    ck_assert_int_eq(job_state_exit(STATE(CANCELLED)), 3);
    ck_assert_int_eq(job_state_exit(STATE(TIMEOUT)), 4);
    ck_assert_int_eq(job_state_exit(STATE(LOST)), 5);
    ck_assert_int_eq(job_state_exit(STATE(RUNNING)), -1);
    ck_assert_int_eq(job_state_exit((Wafer__Job__State)99), -1);
}
END_TEST

START_TEST(other_words_are_those_of_the_schema)
{
    ck_assert_str_eq(job_phase_name(WAFER__JOB__PHASE__EXECUTE), "EXECUTE");
    ck_assert_str_eq(job_reason_name(WAFER__JOB__REASON__Resources), "Resources");
    ck_assert_str_eq(cause_name(WAFER__CAUSE__TIME_LIMIT), "TIME_LIMIT");
    ck_assert_str_eq(record_kind_name(WAFER__RECORD_KIND__JOB_STARTED), "JOB_STARTED");
}
END_TEST

/* ---- targets ---- */

static const struct {
    const char *text;
    int error;
    uint64_t job;
    int64_t index, attempt; /* -1: not given */
    const char *name;
} targets[] = {
    { "7", 0, 7, -1, -1, NULL },
    { "7_3", 0, 7, 3, -1, NULL },
    { "7_0", 0, 7, 0, -1, NULL },
    { "7.2", 0, 7, -1, 2, NULL },
    { "7_3.2", 0, 7, 3, 2, NULL },
    { "9223372036854775807", 0, INT64_MAX, -1, -1, NULL },
    { "train", 0, 0, -1, -1, "train" },
    { "7b-model_v1.2", 0, 0, -1, -1, "7b-model_v1.2" },

    { "17_", -EINVAL, 0, -1, -1, NULL }, /* never taken for task 0, nor for a name */
    { "17.", -EINVAL, 0, -1, -1, NULL },
    { "17_.2", -EINVAL, 0, -1, -1, NULL },
    { "7.2_3", -EINVAL, 0, -1, -1, NULL },
    { "7.2.3", -EINVAL, 0, -1, -1, NULL },
    { "7_1_2", -EINVAL, 0, -1, -1, NULL },
    { "7.0", -EINVAL, 0, -1, -1, NULL }, /* attempts count from 1 */
    { "0", -EINVAL, 0, -1, -1, NULL },
    { "07", -EINVAL, 0, -1, -1, NULL },
    { "9223372036854775808", -EINVAL, 0, -1, -1, NULL },
    { "99999999999999999999999999", -EINVAL, 0, -1, -1, NULL },
    { "7_4294967296", -EINVAL, 0, -1, -1, NULL },
    { "_", -EINVAL, 0, -1, -1, NULL },
    { "..", -EINVAL, 0, -1, -1, NULL },
    { "", -EINVAL, 0, -1, -1, NULL },
    { "a b", -EINVAL, 0, -1, -1, NULL },
    { "../x", -EINVAL, 0, -1, -1, NULL },
};

START_TEST(a_target_is_an_id_with_its_parts_or_a_name)
{
    Wafer__Target target = WAFER__TARGET__INIT;

    ck_assert_int_eq(job_target_parse(targets[_i].text, &target), targets[_i].error);
    if (targets[_i].error)
        return;
    ck_assert_int_eq(target.has_job, targets[_i].job != 0);
    ck_assert_uint_eq(target.job, targets[_i].job);
    ck_assert_int_eq(target.has_index ? (int64_t)target.index : -1, targets[_i].index);
    ck_assert_int_eq(target.has_attempt ? (int64_t)target.attempt : -1, targets[_i].attempt);
    ck_assert_pstr_eq(target.name, targets[_i].name);
}
END_TEST

static const struct {
    const char *text;
    int error;
    uint64_t job, step, epoch;
} checkpoints[] = {
    { "7@2000", 0, 7, 2000, 0 },      { "7@0", 0, 7, 0, 0 },
    { "7@2000.3", 0, 7, 2000, 3 },    { "7", -EINVAL, 1, 1, 1 },
    { "7@", -EINVAL, 1, 1, 1 },       { "@2000", -EINVAL, 1, 1, 1 },
    { "0@1", -EINVAL, 1, 1, 1 },      { "7@2000.", -EINVAL, 1, 1, 1 },
    { "7@2000.0", -EINVAL, 1, 1, 1 }, { "7@2000.3.4", -EINVAL, 1, 1, 1 },
    { "7_1@2000", -EINVAL, 1, 1, 1 }, { "name@2000", -EINVAL, 1, 1, 1 },
    { "7@-1", -EINVAL, 1, 1, 1 },     { "7@9223372036854775808", -EINVAL, 1, 1, 1 },
    { "", -EINVAL, 1, 1, 1 },
};

START_TEST(a_checkpoint_is_a_job_and_a_step)
{
    uint64_t job = 1, step = 1, epoch = 1;

    ck_assert_int_eq(checkpoint_target_parse(checkpoints[_i].text, &job, &step, &epoch),
                     checkpoints[_i].error);
    ck_assert_uint_eq(job, checkpoints[_i].job);
    ck_assert_uint_eq(step, checkpoints[_i].step);
    ck_assert_uint_eq(epoch, checkpoints[_i].epoch);
}
END_TEST

static const struct {
    const char *text;
    int error;
    uint32_t first, last, parallel;
} arrays[] = {
    { "0-31", 0, 0, 31, 0 },
    { "0-31%4", 0, 0, 31, 4 },
    { "5-5", 0, 5, 5, 0 },
    { "0-99999", 0, 0, 99999, 0 },
    { "1-100000", 0, 1, 100000, 0 },

    { "0-100000", -EINVAL, 9, 9, 9 }, /* one too many */
    { "0-4294967294", -EINVAL, 9, 9, 9 },
    { "0-4294967296", -EINVAL, 9, 9, 9 },
    { "5-4", -EINVAL, 9, 9, 9 },
    { "7", -EINVAL, 9, 9, 9 },
    { "0-", -EINVAL, 9, 9, 9 },
    { "-3", -EINVAL, 9, 9, 9 },
    { "0-3%", -EINVAL, 9, 9, 9 },
    { "0-3%0", -EINVAL, 9, 9, 9 },
    { "0-3,5", -EINVAL, 9, 9, 9 },
    { "00-3", -EINVAL, 9, 9, 9 },
    { "0-3 ", -EINVAL, 9, 9, 9 },
    { "", -EINVAL, 9, 9, 9 },
};

START_TEST(an_array_is_a_range_of_limited_length)
{
    uint32_t first = 9, last = 9, parallel = 9;

    ck_assert_int_eq(job_array_parse(arrays[_i].text, &first, &last, &parallel), arrays[_i].error);
    ck_assert_uint_eq(first, arrays[_i].first);
    ck_assert_uint_eq(last, arrays[_i].last);
    ck_assert_uint_eq(parallel, arrays[_i].parallel);
}
END_TEST

/* ---- terms ---- */

#define MINIMAL                                                                                    \
    "apiVersion: wafer/v1\nkind: Job\nname: n\n"                                                   \
    "workload: {model: {layers: 2, hidden: 64}, batch: 8, steps: 100}\n"

static Wafer__JobSpec *read_spec(const char *text, const char *const *sets)
{
    struct bind_errors errors = { 0 };
    Wafer__JobSpec *spec = NULL;
    int r = job_spec_read(text, strlen(text), sets, &spec, &errors);
    owned(free) char *said = errors_text(&errors);

    ck_assert_msg(r == 0, "%s", said);
    return spec;
}

START_TEST(what_a_spec_leaves_out_has_a_default)
{
    Wafer__JobSpec *spec = read_spec(MINIMAL, NULL);
    struct job_terms terms;

    job_terms(spec, &terms);
    ck_assert_uint_eq(terms.systems_count, 1);
    ck_assert_uint_eq(terms.systems_min, 1);
    ck_assert_int_eq(terms.limit_us, 0);
    ck_assert_uint_eq(terms.priority, 299);
    ck_assert_uint_eq(terms.max_steps, 100);
    ck_assert_uint_eq(terms.batch, 8);
    ck_assert_uint_eq(terms.seq, 2048);
    ck_assert_int_eq(terms.max_cost_micro, 0);
    ck_assert(terms.save_on_stop);
    ck_assert_int_eq(terms.grace_us, 10 * MINUTE_US);
    ck_assert_int_eq((int)terms.on_error, (int)WAFER__CHECKPOINT_SPEC__ON_ERROR__pause);
    ck_assert_uint_eq(terms.keep_last, 3);
    ck_assert_uint_eq(terms.keep_best, 0);
    ck_assert_uint_eq(terms.keep_every_steps, 0);
    ck_assert_uint_eq(terms.retry_max, 3);
    ck_assert(!terms.retry_counts_all);
    ck_assert_uint_eq(terms.retry_never, 1u << WAFER__CAUSE__CONFIG | 1u << WAFER__CAUSE__COMPILE |
                                             1u << WAFER__CAUSE__UNSUPPORTED_OPERATOR);
    ck_assert_int_eq(terms.backoff_first_us, 10 * SECOND_US);
    ck_assert_int_eq(terms.backoff_max_us, 10 * MINUTE_US);
    ck_assert_uint_gt(terms.array_first, terms.array_last);
    ck_assert_str_eq(terms.name, "n");
    ck_assert_ptr_null(terms.queue);
    ck_assert_ptr_null(terms.resume_from);
    ck_assert_ptr_null(terms.init_from);
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(what_a_spec_says_is_what_decisions_see)
{
    static const char text[] =
        MINIMAL "queue: prod\npriority: p1\nsystems: {count: 4, min: 2}\nlimit: 2h\narray: 3-9%2\n"
                "quality: {metric: eval_loss, every: {steps: 10}}\n"
                "stop: {max_steps: 60, max_cost: 900.00 EUR}\n"
                "checkpoint: {on_stop: false, grace: 1m, on_error: fail,\n"
                "  keep: {last: 5, best: {n: 2, metric: eval_loss, mode: max}, every_steps: 50}}\n"
                "resume: {from: 4@17}\n"
                "retry: {max: 0, count: all, never: [TIME_LIMIT, SYSTEM_LOST], "
                "backoff: {first: 1s, max: 2s}}\n";
    Wafer__JobSpec *spec = read_spec(text, NULL);
    struct job_terms terms;

    job_terms(spec, &terms);
    ck_assert_uint_eq(terms.systems_count, 4);
    ck_assert_uint_eq(terms.systems_min, 2);
    ck_assert_int_eq(terms.limit_us, 2 * HOUR_US);
    ck_assert_uint_eq(terms.priority, 199);
    ck_assert_uint_eq(terms.max_steps, 60);
    ck_assert_int_eq(terms.max_cost_micro, 900000000);
    ck_assert(!terms.save_on_stop);
    ck_assert_int_eq(terms.grace_us, MINUTE_US);
    ck_assert_int_eq((int)terms.on_error, (int)WAFER__CHECKPOINT_SPEC__ON_ERROR__fail);
    ck_assert_uint_eq(terms.keep_last, 5);
    ck_assert_uint_eq(terms.keep_best, 2);
    ck_assert(terms.best_is_max);
    ck_assert_uint_eq(terms.keep_every_steps, 50);
    ck_assert_uint_eq(terms.retry_max, 0);
    ck_assert(terms.retry_counts_all);
    ck_assert_uint_eq(terms.retry_never,
                      1u << WAFER__CAUSE__TIME_LIMIT | 1u << WAFER__CAUSE__SYSTEM_LOST);
    ck_assert_int_eq(terms.backoff_first_us, SECOND_US);
    ck_assert_int_eq(terms.backoff_max_us, 2 * SECOND_US);
    ck_assert_uint_eq(terms.array_first, 3);
    ck_assert_uint_eq(terms.array_last, 9);
    ck_assert_uint_eq(terms.array_parallel, 2);
    ck_assert_str_eq(terms.queue, "prod");
    ck_assert_str_eq(terms.resume_from, "4@17");
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

static const struct {
    const char *sets[5];
    uint64_t max_steps;
} lengths[] = {
    { { "workload.steps=100" }, 100 },
    { { "workload.steps=100", "stop.max_steps=200" }, 100 },
    { { "workload.steps=null", "workload.tokens=16384" }, 1 }, /* 8 x 2048 a step */
    { { "workload.steps=null", "workload.tokens=16385" }, 2 }, /* no token is left out */
    { { "workload.steps=null", "workload.tokens=1" }, 1 },
    { { "workload.steps=null", "workload.tokens=26.3e9", "workload.model.seq=4096" }, 802613 },
    { { "workload.steps=null", "workload.tokens=1e12", "stop.max_steps=5" }, 5 },
};

START_TEST(the_length_of_a_run_is_the_smallest_that_was_asked_for)
{
    Wafer__JobSpec *spec = read_spec(MINIMAL, lengths[_i].sets);
    struct job_terms terms;

    job_terms(spec, &terms);
    ck_assert_uint_eq(terms.max_steps, lengths[_i].max_steps);
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(auto_is_no_checkpoint_in_particular)
{
    static const char *const sets[] = { "resume.from=auto", NULL };
    Wafer__JobSpec *spec = read_spec(MINIMAL, sets);
    struct job_terms terms;

    job_terms(spec, &terms);
    ck_assert_ptr_null(terms.resume_from);
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(parameters_are_given_or_follow_from_the_shape)
{
    Wafer__ModelSpec model = WAFER__MODEL_SPEC__INIT;
    Wafer__Count params = WAFER__COUNT__INIT;

    model.layers = 10;
    model.hidden = 768;
    ck_assert_uint_eq(job_parameters(&model), 12ul * 10 * 768 * 768 + 50257ul * 768 + 2048ul * 768);
    model.has_vocab = model.has_seq = true;
    model.vocab = 100;
    model.seq = 10;
    ck_assert_uint_eq(job_parameters(&model), 12ul * 10 * 768 * 768 + 110ul * 768);
    model.layers = model.hidden = UINT32_MAX;
    ck_assert_uint_eq(job_parameters(&model), INT64_MAX); /* not a small number by overflow */
    params.value = 1300000000;
    model.params = &params;
    ck_assert_uint_eq(job_parameters(&model), 1300000000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job");
    TCase *tcase = tcase_create("job");

    tcase_add_loop_test(tcase, every_state_has_a_name_that_parses_back_in_any_case, 0, JOB_STATES);
    tcase_add_test(tcase, what_is_no_state_is_refused);
    tcase_add_loop_test(tcase, the_chart_allows_just_these_moves, 0, ELEMENTS(moves));
    tcase_add_loop_test(tcase, terminal_is_final_and_every_other_state_can_end, 0, JOB_STATES);
    tcase_add_test(tcase, outcomes_have_the_exit_codes_of_the_manual);
    tcase_add_test(tcase, other_words_are_those_of_the_schema);
    tcase_add_loop_test(tcase, a_target_is_an_id_with_its_parts_or_a_name, 0, ELEMENTS(targets));
    tcase_add_loop_test(tcase, a_checkpoint_is_a_job_and_a_step, 0, ELEMENTS(checkpoints));
    tcase_add_loop_test(tcase, an_array_is_a_range_of_limited_length, 0, ELEMENTS(arrays));
    tcase_add_test(tcase, what_a_spec_leaves_out_has_a_default);
    tcase_add_test(tcase, what_a_spec_says_is_what_decisions_see);
    tcase_add_loop_test(tcase, the_length_of_a_run_is_the_smallest_that_was_asked_for, 0,
                        ELEMENTS(lengths));
    tcase_add_test(tcase, auto_is_no_checkpoint_in_particular);
    tcase_add_test(tcase, parameters_are_given_or_follow_from_the_shape);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
