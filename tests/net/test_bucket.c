#include "net/bucket.h"

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define SECOND UINT64_C(1000000)

/* How many tokens there are at `now_us`. */
static unsigned take_all(struct bucket *bucket, uint64_t now_us)
{
    unsigned count = 0;

    while (bucket_take(bucket, now_us))
        count++;
    return count;
}

/* From an empty bucket of 3 a second, 10 at most, at 100 s: what there is at a later time. */
static const struct {
    uint64_t now_us;
    unsigned count;
} later[] = {
    { 100 * SECOND, 0 },
    { 100 * SECOND + 333333, 0 }, /* a third of a second is a little more */
    { 100 * SECOND + 333334, 1 },
    { 101 * SECOND, 3 },
    { 103 * SECOND + 333333, 9 },
    { 103 * SECOND + 333334, 10 },
    { 1000 * SECOND, 10 },
    { UINT64_MAX, 10 }, /* no overflow */
    { 99 * SECOND, 0 }, /* the clock stepped back */
    { 0, 0 },
};

START_TEST(a_bucket_fills_at_its_rate_up_to_its_burst)
{
    struct bucket bucket;

    bucket_init(&bucket, 3, 10, 100 * SECOND);
    ck_assert_uint_eq(take_all(&bucket, 100 * SECOND), 10);
    ck_assert_uint_eq(take_all(&bucket, later[_i].now_us), later[_i].count);
}
END_TEST

START_TEST(after_a_step_back_time_counts_on_from_there)
{
    struct bucket bucket;

    bucket_init(&bucket, 1, 5, 100 * SECOND);
    take_all(&bucket, 100 * SECOND);
    ck_assert_uint_eq(take_all(&bucket, 50 * SECOND), 0);
    ck_assert_uint_eq(take_all(&bucket, 52 * SECOND), 2);
}
END_TEST

START_TEST(waiting_as_long_as_told_gives_a_token_and_a_microsecond_less_does_not)
{
    static const uint32_t rates[] = { 1, 3, 7, 1000, 999983, 4000000000 };
    struct bucket bucket;
    struct random random;
    uint64_t now_us = 5;

    random_init(&random, (uint64_t)_i);
    bucket_init(&bucket, rates[_i], 2, now_us);
    ck_assert_uint_eq(bucket_wait_us(&bucket, now_us), 0);
    for (int i = 0; i < 1000; i++) {
        while (bucket_take(&bucket, now_us))
            continue;
        uint64_t wait_us = bucket_wait_us(&bucket, now_us);
        ck_assert_uint_gt(wait_us, 0);
        if (wait_us > 1)
            ck_assert(!bucket_take(&bucket, now_us + wait_us - 1));
        now_us += wait_us;
        ck_assert(bucket_take(&bucket, now_us));
        now_us += random_below(&random, 100);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bucket");
    TCase *tcase = tcase_create("bucket");

    tcase_add_loop_test(tcase, a_bucket_fills_at_its_rate_up_to_its_burst, 0, ELEMENTS(later));
    tcase_add_test(tcase, after_a_step_back_time_counts_on_from_there);
    tcase_add_loop_test(
        tcase, waiting_as_long_as_told_gives_a_token_and_a_microsecond_less_does_not, 0, 6);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
