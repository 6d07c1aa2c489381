/* What clients may send, whatever it is: an answer each time, and nothing that ends the core. */
#include <string.h>

#include "base/memory.h"
#include "core/core.h"
#include "model/limits.h"
#include "tap.h"

enum { OPERATOR = 10, OWNER = 1000 };

static struct core *core;
static struct records records;
static struct effects effects;

static void begin(void)
{
    const struct core_pool pool = { "wafers", "cs3", 0, "EUR" };
    const struct core_config config = { .pools = &pool,
                                        .pool_count = 1,
                                        .lease_us = 1000000,
                                        .lease_margin_us = 1000000,
                                        .operator_uid = OPERATOR,
                                        .version = "test",
                                        .protocol = 1 };

    core = core_new(&config);
    core_recover(core, 1, 1, &records, &effects);
}

static void end(void)
{
    records_clear(&records);
    effects_clear(&effects);
    core = core_free(core);
}

/* The one answer to `message`; it lives until the next is asked. */
static const Wafer__Response *ask(uid_t uid, Wafer__Request *message)
{
    struct input input = { .type = INPUT_REQUEST, .time_us = 1000, .mono_us = 1000 };
    const Wafer__Response *answer = NULL;

    records_clear(&records);
    effects_clear(&effects);
    input.request.client = 1;
    input.request.uid = uid;
    input.request.message = message;
    core_step(core, &input, &records, &effects);
    core_check(core);
    for (size_t i = 0; i < effects.count; i++)
        if (effects.items[i].type == EFFECT_REPLY) {
            ck_assert_ptr_null(answer);
            answer = effects.items[i].response;
        }
    ck_assert_ptr_nonnull(answer);
    return answer;
}

static const Wafer__Response *submit(char *array)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__SubmitRequest asked = WAFER__SUBMIT_REQUEST__INIT;
    Wafer__JobSpec spec = WAFER__JOB_SPEC__INIT;
    Wafer__Workload workload = WAFER__WORKLOAD__INIT;
    Wafer__ModelSpec model = WAFER__MODEL_SPEC__INIT;
    Wafer__Count steps = WAFER__COUNT__INIT, parameters = WAFER__COUNT__INIT;

    steps.value = 100;
    parameters.value = 1000000;
    model.params = &parameters;
    workload.model = &model;
    workload.batch = 8;
    workload.steps = &steps;
    spec.apiversion = "wafer/v1";
    spec.kind = "Job";
    spec.name = "job";
    spec.workload = &workload;
    spec.array = array;
    asked.spec = &spec;
    message.body_case = WAFER__REQUEST__BODY_SUBMIT;
    message.submit = &asked;
    const Wafer__Response *answer = ask(OWNER, &message);
    if (answer->body_case == WAFER__RESPONSE__BODY_ERROR)
        ck_abort_msg("%s: %s", answer->error->field, answer->error->message);
    return answer;
}

static const Wafer__Response *hold(uid_t uid, uint64_t job, char *reason)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__HoldRequest asked = WAFER__HOLD_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    target.has_job = true;
    target.job = job;
    asked.target = &target;
    asked.reason = reason;
    message.body_case = WAFER__REQUEST__BODY_HOLD;
    message.hold = &asked;
    return ask(uid, &message);
}

static const Wafer__Response *release(uid_t uid, uint64_t job)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__ReleaseRequest asked = WAFER__RELEASE_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    target.has_job = true;
    target.job = job;
    asked.target = &target;
    message.body_case = WAFER__REQUEST__BODY_RELEASE;
    message.release = &asked;
    return ask(uid, &message);
}

START_TEST(an_id_that_no_job_can_have_is_unknown)
{
    uint64_t job = submit(NULL)->job->id;
    ck_assert_int_eq(hold(OWNER, job, NULL)->body_case, WAFER__RESPONSE__BODY_JOB);
    for (uint64_t back = 0; back < 3; back++)
        ck_assert_str_eq(hold(OWNER, UINT64_MAX - back, NULL)->error->code, "E_DENIED");
}
END_TEST

START_TEST(a_reason_is_as_long_as_any_string_may_be)
{
    static char reason[LIMIT_STRING_BYTES + 2];
    uint64_t job = submit("0-9")->job->id;

    memset(reason, 'x', LIMIT_STRING_BYTES + 1);
    ck_assert_str_eq(hold(OWNER, job, reason)->error->code, "E_FIELD");
    reason[LIMIT_STRING_BYTES] = '\0';
    ck_assert_int_eq(hold(OWNER, job, reason)->body_case, WAFER__RESPONSE__BODY_JOB);
}
END_TEST

START_TEST(what_an_operator_holds_its_owner_cannot_release_even_if_he_held_it_first)
{
    uint64_t job = submit(NULL)->job->id;

    hold(OWNER, job, "not yet");
    hold(OPERATOR, job, "maintenance");
    ck_assert_str_eq(release(OWNER, job)->error->code, "E_DENIED");
    ck_assert_int_eq(release(OPERATOR, job)->body_case, WAFER__RESPONSE__BODY_JOB);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("requests");
    TCase *tcase = tcase_create("requests");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, an_id_that_no_job_can_have_is_unknown);
    tcase_add_test(tcase, a_reason_is_as_long_as_any_string_may_be);
    tcase_add_test(tcase, what_an_operator_holds_its_owner_cannot_release_even_if_he_held_it_first);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
