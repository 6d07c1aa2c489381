#include <errno.h>
#include <string.h>

#include "any_message.h"
#include "api.pb-c.h"
#include "base/memory.h"
#include "errors.h"
#include "job.pb-c.h"
#include "model/bind.h"
#include "model/message.h"
#include "platform.pb-c.h"
#include "record.pb-c.h"
#include "site.pb-c.h"
#include "tap.h"
#include "view.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
    &wafer__job_spec__descriptor,
    &wafer__platform__descriptor,
    &wafer__site__descriptor,
    &wafer__job_list__descriptor,
    &wafer__checkpoint_list__descriptor,
    &wafer__system_list__descriptor,
    &wafer__event_list__descriptor,
    &wafer__manifest__descriptor,
    &wafer__response__descriptor,
    &wafer__record__descriptor,
};

static uint8_t *pack(const ProtobufCMessage *message, size_t *ret_length)
{
    uint8_t *bytes = memory_new(protobuf_c_message_get_packed_size(message) + 1);

    *ret_length = protobuf_c_message_pack(message, bytes);
    return bytes;
}

static void assert_equal(const ProtobufCMessage *a, const ProtobufCMessage *b, const char *text)
{
    size_t a_length, b_length;
    owned(free) uint8_t *a_bytes = pack(a, &a_length);
    owned(free) uint8_t *b_bytes = pack(b, &b_length);

    ck_assert_msg(a_length == b_length && memcmp(a_bytes, b_bytes, a_length) == 0,
                  "not what was written:\n%s", text);
}

START_TEST(whatever_is_written_as_yaml_reads_back_equal)
{
    struct random random;

    random_init(&random, 11 + (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        ProtobufCMessage *message = any_message(types[_i], &random), *back = NULL;
        owned(free) char *text = bind_yaml_text(message);
        struct bind_errors errors = { 0 };
        int r = bind_yaml(types[_i], text, strlen(text), SIZE_MAX, &back, NULL, &errors);
        owned(free) char *said = errors_text(&errors);

        ck_assert_msg(r == 0, "%s\n%s", said, text);
        assert_equal(message, back, text);
        protobuf_c_message_free_unpacked(back, NULL);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}
END_TEST

START_TEST(a_copy_is_equal_and_outlives_what_it_was_made_of)
{
    struct random random;

    random_init(&random, 29 + (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        ProtobufCMessage *message = any_message(types[_i], &random);
        ProtobufCMessage *copy = message_copy(message);
        size_t length;
        owned(free) uint8_t *bytes = pack(message, &length);

        protobuf_c_message_free_unpacked(message, NULL);
        message = protobuf_c_message_unpack(types[_i], NULL, length, bytes);
        assert_equal(message, copy, "a copy");
        protobuf_c_message_free_unpacked(message, NULL);
        protobuf_c_message_free_unpacked(copy, NULL);
    }
}
END_TEST

START_TEST(a_copy_has_nothing_where_a_value_is_not_set)
{
    Wafer__JobState state = WAFER__JOB_STATE__INIT;
    uint8_t digest[] = { 1, 2, 3 };

    state.epoch = 7;
    state.started_us = 8; /* without its flag */
    state.spec_digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    state.final_digest = state.spec_digest;
    Wafer__JobState *copy = (Wafer__JobState *)message_copy(&state.base);
    ck_assert_uint_eq(copy->epoch, 7);
    ck_assert_int_eq(copy->started_us, 0);
    ck_assert_mem_eq(copy->spec_digest.data, digest, sizeof(digest));
    ck_assert_ptr_ne(copy->spec_digest.data, digest);
    ck_assert_ptr_null(copy->final_digest.data);
    wafer__job_state__free_unpacked(copy, NULL);
}
END_TEST

/* Every key of the schema is there, whatever the message has. */
static void assert_complete(const ProtobufCMessageDescriptor *type, const json_t *json)
{
    ck_assert_uint_eq(json_object_size(json), type->n_fields);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const json_t *value = json_object_get(json, type->fields[i].name);

        ck_assert_msg(value, "%s.%s is not there", type->name, type->fields[i].name);
        ck_assert_int_eq(type->fields[i].label == PROTOBUF_C_LABEL_REPEATED,
                         json_is_array(value) ||
                             (json_is_object(value) &&
                              type->fields[i].descriptor == &wafer__key_value__descriptor));
    }
}

START_TEST(json_has_every_key_and_is_the_same_pretty_or_not)
{
    struct random random;

    random_init(&random, 12 + (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        ProtobufCMessage *message = any_message(types[_i], &random);
        owned(free) char *text = bind_json_text(message, true);
        json_t *json = bind_json(message), *pretty = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

        ck_assert_msg(pretty, "%s", text);
        assert_complete(types[_i], json);
        ck_assert(json_equal(json, pretty));
        const char *p = text;
        while ((unsigned char)*p >= 0x20 || *p == '\n')
            p++; /* an assertion for each byte costs Check the square of their number */
        ck_assert_msg(*p == '\0', "byte 0x%02x", *p);
        json_decref(json);
        json_decref(pretty);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}
END_TEST

START_TEST(a_valid_message_passes_the_check_of_what_came_packed)
{
    struct random random;

    random_init(&random, 13 + (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        ProtobufCMessage *message = any_message(types[_i], &random);
        struct bind_errors errors = { 0 };
        int r = bind_check(message, NULL, &errors);
        owned(free) char *said = errors_text(&errors);

        ck_assert_msg(r == 0, "%s", said);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}
END_TEST

/* ---- forms, value by value ---- */

static const struct {
    const char *yaml, *json, *shown; /* shown: NULL, as written */
} forms[] = {
    { "limit: 90m\n", "\"limit\":\"1h30m\"", "limit: 1h30m\n" },
    { "limit: 1-00:00:00\n", "\"limit\":\"1-00:00:00\"", NULL },
    { "begin: \"2026-02-01T08:00:00+01:00\"\n", "\"begin\":\"2026-02-01T07:00:00Z\"",
      "begin: \"2026-02-01T07:00:00Z\"\n" },
    { "quality:\n  target: 2.30\n", "\"target\":2.3,", "quality:\n  target: 2.3\n" },
    { "quality:\n  target: 123456789.000001\n", "\"target\":123456789.000001,", NULL },
    { "stop:\n  max_steps: 26.3e9\n", "\"max_steps\":26300000000,",
      "stop:\n  max_steps: 26300000000\n" },
    { "stop:\n  max_cost: 900 EUR\n", "\"max_cost\":\"900.00 EUR\"",
      "stop:\n  max_cost: \"900.00 EUR\"\n" },
    { "priority: p1\n", "\"priority\":\"p1\"", NULL },
    { "labels:\n  a.b/c: d\n  \"1\": \"2\"\n", "\"labels\":{\"a.b/c\":\"d\",\"1\":\"2\"}", NULL },
    { "checkpoint:\n  every: auto\n", "\"every\":\"auto\"", NULL },
    { "checkpoint:\n  every: {time: 30m}\n", "\"every\":\"30m\"", "checkpoint:\n  every: 30m\n" },
    { "checkpoint:\n  every:\n    steps: 5\n",
      "\"every\":{\"auto\":null,\"steps\":5,\"time\":null}", NULL },
    { "checkpoint:\n  on_error: continue\n", "\"on_error\":\"continue\"", NULL },
    { "data:\n  class: internal\n",
      "\"data\":{\"class\":\"internal\",\"categories\":[],\"inputs\":[]}", NULL },
    { "title: \"\\e[2J\\r\\u009b\"\n", "\"title\":\"\\u001b[2J\\r\\u009b\"",
      "title: \"\\u001b[2J\\r\\u009b\"\n" },
    { "title: \"a|b\\t\\u00fc\"\n", "\"title\":\"a|b\\t\xc3\xbc\"", "title: \"a|b\\t\xc3\xbc\"\n" },
    { "stop: {}\n", "\"stop\":{\"max_steps\":null,\"max_cost\":null,\"when\":[]}", NULL },
    { "retry:\n  never:\n    - CONFIG\n", "\"never\":[\"CONFIG\"]", NULL },
    { "after:\n  - {}\n  - afterok: \"3\"\n", "{\"afterok\":\"3\",\"afterany\":null,", NULL },
};

START_TEST(each_kind_of_value_has_its_form)
{
    owned(free) char *text =
        text_format("apiVersion: wafer/v1\nkind: Job\nname: n\n%s", forms[_i].yaml);
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;

    ck_assert_int_eq(bind_yaml(&wafer__job_spec__descriptor, text, strlen(text), SIZE_MAX, &message,
                               NULL, &errors),
                     0);
    owned(free) char *json = bind_json_text(message, false);
    owned(free) char *yaml = bind_yaml_text(message);
    ck_assert_msg(strstr(json, forms[_i].json), "%s", json);
    ck_assert_str_eq(yaml + strlen("apiVersion: wafer/v1\nkind: Job\nname: n\n"),
                     forms[_i].shown ? forms[_i].shown : forms[_i].yaml);
    protobuf_c_message_free_unpacked(message, NULL);
}
END_TEST

START_TEST(what_another_program_left_in_a_message_is_still_shown)
{
    char bad[] = "a\xff"
                 "b";
    uint8_t bytes[] = { 0, 0xab, 0xff };
    Wafer__JobList list = WAFER__JOB_LIST__INIT;
    Wafer__Job job = WAFER__JOB__INIT, *items[] = { &job };
    list.schema = bad;
    list.n_items = 1;
    list.items = items;
    job.id = UINT64_MAX; /* beyond the integers of JSON readers */
    job.has_state = true;
    job.state = (Wafer__Job__State)99; /* of a later version */
    owned(free) char *text = bind_json_text(&list.base, false);

    ck_assert_msg(strstr(text, "\"schema\":\"a\xef\xbf\xbd"
                               "b\""),
                  "%s", text);
    ck_assert_msg(strstr(text, "\"id\":\"18446744073709551615\""), "%s", text);
    ck_assert_msg(strstr(text, "\"state\":\"99\""), "%s", text);

    Wafer__StepCount steps = WAFER__STEP_COUNT__INIT;
    Wafer__Count count = WAFER__COUNT__INIT;
    count.value = UINT64_MAX;
    steps.steps = &count;
    json_t *json = bind_json(&steps.base);
    ck_assert_str_eq(json_string_value(json_object_get(json, "steps")), "18446744073709551615");
    json_decref(json);

    Wafer__ShardState shard = WAFER__SHARD_STATE__INIT;
    shard.digest = (ProtobufCBinaryData){ .data = bytes, .len = sizeof(bytes) };
    owned(free) char *hex = bind_json_text(&shard.base, false);
    ck_assert_str_eq(hex, "{\"bytes\":0,\"digest\":\"00abff\"}");
}
END_TEST

/* ---- what came packed, and breaks a rule ---- */

static void bad_utf8(Wafer__JobSpec *spec)
{
    free(spec->title);
    spec->title = text_copy("f\xfcr");
}

static void long_text(Wafer__JobSpec *spec)
{
    free(spec->title);
    spec->title = memory_new(4098);
    memset(spec->title, 'x', 4097);
}

static void unknown_enum(Wafer__JobSpec *spec)
{
    spec->has_run_class = true;
    spec->run_class = (Wafer__JobSpec__RunClass)9;
}

static void no_time(Wafer__JobSpec *spec)
{
    spec->limit = NEW(Wafer__Duration);
    wafer__duration__init(spec->limit);
}

static void negative_time(Wafer__JobSpec *spec)
{
    no_time(spec);
    spec->limit->us = INT64_MIN;
}

static void odd_priority(Wafer__JobSpec *spec)
{
    spec->priority = NEW(Wafer__Priority);
    wafer__priority__init(spec->priority);
    spec->priority->value = 3;
}

static void odd_currency(Wafer__JobSpec *spec)
{
    spec->stop = NEW(Wafer__StopSpec);
    wafer__stop_spec__init(spec->stop);
    spec->stop->max_cost = NEW(Wafer__Money);
    wafer__money__init(spec->stop->max_cost);
    spec->stop->max_cost->currency = text_copy("EURO");
}

static void same_key_twice(Wafer__JobSpec *spec)
{
    spec->labels = memory_new(2 * sizeof(*spec->labels));
    for (spec->n_labels = 0; spec->n_labels < 2; spec->n_labels++) {
        Wafer__KeyValue *pair = spec->labels[spec->n_labels] = NEW(Wafer__KeyValue);
        wafer__key_value__init(pair);
        pair->key = text_copy("k");
        pair->value = text_copy("v");
    }
}

static void long_list(Wafer__JobSpec *spec)
{
    spec->retry = NEW(Wafer__RetrySpec);
    wafer__retry_spec__init(spec->retry);
    spec->retry->n_never = 10001;
    spec->retry->never = memory_new(10001 * sizeof(*spec->retry->never));
}

static void unknown_key(Wafer__JobSpec *spec)
{
    spec->base.n_unknown_fields = 1;
    spec->base.unknown_fields = memory_new(sizeof(*spec->base.unknown_fields));
    spec->base.unknown_fields[0].tag = 77;
}

static const struct {
    void (*spoil)(Wafer__JobSpec *spec);
    const char *says;
} spoilt[] = {
    { bad_utf8, "title: not UTF-8: byte 0xfc at offset 1\n" },
    { long_text, "title: 4097 bytes: more than the 4096 that a text may have\n" },
    { unknown_enum, "run_class: 9 is a word that this version does not know\n" },
    { no_time, "limit: 0s: a duration is more than 0\n" },
    { negative_time, "limit: -106751991d4h54.775808s: a duration is more than 0\n" },
    { odd_priority, "priority: \"3\" is not a priority (p1, p2, p3; p0 for operators)\n" },
    { odd_currency, "stop.max_cost: \"0.00 EURO\" is not an amount of money (like 900.00 EUR)\n" },
    { same_key_twice, "labels: duplicate key \"k\"\n" },
    { long_list, "retry.never: 10001 elements: more than 10000\n" },
    { unknown_key, "holds key number 77, which this version does not know\n" },
};

START_TEST(a_packed_message_is_held_to_the_rules_of_a_file)
{
    Wafer__JobSpec *spec = NEW(Wafer__JobSpec);
    struct bind_errors errors = { 0 };

    wafer__job_spec__init(spec);
    spec->apiversion = text_copy("wafer/v1");
    spec->kind = text_copy("Job");
    spec->name = text_copy("n");
    ck_assert_int_eq(bind_check(&spec->base, NULL, &errors), 0);
    spoilt[_i].spoil(spec);
    ck_assert_int_eq(bind_check(&spec->base, NULL, &errors), -EINVAL);
    owned(free) char *said = errors_text(&errors);
    ck_assert_str_eq(said, spoilt[_i].says);
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bind_write");
    TCase *tcase = tcase_create("bind_write");

    tcase_add_loop_test(tcase, whatever_is_written_as_yaml_reads_back_equal, 0, ELEMENTS(types));
    tcase_add_loop_test(tcase, a_copy_is_equal_and_outlives_what_it_was_made_of, 0,
                        ELEMENTS(types));
    tcase_add_test(tcase, a_copy_has_nothing_where_a_value_is_not_set);
    tcase_add_loop_test(tcase, json_has_every_key_and_is_the_same_pretty_or_not, 0,
                        ELEMENTS(types));
    tcase_add_loop_test(tcase, a_valid_message_passes_the_check_of_what_came_packed, 0,
                        ELEMENTS(types));
    tcase_add_loop_test(tcase, each_kind_of_value_has_its_form, 0, ELEMENTS(forms));
    tcase_add_test(tcase, what_another_program_left_in_a_message_is_still_shown);
    tcase_add_loop_test(tcase, a_packed_message_is_held_to_the_rules_of_a_file, 0,
                        ELEMENTS(spoilt));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
