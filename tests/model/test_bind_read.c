#include "model/bind.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "errors.h"
#include "job.pb-c.h"
#include "model/label.h"
#include "model/limits.h"
#include "tap.h"
#include "value.pb-c.h"

#define LIMIT (1 << 20)

/* Reads, and gives what was complained about: "" when nothing was. */
static char *complaints(const ProtobufCMessageDescriptor *type, const char *text, size_t length)
{
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message = NULL;
    int r = bind_yaml(type, text, length, LIMIT, &message, NULL, &errors);

    ck_assert_int_eq(r, errors.count ? -EINVAL : 0);
    ck_assert_int_eq(message != NULL, r == 0);
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
    return errors_text(&errors);
}

/* ---- each kind of mistake, with its place ---- */

#define HEAD "apiVersion: wafer/v1\nkind: Job\nname: n\n" /* lines 1 to 3 */

static const struct {
    const char *text, *says;
} mistakes[] = {
    /* keys */
    { HEAD "limt: 90m\n", "4:1: limt: unknown key (did you mean limit?)\n" },
    { HEAD "layers: 3\n", "4:1: layers: unknown key here (did you mean workload.model.layers?)\n" },
    { HEAD "walltime: 3\n", "4:1: walltime: unknown key\n" },
    { HEAD "systems: {count: 1, most: 2}\n", "4:21: systems.most: unknown key\n" },
    { HEAD "limit: 1m\nlimit: 2m\n", "5:1: duplicate key \"limit\" (first at 4:1)\n" },
    { HEAD "labels: {a: b, c: d, a: e}\n", "4:22: duplicate key \"a\" (first at 4:10)\n" },
    { HEAD "? [a]\n: b\n", "4:3: a key is a plain word, not a list or mapping\n" },
    { HEAD "? {a: b}\n: b\n", "4:3: a key is a plain word, not a list or mapping\n" },
    { HEAD "<<: {limit: 1m}\n", "4:1: merge keys (<<) are not read here: write the keys out\n" },
    { HEAD "\"a\\0b\": 1\n", "4:1: a key holds a NUL character\n" },
    { "kind: Job\nname: n\n", "1:1: apiVersion: missing, and it must be there (a text)\n" },
    { "apiVersion: null\nkind: Job\nname: n\n",
      "1:1: apiVersion: missing, and it must be there (a text)\n" },
    { HEAD "workload:\n  steps: 5\n",
      "4:1: workload.model: missing, and it must be there (a mapping)\n"
      "4:1: workload.batch: missing, and it must be there (a whole number)\n" },

    /* types */
    { HEAD "limit: 90\n", "4:8: limit: 90: a bare number is not a duration (90m? 90s?)\n" },
    { HEAD "limit: [90m]\n", "4:8: limit: a list where a duration like 90m is wanted\n" },
    { HEAD "limit: {m: 90}\n", "4:8: limit: a mapping where a duration like 90m is wanted\n" },
    { HEAD "systems: 4\n", "4:10: systems: a single value where a mapping of keys is wanted\n" },
    { HEAD "systems: [4]\n", "4:10: systems: a list where a mapping of keys is wanted\n" },
    { HEAD "systems: {count: four}\n", "4:18: systems.count: \"four\" is not a whole number\n" },
    { HEAD "systems: {count: 0x4}\n", "4:18: systems.count: \"0x4\" is not a whole number\n" },
    { HEAD "systems: {count: 04}\n", "4:18: systems.count: \"04\" is not a whole number\n" },
    { HEAD "systems: {count: 4.0}\n", "4:18: systems.count: \"4.0\" is not a whole number\n" },
    { HEAD "systems: {count: 1e1}\n", "4:18: systems.count: \"1e1\" is not a whole number\n" },
    { HEAD "systems: {count: -1}\n", "4:18: systems.count: \"-1\" is not a whole number\n" },
    { HEAD "systems: {count: 4294967296}\n",
      "4:18: systems.count: 4294967296 is too large (at most 4294967295)\n" },
    { HEAD "labels: [a]\n", "4:9: labels: a list where a mapping of texts is wanted\n" },
    { HEAD "labels: {a: [b], c: null}\n",
      "4:13: labels.a: a list where a text is wanted\n4:21: labels.c: null where a text is "
      "wanted\n" },
    { HEAD "title: {a: b}\n", "4:8: title: a mapping where a text is wanted\n" },
    { HEAD "title:\n", "4:7: title: has no value (null leaves it unset, \"\" is empty)\n" },
    { HEAD "after: {afterok: 3}\n",
      "4:8: after: a mapping where a list is wanted (write [...])\n" },
    { HEAD "after: [{afterok: 3}, null]\n", "4:23: after[1]: null in a list: leave it out\n" },
    { HEAD "after: [{afterok: [x]}]\n", "4:19: after[0].afterok: a list where a text is wanted\n" },
    { HEAD "checkpoint: {on_stop: yes}\n",
      "4:23: checkpoint.on_stop: \"yes\" is neither true nor false\n" },
    { HEAD "run_class: Pilot\n", "4:12: run_class: \"Pilot\" is unknown (did you mean pilot?)\n" },
    { HEAD "run_class: test\n",
      "4:12: run_class: \"test\" is not one of experiment, benchmark, pilot, production\n" },
    { HEAD "retry: {never: [COMPLIE]}\n",
      "4:17: retry.never[0]: \"COMPLIE\" is unknown (did you mean COMPILE?)\n" },
    { HEAD "priority: 2\n",
      "4:11: priority: \"2\" is not a priority (p1, p2, p3; p0 for operators)\n" },
    { HEAD "begin: 2026-03-29T02:30 Europe/Berlin\n",
      "4:8: begin: \"2026-03-29T02:30 Europe/Berlin\": a named zone is not read here; write the "
      "offset, like 2026-02-01T08:00:00+01:00\n" },
    { HEAD "stop: {max_cost: 900}\n",
      "4:18: stop.max_cost: \"900\" is not an amount of money (like 900.00 EUR)\n" },
    { HEAD "stop: {max_steps: 1.5}\n", "4:19: stop.max_steps: 1.5: not a whole number\n" },
    { HEAD "quality: {target: low}\n",
      "4:19: quality.target: \"low\" is not a number (like 2.30)\n" },
    { HEAD "checkpoint: {every: 1000}\n",
      "4:21: checkpoint.every: 1000: a bare number is not a duration (1000m? 1000s?)\n" },
    { HEAD "checkpoint: {every: {minutes: 5}}\n", "4:22: checkpoint.every.minutes: unknown key\n" },
    { HEAD "checkpoint: {every: [auto]}\n",
      "4:21: checkpoint.every: a list where auto, a duration, or {steps, time} is wanted\n" },
    { HEAD "title: \"a\\0b\"\n", "4:8: title: holds a NUL character, which no text may\n" },

    /* what YAML can do and a job file may not */
    { HEAD "limit: &a 90m\n", "4:8: anchors (&a) are not read here: write the value out\n" },
    { HEAD "systems: &a {count: 1}\n",
      "4:10: anchors (&a) are not read here: write the value out\n" },
    { HEAD "limit: *a\n", "4:8: aliases (*a) are not read here: write the value out\n" },
    { HEAD "limit: !!str 90m\n", "4:8: tags (!!str) are not read here: leave it out\n" },
    { HEAD "limit: !mine 90m\n", "4:8: tags (!mine) are not read here: leave it out\n" },
    { HEAD "systems: !!map {count: 1}\n", "4:10: tags (!!map) are not read here: leave it out\n" },
    { "%TAG ! tag:example.com,2000:\n---\n" HEAD, "1:1: tags (%TAG) are not read here\n" },
    { HEAD "---\nkind: Job\n",
      "4:1: a second document: one file holds one, so nothing may follow it\n" },
    { HEAD "--- {}\n", "4:1: a second document: one file holds one, so nothing may follow it\n" },

    /* not a mapping, or nothing at all */
    { "", "1:1: empty: there is nothing but blanks and comments\n" },
    { "# only a comment\n\n", "1:1: empty: there is nothing but blanks and comments\n" },
    { "\xef\xbb\xbf", "1:1: empty: there is nothing but blanks and comments\n" },
    { "- a\n- b\n", "1:1: a list where a mapping of keys is wanted\n" },
    { "just words\n", "1:1: a single value where a mapping of keys is wanted\n" },

    /* syntax */
    { HEAD "systems: {count: 4\n",
      "5:1: did not find expected ',' or '}', while parsing a flow mapping at 4:10\n" },
    { HEAD "title: \"open\n", "5:1: found unexpected end of stream, while scanning a quoted scalar "
                              "at 4:8\n" },
    { HEAD "title: a: b\n", "4:9: mapping values are not allowed in this context\n" },
    { HEAD "\tlimit: 1m\n",
      "4:1: found a tab character that violates indentation, while scanning a plain scalar at "
      "3:7\n" },

    /* bytes */
    { HEAD "title: f\xfcr\n", "4:9: not UTF-8: byte 0xfc at offset 47 (save the file as UTF-8)\n" },
    { HEAD "# \xc3\xbc \xe2\x82\xac\ntitle: \xed\xa0\x80\n",
      "5:8: not UTF-8: byte 0xed at offset 55 (save the file as UTF-8)\n" },
    { "\xff\xfe"
      "a",
      "1:1: not UTF-8: byte 0xff at offset 0 (save the file as UTF-8)\n" },
    { HEAD "title: \x1b[2J\n",
      "4:8: control character U+001B at offset 46 (write it as \"\\x1b\")\n" },
    { HEAD "title: a\xc2\x9b\n",
      "4:9: control character U+009B at offset 47 (write it as \"\\x9b\")\n" },

    /* the nine lives of one file: all in one run, in the order of their places */
    { "apiVersion: wafer/v1\nlimit: 90\nlabels: *x\nfoo: 1\nlimit: 1m\n",
      "1:1: kind: missing, and it must be there (a text)\n"
      "1:1: name: missing, and it must be there (a text)\n"
      "2:8: limit: 90: a bare number is not a duration (90m? 90s?)\n"
      "3:9: aliases (*x) are not read here: write the value out\n"
      "4:1: foo: unknown key\n"
      "5:1: duplicate key \"limit\" (first at 2:1)\n" },
    /* what is quoted in a complaint cannot write to a terminal */
    { HEAD "\"\\e[2J\": 1\n", "4:1: \\x1b[2J: unknown key\n" },
};

START_TEST(each_mistake_is_named_with_its_place_and_its_remedy)
{
    owned(free) char *said =
        complaints(&wafer__job_spec__descriptor, mistakes[_i].text, strlen(mistakes[_i].text));
    ck_assert_str_eq(said, mistakes[_i].says);
}
END_TEST

START_TEST(a_nul_byte_is_refused_and_does_not_end_the_file)
{
    static const char text[] = "apiVersion: wafer/v1\nkind: Job\nname: n\0m\n";
    owned(free) char *said = complaints(&wafer__job_spec__descriptor, text, sizeof(text) - 1);

    ck_assert_str_eq(said, "3:8: control character U+0000 at offset 38 (write it as \"\\x00\")\n");
}
END_TEST

/* ---- limits ---- */

static char *repeat(const char *before, const char *text, size_t count, const char *after)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    buffer_append_text(&buffer, before);
    for (size_t i = 0; i < count; i++)
        buffer_append_text(&buffer, text);
    buffer_append_text(&buffer, after);
    return buffer_text(&buffer);
}

static const struct {
    const char *before, *text;
    size_t count;
    const char *after, *says;
} sizes[] = {
    { HEAD "title: ", "x", LIMIT_STRING_BYTES, "\n", "" },
    { HEAD "title: ", "x", LIMIT_STRING_BYTES + 1, "\n",
      "4:8: title: 4097 bytes: more than the 4096 that a text may have\n" },
    { HEAD "program: {env: {BIG: \"", "x", LIMIT_ENV_VALUE_BYTES, "\"}}\n", "" },
    { HEAD "program: {env: {BIG: \"", "x", 200000, "\"}}\n",
      "4:22: program.env.BIG: 200000 bytes: more than the 131072 that a text may have\n" },
    { HEAD "labels: {big: \"", "x", LIMIT_STRING_BYTES + 1, "\"}\n",
      "4:15: labels.big: 4097 bytes: more than the 4096 that a text may have\n" },
    { HEAD "program:\n  script: |\n    ", "x", 500000, "\n", "" },
    { HEAD "labels: {", "k", LIMIT_KEY_BYTES, ": v}\n", "" },
    { HEAD "labels: {", "k", LIMIT_KEY_BYTES + 1, ": v}\n",
      "4:10: "
      "labels.kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk: "
      "a key of more than 128 bytes\n" },
    { HEAD "workload: {batch: 1, model: {}, operators: [", "a, ", LIMIT_LIST_LENGTH, "]}\n", "" },
    { HEAD "workload: {batch: 1, model: {}, operators: [", "a, ", LIMIT_LIST_LENGTH + 1, "]}\n",
      "4:30045: more than 10000 elements in one list or mapping\n" },
    { HEAD "x: ", "[", LIMIT_DEPTH - 1, "", NULL },
    { HEAD "x: ", "[", LIMIT_DEPTH, "", "4:19: nested deeper than 16 levels\n" },
    { HEAD "x: ", "[", 200000, "", "4:19: nested deeper than 16 levels\n" },
    { HEAD "x: ", "{a: ", 200000, "", "4:64: nested deeper than 16 levels\n" },
    { HEAD "#", "x", LIMIT - sizeof(HEAD), "", "" },
    { HEAD "#", "x", LIMIT - sizeof(HEAD) + 1, "",
      "1048577 bytes: more than the 1048576 that are read\n" },
};

START_TEST(whatever_can_grow_has_its_limit)
{
    owned(free) char *text =
        repeat(sizes[_i].before, sizes[_i].text, sizes[_i].count, sizes[_i].after);
    owned(free) char *said = complaints(&wafer__job_spec__descriptor, text, strlen(text));

    if (sizes[_i].says)
        ck_assert_str_eq(said, sizes[_i].says);
    else
        ck_assert_msg(!strstr(said, "nested"), "%s", said);
}
END_TEST

START_TEST(the_twenty_first_error_is_counted_no_more)
{
    owned(free) char *text = repeat(HEAD, "- x\n", 0, "");
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;

    buffer_append_text(&buffer, text);
    for (int i = 0; i < LIMIT_BIND_ERRORS + 1; i++)
        buffer_format(&buffer, "unknown_%d: 1\n", i);
    ck_assert_int_eq(bind_yaml(&wafer__job_spec__descriptor, (char *)buffer_data(&buffer),
                               buffer.length, LIMIT, &message, NULL, &errors),
                     -EINVAL);
    ck_assert_uint_eq(errors.count, LIMIT_BIND_ERRORS);
    ck_assert(errors.cut);
    bind_errors_done(&errors);
}
END_TEST

START_TEST(aliases_that_would_grow_without_end_cost_nothing)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    buffer_append_text(&buffer, "a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (char c = 'b'; c <= 'z'; c++)
        buffer_format(&buffer, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c - 1,
                      c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    owned(free) char *said =
        complaints(&wafer__job_spec__descriptor, (char *)buffer_data(&buffer), buffer.length);
    ck_assert_msg(strstr(said, "anchors (&a) are not read here"), "%s", said);
}
END_TEST

/* ---- what is right ---- */

START_TEST(scalars_are_typed_by_the_schema_and_not_by_their_looks)
{
    static const char text[] = "apiVersion: wafer/v1\r\nkind: 'Job'\r\nname: no\r\n"
                               "title: 1e3\r\nproject: \"~\"\r\nqueue: ~\r\nlimit: 1:30:00\r\n"
                               "array: null\r\nsystems: {count: \"4\"}\r\n"
                               "labels: {010: 0x1F, yes: \"null\"}\r\n";
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;

    ck_assert_int_eq(
        bind_yaml(&wafer__job_spec__descriptor, text, strlen(text), LIMIT, &message, NULL, &errors),
        0);
    Wafer__JobSpec *spec = (Wafer__JobSpec *)message;
    ck_assert_str_eq(spec->name, "no");
    ck_assert_str_eq(spec->title, "1e3");
    ck_assert_str_eq(spec->project, "~");
    ck_assert_ptr_null(spec->queue);
    ck_assert_int_eq(spec->limit->us, INT64_C(5400000000));
    ck_assert_ptr_null(spec->array);
    ck_assert_uint_eq(spec->systems->count, 4);
    ck_assert(!spec->systems->has_min);
    ck_assert_uint_eq(spec->n_labels, 2);
    ck_assert_str_eq(spec->labels[0]->key, "010");
    ck_assert_str_eq(spec->labels[0]->value, "0x1F");
    ck_assert_str_eq(spec->labels[1]->value, "null");
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(a_byte_order_mark_is_no_part_of_the_first_key)
{
    owned(free) char *said =
        complaints(&wafer__job_spec__descriptor, "\xef\xbb\xbf" HEAD, strlen(HEAD) + 3);
    ck_assert_str_eq(said, "");
}
END_TEST

static const struct {
    const char *text;
    bool is_auto;
    uint64_t steps;
    int64_t time_us;
} cadences[] = {
    { "auto", true, 0, 0 },
    { "30m", false, 0, INT64_C(1800000000) },
    { "{steps: 1e3}", false, 1000, 0 },
    { "{time: 30m, steps: 1000}", false, 1000, INT64_C(1800000000) },
};

START_TEST(a_cadence_is_one_word_or_a_mapping)
{
    owned(free) char *text = text_format("every: %s", cadences[_i].text);
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;

    ck_assert_int_eq(bind_yaml(&wafer__checkpoint_spec__descriptor, text, strlen(text), LIMIT,
                               &message, NULL, &errors),
                     0);
    const Wafer__Cadence *every = ((Wafer__CheckpointSpec *)message)->every;
    ck_assert_int_eq(every->has_auto_ && every->auto_, cadences[_i].is_auto);
    ck_assert_uint_eq(every->steps ? every->steps->value : 0, cadences[_i].steps);
    ck_assert_int_eq(every->time ? every->time->us : 0, cadences[_i].time_us);
    protobuf_c_message_free_unpacked(message, NULL);
}
END_TEST

static const struct {
    const char *text, *says; /* NULL: good, and shown so: */
    const char *shown;
} labels[] = {
    { "internal", NULL, "internal" },
    { "confidential+ip+personal", NULL, "confidential+personal+ip" },
    { "secret", "\"secret\" is not a level (public, internal, confidential, restricted)", NULL },
    { "internal+ip+ip", "\"internal+ip+ip\" names ip twice", NULL },
    { "internal+", "\"\" is not a category", NULL },
    { "ip", "\"ip\" is not a level", NULL },
};

START_TEST(a_label_is_a_level_and_its_categories)
{
    Wafer__Label *label = NEW(Wafer__Label);
    owned(buffer_done) struct buffer shown = BUFFER_EMPTY;
    struct diag diag = { "" };

    wafer__label__init(label);
    int r = label_parse(labels[_i].text, label, &diag);
    if (labels[_i].says) {
        ck_assert_int_eq(r, -EINVAL);
        ck_assert_msg(strstr(diag.text, labels[_i].says), "%s", diag.text);
    } else {
        ck_assert_int_eq(r, 0);
        label_format(label, &shown);
        owned(free) char *text = buffer_text(&shown);
        ck_assert_str_eq(text, labels[_i].shown);
    }
    wafer__label__free_unpacked(label, NULL);
}
END_TEST

/* ---- values from the command line ---- */

static const struct {
    const char *sets[4];
    const char *says; /* or NULL, and the name, count and target are: */
    const char *name;
    uint32_t count;
    int64_t target_micro;
} sets[] = {
    { { "name=m" }, NULL, "m", 2, 0 },
    { { "systems.count=5", "systems.min=3" }, NULL, "n", 5, 0 },
    { { "systems={count: 9}" }, NULL, "n", 9, 0 },
    { { "systems=null" }, NULL, "n", 0, 0 },
    { { "systems.count=null", "systems.count=3" }, NULL, "n", 3, 0 },
    { { "quality.target=2.5", "quality.metric=eval_loss" }, NULL, "n", 2, 2500000 },
    { { "name='q u'" }, NULL, "q u", 2, 0 },
    { { "name=a: b # c" }, NULL, "a: b # c", 2, 0 },
    { { "name=a=b" }, NULL, "a=b", 2, 0 },
    { { "systems.cuont=1" },
      "systems.cuont: unknown key (did you mean count?) (given on the command line)\n",
      NULL,
      0,
      0 },
    { { "limit=90" },
      "limit: 90: a bare number is not a duration (90m? 90s?) (given on the command line)\n",
      NULL,
      0,
      0 },
    { { "name=null" }, "1:1: name: missing, and it must be there (a text)\n", NULL, 0, 0 },
    { { "name=" },
      "name: has no value (null leaves it unset, \"\" is empty) (given on the command line)\n",
      NULL,
      0,
      0 },
    { { "name" },
      "\"name\" sets nothing: write a key, = and its value, like systems.count=2\n",
      NULL,
      0,
      0 },
    { { "=x" },
      "\"=x\" sets nothing: write a key, = and its value, like systems.count=2\n",
      NULL,
      0,
      0 },
    { { "systems..count=1" },
      "\"systems..count=1\" sets nothing: write a key, = and its value, like systems.count=2\n",
      NULL,
      0,
      0 },
    { { "systems.=1" },
      "\"systems.=1\" sets nothing: write a key, = and its value, like systems.count=2\n",
      NULL,
      0,
      0 },
    { { "after=[{afterok: 1]" },
      "after: did not find expected ',' or '}', while parsing a flow mapping at 1:2\n",
      NULL,
      0,
      0 },
    { { "title=\xff" },
      "title: not UTF-8: byte 0xff at offset 0 (save the file as UTF-8)\n",
      NULL,
      0,
      0 },
    { { "limit=90", "name=a\tb", "queue=[x]" },
      "limit: 90: a bare number is not a duration (90m? 90s?) (given on the command line)\n"
      "queue: a list where a text is wanted (given on the command line)\n",
      NULL,
      0,
      0 },
};

START_TEST(a_value_is_set_as_if_the_file_had_it)
{
    static const char text[] = "apiVersion: wafer/v1\nkind: Job\nname: n\nsystems: {count: 2}\n";
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message = NULL;
    int r = bind_yaml_with(&wafer__job_spec__descriptor, text, strlen(text), LIMIT, sets[_i].sets,
                           &message, NULL, &errors);
    owned(free) char *said = errors_text(&errors);

    ck_assert_str_eq(said, sets[_i].says ? sets[_i].says : "");
    ck_assert_int_eq(r, sets[_i].says ? -EINVAL : 0);
    if (r < 0)
        return;
    Wafer__JobSpec *spec = (Wafer__JobSpec *)message;
    ck_assert_str_eq(spec->name, sets[_i].name);
    ck_assert_uint_eq(spec->systems ? spec->systems->count : 0, sets[_i].count);
    ck_assert_int_eq(spec->quality ? spec->quality->target->micro : 0, sets[_i].target_micro);
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(what_the_file_left_out_may_come_from_the_command_line)
{
    static const char *const given[] = { "name=n", "kind=Job", NULL };
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;

    ck_assert_int_eq(bind_yaml_with(&wafer__job_spec__descriptor, "apiVersion: wafer/v1\n", 21,
                                    LIMIT, given, &message, NULL, &errors),
                     0);
    protobuf_c_message_free_unpacked(message, NULL);
}
END_TEST

START_TEST(a_value_set_in_a_message_keeps_the_message_or_leaves_it_alone)
{
    struct bind_errors errors = { 0 };
    ProtobufCMessage *message;
    static const char text[] = HEAD "title: \"\\e[2J\"\nsystems: {count: 2}\n";

    ck_assert_int_eq(
        bind_yaml(&wafer__job_spec__descriptor, text, strlen(text), LIMIT, &message, NULL, &errors),
        0);
    Wafer__JobSpec *spec = (Wafer__JobSpec *)message;
    ck_assert_int_eq(bind_set(message, "systems.min=1", &errors), 0);
    ck_assert_uint_eq(spec->systems->min, 1);
    ck_assert_int_eq(bind_set(message, "systems.min=x", &errors), -EINVAL);
    ck_assert_uint_eq(spec->systems->min, 1);
    ck_assert_str_eq(spec->title, "\x1b[2J");
    owned(free) char *said = errors_text(&errors);
    ck_assert_str_eq(said,
                     "systems.min: \"x\" is not a whole number (given on the command line)\n");
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

/* ---- places ---- */

static const struct {
    const char *field;
    unsigned line, column;
} places[] = {
    { "name", 3, 7 },
    { "stop.when[1].metric", 7, 16 },
    { "stop.when[1]", 7, 7 },
    { "stop.when[9].metric", 5, 3 }, /* not there: the nearest parent */
    { "labels.a.b/c", 8, 17 },       /* a key with dots of its own */
    { "workload", 9, 1 },
    { "workload.model.layers", 11, 3 },
    { "nothing", 1, 1 },
    { "", 1, 1 },
    { NULL, 1, 1 },
};

START_TEST(a_later_check_finds_the_place_or_that_of_the_nearest_parent)
{
    static const char text[] = HEAD "stop:\n  when:\n    - {metric: loss}\n    - {metric: loss}\n"
                                    "labels: {a.b/c: d}\nworkload:\n  batch: 3\n  model: {}\n";
    struct bind_errors errors = { 0 };
    struct bind_places *found;
    ProtobufCMessage *message;
    unsigned line, column;

    ck_assert_int_eq(bind_yaml(&wafer__job_spec__descriptor, text, strlen(text), LIMIT, &message,
                               &found, &errors),
                     0);
    bind_place(found, places[_i].field, &line, &column);
    ck_assert_uint_eq(line, places[_i].line);
    ck_assert_uint_eq(column, places[_i].column);
    ck_assert_ptr_null(bind_places_free(found));
    bind_place(NULL, places[_i].field, &line, &column);
    ck_assert_uint_eq(line, 0);
    protobuf_c_message_free_unpacked(message, NULL);
}
END_TEST

/* ---- words ---- */

static const struct {
    const char *written, *nearest;
} words[] = {
    { "steps", "steps" },   { "step", "steps" },
    { "setps", "steps" },   { "STEPS", "steps" },
    { "sytem", "systems" }, { "chekpoint", "checkpoint" },
    { "stop_", "stop" },    { "when", NULL },
    { "", NULL },           { "s", NULL },
    { "xyz", NULL },        { "steppppppppppppppppppppppppppppppppppppppppppppppppppp", NULL },
};

START_TEST(the_nearest_word_is_near)
{
    static const char *const names[] = { "stop", "steps", "systems", "checkpoint", "n", NULL };
    const char *nearest = bind_nearest(words[_i].written, names);

    if (words[_i].nearest)
        ck_assert_pstr_eq(nearest, words[_i].nearest);
    else
        ck_assert_ptr_null(nearest);
}
END_TEST

static const struct {
    struct bind_error error;
    const char *file, *text;
} lines[] = {
    { { 6, 21, (char *)"a.b", (char *)"is wrong" }, "f.yaml", "f.yaml:6:21: a.b: is wrong" },
    { { 0, 0, (char *)"a.b", (char *)"is wrong" }, "f.yaml", "f.yaml: a.b: is wrong" },
    { { 6, 21, NULL, (char *)"is wrong" }, NULL, "6:21: is wrong" },
    { { 0, 0, NULL, (char *)"is wrong" }, NULL, "is wrong" },
};

START_TEST(parts_of_an_error_that_are_not_known_are_left_out)
{
    owned(free) char *text = bind_error_format(&lines[_i].error, lines[_i].file);

    ck_assert_str_eq(text, lines[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bind_read");
    TCase *tcase = tcase_create("bind_read");

    tcase_add_loop_test(tcase, each_mistake_is_named_with_its_place_and_its_remedy, 0,
                        ELEMENTS(mistakes));
    tcase_add_test(tcase, a_nul_byte_is_refused_and_does_not_end_the_file);
    tcase_add_loop_test(tcase, whatever_can_grow_has_its_limit, 0, ELEMENTS(sizes));
    tcase_add_test(tcase, the_twenty_first_error_is_counted_no_more);
    tcase_add_test(tcase, aliases_that_would_grow_without_end_cost_nothing);
    tcase_add_test(tcase, scalars_are_typed_by_the_schema_and_not_by_their_looks);
    tcase_add_test(tcase, a_byte_order_mark_is_no_part_of_the_first_key);
    tcase_add_loop_test(tcase, a_cadence_is_one_word_or_a_mapping, 0, ELEMENTS(cadences));
    tcase_add_loop_test(tcase, a_label_is_a_level_and_its_categories, 0, ELEMENTS(labels));
    tcase_add_loop_test(tcase, a_value_is_set_as_if_the_file_had_it, 0, ELEMENTS(sets));
    tcase_add_test(tcase, what_the_file_left_out_may_come_from_the_command_line);
    tcase_add_test(tcase, a_value_set_in_a_message_keeps_the_message_or_leaves_it_alone);
    tcase_add_loop_test(tcase, a_later_check_finds_the_place_or_that_of_the_nearest_parent, 0,
                        ELEMENTS(places));
    tcase_add_loop_test(tcase, the_nearest_word_is_near, 0, ELEMENTS(words));
    tcase_add_loop_test(tcase, parts_of_an_error_that_are_not_known_are_left_out, 0,
                        ELEMENTS(lines));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
