#include "net/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "agent.pb-c.h"
#include "api.pb-c.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "model/limits.h"
#include "tap.h"

#define BYTES(text) text, sizeof(text) - 1

/* Bytes of a Request: 08 ID is its id, then one body. */
static const struct {
    const char *bytes;
    size_t length;
    const char *fault; /* part of the sentence; NULL: fine */
} requests[] = {
    { BYTES("\x08\x07"), NULL },
    { BYTES("\x08\x07\xba\x01\x00"), NULL },                         /* version */
    { BYTES("\x08\x07\xa2\x06\x03\x66\x6f\x6f"), NULL },             /* a later minor's field */
    { BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL }, /* the largest id */
    { BYTES("\x08\x07\x22\x07\x0a\x05\x22\x03\xe2\x82\xac"), NULL }, /* show.target.name: € */
    { BYTES("\x08\x07\x1a\x04\x18\x00\x18\x08"), NULL },             /* list.states, two */
    { BYTES("\x08\x07\x1a\x04\x1a\x02\x00\x08"), NULL },             /* the same, packed */

    { BYTES(""), "required field is missing" },
    { BYTES("\xba\x01\x00"), "required field is missing" },
    { BYTES("\x08"), "malformed" }, /* cut */
    { BYTES("\x08\x07\xba\x01"), "malformed" },
    { BYTES("\x08\x07\x22\x07\x0a\x05\x22\x03\xe2\x82"), "malformed" },
    { BYTES("\x08\x07\x22\x05\x0a\x05\x22\x03\xe2\x82\xac"),
      "Request.show: malformed" }, /* inner longer than outer */
    { BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "malformed" },
    { BYTES("\x00\x07"), "malformed" },         /* field 0 */
    { BYTES("\x08\x07\x0b\x0c"), "malformed" }, /* a group */
    { BYTES("\x08\x07\x0f\x00"), "malformed" }, /* wire type 7 */
    { BYTES("\x08\x07\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "malformed" },
    { BYTES("\x0a\x01\x07"), "another type" },     /* id as a text */
    { BYTES("\x08\x07\x20\x01"), "another type" }, /* show as a number */

    { BYTES("\x08\x07\x08\x07"), "Request.id: given twice" },
    { BYTES("\x08\x07\xba\x01\x00\xba\x01\x00"), "Request.version: given twice" },
    { BYTES("\x08\x07\x1a\x00\xba\x01\x00"), "Request.version: given beside another" },
    { BYTES("\x08\x07\x22\x05\x0a\x01\x61\x0a\x00"), "Request.show.target" },
    { BYTES("\x08\x07\x22\x06\x0a\x04\x22\x00\x22\x00"), "Request.show.target.name: given twice" },

    { BYTES("\x08\x07\x22\x05\x0a\x03\x22\x01\x00"),
      "Request.show.target.name: a text that is not UTF-8, or holds NUL" },
    { BYTES("\x08\x07\x22\x07\x0a\x05\x22\x03\x61\x00\x62"), "holds NUL" },
    { BYTES("\x08\x07\x22\x05\x0a\x03\x22\x01\xff"), "not UTF-8" },
    { BYTES("\x08\x07\x22\x06\x0a\x04\x22\x02\xc0\x80"), "not UTF-8" },     /* NUL the long way */
    { BYTES("\x08\x07\x22\x07\x0a\x05\x22\x03\xed\xa0\x80"), "not UTF-8" }, /* a surrogate */
    { BYTES("\x08\x07\x22\x08\x0a\x06\x22\x04\xf4\x90\x80\x80"), "not UTF-8" }, /* U+110000 */
    { BYTES("\x08\x07\x22\x07\x0a\x05\x22\x03\xe0\x80\xaf"), "not UTF-8" }, /* '/' the long way */

    { BYTES("\x08\x07\x1a\x03\x18\xe7\x07"),
      "Request.list.states: a value that is not one of its enum" },
    { BYTES("\x08\x07\x1a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      "not one of its enum" },
    { BYTES("\x08\x07\x1a\x05\x1a\x03\x00\xe7\x07"), "not one of its enum" },
    { BYTES("\x08\x07\x1a\x05\x1a\x03\x00\x08\xff"), "not one of its enum" }, /* packed and cut */
};

START_TEST(bytes_are_a_message_of_the_schema_or_a_sentence_says_which_field_is_wrong)
{
    struct diag diag = { "" };
    ProtobufCMessage *message =
        net_unpack(&wafer__request__descriptor, (const uint8_t *)requests[_i].bytes,
                   requests[_i].length, &diag);

    if (requests[_i].fault) {
        ck_assert_ptr_null(message);
        ck_assert_msg(strstr(diag.text, requests[_i].fault), "\"%s\" lacks \"%s\"", diag.text,
                      requests[_i].fault);
    } else {
        ck_assert_msg(message != NULL, "%s", diag.text);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}
END_TEST

static struct buffer packed(const ProtobufCMessage *message)
{
    struct buffer out = BUFFER_EMPTY;
    size_t length = protobuf_c_message_get_packed_size(message);

    protobuf_c_message_pack(message, buffer_reserve(&out, length));
    buffer_grow(&out, length);
    return out;
}

START_TEST(a_list_of_ten_thousand_jobs_is_within_the_budget)
{
    enum { JOBS = 10000 };
    static Wafer__Job jobs[JOBS];
    static Wafer__Job *items[JOBS];
    Wafer__JobList list = WAFER__JOB_LIST__INIT;
    struct diag diag = { "" };

    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (Wafer__Job)WAFER__JOB__INIT;
        jobs[i].id = (uint64_t)i + 1;
        jobs[i].name = "sweep";
        jobs[i].user = "ada";
        jobs[i].queue = "cs3";
        items[i] = &jobs[i];
    }
    list.schema = "wafer.job.list/v1";
    list.items = items;
    list.n_items = JOBS;
    owned(buffer_done) struct buffer bytes = packed(&list.base);
    Wafer__JobList *again = (Wafer__JobList *)net_unpack(&wafer__job_list__descriptor,
                                                         buffer_data(&bytes), bytes.length, &diag);
    ck_assert_msg(again != NULL, "%zu bytes: %s", bytes.length, diag.text);
    ck_assert_uint_eq(again->n_items, JOBS);
    ck_assert_uint_eq(again->items[JOBS - 1]->id, JOBS);
    wafer__job_list__free_unpacked(again, NULL);
}
END_TEST

/* What fills a Request up to the limit for the least of bytes and the most of structs. */
START_TEST(bytes_that_would_unpack_to_a_hundred_times_their_size_are_refused)
{
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
    struct diag diag = { "" };

    buffer_append(&bytes, BYTES("\x0a\x01v\x12\x01k\x1a\x01n")); /* what is required */
    while (bytes.length < LIMIT_REQUEST_BYTES)
        buffer_append(&bytes, BYTES("\x72\x00")); /* JobSpec.after, empty */
    ck_assert_ptr_null(
        net_unpack(&wafer__job_spec__descriptor, buffer_data(&bytes), bytes.length, &diag));
    ck_assert_msg(strstr(diag.text, "would unpack to more than"), "%s", diag.text);
}
END_TEST

static unsigned depth_of(const ProtobufCMessageDescriptor *descriptor, unsigned above)
{
    unsigned deepest = above + 1;

    ck_assert_msg(deepest <= LIMIT_DEPTH, "%s nests too deep, or in itself", descriptor->name);
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            unsigned depth = depth_of(field->descriptor, above + 1);
            if (depth > deepest)
                deepest = depth;
        }
    }
    return deepest;
}

START_TEST(no_message_of_the_schema_can_nest_in_itself_or_beyond_the_limit)
{
    static const ProtobufCMessageDescriptor *const tops[] = {
        &wafer__request__descriptor,
        &wafer__response__descriptor,
        &wafer__to_controller__descriptor,
        &wafer__to_agent__descriptor,
    };

    for (size_t i = 0; i < ELEMENTS(tops); i++)
        ck_assert_uint_gt(depth_of(tops[i], 0), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unpack");
    TCase *tcase = tcase_create("unpack");

    tcase_add_loop_test(tcase,
                        bytes_are_a_message_of_the_schema_or_a_sentence_says_which_field_is_wrong,
                        0, ELEMENTS(requests));
    tcase_add_test(tcase, a_list_of_ten_thousand_jobs_is_within_the_budget);
    tcase_add_test(tcase, bytes_that_would_unpack_to_a_hundred_times_their_size_are_refused);
    tcase_add_test(tcase, no_message_of_the_schema_can_nest_in_itself_or_beyond_the_limit);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
