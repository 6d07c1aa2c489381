#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "place.h"

enum { JOB = 7, ATTEMPT = 2 };

static int append(uint64_t offset, const char *text)
{
    return vault_log_append(vault, JOB, ATTEMPT, offset, text, strlen(text), &diag);
}

static uint64_t length(void)
{
    uint64_t bytes;

    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT, &bytes, &diag), 0);
    return bytes;
}

static void expect_from(uint64_t offset, size_t count, const char *expected)
{
    owned(buffer_done) struct buffer read = BUFFER_EMPTY;

    ck_assert_int_eq(vault_log_read(vault, JOB, ATTEMPT, offset, count, &read, &diag), 0);
    ck_assert_uint_eq(read.length, strlen(expected));
    ck_assert_mem_eq(buffer_data(&read), expected, read.length);
}

static char *segment_path(uint64_t first)
{
    return text_format("%s/vault/logs/%d/%d/%012" PRIu64 ".log", scratch, JOB, ATTEMPT, first);
}

static off_t segment_bytes(uint64_t first)
{
    owned(free) char *path = segment_path(first);
    struct stat status;

    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* `count` lines of `width` bytes, the newline included, each with its number in front. */
static void append_lines(uint64_t count, size_t width)
{
    owned(buffer_done) struct buffer lines = BUFFER_EMPTY;

    for (uint64_t i = 0; i < count; i++) {
        char *line = (char *)buffer_reserve(&lines, width + 1);
        memset(line, '.', width);
        line[snprintf(line, width, "%" PRIu64, i)] = ' ';
        line[width - 1] = '\n';
        buffer_grow(&lines, width);
    }
    ck_assert_int_eq(
        vault_log_append(vault, JOB, ATTEMPT, 0, buffer_data(&lines), lines.length, &diag), 0);
}

START_TEST(appended_lines_read_back_and_a_repeat_changes_nothing)
{
    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(append(4, "two\nthree\n"), 0);
    ck_assert_int_eq(append(4, "two\nthree\n"), 0);
    ck_assert_int_eq(append(0, "one\ntwo\n"), 0);
    ck_assert_uint_eq(length(), 14);
    ck_assert_int_eq(append(8, "three\nfour\n"), 0); /* half of it is there */
    ck_assert_uint_eq(length(), 19);
    expect_from(0, 100, "one\ntwo\nthree\nfour\n");
    expect_from(4, 3, "two");
    expect_from(19, 10, "");
    expect_from(1000, 10, "");
}
END_TEST

START_TEST(a_gap_and_other_bytes_are_refused)
{
    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(append(5, "two\n"), -ERANGE);
    ck_assert_ptr_nonnull(strstr(diag.text, "has 4 bytes"));
    ck_assert_int_eq(append(0, "uno\n"), -EEXIST);
    ck_assert_int_eq(append(0, "one\none\n"), 0);
    expect_from(0, 100, "one\none\n");
}
END_TEST

START_TEST(an_attempt_without_a_log_is_not_found)
{
    owned(buffer_done) struct buffer read = BUFFER_EMPTY;
    uint64_t bytes;

    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT + 1, &bytes, &diag), -ENOENT);
    ck_assert_int_eq(vault_log_length(vault, JOB + 1, ATTEMPT, &bytes, &diag), -ENOENT);
    ck_assert_int_eq(vault_log_read(vault, JOB, 1, 0, 10, &read, &diag), -ENOENT);
    ck_assert_int_eq(vault_log_tail(vault, JOB, 1, 1, &bytes, &diag), -ENOENT);
}
END_TEST

START_TEST(segments_end_where_lines_end)
{
    enum { WIDTH = 1000, LINES = 2500 };
    const uint64_t whole = VAULT_LOG_SEGMENT_BYTES / WIDTH * WIDTH;

    append_lines(LINES, WIDTH);
    ck_assert_uint_eq(length(), (uint64_t)LINES * WIDTH);
    ck_assert_int_eq(segment_bytes(0), whole);
    ck_assert_int_eq(segment_bytes(whole), whole);
    ck_assert_int_eq(segment_bytes(2 * whole), (uint64_t)LINES * WIDTH - 2 * whole);
    expect_from(whole - 2, 7, ".\n1048 ");
    ck_assert_int_eq(append((uint64_t)LINES * WIDTH, "end\n"), 0);
    expect_from((uint64_t)LINES * WIDTH - 1, 100, "\nend\n");
}
END_TEST

START_TEST(a_line_longer_than_a_segment_is_split)
{
    const size_t bytes = 2 * VAULT_LOG_SEGMENT_BYTES + 100;
    owned(free) char *line = memory_new(bytes + 1);

    memset(line, 'x', bytes);
    line[bytes - 1] = '\n';
    ck_assert_int_eq(append(0, "short\n"), 0);
    ck_assert_int_eq(append(6, line), 0);
    ck_assert_int_eq(append(6 + bytes, "after\n"), 0);
    ck_assert_int_eq(segment_bytes(0), 6);
    ck_assert_int_eq(segment_bytes(6), VAULT_LOG_SEGMENT_BYTES);
    ck_assert_int_eq(segment_bytes(6 + VAULT_LOG_SEGMENT_BYTES), VAULT_LOG_SEGMENT_BYTES);
    ck_assert_int_eq(segment_bytes(6 + 2 * VAULT_LOG_SEGMENT_BYTES), 106);
    expect_from(6 + VAULT_LOG_SEGMENT_BYTES - 1, 2, "xx");
    uint64_t offset;
    ck_assert_int_eq(vault_log_tail(vault, JOB, ATTEMPT, 2, &offset, &diag), 0);
    ck_assert_uint_eq(offset, 6);
}
END_TEST

static const struct tail {
    const char *text;
    uint64_t lines, offset;
} tails[] = {
    { "a\nb\nc\n", 0, 6 }, { "a\nb\nc\n", 1, 4 }, { "a\nb\nc\n", 3, 0 }, { "a\nb\nc\n", 9, 0 },
    { "a\nb\nc", 1, 4 },   { "a\n\n\n", 2, 2 },   { "\n", 1, 0 },        { "", 1, 0 },
};

START_TEST(the_tail_begins_at_a_line)
{
    uint64_t offset = 77;

    ck_assert_int_eq(append(0, tails[_i].text), 0);
    ck_assert_int_eq(vault_log_tail(vault, JOB, ATTEMPT, tails[_i].lines, &offset, &diag), 0);
    ck_assert_uint_eq(offset, tails[_i].offset);
}
END_TEST

START_TEST(the_tail_reaches_back_over_segments)
{
    enum { WIDTH = 700, LINES = 3000 };
    uint64_t offset;

    append_lines(LINES, WIDTH);
    for (uint64_t lines = 1; lines < LINES; lines += 97) {
        ck_assert_int_eq(vault_log_tail(vault, JOB, ATTEMPT, lines, &offset, &diag), 0);
        ck_assert_uint_eq(offset, (LINES - lines) * WIDTH);
    }
}
END_TEST

START_TEST(a_segment_that_is_gone_or_cut_is_noticed)
{
    enum { WIDTH = 1000, LINES = 2500 };
    const uint64_t whole = VAULT_LOG_SEGMENT_BYTES / WIDTH * WIDTH;
    owned(buffer_done) struct buffer read = BUFFER_EMPTY;
    owned(free) char *first = segment_path(0);
    owned(free) char *second = segment_path(whole);

    append_lines(LINES, WIDTH);
    ck_assert_int_eq(truncate(second, 5000), 0);
    ck_assert_int_eq(vault_log_read(vault, JOB, ATTEMPT, whole, 5000, &read, &diag), 0);
    ck_assert_int_eq(vault_log_read(vault, JOB, ATTEMPT, whole, 5001, &read, &diag), -EBADMSG);
    ck_assert_int_eq(unlink(first), 0);
    ck_assert_int_eq(vault_log_read(vault, JOB, ATTEMPT, 0, 10, &read, &diag), -EBADMSG);
    ck_assert_uint_eq(read.length, 5000);
}
END_TEST

START_TEST(a_link_in_place_of_a_segment_or_directory_is_not_followed)
{
    owned(free) char *path = segment_path(0);
    owned(free) char *victim = text_format("%s/victim", scratch);
    owned(free) char *directory = text_format("%s/vault/logs/8", scratch);
    struct stat status;

    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(rename(path, victim), 0);
    ck_assert_int_eq(symlink(victim, path), 0);
    ck_assert_int_eq(append(4, "two\n"), -EBADMSG);
    ck_assert_int_eq(stat(victim, &status), 0);
    ck_assert_int_eq(status.st_size, 4);
    ck_assert_int_eq(symlink(scratch, directory), 0);
    ck_assert_int_eq(vault_log_append(vault, 8, 1, 0, "one\n", 4, &diag), -EBADMSG);
}
END_TEST

START_TEST(an_append_that_found_no_room_can_be_repeated)
{
    const struct rlimit small = { 6, RLIM_INFINITY }, large = { RLIM_INFINITY, RLIM_INFINITY };

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0); /* of this test's own process */
    ck_assert_int_eq(append(4, "two\n"), -ENOSPC);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    ck_assert_int_eq(append(4, "two\n"), 0);
    expect_from(0, 100, "one\ntwo\n");
}
END_TEST

START_TEST(a_deleted_log_is_gone_and_its_attempt_may_begin_again)
{
    owned(free) char *job = text_format("%s/vault/logs/%d", scratch, JOB);
    uint64_t bytes;

    append_lines(2500, 1000);
    ck_assert_int_eq(vault_log_append(vault, JOB, 1, 0, "other\n", 6, &diag), 0);
    ck_assert_int_eq(vault_log_delete(vault, JOB, ATTEMPT, &diag), 0);
    ck_assert_int_eq(vault_log_delete(vault, JOB, ATTEMPT, &diag), 0);
    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT, &bytes, &diag), -ENOENT);
    ck_assert_int_eq(vault_log_length(vault, JOB, 1, &bytes, &diag), 0);
    ck_assert_int_eq(append(0, "again\n"), 0);
    expect_from(0, 100, "again\n");
    ck_assert_int_eq(vault_log_delete(vault, JOB, ATTEMPT, &diag), 0);
    ck_assert_int_eq(vault_log_delete(vault, JOB, 1, &diag), 0);
    ck_assert_int_eq(access(job, F_OK), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");

    tcase_add_checked_fixture(tcase, vault_make, vault_remove);
    tcase_add_test(tcase, appended_lines_read_back_and_a_repeat_changes_nothing);
    tcase_add_test(tcase, a_gap_and_other_bytes_are_refused);
    tcase_add_test(tcase, an_attempt_without_a_log_is_not_found);
    tcase_add_test(tcase, segments_end_where_lines_end);
    tcase_add_test(tcase, a_line_longer_than_a_segment_is_split);
    tcase_add_loop_test(tcase, the_tail_begins_at_a_line, 0, ELEMENTS(tails));
    tcase_add_test(tcase, the_tail_reaches_back_over_segments);
    tcase_add_test(tcase, a_segment_that_is_gone_or_cut_is_noticed);
    tcase_add_test(tcase, a_link_in_place_of_a_segment_or_directory_is_not_followed);
    tcase_add_test(tcase, an_append_that_found_no_room_can_be_repeated);
    tcase_add_test(tcase, a_deleted_log_is_gone_and_its_attempt_may_begin_again);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
