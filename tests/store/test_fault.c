#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "fault_vfs.h"
#include "synthetic.h"
#include "tap.h"

#define BATCHES 24

static char *dir;
static const struct fault_plan no_fault = { FAULT_NONE, .at = 0 };

static void make_directory(void)
{
    dir = directory_new();
    fault_vfs_install();
}

static void remove_directory(void)
{
    fault_vfs_plan(&no_fault);
    directory_remove(dir);
}

/* The record of a sequence is always the same one. */
static Wafer__Record *record_of(uint64_t sequence)
{
    struct random random;

    random_init(&random, sequence);
    return record_random(sequence, &random);
}

static bool wait_for_news(struct store *store, int ms)
{
    struct pollfd wait = { .fd = store_fd(store), .events = POLLIN };

    return poll(&wait, 1, ms) == 1;
}

/* Takes what is durable; checks that it comes in order. */
static void take(struct store *store, uint64_t *durable)
{
    for (struct store_batch *batch = store_take(store), *next; batch; batch = next) {
        next = batch->next;
        ck_assert_uint_eq(batch->records[0]->sequence, *durable + 1);
        *durable = batch->records[batch->count - 1]->sequence;
        batch_free(batch);
    }
}

static void expect_loaded(uint64_t at_least, uint64_t at_most)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);

    ck_assert_uint_ge(shadow.count, at_least);
    ck_assert_uint_le(shadow.count, at_most);
    ck_assert_uint_eq(shadow.notes + shadow.unreadable, 0);
    for (size_t i = 0; i < shadow.count; i++) {
        Wafer__Record *record = record_of(i + 1);
        ck_assert_uint_eq(shadow.sequences[i], i + 1);
        ck_assert_uint_eq(shadow.digests[i], record_hash(record));
        wafer__record__free_unpacked(record, NULL);
    }
    store_close(store);
}

/* One record to a batch, each waited for, so that each is a commit of its own; stops when the store
 * fails. The batches that were not acknowledged are freed after the close. */
static uint64_t write_until_failure(struct store *store, uint64_t *durable)
{
    struct store_batch *batch = NULL;
    enum store_state state = STORE_GOOD;
    struct diag why;
    uint64_t sequence = 0;

    *durable = 0;
    while (sequence < BATCHES && state != STORE_FAILED) {
        sequence++;
        batch = batch_of(record_of(sequence));
        store_queue(store, batch);
        while (*durable < sequence && state != STORE_FAILED) {
            ck_assert_msg(wait_for_news(store, 5000), "neither durable nor failed");
            take(store, durable);
            state = store_state(store, &why);
        }
    }
    store_close(store);
    if (*durable < sequence)
        batch_free(batch);
    return sequence;
}

/* How many operations of that kind the story below has, without a fault. */
static uint64_t count_operations(enum fault_kind kind)
{
    struct fault_plan plan = { kind, .at = 0, .count = 0 };
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    uint64_t durable;

    struct store *store = open_loaded(dir, &shadow);
    fault_vfs_plan(&plan);
    write_until_failure(store, &durable);
    uint64_t operations = fault_vfs_operations();
    ck_assert_uint_gt(operations, BATCHES / 2);
    fault_vfs_plan(&no_fault);
    directory_remove(dir);
    dir = directory_new();
    return operations;
}

static const enum fault_kind fatal[] = { FAULT_SYNC, FAULT_WRITE };

START_TEST(after_an_error_of_the_disk_nothing_more_is_acknowledged)
{
    enum fault_kind kind = fatal[_i % 2];
    uint64_t operations = count_operations(kind);
    uint64_t stride = kind == FAULT_WRITE ? 5 : 1; /* each page is one */

    for (uint64_t at = 1; at <= operations; at += stride) {
        struct fault_plan plan = { kind, .at = at, .count = _i / 2 ? UINT64_MAX : 1 };
        owned(shadow_done) struct shadow shadow = { .count = 0 };
        struct store *store = open_loaded(dir, &shadow);
        uint64_t durable;

        fault_vfs_plan(&plan);
        uint64_t queued = write_until_failure(store, &durable);
        fault_vfs_plan(&no_fault);
        /* What was acknowledged is there; what was not may be: its outcome is unknown. */
        expect_loaded(durable, queued);
        directory_remove(dir);
        dir = directory_new();
    }
}
END_TEST

START_TEST(a_failed_store_says_so_once_and_for_ever)
{
    /* Not even when it says that there was no room: what it was to sync may be lost. */
    struct fault_plan plan = { FAULT_SYNC, .at = 1, .count = 1, .error = _i ? ENOSPC : EIO };
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    struct store_batch *batches[3];
    struct diag why = { "" };

    fault_vfs_plan(&plan);
    for (uint64_t i = 0; i < ELEMENTS(batches); i++) {
        batches[i] = batch_of(record_of(i + 1));
        store_queue(store, batches[i]);
        ck_assert_int_eq(wait_for_news(store, i ? 20 : 5000), i == 0);
        ck_assert_ptr_null(store_take(store)); /* the disk works again, but it is too late */
        while (store_state(store, &why) != STORE_FAILED)
            ck_assert(wait_for_news(store, 5000));
    }
    ck_assert_msg(strstr(why.text, strerror(plan.error)), "%s", why.text);
    ck_assert_ptr_null(store_take(store));
    store_close(store);
    for (size_t i = 0; i < ELEMENTS(batches); i++)
        batch_free(batches[i]);
}
END_TEST

START_TEST(a_full_disk_loses_and_reorders_nothing)
{
    enum fault_kind kind = _i % 2 ? FAULT_QUOTA : FAULT_FULL;
    uint64_t operations = count_operations(kind);
    uint64_t stride = operations / 12 + 1; /* every one would be slow: each waits for room */

    for (uint64_t at = 1 + (uint64_t)_i % stride; at <= operations; at += stride) {
        struct fault_plan plan = { kind, .at = at, .count = 1 };
        owned(shadow_done) struct shadow shadow = { .count = 0 };
        struct store *store = open_loaded(dir, &shadow);
        uint64_t durable;

        fault_vfs_plan(&plan);
        ck_assert_uint_eq(write_until_failure(store, &durable), BATCHES);
        ck_assert_uint_eq(durable, BATCHES);
        fault_vfs_plan(&no_fault);
        expect_loaded(BATCHES, BATCHES);
        directory_remove(dir);
        dir = directory_new();
    }
}
END_TEST

static off_t size_of(const char *name)
{
    owned(free) char *path = text_format("%s/%s", dir, name);
    struct stat status;

    return stat(path, &status) == 0 ? status.st_size : 0;
}

/* What was rolled back is not in history, and what points to it neither. */
START_TEST(history_is_right_behind_a_full_disk)
{
    for (uint64_t at = 1; at <= 20; at++) {
        struct fault_plan plan = { FAULT_FULL, .at = at, .count = 1 };
        owned(shadow_done) struct shadow shadow = { .count = 0 };
        struct store *store = open_loaded(dir, &shadow);
        uint64_t sequence = 0;

        fault_vfs_plan(&plan);
        for (uint64_t job = 1; job <= 4; job++) { /* jobs 3 and 4 have the specs of 1 and 2 */
            const char *name = job % 2 ? "odd" : "even";
            sequence++;
            store_queue(store, batch_of(record_submitted(sequence, job, name)));
            take_until(store, sequence);
            sequence++;
            store_queue(store, batch_of(record_ended(sequence, job, 1000, name)));
            take_until(store, sequence);
        }
        for (uint64_t id = 1; id <= 4; id++) {
            owned(store_job_done) struct store_job job = { .view = NULL };
            struct diag diag = { "" };
            ck_assert_msg(store_history_job(store, id, &job, &diag) == 0, "%s", diag.text);
            ck_assert_uint_gt(job.spec.len, 0);
            ck_assert_str_eq((char *)job.spec.data,
                             id % 2 ? "wafer/v1 Job odd" : "wafer/v1 Job even");
        }
        store_close(store);
        directory_remove(dir);
        dir = directory_new();
    }
}
END_TEST

static bool reserve_exists(void)
{
    return size_of("reserve") == STORE_RESERVE_BYTES;
}

START_TEST(a_full_disk_is_told_and_so_is_room_again)
{
    struct fault_plan plan = { FAULT_FULL, .at = 1, .count = UINT64_MAX };
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    struct diag why = { "" };
    uint64_t durable = 0;

    ck_assert_int_eq(store_state(store, &why), STORE_GOOD);
    ck_assert(reserve_exists());
    fault_vfs_plan(&plan);
    for (uint64_t sequence = 1; sequence <= 5; sequence++)
        store_queue(store, batch_of(record_of(sequence)));
    ck_assert(wait_for_news(store, 5000));
    take(store, &durable);
    ck_assert_uint_eq(durable, 0);
    ck_assert_int_eq(store_state(store, &why), STORE_FULL);
    ck_assert_msg(strstr(why.text, "no space left"), "%s", why.text);
    ck_assert(!reserve_exists());

    fault_vfs_plan(&no_fault);
    while (durable < 5 || store_state(store, &why) != STORE_GOOD) {
        ck_assert(wait_for_news(store, 5000));
        take(store, &durable);
    }
    ck_assert(reserve_exists());
    store_close(store);
    expect_loaded(5, 5);
}
END_TEST

START_TEST(a_store_on_a_full_disk_can_be_closed)
{
    struct fault_plan plan = { FAULT_FULL, .at = 1, .count = UINT64_MAX };
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    struct store_batch *batch = batch_of(record_of(1));

    fault_vfs_plan(&plan);
    store_queue(store, batch);
    store_close(store);
    fault_vfs_plan(&no_fault);
    batch_free(batch);
    expect_loaded(0, 0);
}
END_TEST

START_TEST(queries_need_no_room)
{
    struct fault_plan plan = { FAULT_FULL, .at = 1, .count = UINT64_MAX };
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    struct store_batch *query = batch_new(NULL, 0), *batch = batch_of(record_of(1)), *taken;

    fault_vfs_plan(&plan);
    store_queue(store, query);
    store_queue(store, batch);
    do /* the first news may be that the disk is full */
        ck_assert(wait_for_news(store, 5000));
    while (!(taken = store_take(store)));
    ck_assert_ptr_eq(taken, query);
    ck_assert_ptr_null(query->next);
    store_close(store);
    batch_free(query);
    batch_free(batch);
}
END_TEST

/* ---- the log is copied into the database ---- */

/* Nobody's job. */
static Wafer__Record *record_large(uint64_t sequence, size_t length)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__REFUSED, 0);

    record->text = memory_new(length + 1);
    memset(record->text, 'x', length);
    return record;
}

/* 36 MiB, each MiB a commit; closes the store. */
static enum store_state write_long_log(struct store *store, uint64_t *durable, struct diag *why)
{
    enum store_state state = STORE_GOOD;
    struct store_batch *batch = NULL;
    uint64_t sequence = 0;

    while (sequence < 36 && state == STORE_GOOD) {
        batch = batch_of(record_large(++sequence, 1 << 20));
        store_queue(store, batch);
        while (*durable < sequence && state != STORE_FAILED) {
            ck_assert(wait_for_news(store, 10000));
            take(store, durable);
            /* Room may be found before anybody looks again: what was seen once counts. */
            enum store_state seen = store_state(store, why);
            state = seen == STORE_GOOD ? state : seen;
        }
    }
    store_close(store);
    if (*durable < sequence)
        batch_free(batch);
    return state;
}

START_TEST(a_long_log_is_copied_into_the_database_and_begun_anew)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    uint64_t sequence = 0;
    off_t log = 0;

    for (; size_of("state.db") < 8 << 20; log = size_of("state.db-wal")) {
        ck_assert_uint_lt(sequence, 60);
        store_queue(store, batch_of(record_large(++sequence, 1 << 20)));
        take_until(store, sequence);
    }
    ck_assert_int_gt(log, 30 << 20);
    for (int i = 0; i < 5; i++) {
        store_queue(store, batch_of(record_large(++sequence, 1 << 20)));
        take_until(store, sequence);
    }
    ck_assert_int_lt(size_of("state.db-wal"), log + (2 << 20));
    store_close(store);
}
END_TEST

static const struct {
    enum fault_kind kind;
    uint64_t at; /* the syncs of 33 commits, and then those of the copy */
    enum store_state state;
} copies[] = {
    { FAULT_SYNC, 33, STORE_FAILED },  { FAULT_SYNC, 34, STORE_FAILED },
    { FAULT_SYNC, 35, STORE_FAILED },  { FAULT_WRITE, 8600, STORE_FAILED },
    { FAULT_QUOTA, 8600, STORE_FULL },
};

START_TEST(a_copy_that_fails_is_not_passed_over)
{
    struct fault_plan plan = { copies[_i].kind, .at = copies[_i].at, .count = 5 };
    owned(shadow_done) struct shadow shadow = { .count = 0 }, again = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    struct diag why = { "" };
    uint64_t durable = 0;

    fault_vfs_plan(&plan);
    ck_assert_int_eq(write_long_log(store, &durable, &why), copies[_i].state);
    ck_assert_uint_ge(fault_vfs_operations(), plan.at);
    fault_vfs_plan(&no_fault);
    store = open_loaded(dir, &again);
    ck_assert_uint_ge(again.count, durable);
    store_close(store);
}
END_TEST

/* ---- a disk that is really full ---- */

static bool mount_small(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", dir, "tmpfs", 0, "size=24m,mode=0700") < 0) {
        printf("# skipped: no small file system can be mounted here (%s)\n", strerror(errno));
        return false;
    }
    return true;
}

/* Fill it but for `left` bytes. */
static void fill(size_t left)
{
    owned(free) char *path = text_format("%s/filler", dir);
    owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT, 0600);
    owned(free) uint8_t *bytes = memory_new(4096);
    off_t size = 0;

    ck_assert_int_ge(fd, 0);
    while (write(fd, bytes, 4096) == 4096)
        size += 4096;
    ck_assert_int_eq(ftruncate(fd, size > (off_t)left ? size - (off_t)left : 0), 0);
}

static void unfill(void)
{
    owned(free) char *path = text_format("%s/filler", dir);

    unlink(path);
}

START_TEST(on_a_small_file_system_the_reserve_carries_on_and_room_brings_it_back)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 }, again = { .count = 0 };
    struct diag why = { "" };
    uint64_t sequence = 0, durable = 0;

    if (!mount_small())
        return;
    struct store *store = open_loaded(dir, &shadow);
    ck_assert_int_eq(store_state(store, &why), STORE_GOOD);
    fill(200000);
    while (store_state(store, &why) == STORE_GOOD) {
        ck_assert_uint_lt(sequence, 1000);
        sequence++;
        store_queue(store, batch_of(record_large(sequence, 50000)));
        ck_assert(wait_for_news(store, 5000));
        take(store, &durable);
    }
    ck_assert_int_eq(store_state(store, &why), STORE_FULL);
    /* The reserve has room for some more. */
    while (durable < sequence) {
        ck_assert(wait_for_news(store, 5000));
        take(store, &durable);
    }
    for (int i = 0; i < 10; i++) {
        sequence++;
        store_queue(store, batch_of(record_large(sequence, 50000)));
    }
    while (durable < sequence) {
        ck_assert(wait_for_news(store, 5000));
        take(store, &durable);
    }
    ck_assert_int_eq(store_state(store, &why), STORE_FULL);
    ck_assert(!reserve_exists());

    /* A restart on the full disk loses nothing, and knows that it is full. */
    store_close(store);
    store = open_loaded(dir, &again);
    ck_assert_uint_eq(again.count, sequence);
    ck_assert_int_eq(store_state(store, &why), STORE_FULL);
    ck_assert_msg(strstr(why.text, "reserve"), "%s", why.text);

    unfill();
    ck_assert(wait_for_news(store, 5000));
    store_take(store);
    ck_assert_int_eq(store_state(store, &why), STORE_GOOD);
    ck_assert(reserve_exists());
    store_close(store);
    umount(dir);
}
END_TEST

START_TEST(a_restart_on_a_full_file_system_uses_the_reserve)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 }, again = { .count = 0 };
    struct diag why = { "" };

    if (!mount_small())
        return;
    struct store *store = open_loaded(dir, &shadow);
    store_queue(store, batch_of(record_large(1, 50000)));
    take_until(store, 1);
    store_close(store);
    fill(0);
    ck_assert(reserve_exists());
    store = open_loaded(dir, &again);
    ck_assert_uint_eq(again.count, 1);
    ck_assert(!reserve_exists());
    ck_assert_int_eq(store_state(store, &why), STORE_FULL);
    store_queue(store, batch_of(record_large(2, 50000)));
    take_until(store, 2);
    store_close(store);
    umount(dir);
}
END_TEST

START_TEST(on_a_full_file_system_without_a_store_nothing_is_begun)
{
    struct store *store;
    struct diag diag = { "" };

    if (!mount_small())
        return;
    fill(0);
    ck_assert_int_eq(store_open(dir, &store, &diag), -ENOSPC);
    ck_assert_msg(strstr(diag.text, "no space left"), "%s", diag.text);
    umount(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault");
    TCase *tcase = tcase_create("fault");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_loop_test(tcase, after_an_error_of_the_disk_nothing_more_is_acknowledged, 0, 4);
    tcase_add_loop_test(tcase, a_failed_store_says_so_once_and_for_ever, 0, 2);
    tcase_add_loop_test(tcase, a_full_disk_loses_and_reorders_nothing, 0, 2);
    tcase_add_test(tcase, history_is_right_behind_a_full_disk);
    tcase_add_test(tcase, a_full_disk_is_told_and_so_is_room_again);
    tcase_add_test(tcase, a_store_on_a_full_disk_can_be_closed);
    tcase_add_test(tcase, queries_need_no_room);
    tcase_add_test(tcase, a_long_log_is_copied_into_the_database_and_begun_anew);
    tcase_add_loop_test(tcase, a_copy_that_fails_is_not_passed_over, 0, (int)ELEMENTS(copies));
    tcase_add_test(tcase, on_a_small_file_system_the_reserve_carries_on_and_room_brings_it_back);
    tcase_add_test(tcase, a_restart_on_a_full_file_system_uses_the_reserve);
    tcase_add_test(tcase, on_a_full_file_system_without_a_store_nothing_is_begun);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
