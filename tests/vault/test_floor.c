#include <sys/stat.h>

#include "base/cleanup.h"
#include "place.h"

static void write_text(const char *text)
{
    owned(free) char *path = text_format("%s/vault/floor", scratch);
    owned(fclose) FILE *file = fopen(path, "we");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

START_TEST(a_floor_is_what_was_written_last)
{
    struct vault_floor floor = { 1, 100 }, read;

    ck_assert_int_eq(vault_floor_read(vault, &read, &diag), -ENOENT);
    ck_assert_int_eq(vault_floor_write(vault, &floor, &diag), 0);
    floor = (struct vault_floor){ 2, UINT64_MAX };
    ck_assert_int_eq(vault_floor_write(vault, &floor, &diag), 0);
    ck_assert_int_eq(vault_floor_read(vault, &read, &diag), 0);
    ck_assert_uint_eq(read.term, 2);
    ck_assert_uint_eq(read.next_job, UINT64_MAX);
}
END_TEST

static const char *const wrong[] = {
    "",
    "term 1 next_job",
    "term 1 next_job 10", /* cut */
    "term 1 next_job 10\n\n",
    "term 1 next_job -10\n",
    "term 01 next_job 10\n",
    "term 1 next_job 99999999999999999999999999999999999999999999999999999999999999999999\n",
};

START_TEST(a_floor_that_is_damaged_is_none)
{
    struct vault_floor floor = { 7, 7 };

    write_text(wrong[_i]);
    ck_assert_int_eq(vault_floor_read(vault, &floor, &diag), -EBADMSG);
    ck_assert_uint_eq(floor.next_job, 7);
}
END_TEST

START_TEST(without_a_floor_the_vault_tells_by_what_it_has)
{
    struct vault_place place = { .job = 41, .step = 10, .term = 1, .epoch = 1 };
    struct digest digest;
    uint64_t last;

    ck_assert_int_eq(vault_last_job(vault, &last, &diag), 0);
    ck_assert_uint_eq(last, 0);
    ck_assert_int_eq(checkpoint_write(vault, &place, &digest), 0);
    ck_assert_int_eq(vault_log_append(vault, 9, 3, 0, "a\n", 2, &diag), 0);
    ck_assert_int_eq(vault_log_append(vault, 9, 12, 0, "a\n", 2, &diag), 0);
    ck_assert_int_eq(vault_last_job(vault, &last, &diag), 0);
    ck_assert_uint_eq(last, 41);
    ck_assert_uint_eq(vault_log_last_attempt(vault, 9), 12);
    ck_assert_uint_eq(vault_log_last_attempt(vault, 41), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("floor");
    TCase *tcase = tcase_create("floor");

    tcase_add_checked_fixture(tcase, vault_make, vault_remove);
    tcase_add_test(tcase, a_floor_is_what_was_written_last);
    tcase_add_loop_test(tcase, a_floor_that_is_damaged_is_none, 0, ELEMENTS(wrong));
    tcase_add_test(tcase, without_a_floor_the_vault_tells_by_what_it_has);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
