/* What clients may send, whatever it is: an answer each time, and nothing that ends the core. */
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "core/core.h"
#include "model/limits.h"
#include "tap.h"

enum { OPERATOR = 10, OWNER = 1000 };

static struct core *core;
static struct records records;
static struct effects effects;

static void begin(void)
{
    const struct core_pool pool = { "wafers", "cs3", 0, "EUR", 0 };
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
    input.request.subject.uid = uid;
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

/* The command line never sends one; anybody else may. */
START_TEST(a_bad_specification_is_refused_whoever_sends_it)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__SubmitRequest asked = WAFER__SUBMIT_REQUEST__INIT;
    Wafer__JobSpec spec = WAFER__JOB_SPEC__INIT;

    spec.apiversion = spec.kind = spec.name = (char *)"";
    asked.spec = &spec;
    message.body_case = WAFER__REQUEST__BODY_SUBMIT;
    message.submit = &asked;
    ck_assert_str_eq(ask(OWNER, &message)->error->code, "E_FIELD");
    ck_assert_str_eq(ask(OPERATOR, &message)->error->code, "E_FIELD");
}
END_TEST

/* A version with other rules may have taken it: what a journal gives back was not checked by ours.
 */
START_TEST(a_specification_that_a_journal_knows_is_checked_all_the_same)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__SubmitRequest asked = WAFER__SUBMIT_REQUEST__INIT;
    Wafer__JobSpec spec = WAFER__JOB_SPEC__INIT;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState state = WAFER__JOB_STATE__INIT;
    uint8_t packed[64], digest[32] = { 0 };
    struct diag diag;

    spec.apiversion = spec.kind = spec.name = (char *)"";
    record.sequence = core_sequence(core) + 1;
    record.kind = WAFER__RECORD_KIND__JOB_SUBMITTED;
    record.has_job = record.has_spec = true;
    record.job = state.id = state.lineage = core_next_job(core);
    record.spec = (ProtobufCBinaryData){ wafer__job_spec__pack(&spec, packed), packed };
    state.uid = OWNER;
    state.spec_digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    record.job_state = &state;
    ck_assert_int_eq(core_apply(core, &record, &diag), 0);

    asked.spec = &spec;
    message.body_case = WAFER__REQUEST__BODY_SUBMIT;
    message.submit = &asked;
    ck_assert_str_eq(ask(OWNER, &message)->error->code, "E_FIELD");
}
END_TEST

START_TEST(a_refusal_keeps_only_the_beginning_of_a_long_text)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__QueueRequest asked = WAFER__QUEUE_REQUEST__INIT;
    char name[3 * LIMIT_STRING_BYTES + 1];

    for (size_t i = 0; i < LIMIT_STRING_BYTES; i++)
        memcpy(name + 3 * i, "\xe2\x82\xac", 4); /* a character of three bytes */
    asked.name = name;
    message.body_case = WAFER__REQUEST__BODY_QUEUE;
    message.queue = &asked;
    const char *told = ask(OPERATOR, &message)->error->message;
    ck_assert_uint_gt(strlen(told), LIMIT_STRING_BYTES - 6);
    ck_assert_uint_le(strlen(told), LIMIT_STRING_BYTES);
    ck_assert_uint_eq(records.count, 1);
    const char *kept = records.items[0]->text;
    ck_assert_int_eq(strncmp(kept, "queue: queue: there is no queue '", 33), 0);
    ck_assert_uint_le(strlen(kept), 256);
    ck_assert_uint_eq(utf8_valid_length(kept, strlen(kept)), strlen(kept));
    ck_assert_str_eq(kept + strlen(kept) - 6, "\xe2\x82\xac...");
}
END_TEST

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

/* Take `input`; what it makes of it is looked at by the caller. */
static void feed(struct input *input)
{
    input->time_us = input->mono_us = 1000;
    records_clear(&records);
    effects_clear(&effects);
    core_step(core, input, &records, &effects);
    core_check(core);
}

static void agent_says(Wafer__ToController *message)
{
    struct input input = { .type = INPUT_AGENT, .agent = { .link = 1, .message = message } };

    feed(&input);
}

static void register_host(void)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__Report report = WAFER__REPORT__INIT;
    Wafer__HostedSystem system = WAFER__HOSTED_SYSTEM__INIT;
    Wafer__HostedSystem *systems[] = { &system };

    system.name = "s1";
    system.pool = "wafers";
    system.platform = "cs3";
    system.state = WAFER__SYSTEM__STATE__UP;
    report.host = "h1";
    report.boot_id = "b1";
    report.registration = true;
    report.systems = systems;
    report.n_systems = 1;
    message.report = &report;
    agent_says(&message);
}

static void verdict(enum input_type type, uint64_t checkpoint, int error)
{
    static const uint8_t digest[32] = { 1 };
    struct input input = { .type = type };

    input.verdict.checkpoint = checkpoint;
    input.verdict.error = error;
    input.verdict.text = error ? "it is not there" : NULL;
    input.verdict.manifest_digest = digest;
    feed(&input);
}

/* A checkpoint of the job's first attempt, until it is verified. */
static void save(uint64_t job, uint64_t step, uint64_t number)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__CheckpointReport report = WAFER__CHECKPOINT_REPORT__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    Wafer__ShardState shard = WAFER__SHARD_STATE__INIT;
    Wafer__ShardState *shards[] = { &shard };
    uint8_t digest[32] = { 2 };

    fence.term = fence.epoch = 1;
    shard.digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    report.job = job;
    report.fence = &fence;
    report.step = step;
    report.kind = WAFER__CHECKPOINT_REPORT__KIND__WRITTEN;
    report.shards = shards;
    report.n_shards = 1;
    message.checkpoint = &report;
    agent_says(&message);
    verdict(INPUT_MANIFEST, number, 0);
    verdict(INPUT_VERIFIED, number, 0);
}

static Wafer__CheckpointTarget named;
static Wafer__CheckpointVerifyRequest verify;

/* JOB@STEP read back. */
static Wafer__Request verify_request(uint64_t job, uint64_t step)
{
    Wafer__Request message = WAFER__REQUEST__INIT;

    wafer__checkpoint_target__init(&named);
    wafer__checkpoint_verify_request__init(&verify);
    named.job = job;
    named.has_step = true;
    named.step = step;
    verify.target = &named;
    message.body_case = WAFER__REQUEST__BODY_CHECKPOINT_VERIFY;
    message.checkpoint_verify = &verify;
    return message;
}

static void pin(uint64_t job, uint64_t step, bool pinned)
{
    Wafer__Request message = verify_request(job, step);
    Wafer__CheckpointPinRequest pin = WAFER__CHECKPOINT_PIN_REQUEST__INIT;

    pin.target = &named;
    pin.pinned = pinned;
    message.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PIN;
    message.checkpoint_pin = &pin;
    ask(OWNER, &message);
}

/* Four, of which retention keeps the last three; and the first, which was pinned. */
static uint64_t four_checkpoints(void)
{
    register_host();
    uint64_t job = submit(NULL)->job->id;

    save(job, 10, 1);
    pin(job, 10, true);
    save(job, 20, 2);
    save(job, 30, 3);
    save(job, 40, 4);
    pin(job, 10, false);
    return job;
}

START_TEST(a_checkpoint_may_go_while_a_client_has_it_verified)
{
    uint64_t job = four_checkpoints();
    Wafer__Request message = verify_request(job, 10);
    Wafer__CheckpointPruneRequest prune = WAFER__CHECKPOINT_PRUNE_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;
    struct input input = { .type = INPUT_REQUEST };

    input.request.subject.uid = OWNER;
    input.request.message = &message;
    feed(&input); /* the answer waits for the verdict */
    target.has_job = true;
    target.job = job;
    prune.target = &target;
    message.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PRUNE;
    message.checkpoint_prune = &prune;
    ck_assert_uint_eq(ask(OWNER, &message)->checkpoints->n_items, 4);
    verdict(INPUT_DELETED, 1, 0);
    verdict(INPUT_VERIFIED, 1, -2);
    ck_assert_uint_eq(records.count, 0);
    ck_assert_uint_eq(effects.count, 1);
    ck_assert_int_eq(effects.items[0].type, EFFECT_REPLY);
    ck_assert_int_eq(effects.items[0].response->body_case, WAFER__RESPONSE__BODY_ERROR);
}
END_TEST

START_TEST(so_many_verifications_of_one_user_wait_and_no_more)
{
    Wafer__Request message = verify_request(four_checkpoints(), 20);
    struct input input = { .type = INPUT_REQUEST };

    input.request.subject.uid = OWNER;
    input.request.message = &message;
    for (int i = 0; i < LIMIT_VERIFICATIONS_PER_UID; i++) {
        feed(&input);
        ck_assert_uint_eq(effects.count, 1);
        ck_assert_int_eq(effects.items[0].type, EFFECT_VERIFY);
    }
    ck_assert_int_eq(ask(OWNER, &message)->error->exit, EX_TEMPFAIL);
    verdict(INPUT_VERIFIED, 2, 0); /* answers all that wait for it */
    ck_assert_uint_eq(effects.count, LIMIT_VERIFICATIONS_PER_UID);
    feed(&input);
    ck_assert_int_eq(effects.items[0].type, EFFECT_VERIFY);
}
END_TEST

START_TEST(a_grace_without_end_stops_nothing_at_once)
{
    register_host();
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__CancelRequest asked = WAFER__CANCEL_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;
    Wafer__Duration grace = WAFER__DURATION__INIT;
    int64_t time_us, mono_us;

    target.has_job = true;
    target.job = submit(NULL)->job->id;
    grace.us = INT64_MAX;
    asked.target = &target;
    asked.grace = &grace;
    message.body_case = WAFER__REQUEST__BODY_CANCEL;
    message.cancel = &asked;
    ck_assert_int_eq(ask(OWNER, &message)->job->state, WAFER__JOB__STATE__STOPPING);
    core_next(core, &time_us, &mono_us);
    ck_assert_int_eq(time_us, INT64_MAX);
}
END_TEST

START_TEST(a_brief_list_has_what_a_table_shows_and_no_more)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    Wafer__ListRequest asked = WAFER__LIST_REQUEST__INIT;

    submit(NULL);
    message.body_case = WAFER__REQUEST__BODY_LIST;
    message.list = &asked;
    asked.has_brief = asked.brief = true;
    const Wafer__JobList *list = ask(OWNER, &message)->jobs;
    ck_assert_uint_eq(list->n_items, 1);
    const Wafer__Job *job = list->items[0];
    ck_assert_str_eq(job->name, "job");
    ck_assert_uint_eq(job->uid, OWNER);
    ck_assert_int_eq(job->state, WAFER__JOB__STATE__PENDING);
    ck_assert_ptr_nonnull(job->reason);
    ck_assert_uint_eq(job->systems->requested, 1);
    ck_assert_uint_eq(job->progress->max_steps, 100);
    ck_assert(!job->cost && !job->checkpoint && !job->result && !job->platform);
    ck_assert(!job->submitted_at && !job->has_priority && !job->has_attempt);
    asked.brief = false;
    job = ask(OWNER, &message)->jobs->items[0];
    ck_assert(job->cost && job->checkpoint && job->result && job->platform);
    ck_assert(job->submitted_at && job->has_priority && job->has_attempt);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("requests");
    TCase *tcase = tcase_create("requests");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_bad_specification_is_refused_whoever_sends_it);
    tcase_add_test(tcase, a_brief_list_has_what_a_table_shows_and_no_more);
    tcase_add_test(tcase, a_specification_that_a_journal_knows_is_checked_all_the_same);
    tcase_add_test(tcase, a_refusal_keeps_only_the_beginning_of_a_long_text);
    tcase_add_test(tcase, an_id_that_no_job_can_have_is_unknown);
    tcase_add_test(tcase, a_reason_is_as_long_as_any_string_may_be);
    tcase_add_test(tcase, what_an_operator_holds_its_owner_cannot_release_even_if_he_held_it_first);
    tcase_add_test(tcase, a_checkpoint_may_go_while_a_client_has_it_verified);
    tcase_add_test(tcase, so_many_verifications_of_one_user_wait_and_no_more);
    tcase_add_test(tcase, a_grace_without_end_stops_nothing_at_once);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
