#include "sim/logs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "scratch.h"
#include "tap.h"

static sd_event *event;
static struct workers *workers;
static struct vault *vault;
static struct logs *logs;
static struct diag diag;

static void make(void)
{
    char path[128];

    scratch_make();
    snprintf(path, sizeof(path), "%s/vault", scratch);
    ck_assert_int_eq(vault_open(path, &vault, &diag), 0);
    ck_assert_int_ge(sd_event_new(&event), 0);
    ck_assert_int_eq(workers_new(event, 1, &workers), 0);
    ck_assert_int_eq(logs_new(event, workers, vault, &logs), 0);
}

static void finish(void)
{
    workers = workers_free(workers);
    logs = logs_free(logs);
}

static void take_apart(void)
{
    finish();
    vault_close(vault);
    sd_event_unref(event);
    scratch_remove();
}

static void add(uint64_t epoch, uint32_t attempt, uint64_t offset, const char *text)
{
    logs_add(logs, 7, epoch, attempt, offset, text, strlen(text));
}

static char *stored(uint32_t attempt)
{
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;

    ck_assert_msg(vault_log_read(vault, 7, attempt, 0, SIZE_MAX, &bytes, &diag) == 0, "%s",
                  diag.text);
    return buffer_text(&bytes);
}

/* While the first append is tried again, there may be no log for a moment. */
static void await_length(uint64_t expected)
{
    uint64_t length = 0;

    do {
        ck_assert_int_gt(sd_event_run(event, 3000000), 0);
        if (vault_log_length(vault, 7, 1, &length, &diag) == -ENOENT)
            length = 0;
    } while (length < expected);
}

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = { bytes, RLIM_INFINITY };

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0); /* of this test's own process */
}

START_TEST(lines_are_written_in_order_and_all_before_the_end)
{
    owned(buffer_done) struct buffer expected = BUFFER_EMPTY;

    for (int i = 0; i < 1000; i++) {
        owned(free) char *line = text_format("line %d\n", i);
        add(1, 1, expected.length, line);
        buffer_append_text(&expected, line);
        if (i % 100 == 0)
            sd_event_run(event, 0);
    }
    logs_end(logs, 7, 1);
    finish();
    owned(free) char *found = stored(1), *all = buffer_text(&expected);
    ck_assert_str_eq(found, all);
}
END_TEST

START_TEST(an_attempt_that_never_began_leaves_its_log_to_the_next_epoch)
{
    add(1, 1, 0, "first try\n");
    workers_finish(workers);
    logs_end(logs, 7, 1);
    add(2, 1, 0, "second\n");
    add(2, 1, 7, "try\n");
    add(3, 2, 0, "another attempt\n");
    finish();
    owned(free) char *first = stored(1), *second = stored(2);
    ck_assert_str_eq(first, "second\ntry\n");
    ck_assert_str_eq(second, "another attempt\n");
}
END_TEST

START_TEST(lines_wait_while_the_vault_is_full)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_files(12);
    add(1, 1, 0, "0123456789\n");
    add(1, 1, 11, "waits\n");
    workers_finish(workers);
    add(1, 1, 17, "waits too\n");
    logs_end(logs, 7, 1);
    limit_files(RLIM_INFINITY);
    uint64_t length;
    ck_assert_int_eq(vault_log_length(vault, 7, 1, &length, &diag), -ENOENT); /* no half of it */
    await_length(27);
    owned(free) char *after = stored(1);
    ck_assert_str_eq(after, "0123456789\nwaits\nwaits too\n");
}
END_TEST

START_TEST(what_could_not_be_kept_is_told_in_exactly_so_many_bytes)
{
    owned(free) char *block = memory_new(LOGS_WAITING_BYTES / 2 + 1);
    uint64_t offset = 0;

    memset(block, 'x', LOGS_WAITING_BYTES / 2);
    block[LOGS_WAITING_BYTES / 2 - 1] = '\n';
    signal(SIGXFSZ, SIG_IGN);
    limit_files(1);
    for (int i = 0; i < 5; i++, offset += LOGS_WAITING_BYTES / 2) {
        add(1, 1, offset, block);
        workers_finish(workers);
    }
    add(1, 1, offset, "lost too\n");
    offset += 9;
    limit_files(RLIM_INFINITY);
    await_length(offset);
    add(1, 1, offset, "kept again\n");
    finish();
    owned(free) char *found = stored(1);
    char note[100];
    snprintf(note, sizeof(note), "\n[%d bytes of this log could not be kept]",
             3 * LOGS_WAITING_BYTES / 2 + 9);
    ck_assert_uint_eq(strlen(found), offset + 11);
    ck_assert_ptr_eq(strstr(found, note), found + LOGS_WAITING_BYTES - 1);
    ck_assert_str_eq(found + offset - 1, "\nkept again\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("logs");
    TCase *tcase = tcase_create("logs");

    tcase_add_checked_fixture(tcase, make, take_apart);
    tcase_add_test(tcase, lines_are_written_in_order_and_all_before_the_end);
    tcase_add_test(tcase, an_attempt_that_never_began_leaves_its_log_to_the_next_epoch);
    tcase_add_test(tcase, lines_wait_while_the_vault_is_full);
    tcase_add_test(tcase, what_could_not_be_kept_is_told_in_exactly_so_many_bytes);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
