#include "store/row.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/frame.h"
#include "synthetic.h"
#include "tap.h"

/* Records 10 to 14; 12 is of no job, the others of jobs 110 to 114. */
#define FIRST   10
#define RECORDS 5

struct seen {
    bool whole[RECORDS], unreadable[RECORDS];
    uint64_t expected[RECORDS];
};

static struct buffer records;
static struct seen seen;
static size_t starts[RECORDS + 1];

static void make_row(void)
{
    memset(&seen, 0, sizeof(seen));
    buffer_clear(&records);
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t sequence = FIRST + i;
        Wafer__Record *record = sequence == 12
                                    ? record_new(sequence, WAFER__RECORD_KIND__TERM_OPENED, 0)
                                    : record_submitted(sequence, 100 + sequence, "row");
        starts[i] = records.length;
        row_put(&records, record);
        seen.expected[i] = record_hash(record);
        wafer__record__free_unpacked(record, NULL);
    }
    starts[RECORDS] = records.length;
}

static void drop_row(void)
{
    buffer_done(&records);
}

static int on_record(void *userdata, Wafer__Record *record, struct diag *diag)
{
    uint64_t i = record->sequence - FIRST;

    ck_assert_ptr_eq(userdata, &seen);
    ck_assert_ptr_nonnull(diag);
    ck_assert_uint_lt(i, RECORDS);
    ck_assert(!seen.whole[i] && !seen.unreadable[i]);
    ck_assert_uint_eq(record_hash(record), seen.expected[i]);
    seen.whole[i] = true;
    wafer__record__free_unpacked(record, NULL);
    return 0;
}

static int on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                         struct diag *diag)
{
    ck_assert_ptr_eq(userdata, &seen);
    ck_assert(why && diag);
    ck_assert_uint_eq(job, 100 + sequence);
    seen.unreadable[sequence - FIRST] = true;
    return 0;
}

static const struct row_ops ops = { .record = on_record, .unreadable = on_unreadable };

static int read_row(uint64_t from, uint64_t to, uint64_t *ret_count)
{
    struct row row = {
        .first_sequence = FIRST,
        .count = RECORDS,
        .records = buffer_data(&records),
        .length = records.length,
    };
    struct diag diag;

    return row_read(&row, from, to, &ops, &seen, ret_count, &diag);
}

START_TEST(any_range_of_a_row_can_be_read)
{
    uint64_t count = 0, from = FIRST + (uint64_t)_i % RECORDS, to = FIRST + (uint64_t)_i / RECORDS;

    ck_assert_int_eq(read_row(from, to, &count), 0);
    ck_assert_uint_eq(count, RECORDS);
    for (uint64_t i = 0; i < RECORDS; i++)
        ck_assert_int_eq(seen.whole[i], FIRST + i >= from && FIRST + i < to);
}
END_TEST

/* Byte by byte, bit by bit: the record that was hit is whole (when only its head was hit) or
 * reported under the right job, or the whole row is refused; all others are whole. */
START_TEST(a_flipped_bit_costs_at_most_the_record_that_it_hit)
{
    size_t repaired = 0, isolated = 0, refused = 0;

    for (size_t bit = 0; bit < records.length * 8; bit++) {
        uint8_t *byte = buffer_data(&records) + bit / 8;
        size_t hit = 0;
        uint64_t count;

        while (starts[hit + 1] <= bit / 8)
            hit++;
        memset(seen.whole, 0, sizeof(seen.whole));
        memset(seen.unreadable, 0, sizeof(seen.unreadable));
        *byte ^= (uint8_t)(1 << bit % 8);
        int r = read_row(0, UINT64_MAX, &count);
        *byte ^= (uint8_t)(1 << bit % 8);

        if (r < 0) { /* only what is of no job may cost more */
            ck_assert_int_eq(r, -EBADMSG);
            ck_assert_uint_eq(hit, 2);
            refused++;
            continue;
        }
        ck_assert_uint_eq(count, RECORDS);
        for (size_t i = 0; i < RECORDS; i++)
            ck_assert_msg(seen.whole[i] || (i == hit && seen.unreadable[i]), "bit %zu, record %zu",
                          bit, i);
        repaired += seen.whole[hit];
        isolated += seen.unreadable[hit];
    }
    ck_assert_uint_ge(repaired, RECORDS * 16 * 8); /* length, job and head check of each */
    ck_assert_uint_gt(isolated, 0);
    ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(a_torn_row_is_refused)
{
    uint64_t count;

    for (size_t length = records.length - 1; length > 0; length--) {
        memset(&seen.whole, 0, sizeof(seen.whole));
        records.length = length;
        bool at_frame = false;
        for (size_t i = 0; i < RECORDS; i++)
            at_frame |= starts[i] == length;
        int r = read_row(0, UINT64_MAX, &count);
        if (at_frame) /* the caller sees that the count does not fit */
            ck_assert(r == 0 && count < RECORDS);
        else
            ck_assert_int_eq(r, -EBADMSG);
    }
}
END_TEST

START_TEST(a_zeroed_stretch_is_refused_because_nobody_knows_whose_it_was)
{
    uint64_t count;

    memset(buffer_data(&records) + starts[1] - 8, 0, starts[2] - starts[1] + 16);
    ck_assert_int_eq(read_row(0, UINT64_MAX, &count), -EBADMSG);
}
END_TEST

START_TEST(a_record_in_the_wrong_place_is_refused)
{
    uint64_t count;

    memmove(buffer_data(&records), buffer_data(&records) + starts[1], starts[2] - starts[1]);
    ck_assert_int_eq(read_row(0, UINT64_MAX, &count), -EBADMSG);
}
END_TEST

START_TEST(losing_the_submission_of_an_array_is_laid_to_no_single_job)
{
    Wafer__Record *record = record_submitted(FIRST, 110, "array");
    uint64_t count;

    record->has_array_count = true;
    record->array_count = 2;
    buffer_clear(&records);
    row_put(&records, record);
    wafer__record__free_unpacked(record, NULL);
    buffer_data(&records)[FRAME_HEAD_BYTES + 5] ^= 1;
    ck_assert_int_eq(read_row(0, UINT64_MAX, &count), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row");
    TCase *tcase = tcase_create("row");

    tcase_add_checked_fixture(tcase, make_row, drop_row);
    tcase_add_loop_test(tcase, any_range_of_a_row_can_be_read, 0, RECORDS * (RECORDS + 1));
    tcase_add_test(tcase, a_flipped_bit_costs_at_most_the_record_that_it_hit);
    tcase_add_test(tcase, a_torn_row_is_refused);
    tcase_add_test(tcase, a_zeroed_stretch_is_refused_because_nobody_knows_whose_it_was);
    tcase_add_test(tcase, a_record_in_the_wrong_place_is_refused);
    tcase_add_test(tcase, losing_the_submission_of_an_array_is_laid_to_no_single_job);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
