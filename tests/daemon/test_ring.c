#include "ring.h"

#include <string.h>

#include "tap.h"

/* The byte that the log has at `offset`. */
static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 31 + offset / 251);
}

static void add(struct ring *ring, uint64_t offset, size_t length)
{
    uint8_t *bytes = malloc(length + 1);

    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_at(offset + i);
    ring_add(ring, offset, bytes, length);
    free(bytes);
}

/* Everything in the ring is what the log has there. */
static void check(const struct ring *ring)
{
    const uint8_t *bytes;

    for (uint64_t offset = ring->start; offset < ring->end;) {
        size_t length = ring_at(ring, offset, &bytes);
        ck_assert_uint_gt(length, 0);
        size_t right = 0;
        while (right < length && bytes[right] == byte_at(offset + right))
            right++;
        ck_assert_uint_eq(right, length);
        offset += length;
    }
    ck_assert_uint_eq(ring_at(ring, ring->end, &bytes), 0);
    ck_assert_uint_le(ring->end - ring->start, RING_BYTES);
}

START_TEST(the_newest_bytes_are_kept_however_they_come)
{
    struct ring ring = { 0 };
    uint64_t offset = 12345; /* of a log that was long before we came */

    for (size_t i = 0; i < 300; i++) {
        size_t length = (i * 7919) % 3000;
        add(&ring, offset, length);
        offset += length;
        ck_assert_uint_eq(ring.end, offset);
        check(&ring);
    }
    ck_assert_uint_eq(ring.end - ring.start, RING_BYTES);
    ring_done(&ring);
}
END_TEST

START_TEST(more_than_fits_leaves_its_end)
{
    struct ring ring = { 0 };

    add(&ring, 0, 100);
    add(&ring, 100, 3 * RING_BYTES + 7);
    ck_assert_uint_eq(ring.end, 100 + 3 * RING_BYTES + 7);
    ck_assert_uint_eq(ring.end - ring.start, RING_BYTES);
    check(&ring);
    ring_done(&ring);
}
END_TEST

START_TEST(what_comes_again_is_not_added_again)
{
    struct ring ring = { 0 };

    add(&ring, 0, 500);
    add(&ring, 0, 500);
    add(&ring, 300, 300); /* half of it is new */
    ck_assert_uint_eq(ring.start, 0);
    ck_assert_uint_eq(ring.end, 600);
    check(&ring);
    ring_done(&ring);
}
END_TEST

START_TEST(after_a_gap_only_what_follows_it_is_kept)
{
    struct ring ring = { 0 };
    const uint8_t *bytes;

    add(&ring, 0, 500);
    add(&ring, 800, 100);
    ck_assert_uint_eq(ring.start, 800);
    ck_assert_uint_eq(ring.end, 900);
    ck_assert_uint_eq(ring_at(&ring, 499, &bytes), 0);
    check(&ring);
    ring_done(&ring);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");
    TCase *tcase = tcase_create("ring");

    tcase_add_test(tcase, the_newest_bytes_are_kept_however_they_come);
    tcase_add_test(tcase, more_than_fits_leaves_its_end);
    tcase_add_test(tcase, what_comes_again_is_not_added_again);
    tcase_add_test(tcase, after_a_gap_only_what_follows_it_is_kept);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
