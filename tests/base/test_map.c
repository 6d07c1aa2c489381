#include "base/map.h"

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

/* The map against the plainest thing that can hold the same: an array indexed by the key. */
START_TEST(agrees_with_an_array_over_random_puts_and_removes)
{
    enum { KEYS = 700 };
    struct map map = MAP_EMPTY;
    void *array[KEYS] = { NULL };
    size_t count = 0;
    struct random random;

    random_init(&random, 7);
    for (int i = 0; i < 100000; i++) {
        uint64_t key = random_below(&random, KEYS);
        if (random_below(&random, 2)) {
            count += !array[key];
            array[key] = &array[random_below(&random, KEYS)];
            map_put(&map, key, array[key]);
        } else {
            count -= !!array[key];
            ck_assert_ptr_eq(map_remove(&map, key), array[key]);
            array[key] = NULL;
        }
        ck_assert_uint_eq(map_count(&map), count);
        key = random_below(&random, KEYS);
        ck_assert_ptr_eq(map_get(&map, key), array[key]);
    }
    size_t cursor = 0, walked = 0;
    while (map_next(&map, &cursor))
        walked++;
    ck_assert_uint_eq(walked, count);
    map_done(&map);
}
END_TEST

/* Ids come from clients, and two of them mark slots. */
START_TEST(keys_that_mark_slots_are_never_found)
{
    struct map map = MAP_EMPTY;
    int value;

    map_put(&map, 1, &value);
    map_put(&map, 2, &value);
    map_remove(&map, 2);
    for (uint64_t back = 0; back < 2; back++) {
        ck_assert_ptr_null(map_get(&map, UINT64_MAX - back));
        ck_assert_ptr_null(map_remove(&map, UINT64_MAX - back));
    }
    ck_assert_uint_eq(map_count(&map), 1);
    map_done(&map);
}
END_TEST

START_TEST(an_empty_map_answers_null)
{
    struct map map = MAP_EMPTY;
    size_t cursor = 0;

    ck_assert_ptr_null(map_get(&map, 1));
    ck_assert_ptr_null(map_remove(&map, 1));
    ck_assert_ptr_null(map_next(&map, &cursor));
    map_done(&map);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("map");
    TCase *tcase = tcase_create("map");

    tcase_add_test(tcase, agrees_with_an_array_over_random_puts_and_removes);
    tcase_add_test(tcase, an_empty_map_answers_null);
    tcase_add_test(tcase, keys_that_mark_slots_are_never_found);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
