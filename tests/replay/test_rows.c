#include "replay/rows.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "tap.h"

enum { ROWS = 40 };

struct taken {
    uint32_t count, blocks;
    bool row[ROWS];
};

static void note(void *context, uint32_t first, uint32_t count)
{
    struct taken *taken = context;

    ck_assert_uint_le(first + count, ROWS);
    taken->blocks++;
    for (uint32_t row = first; row < first + count; row++) {
        ck_assert(!taken->row[row]);
        taken->row[row] = true;
        taken->count++;
    }
}

START_TEST(a_job_has_its_rows_side_by_side_where_that_can_be)
{
    owned(rows_done) struct rows rows = rows_new(ROWS);
    struct taken taken[4] = { { 0 } };

    rows_take(&rows, 10, 0, 100, note, &taken[0]);
    rows_take(&rows, 10, 0, 200, note, &taken[1]);
    rows_take(&rows, 20, 5, 100, note, &taken[2]);
    ck_assert(taken[0].row[0] && taken[1].row[10] && taken[2].row[20] && taken[2].row[39]);
    rows_take(&rows, 30, 100, 300, note, &taken[3]); /* on both sides of the second */
    ck_assert_uint_eq(taken[3].count, 30);
    ck_assert_uint_eq(taken[3].blocks, 2);
}
END_TEST

START_TEST(no_row_shows_two_jobs_at_once)
{
    owned(rows_done) struct rows rows = rows_new(ROWS);
    int64_t free_from_s[ROWS] = { 0 };
    struct random random;

    random_init(&random, 7);
    for (int64_t now_s = 0; now_s < 3000; now_s++) {
        uint32_t wanted = 1 + (uint32_t)random_below(&random, ROWS), free = 0;
        int64_t end_s = now_s + 1 + (int64_t)random_below(&random, 9);
        struct taken taken = { 0 };

        for (int row = 0; row < ROWS; row++)
            free += free_from_s[row] <= now_s;
        rows_take(&rows, wanted, now_s, end_s, note, &taken);
        ck_assert_uint_eq(taken.count, wanted < free ? wanted : free);
        for (int row = 0; row < ROWS; row++)
            if (taken.row[row]) {
                ck_assert_int_le(free_from_s[row], now_s);
                free_from_s[row] = end_s;
            }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tcase = tcase_create("rows");

    tcase_add_test(tcase, a_job_has_its_rows_side_by_side_where_that_can_be);
    tcase_add_test(tcase, no_row_shows_two_jobs_at_once);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
