#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"
#include "tap.h"

static char *dir, *to;

static void begin(void)
{
    dir = directory_new();
    to = text_format("%s.copy", dir);
}

static void end(void)
{
    directory_remove(dir);
    directory_remove(to);
}

static void add(struct store *store, Wafer__Record *record)
{
    uint64_t sequence = record->sequence;

    store_queue(store, batch_of(record));
    take_until(store, sequence);
}

static struct store *filled(struct shadow *shadow)
{
    struct store *store = open_loaded(dir, shadow);

    add(store, record_new(1, WAFER__RECORD_KIND__TERM_OPENED, 0));
    add(store, record_submitted(2, 7, "a"));
    add(store, record_checkpoint(3, 7, 1, 500, WAFER__CHECKPOINT__STATE__VERIFIED));
    return store;
}

static void backup(struct store_check *ret)
{
    struct diag diag = { "" };

    ck_assert_msg(store_backup(dir, to, 1, ret, &diag) == 0, "%s", diag.text);
}

static void ck_is_copy(struct store *store, bool expected)
{
    struct diag diag;
    bool is_copy;

    ck_assert_int_eq(store_is_copy(store, &is_copy, &diag), 0);
    ck_assert(is_copy == expected);
}

START_TEST(a_copy_is_made_beside_a_store_that_goes_on)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 }, copied = { .count = 0 };
    struct store *store = filled(&shadow);
    struct store_check check;
    struct stat st;

    backup(&check);
    ck_assert_uint_eq(check.last_sequence, 3);
    ck_assert_uint_eq(check.checkpoints, 1);
    ck_assert_int_eq(stat(to, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    add(store, record_submitted(4, 8, "b"));
    ck_is_copy(store, false);
    store_close(store);

    store = open_loaded(to, &copied);
    ck_assert_uint_eq(copied.count, 3);
    ck_is_copy(store, true);
    store_close(store);
}
END_TEST

START_TEST(a_copy_is_one_until_its_first_record_is_durable)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 }, first = { .count = 0 },
                                     second = { .count = 0 };
    struct store_check check;

    store_close(filled(&shadow));
    backup(&check);
    ck_assert(check.is_copy);
    store_close(open_loaded(to, &first)); /* killed before it did anything */
    struct store *store = open_loaded(to, &second);
    ck_is_copy(store, true);
    add(store, record_new(4, WAFER__RECORD_KIND__STATE_RESTORED, 0));
    ck_is_copy(store, false);
    store_close(store);
}
END_TEST

START_TEST(a_copy_is_never_put_over_something)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store_check check;
    struct diag diag;

    store_close(filled(&shadow));
    backup(&check);
    ck_assert_int_eq(store_backup(dir, to, 1, &check, &diag), -EEXIST);
    ck_assert_int_eq(store_backup(to, dir, 1, &check, &diag), -EEXIST);
}
END_TEST

START_TEST(a_check_tells_who_has_it_and_leaves_no_trace)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *log = text_format("%s/state.db-wal", dir);
    struct store_check check;
    struct diag diag;

    store_close(filled(&shadow));
    ck_assert_int_eq(store_check(dir, NULL, NULL, &check, &diag), 0);
    ck_assert_int_eq(check.holder, 0);
    ck_assert_uint_eq(check.records, 3);
    ck_assert_uint_eq(check.damaged, 0);
    ck_assert_int_eq(check.version, check.version_known);
    ck_assert_int_eq(access(log, F_OK), -1);
    ck_assert_int_eq(store_check("/nowhere", NULL, NULL, &check, &diag), -ENOENT);
}
END_TEST

static void sql(const char *text)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;

    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(database, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

START_TEST(damage_is_counted_and_not_copied_for_good)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store_check check;
    struct diag diag;

    store_close(filled(&shadow));
    sql("UPDATE journal SET chain = zeroblob(32) WHERE first_sequence = 2");
    ck_assert_int_eq(store_check(dir, NULL, NULL, &check, &diag), 0);
    ck_assert_uint_gt(check.damaged, 0);
    ck_assert_ptr_nonnull(strstr(check.first_damage.text, "row 2: its hash does not fit"));
    ck_assert_int_eq(store_backup(dir, to, 1, &check, &diag), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backup");
    TCase *tcase = tcase_create("backup");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_copy_is_made_beside_a_store_that_goes_on);
    tcase_add_test(tcase, a_copy_is_one_until_its_first_record_is_durable);
    tcase_add_test(tcase, a_copy_is_never_put_over_something);
    tcase_add_test(tcase, a_check_tells_who_has_it_and_leaves_no_trace);
    tcase_add_test(tcase, damage_is_counted_and_not_copied_for_good);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
