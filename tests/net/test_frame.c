#include "net/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "net/raw.h"
#include "tap.h"

#define LIMIT (300 << 10)

/* Frames of these lengths, each filled with its place in the list. */
static const size_t lengths[] = { 1,   2,   3,     4,     5,   250,       251, 252,
                                  255, 256, 65531, 65532, 100, 65533,     2,   65536,
                                  1,   7,   1,     LIMIT, 1,   LIMIT - 1, 9 };

static void append_header(struct buffer *out, uint32_t length)
{
    uint8_t header[] = { (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16),
                         (uint8_t)(length >> 24) };

    buffer_append(out, header, sizeof(header));
}

static void append_all(struct buffer *out)
{
    for (size_t i = 0; i < ELEMENTS(lengths); i++) {
        append_header(out, (uint32_t)lengths[i]);
        memset(buffer_reserve(out, lengths[i]), (int)i, lengths[i]);
        buffer_grow(out, lengths[i]);
    }
}

/* Take up to `most` frames, of which the first must be number `at`; the number of the next. */
static size_t take(struct frame_reader *reader, size_t at, size_t most)
{
    const uint8_t *bytes;
    size_t length;

    for (; most > 0 && frame_next(reader, &bytes, &length) == 1; most--, at++) {
        ck_assert_uint_lt(at, ELEMENTS(lengths));
        ck_assert_uint_eq(length, lengths[at]);
        for (size_t i = 0; i < length; i++)
            if (bytes[i] != at)
                ck_abort_msg("byte %zu of frame %zu is %d", i, at, bytes[i]);
    }
    return at;
}

START_TEST(frames_come_out_whole_however_the_bytes_come_in)
{
    static const size_t most[] = { 1, 2, 3, 4, 5, 7, 100, 1000, 64 << 10, 1 << 20, 1 << 30 };
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct frame_reader reader;
    struct random random;
    size_t next = 0;

    append_all(&all);
    random_init(&random, (uint64_t)_i);
    frame_reader_init(&reader, LIMIT);
    for (size_t at = 0, n; at < all.length; at += n) {
        n = random_below(&random, most[_i]) + 1;
        if (n > all.length - at)
            n = all.length - at;
        /* A copy of its own, freed at once: nothing of it may be used later. */
        uint8_t *lent = memory_copy(buffer_data(&all) + at, n);
        frame_feed(&reader, lent, n);
        next = take(&reader, next, SIZE_MAX);
        free(lent);
    }
    ck_assert_uint_eq(next, ELEMENTS(lengths));
    ck_assert(!frame_is_pending(&reader));
    frame_reader_done(&reader);
}
END_TEST

START_TEST(frames_that_nobody_took_yet_are_kept)
{
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct frame_reader reader;
    size_t next = 0;

    append_all(&all);
    frame_reader_init(&reader, LIMIT);
    for (size_t at = 0, n; at < all.length; at += n) {
        n = all.length - at < 50000 ? all.length - at : 50000;
        uint8_t *lent = memory_copy(buffer_data(&all) + at, n);
        frame_feed(&reader, lent, n);
        next = take(&reader, next, 1);
        frame_keep(&reader);
        free(lent);
    }
    ck_assert_uint_lt(next, ELEMENTS(lengths));
    ck_assert(frame_is_pending(&reader));
    ck_assert_uint_eq(take(&reader, next, SIZE_MAX), ELEMENTS(lengths));
    ck_assert(!frame_is_pending(&reader));
    frame_reader_done(&reader);
}
END_TEST

/* A header, alone; what comes of it. */
static const struct {
    uint32_t length;
    int error;
} headers[] = {
    { 0, -EPROTO },
    { 1, 0 },
    { LIMIT, 0 },
    { LIMIT + 1, -EMSGSIZE },
    { 1u << 30, -EMSGSIZE }, /* 1 GiB */
    { UINT32_MAX, -EMSGSIZE },
};

START_TEST(a_length_is_refused_before_anything_is_allocated_for_it)
{
    owned(buffer_done) struct buffer header = BUFFER_EMPTY;
    struct frame_reader reader;
    const uint8_t *bytes;
    size_t length;

    append_header(&header, headers[_i].length);
    frame_reader_init(&reader, LIMIT);
    frame_feed(&reader, buffer_data(&header), header.length);
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), headers[_i].error);
    frame_keep(&reader);
    /* Again, from the bytes that were kept, and one by one. */
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), headers[_i].error);
    ck_assert_uint_le(reader.held.capacity, 1024);
    frame_reader_done(&reader);

    frame_reader_init(&reader, LIMIT);
    for (size_t i = 0; i < header.length; i++) {
        frame_feed(&reader, buffer_data(&header) + i, 1);
        ck_assert_int_eq(frame_next(&reader, &bytes, &length),
                         i == header.length - 1 ? headers[_i].error : 0);
    }
    ck_assert_uint_le(reader.held.capacity, 1024);
    frame_reader_done(&reader);
}
END_TEST

START_TEST(memory_follows_what_arrived_and_goes_back_after_a_large_frame)
{
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct frame_reader reader;
    const uint8_t *bytes;
    size_t length;

    append_header(&all, LIMIT);
    memset(buffer_reserve(&all, LIMIT), 'x', LIMIT);
    buffer_grow(&all, LIMIT);
    frame_reader_init(&reader, LIMIT);
    for (size_t at = 0; at < LIMIT; at += 4) {
        frame_feed(&reader, buffer_data(&all) + at, 4);
        ck_assert_int_eq(frame_next(&reader, &bytes, &length), 0);
        ck_assert_uint_le(reader.held.capacity, 256 + 2 * (at + 4));
    }
    frame_feed(&reader, buffer_data(&all) + LIMIT, 4);
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), 1);
    ck_assert_uint_eq(length, LIMIT);
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), 0);
    ck_assert_uint_eq(reader.held.capacity, 0);
    frame_reader_done(&reader);
}
END_TEST

START_TEST(the_limit_may_rise_between_two_frames_of_one_read)
{
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct frame_reader reader;
    const uint8_t *bytes;
    size_t length;

    append_header(&all, 1);
    buffer_append(&all, "a", 1);
    append_header(&all, 2);
    buffer_append(&all, "bc", 2);
    frame_reader_init(&reader, 1);
    frame_feed(&reader, buffer_data(&all), all.length);
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), 1);
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), -EMSGSIZE);
    reader.limit = 2;
    ck_assert_int_eq(frame_next(&reader, &bytes, &length), 1);
    ck_assert_uint_eq(length, 2);
    frame_reader_done(&reader);
}
END_TEST

START_TEST(a_message_over_the_limit_is_not_appended)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    owned(buffer_done) struct buffer out = BUFFER_EMPTY;

    response.id = 1234567;
    size_t length = wafer__response__get_packed_size(&response);
    ck_assert_int_eq(frame_append(&out, &response.base, length - 1), -EMSGSIZE);
    ck_assert_uint_eq(out.length, 0);
    ck_assert_int_eq(frame_append(&out, &response.base, length), 0);
    ck_assert_uint_eq(out.length, FRAME_HEADER_BYTES + length);

    Wafer__Response *again = (Wafer__Response *)raw_take(&out, &wafer__response__descriptor);
    ck_assert_uint_eq(again->id, 1234567);
    wafer__response__free_unpacked(again, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");

    tcase_add_loop_test(tcase, frames_come_out_whole_however_the_bytes_come_in, 0, 11);
    tcase_add_test(tcase, frames_that_nobody_took_yet_are_kept);
    tcase_add_loop_test(tcase, a_length_is_refused_before_anything_is_allocated_for_it, 0,
                        ELEMENTS(headers));
    tcase_add_test(tcase, memory_follows_what_arrived_and_goes_back_after_a_large_frame);
    tcase_add_test(tcase, the_limit_may_rise_between_two_frames_of_one_read);
    tcase_add_test(tcase, a_message_over_the_limit_is_not_appended);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
