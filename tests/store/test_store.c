#include <poll.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"
#include "tap.h"

static char *dir;

static void make_directory(void)
{
    dir = directory_new();
}

static void remove_directory(void)
{
    directory_remove(dir);
}

START_TEST(what_was_queued_is_durable_in_order_and_is_loaded_again)
{
    owned(shadow_done) struct shadow before = { .count = 0 }, after = { .count = 0 };
    struct store *store = open_loaded(dir, &before);
    struct random random;
    uint64_t hashes[3000], sequence = 1;

    random_init(&random, (uint64_t)_i + 1);
    ck_assert_uint_eq(before.count, 0);
    while (sequence <= ELEMENTS(hashes)) {
        Wafer__Record *records[7];
        size_t count = random_below(&random, ELEMENTS(records));
        for (size_t i = 0; i < count; i++, sequence++) {
            records[i] = record_random(sequence, &random);
            if (sequence <= ELEMENTS(hashes))
                hashes[sequence - 1] = record_hash(records[i]);
        }
        store_queue(store, batch_new(records, count));
        if (random_below(&random, 100) == 0)
            take_until(store, sequence - 1);
    }
    store_queue(store, batch_of(record_new(sequence, WAFER__RECORD_KIND__CLOCK_SET, 0)));
    take_until(store, sequence);
    store_close(store);

    store = open_loaded(dir, &after);
    ck_assert_uint_eq(after.count, sequence);
    ck_assert_uint_eq(after.unreadable + after.notes, 0);
    for (size_t i = 0; i < ELEMENTS(hashes); i++) {
        ck_assert_uint_eq(after.sequences[i], i + 1);
        ck_assert_uint_eq(after.digests[i], hashes[i]);
    }
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("store");

    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_loop_test(tcase, what_was_queued_is_durable_in_order_and_is_loaded_again, 0, 3);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
