/* fuzz_bind — any text is a message or errors, and a message survives being written and read.
 *
 * The first byte of an input names the type; what follows a NUL byte is set as --set does. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/bind.h"
#include "model/job.h"
#include "model/limits.h"
#include "platform.pb-c.h"
#include "site.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
    &wafer__job_spec__descriptor,    &wafer__platform__descriptor, &wafer__site__descriptor,
    &wafer__job_list__descriptor,    &wafer__manifest__descriptor, &wafer__response__descriptor,
    &wafer__system_list__descriptor,
};

static uint8_t *pack(const ProtobufCMessage *message, size_t *ret_length)
{
    uint8_t *packed = memory_new(protobuf_c_message_get_packed_size(message) + 1);

    *ret_length = protobuf_c_message_pack(message, packed);
    return packed;
}

static void assert_equal(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t a_length, b_length;
    owned(free) uint8_t *a_packed = pack(a, &a_length);
    owned(free) uint8_t *b_packed = pack(b, &b_length);

    assert(a_length == b_length && memcmp(a_packed, b_packed, a_length) == 0);
}

/* Errors are for people: one line of good text each, and a place that is complete or none. */
static void take_errors(struct bind_errors *errors)
{
    assert(errors->count <= LIMIT_BIND_ERRORS);
    for (size_t i = 0; i < errors->count; i++) {
        owned(free) char *line = bind_error_format(&errors->items[i], "f");
        assert(utf8_valid_length(line, strlen(line)) == strlen(line));
        assert(!line[strcspn(line, "\n\r\x1b")]);
        assert(!errors->items[i].line == !errors->items[i].column);
    }
    bind_errors_done(errors);
}

static void check_round_trip(const ProtobufCMessage *message)
{
    struct bind_errors errors = { 0 };
    ProtobufCMessage *back;
    owned(free) char *yaml = bind_yaml_text(message);
    int r = bind_yaml(message->descriptor, yaml, strlen(yaml), SIZE_MAX, &back, NULL, &errors);

    assert(r == 0);
    assert_equal(message, back);
    protobuf_c_message_free_unpacked(back, NULL);
    json_decref(bind_json(message));
    r = bind_check(message, NULL, &errors);
    assert(r == 0);
}

static void check_spec(const Wafer__JobSpec *spec, const struct bind_places *places)
{
    struct bind_errors errors = { 0 };
    struct job_terms terms;

    if (job_spec_check(spec, places, &errors) == 0 && spec->workload) {
        job_terms(spec, &terms);
        assert(terms.max_steps > 0 && terms.systems_min <= terms.systems_count);
        assert(terms.batch >= terms.systems_count);
    }
    take_errors(&errors);
}

static void check_set(ProtobufCMessage *message, const char *assignment)
{
    struct bind_errors errors = { 0 };
    size_t length;
    owned(free) uint8_t *before = pack(message, &length);

    if (bind_set(message, assignment, &errors) == 0) {
        check_round_trip(message);
    } else {
        size_t after_length;
        owned(free) uint8_t *after = pack(message, &after_length);
        assert(errors.count);
        assert(length == after_length && memcmp(before, after, length) == 0);
    }
    take_errors(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    owned(free) char *text = text_copy_length((const char *)bytes + 1, size - 1);
    const ProtobufCMessageDescriptor *type = types[bytes[0] % ELEMENTS(types)];
    size_t length = strlen(text);
    const char *assignment = length < size - 1 ? text + length + 1 : NULL;
    struct bind_errors errors = { 0 };
    struct bind_places *places;
    ProtobufCMessage *message;
    int r = bind_yaml(type, text, length, LIMIT_JOB_FILE_BYTES, &message, &places, &errors);

    assert((r == 0) == (errors.count == 0));
    take_errors(&errors);
    if (r < 0)
        return 0;
    check_round_trip(message);
    if (type == &wafer__job_spec__descriptor)
        check_spec((const Wafer__JobSpec *)message, places);
    if (assignment)
        check_set(message, assignment);
    bind_places_free(places);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
