#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "fault_vfs.h"
#include "synthetic.h"
#include "tap.h"

static char *dir;
static struct store *store;
static uint64_t sequence; /* of the last record queued */

static void make_store(void)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    fault_vfs_install();
    dir = directory_new();
    store = open_loaded(dir, &shadow);
    sequence = 0;
}

static void remove_store(void)
{
    store = store_close(store);
    directory_remove(dir);
}

/* A row with so many records. */
static void write_records(size_t count)
{
    owned(free) Wafer__Record **records = memory_new(count * sizeof(*records));

    for (size_t i = 0; i < count; i++) {
        sequence++;
        records[i] = record_submitted(sequence, 100 + sequence, "snapshot");
    }
    store_queue(store, batch_new(records, count));
}

static int snapshot(uint64_t of, struct diag *diag)
{
    pid_t pid;
    int status;

    ck_assert_int_eq(store_snapshot_start(store, of, shadow_save, &of, &pid, diag), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return store_snapshot_end(store, status, diag);
}

static void write_with_snapshot(size_t count)
{
    struct diag diag = { "" };

    write_records(count);
    take_until(store, sequence);
    ck_assert_msg(snapshot(sequence, &diag) == 0, "%s", diag.text);
    ck_assert_uint_eq(store_snapshot_sequence(store), sequence);
}

static void reopen(struct shadow *shadow)
{
    store = store_close(store);
    store = open_loaded(dir, shadow);
    buffer_append(&shadow->log, "", 1);
}

static char *path_of(uint64_t of, const char *ending)
{
    return text_format("%s/snapshots/%020llu.%s", dir, (unsigned long long)of, ending);
}

static bool exists(uint64_t of, const char *ending)
{
    owned(free) char *path = path_of(of, ending);

    return access(path, F_OK) == 0;
}

static off_t flip(uint64_t of, off_t offset)
{
    owned(free) char *path = path_of(of, "snap");
    owned(fd_close) int fd = open(path, O_RDWR);
    struct stat status;
    uint8_t byte;

    ck_assert_int_eq(fstat(fd, &status), 0);
    if (offset < status.st_size) {
        ck_assert_int_eq(pread(fd, &byte, 1, offset), 1);
        byte ^= 1;
        ck_assert_int_eq(pwrite(fd, &byte, 1, offset), 1);
    }
    return status.st_size;
}

START_TEST(only_the_records_after_the_newest_snapshot_are_read)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    write_with_snapshot(5);
    write_with_snapshot(5);
    write_records(3);
    take_until(store, sequence);
    reopen(&shadow);
    ck_assert_str_eq((char *)buffer_data(&shadow.log), "reset\nheader 10\nitems end\n");
    ck_assert_uint_eq(shadow.items, 11);
    ck_assert_uint_eq(shadow.count, 3);
    ck_assert_uint_eq(shadow.sequences[0], 11);
    ck_assert_uint_eq(store_snapshot_sequence(store), 10);
}
END_TEST

START_TEST(a_snapshot_in_the_middle_of_a_row_goes_on_within_the_row)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct diag diag = { "" };

    write_records(4);
    write_records(9);
    take_until(store, sequence);
    ck_assert_int_eq(snapshot(7, &diag), 0);
    reopen(&shadow);
    ck_assert_uint_eq(shadow.count, 6);
    ck_assert_uint_eq(shadow.sequences[0], 8);
    ck_assert_uint_eq(shadow.notes, 0);
    write_records(1);
    take_until(store, 14);
}
END_TEST

START_TEST(the_two_newest_are_kept)
{
    for (int i = 0; i < 4; i++)
        write_with_snapshot(1);
    ck_assert(!exists(1, "snap") && !exists(2, "snap") && exists(3, "snap") && exists(4, "snap"));
    ck_assert(!exists(4, "tmp"));
}
END_TEST

/* Each byte in turn would be slow; a stride that is prime to the frames meets every region. */
START_TEST(a_bad_newest_falls_back_to_the_older_and_is_set_aside)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    write_with_snapshot(5);
    write_with_snapshot(5);
    off_t size = flip(10, 1 << 30);
    flip(10, (off_t)_i * 37 % size);
    reopen(&shadow);
    ck_assert_ptr_nonnull(strstr((char *)buffer_data(&shadow.log), "header 5"));
    ck_assert_uint_eq(shadow.notes, 1);
    ck_assert_uint_eq(shadow.count, 5);
    ck_assert_uint_eq(store_snapshot_sequence(store), 5);
    ck_assert(exists(10, "bad") && !exists(10, "snap"));
}
END_TEST

START_TEST(a_snapshot_cut_short_is_bad)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *path = path_of(5, "snap");

    write_with_snapshot(5);
    ck_assert_int_eq(truncate(path, _i), 0);
    reopen(&shadow);
    ck_assert_uint_eq(shadow.resets, 2);
    ck_assert_uint_eq(shadow.count, 5);
}
END_TEST

START_TEST(without_any_good_snapshot_the_whole_journal_is_replayed)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    write_with_snapshot(5);
    write_with_snapshot(5);
    flip(5, 40);
    flip(10, 40);
    reopen(&shadow);
    ck_assert_uint_eq(shadow.resets, 3);
    ck_assert_uint_eq(shadow.notes, 2);
    ck_assert_uint_eq(shadow.count, 10);
    ck_assert_uint_eq(store_snapshot_sequence(store), 0);
}
END_TEST

START_TEST(a_snapshot_that_the_core_refuses_is_bad)
{
    owned(shadow_done) struct shadow shadow = { .refuse_items = true };

    write_with_snapshot(5);
    reopen(&shadow);
    ck_assert_uint_eq(shadow.count, 5);
    ck_assert_ptr_nonnull(strstr((char *)buffer_data(&shadow.log), "refused by the test"));
}
END_TEST

START_TEST(a_renamed_snapshot_is_bad)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *from = path_of(5, "snap"), *to = path_of(4, "snap");

    write_with_snapshot(5);
    ck_assert_int_eq(rename(from, to), 0);
    reopen(&shadow);
    ck_assert_uint_eq(shadow.count, 5);
    ck_assert_uint_eq(shadow.notes, 1);
}
END_TEST

START_TEST(a_journal_that_ends_before_its_snapshot_is_refused)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    owned(free) char *to = path_of(_i ? 60 : 6, "snap");
    struct diag diag = { "" };
    uint64_t later = _i ? 60 : 6;
    pid_t pid;
    int status;

    write_records(5);
    take_until(store, 5);
    /* A snapshot of a later record, under a name that it only gets once the journal is there. */
    ck_assert_int_eq(store_snapshot_start(store, later, shadow_save, &later, &pid, &diag), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(store_snapshot_end(store, status, &diag), 0);
    ck_assert_uint_eq(store_snapshot_sequence(store), 0);
    ck_assert(exists(later, "tmp") && !exists(later, "snap"));
    owned(free) char *waiting = path_of(later, "tmp");
    ck_assert_int_eq(rename(waiting, to), 0);

    store = store_close(store);
    ck_assert_int_eq(store_open(dir, &store, &diag), 0);
    ck_assert_int_eq(store_load(store, &shadow_ops, &shadow, &diag), -EBADMSG);
    ck_assert_msg(strstr(diag.text, "ends at record 5"), "%s", diag.text);
}
END_TEST

START_TEST(a_snapshot_gets_its_name_when_the_journal_holds_its_record)
{
    struct fault_plan full = { FAULT_FULL, .at = 1, .count = UINT64_MAX };
    struct fault_plan none = { FAULT_NONE, .at = 0 };
    struct diag diag = { "" };

    write_records(1);
    take_until(store, 1);
    fault_vfs_plan(&full);
    write_records(1);
    ck_assert_int_eq(snapshot(2, &diag), 0);
    ck_assert(!exists(2, "snap"));
    uint64_t later = 2;
    pid_t pid;
    ck_assert_int_eq(store_snapshot_start(store, later, shadow_save, &later, &pid, &diag), -EBUSY);
    fault_vfs_plan(&none);
    take_until(store, 2);
    ck_assert_uint_eq(store_snapshot_sequence(store), 2);
    ck_assert(exists(2, "snap") && !exists(2, "tmp"));
}
END_TEST

static int save_for_ever(const void *core, store_emit_fn emit, void *userdata)
{
    ck_assert(core && emit && userdata);
    for (;;)
        pause();
}

START_TEST(a_child_that_hangs_holds_nothing_of_ours)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct diag diag = { "" };
    uint64_t of = 1;
    pid_t pid, other;
    int status, ends[2];
    char byte;

    write_records(1);
    take_until(store, 1);
    ck_assert_int_eq(pipe(ends), 0); /* as it were the socket of a client */
    ck_assert_int_eq(store_snapshot_start(store, of, save_for_ever, &of, &pid, &diag), 0);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    ck_assert_int_eq(store_snapshot_start(store, of, shadow_save, &of, &other, &diag), -EBUSY);
    while (!exists(1, "tmp")) /* then it has closed what it inherited */
        usleep(1000);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(store_snapshot_end(store, status, &diag), -EIO);
    ck_assert_ptr_nonnull(strstr(diag.text, "killed by signal 9"));
    ck_assert(!exists(1, "tmp") && !exists(1, "snap"));

    ck_assert_int_eq(store_snapshot_start(store, of, save_for_ever, &of, &pid, &diag), 0);
    while (!exists(1, "tmp"))
        usleep(1000);
    reopen(&shadow); /* while the child lives */
    ck_assert(!exists(1, "tmp"));
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

static int save_without_room(const void *core, store_emit_fn emit, void *userdata)
{
    ck_assert(core && emit && userdata);
    return -ENOSPC;
}

START_TEST(a_child_that_fails_says_why)
{
    struct diag diag = { "" };
    uint64_t of = 1;
    pid_t pid;
    int status;

    write_records(1);
    take_until(store, 1);
    ck_assert_int_eq(store_snapshot_start(store, of, save_without_room, &of, &pid, &diag), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(store_snapshot_end(store, status, &diag), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(diag.text, "No space left"));
    ck_assert(!exists(1, "tmp"));
    write_with_snapshot(1); /* and the next one can be had */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *tcase = tcase_create("snapshot");

    tcase_add_checked_fixture(tcase, make_store, remove_store);
    tcase_add_test(tcase, only_the_records_after_the_newest_snapshot_are_read);
    tcase_add_test(tcase, a_snapshot_in_the_middle_of_a_row_goes_on_within_the_row);
    tcase_add_test(tcase, the_two_newest_are_kept);
    tcase_add_loop_test(tcase, a_bad_newest_falls_back_to_the_older_and_is_set_aside, 0, 30);
    tcase_add_loop_test(tcase, a_snapshot_cut_short_is_bad, 0, 60);
    tcase_add_test(tcase, without_any_good_snapshot_the_whole_journal_is_replayed);
    tcase_add_test(tcase, a_snapshot_that_the_core_refuses_is_bad);
    tcase_add_test(tcase, a_renamed_snapshot_is_bad);
    tcase_add_loop_test(tcase, a_journal_that_ends_before_its_snapshot_is_refused, 0, 2);
    tcase_add_test(tcase, a_snapshot_gets_its_name_when_the_journal_holds_its_record);
    tcase_add_test(tcase, a_child_that_hangs_holds_nothing_of_ours);
    tcase_add_test(tcase, a_child_that_fails_says_why);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
