#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"
#include "tap.h"

static char *dir;

/* Rows 1, 2, 3: one record each, of jobs 101, 102, 103. Row 4: records 4 (no job) and 5, 6 of jobs
 * 105 and 106. */
static void make_directory(void)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    dir = directory_new();
    struct store *store = open_loaded(dir, &shadow);
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        store_queue(store, batch_of(record_submitted(sequence, 100 + sequence, "a")));
        take_until(store, sequence);
    }
    Wafer__Record *records[] = { record_new(4, WAFER__RECORD_KIND__TERM_OPENED, 0),
                                 record_submitted(5, 105, "b"), record_submitted(6, 106, "c") };
    store_queue(store, batch_new(records, ELEMENTS(records)));
    take_until(store, 6);
    store_close(store);
}

static void remove_directory(void)
{
    directory_remove(dir);
}

static void sql(const char *text)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;
    char *error = NULL;

    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_exec(database, text, NULL, NULL, &error);
    ck_assert_msg(!error, "%s: %s", text, error);
    sqlite3_close(database);
}

static int load(struct shadow *shadow, struct diag *diag)
{
    struct store *store;

    int r = store_open(dir, &store, diag);
    if (r < 0)
        return r;
    r = store_load(store, &shadow_ops, shadow, diag);
    store_close(store);
    return r;
}

/* What of substr() is replaced; offsets count from 1. The head of a frame has 24 bytes. */
#define FLIP(row, offset)                                                                          \
    "UPDATE journal SET records = CAST(substr(records, 1, " #offset " - 1) || "                    \
    "CASE substr(records, " #offset ", 1) WHEN x'55' THEN x'54' ELSE x'55' END || "                \
    "substr(records, " #offset " + 1) AS BLOB) WHERE first_sequence = " #row

static const struct {
    const char *damage;
    int error;
    size_t records, unreadable, notes;
    const char *says; /* in the log or the sentence */
} damages[] = {
    { "SELECT 1", 0, 6, 0, 0, "reset" },
    /* Heads: the record is proven by the check of its body. */
    { FLIP(2, 1), 0, 6, 0, 1, "journal row 2" },
    { FLIP(2, 5), 0, 6, 0, 1, "journal row 2" },
    { FLIP(2, 13), 0, 6, 0, 1, "journal row 2" },
    /* The check of a body, and a body. */
    { FLIP(2, 17), 0, 5, 1, 0, "unreadable job 102 record 2" },
    { FLIP(2, 60), 0, 5, 1, 0, "unreadable job 102 record 2" },
    { FLIP(4, 400), 0, 5, 1, 0, "unreadable job 106 record 6" },
    /* A record that is about no single job. */
    { FLIP(4, 30), -EBADMSG, 0, 0, 0, "journal row 4" },
    /* The chain of a row: its records are whole, and the next row still fits. */
    { "UPDATE journal SET chain = zeroblob(32) WHERE first_sequence = 2", 0, 6, 0, 1,
      "journal row 2" },
    { "UPDATE journal SET chain = x'00' WHERE first_sequence = 4", 0, 6, 0, 1, "journal row 4" },
    /* The number of records. */
    { "UPDATE journal SET count = 4 WHERE first_sequence = 4", 0, 6, 0, 1, "journal row 4" },
    /* The last row cut at a frame: acknowledged records are missing. */
    { "UPDATE journal SET records = substr(records, 1, 30) WHERE first_sequence = 4", -EBADMSG, 0,
      0, 0, "journal row 4" },
    { "UPDATE journal SET records = x'' WHERE first_sequence = 4", -EBADMSG, 0, 0, 0,
      "journal row 4 ends after 0 records" },
    /* Gaps. */
    { "DELETE FROM journal WHERE first_sequence = 1", -EBADMSG, 0, 0, 0, "row 2" },
    { "DELETE FROM journal WHERE first_sequence = 3", -EBADMSG, 0, 0, 0,
      "after record 2 comes row 4" },
    { "UPDATE journal SET first_sequence = 300 WHERE first_sequence = 3", -EBADMSG, 0, 0, 0,
      "after record 2 comes row 4" },
    { "UPDATE journal SET first_sequence = 44 WHERE first_sequence = 4", -EBADMSG, 0, 0, 0,
      "after record 3 comes row 44" },
    { "UPDATE journal SET first_sequence = 0 WHERE first_sequence = 1", -EBADMSG, 0, 0, 0,
      "after record 0 comes row 2" },
    /* Two rows that changed places. */
    { "UPDATE journal SET first_sequence = -1 WHERE first_sequence = 2;"
      "UPDATE journal SET first_sequence = 2 WHERE first_sequence = 3;"
      "UPDATE journal SET first_sequence = 3 WHERE first_sequence = -1",
      -EBADMSG, 0, 0, 0, "journal row 2 holds record 3" },
    /* Another version, another program. */
    { "PRAGMA user_version = 99", -EBADMSG, 0, 0, 0, "written by a newer version" },
    { "PRAGMA application_id = 7", -EBADMSG, 0, 0, 0, "another program" },
};

START_TEST(damage_is_found_and_laid_to_one_job_or_refused)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct diag diag = { "" };

    sql(damages[_i].damage);
    ck_assert_msg(load(&shadow, &diag) == damages[_i].error, "%s", diag.text);
    buffer_append(&shadow.log, "", 1);
    const char *said = damages[_i].error ? diag.text : (char *)buffer_data(&shadow.log);
    ck_assert_msg(strstr(said, damages[_i].says), "%s", said);
    if (damages[_i].error)
        return;
    ck_assert_uint_eq(shadow.count, damages[_i].records);
    ck_assert_uint_eq(shadow.unreadable, damages[_i].unreadable);
    ck_assert_uint_eq(shadow.notes, damages[_i].notes);
}
END_TEST

START_TEST(writing_goes_on_behind_damage_and_its_chain_fits)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 }, again = { .count = 0 };

    sql(FLIP(4, 400));
    struct store *store = open_loaded(dir, &shadow);
    store_queue(store, batch_of(record_submitted(7, 107, "d")));
    take_until(store, 7);
    store_close(store);
    store = open_loaded(dir, &again);
    ck_assert_uint_eq(again.count, 6);
    ck_assert_uint_eq(again.unreadable, 1);
    ck_assert_uint_eq(again.notes, 0);
    store_close(store);
}
END_TEST

START_TEST(a_record_that_the_core_refuses_isolates_its_job)
{
    owned(shadow_done) struct shadow shadow = { .refuse_sequence = 3 };
    struct diag diag = { "" };

    ck_assert_int_eq(load(&shadow, &diag), 0);
    ck_assert_uint_eq(shadow.count, 5);
    buffer_append(&shadow.log, "", 1);
    ck_assert_ptr_nonnull(strstr((char *)buffer_data(&shadow.log),
                                 "unreadable job 103 record 3: refused by the test"));
}
END_TEST

START_TEST(a_record_of_no_job_that_the_core_refuses_stops_the_start)
{
    owned(shadow_done) struct shadow shadow = { .refuse_sequence = 4 };
    struct diag diag = { "" };

    ck_assert_int_eq(load(&shadow, &diag), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(diag.text, "refused by the test"));
}
END_TEST

static const struct {
    off_t offset, length; /* of state.db; beyond its end: appended */
    int byte;
} scribbles[] = {
    { 0, 16, 'x' },      /* no longer a database */
    { 0, 100, 0 },       /* not even its header */
    { 100, 50, 0xff },   /* the page of the schema */
    { 4096, 200, 0xff }, /* the root of a table */
};

START_TEST(a_corrupt_database_is_refused_with_what_to_do)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *path = text_format("%s/state.db", dir);
    owned(fd_close) int fd = open(path, O_RDWR);
    uint8_t bytes[256];
    struct diag diag = { "" };

    memset(bytes, scribbles[_i].byte, sizeof(bytes));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, (size_t)scribbles[_i].length, scribbles[_i].offset),
                     scribbles[_i].length);
    ck_assert_int_eq(load(&shadow, &diag), -EBADMSG);
    ck_assert_msg(strstr(diag.text, "put a copy of the whole directory in its place"), "%s",
                  diag.text);
}
END_TEST

START_TEST(a_database_cut_short_is_refused)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *path = text_format("%s/state.db", dir);
    struct diag diag = { "" };

    ck_assert_int_eq(truncate(path, 8192), 0);
    ck_assert_int_eq(load(&shadow, &diag), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("damage");
    TCase *tcase = tcase_create("damage");

    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_loop_test(tcase, damage_is_found_and_laid_to_one_job_or_refused, 0,
                        (int)ELEMENTS(damages));
    tcase_add_test(tcase, writing_goes_on_behind_damage_and_its_chain_fits);
    tcase_add_test(tcase, a_record_that_the_core_refuses_isolates_its_job);
    tcase_add_test(tcase, a_record_of_no_job_that_the_core_refuses_stops_the_start);
    tcase_add_loop_test(tcase, a_corrupt_database_is_refused_with_what_to_do, 0,
                        (int)ELEMENTS(scribbles));
    tcase_add_test(tcase, a_database_cut_short_is_refused);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
