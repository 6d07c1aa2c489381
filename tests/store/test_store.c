#include <errno.h>
#include <poll.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
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

START_TEST(a_second_process_is_told_who_has_the_directory)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    owned(free) char *holder = text_format("process %d", getpid());
    int status;

    pid_t pid = fork();
    if (pid == 0) {
        struct store *second;
        struct diag diag = { "" };
        int r = store_open(dir, &second, &diag);
        _exit(r == -EBUSY && strstr(diag.text, holder) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    store_close(store);
    ck_assert_int_eq(store_open(dir, &store, NULL), 0);
    store_close(store);
}
END_TEST

/* What is made at a path below the directory before it is opened. */
static const struct {
    const char *make, *text; /* a NULL text makes a folder */
    const char *open;
    int error;
    const char *says;
} unusable[] = {
    { "file", "x", "file/state", -ENOTDIR, "file/state" },
    { "file", "x", "file", -ENOTDIR, "file" },
    { "", "", "not/there", -ENOENT, "not/there" },
    { "lock", NULL, "", -EISDIR, "lock" },
    { "state.db", NULL, "", -EISDIR, "state.db" },
    { "state.db",
      "no database, but a text that is longer than the header of one. It goes on and "
      "on, until even the last of the hundred bytes is there.",
      "", -EBADMSG, "not a database" },
    { "snapshots", "x", "", -ENOTDIR, "snapshots" },
};

START_TEST(a_directory_that_cannot_be_used_is_refused_with_its_name)
{
    owned(free) char *made = text_format("%s/%s", dir, unusable[_i].make);
    owned(free) char *path = text_format("%s/%s", dir, unusable[_i].open);
    struct store *store = NULL;
    struct diag diag = { "" };

    if (!unusable[_i].text)
        ck_assert_int_eq(mkdir(made, 0700), 0);
    else if (*unusable[_i].text) {
        owned(fclose) FILE *file = fopen(made, "w");
        ck_assert_int_ge(fputs(unusable[_i].text, file), 0);
    }
    ck_assert_int_eq(store_open(path, &store, &diag), unusable[_i].error);
    ck_assert_msg(strstr(diag.text, unusable[_i].says), "%s", diag.text);
    ck_assert_ptr_null(store);
}
END_TEST

START_TEST(a_new_directory_is_nobody_elses_to_read)
{
    static const char *const names[] = { "",      "/state.db", "/state.db-wal",
                                         "/lock", "/reserve",  "/snapshots" };
    owned(free) char *path = text_format("%s/new", dir);
    struct store *store;

    ck_assert_int_eq(store_open(path, &store, NULL), 0);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        owned(free) char *name = text_format("%s%s", path, names[i]);
        struct stat status;
        ck_assert_int_eq(stat(name, &status), 0);
        ck_assert_msg(!(status.st_mode & 077), "%s", name);
    }
    store_close(store);
}
END_TEST

START_TEST(a_batch_without_records_keeps_its_place)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    uint64_t sequence = 0, taken = 0;
    size_t empty = 0;

    for (int i = 0; i < 500; i++) {
        struct store_batch *batch =
            i % 3 ? batch_new(NULL, 0)
                  : batch_of(record_new(++sequence, WAFER__RECORD_KIND__CLOCK_SET, 0));
        batch->userdata = (void *)(uintptr_t)sequence;
        store_queue(store, batch);
    }
    while (taken + empty < 500) {
        struct pollfd wait = { .fd = store_fd(store), .events = POLLIN };
        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
        for (struct store_batch *batch = store_take(store), *next; batch; batch = next) {
            next = batch->next;
            taken += batch->count;
            empty += !batch->count;
            ck_assert_uint_eq((uintptr_t)batch->userdata, taken);
            batch_free(batch);
        }
    }
    store_close(store);
}
END_TEST

START_TEST(closing_waits_for_what_is_queued)
{
    owned(shadow_done) struct shadow before = { .count = 0 }, after = { .count = 0 };
    struct store *store = open_loaded(dir, &before);
    struct store_batch *batches[300];

    for (uint64_t i = 0; i < ELEMENTS(batches); i++) {
        batches[i] = batch_of(record_submitted(i + 1, i + 1, "a"));
        store_queue(store, batches[i]);
    }
    store_close(store);
    for (size_t i = 0; i < ELEMENTS(batches); i++)
        batch_free(batches[i]);
    store = open_loaded(dir, &after);
    ck_assert_uint_eq(after.count, ELEMENTS(batches));
    store_close(store);
}
END_TEST

START_TEST(many_batches_share_a_commit)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;
    sqlite3_stmt *statement;

    for (uint64_t sequence = 1; sequence <= 5000; sequence++)
        store_queue(store, batch_of(record_submitted(sequence, sequence, "a")));
    take_until(store, 5000);
    store_close(store);
    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM journal", -1, &statement, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_int_lt(sqlite3_column_int(statement, 0), 1000);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("store");

    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_loop_test(tcase, what_was_queued_is_durable_in_order_and_is_loaded_again, 0, 3);
    tcase_add_test(tcase, a_second_process_is_told_who_has_the_directory);
    tcase_add_loop_test(tcase, a_directory_that_cannot_be_used_is_refused_with_its_name, 0,
                        (int)ELEMENTS(unusable));
    tcase_add_test(tcase, a_new_directory_is_nobody_elses_to_read);
    tcase_add_test(tcase, a_batch_without_records_keeps_its_place);
    tcase_add_test(tcase, closing_waits_for_what_is_queued);
    tcase_add_test(tcase, many_batches_share_a_commit);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
