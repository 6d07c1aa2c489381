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

/* --- of many attempts, by one writer --- */

static struct vault_log_writer *writer;

static void writer_make(void)
{
    vault_make();
    writer = vault_log_writer_new(vault);
}

static void writer_remove(void)
{
    writer = vault_log_writer_free(writer);
    vault_remove();
}

static int tell(struct vault_log_writer *by, uint64_t job, uint64_t epoch, uint64_t offset,
                const char *text)
{
    const struct vault_log_text whole = { job, epoch, ATTEMPT, offset, text, strlen(text) };

    return vault_log_write(by, &whole, &diag);
}

static void expect_whole(uint64_t job, const char *expected)
{
    owned(buffer_done) struct buffer read = BUFFER_EMPTY;

    ck_assert_msg(vault_log_read(vault, job, ATTEMPT, 0, SIZE_MAX, &read, &diag) == 0, "%s",
                  diag.text);
    owned(free) char *text = buffer_text(&read);
    ck_assert_str_eq(text, expected);
}

static char *brief_path(unsigned number)
{
    return text_format("%s/vault/logs/brief/0/%06u.log", scratch, number);
}

static bool has_directory(uint64_t job)
{
    owned(free) char *path = text_format("%s/vault/logs/%" PRIu64, scratch, job);

    return access(path, F_OK) == 0;
}

START_TEST(brief_logs_share_a_file)
{
    owned(free) char *second_file = brief_path(2);
    uint64_t last;

    for (uint64_t job = 1; job <= 900; job++)
        ck_assert_int_eq(tell(writer, job, 1, 0, "first\n"), 0);
    ck_assert_int_eq(tell(writer, JOB, 1, 6, "second\n"), 0);
    expect_whole(JOB, "first\nsecond\n");
    expect_whole(900, "first\n");
    ck_assert_uint_eq(length(), 13);
    expect_from(6, 3, "sec");
    expect_from(13, 10, "");
    ck_assert_int_eq(vault_log_tail(vault, JOB, ATTEMPT, 1, &last, &diag), 0);
    ck_assert_uint_eq(last, 6);
    ck_assert(!has_directory(JOB));
    ck_assert_int_eq(access(second_file, F_OK), -1);
    ck_assert_int_eq(vault_last_job(vault, &last, &diag), 0);
    ck_assert_uint_eq(last, 900);
    ck_assert_uint_eq(vault_log_last_attempt(vault, JOB), ATTEMPT);
    ck_assert_int_eq(vault_log_length(vault, 901, ATTEMPT, &last, &diag), -ENOENT);
    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT + 1, &last, &diag), -ENOENT);
}
END_TEST

START_TEST(a_log_that_grows_moves_to_segments_of_its_own)
{
    owned(free) char *line = memory_new(VAULT_LOG_BRIEF_BYTES);

    memset(line, 'x', VAULT_LOG_BRIEF_BYTES - 1);
    line[VAULT_LOG_BRIEF_BYTES - 2] = '\n';
    ck_assert_int_eq(tell(writer, JOB, 1, 0, "first\n"), 0);
    ck_assert_int_eq(tell(writer, JOB, 1, 6, line), 0);
    ck_assert_int_eq(segment_bytes(0), 6 + VAULT_LOG_BRIEF_BYTES - 1);
    ck_assert_int_eq(tell(writer, JOB, 1, 6 + VAULT_LOG_BRIEF_BYTES - 1, "last\n"), 0);
    owned(free) char *whole = text_format("first\n%slast\n", line);
    expect_whole(JOB, whole);
}
END_TEST

/* What an earlier epoch left, by the same writer or another: brief or not. */
static const struct replaced {
    bool by_another, long_before, long_after;
} replaced[] = {
    { false, false, false }, { false, false, true }, { false, true, false }, { false, true, true },
    { true, false, false },  { true, false, true },  { true, true, false },  { true, true, true },
};

START_TEST(a_newer_epoch_replaces_the_log)
{
    const struct replaced *row = &replaced[_i];
    owned(vault_log_writer_free) struct vault_log_writer *other = vault_log_writer_new(vault);
    owned(free) char *filler = memory_new(VAULT_LOG_BRIEF_BYTES + 1);
    uint64_t bytes;

    memset(filler, 'x', VAULT_LOG_BRIEF_BYTES);
    owned(free) char *before = text_format("old\n%s\n", row->long_before ? filler : "");
    owned(free) char *after = text_format("new\n%s\n", row->long_after ? filler : "");
    ck_assert_int_eq(tell(writer, 1, 1, 0, "its file is the older one\n"), 0);
    ck_assert_int_eq(tell(other, JOB, 1, 0, before), 0);
    ck_assert_int_eq(tell(row->by_another ? writer : other, JOB, 2, 0, after), 0);
    expect_whole(JOB, after);
    ck_assert_int_eq(vault_log_delete(vault, JOB, ATTEMPT, &diag), 0);
    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT, &bytes, &diag), -ENOENT);
    expect_whole(1, "its file is the older one\n");
}
END_TEST

START_TEST(a_log_of_a_directory_of_its_own_goes_on_there)
{
    ck_assert_int_eq(append(0, "one\n"), 0);
    ck_assert_int_eq(tell(writer, JOB, 1, 4, "two\n"), 0);
    expect_whole(JOB, "one\ntwo\n");
    ck_assert_int_eq(segment_bytes(0), 8);
}
END_TEST

START_TEST(a_torn_end_hides_nothing_that_is_whole)
{
    owned(free) char *path = brief_path(1);
    struct stat status;

    ck_assert_int_eq(tell(writer, JOB, 1, 0, "one\n"), 0);
    ck_assert_int_eq(tell(writer, JOB + 1, 1, 0, "one\n"), 0);
    writer = vault_log_writer_free(writer); /* as if it had been killed */
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(truncate(path, status.st_size - 1), 0);
    writer = vault_log_writer_new(vault);
    ck_assert_int_eq(tell(writer, JOB + 2, 1, 0, "one\n"), 0);
    expect_whole(JOB, "one\n");
    expect_whole(JOB + 2, "one\n");
    uint64_t bytes;
    ck_assert_int_eq(vault_log_length(vault, JOB + 1, ATTEMPT, &bytes, &diag), -ENOENT);
    ck_assert_int_eq(tell(writer, JOB, 1, 4, "two\n"), 0); /* over two files */
    expect_whole(JOB, "one\ntwo\n");
}
END_TEST

START_TEST(a_deleted_brief_log_is_overwritten)
{
    owned(free) char *path = brief_path(1);
    char line[200];

    ck_assert_int_eq(tell(writer, JOB, 1, 0, "a secret\n"), 0);
    ck_assert_int_eq(vault_log_delete(vault, JOB, ATTEMPT, &diag), 0);
    owned(fclose) FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file))
        ck_assert_ptr_null(strstr(line, "secret"));
    ck_assert_int_eq(tell(writer, JOB, 2, 0, "again\n"), 0);
    expect_whole(JOB, "again\n");
}
END_TEST

START_TEST(a_link_in_place_of_brief_logs_is_not_followed)
{
    owned(free) char *brief = text_format("%s/vault/logs/brief", scratch);
    uint64_t bytes;

    ck_assert_int_eq(symlink(scratch, brief), 0);
    ck_assert_int_eq(tell(writer, JOB, 1, 0, "one\n"), -EBADMSG);
    ck_assert_int_eq(vault_log_length(vault, JOB, ATTEMPT, &bytes, &diag), -EBADMSG);
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
    tcase = tcase_create("many");
    tcase_add_checked_fixture(tcase, writer_make, writer_remove);
    tcase_add_test(tcase, brief_logs_share_a_file);
    tcase_add_test(tcase, a_log_that_grows_moves_to_segments_of_its_own);
    tcase_add_loop_test(tcase, a_newer_epoch_replaces_the_log, 0, ELEMENTS(replaced));
    tcase_add_test(tcase, a_log_of_a_directory_of_its_own_goes_on_there);
    tcase_add_test(tcase, a_torn_end_hides_nothing_that_is_whole);
    tcase_add_test(tcase, a_deleted_brief_log_is_overwritten);
    tcase_add_test(tcase, a_link_in_place_of_brief_logs_is_not_followed);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
