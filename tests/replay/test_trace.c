#include "replay/trace.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "file.h"
#include "tap.h"

/* id submit wait run allocated cpu memory requested time memory status user group program queue
 * partition after think */
#define JOB(id, submit, run, allocated, requested, time)                                           \
    id " " submit " -1 " run " " allocated " -1 -1 " requested " " time " -1 1 7 3 1 2 -1 -1 -1\n"
#define GOOD JOB("90", "500", "10", "2", "2", "20") /* so that the log has requests */

/* What the reading rules make of one line. */
static const struct {
    const char *line;
    int cause; /* TRACE_CAUSES: it is a job */
    struct trace_job job;
} lines[] = {
    { JOB("1", "0", "100", "4", "8", "200"), TRACE_CAUSES, { 1, 0, 100, 200, 8, 8, 7, 2 } },
    { JOB("2", "5", "100", "8", "4", "200"), TRACE_CAUSES, { 2, 5, 100, 200, 4, 8, 7, 2 } },
    { JOB("3", "5", "100", "8", "-1", "200"), TRACE_CAUSES, { 3, 5, 100, 200, 8, 8, 7, 2 } },
    { JOB("4", "5", "100", "8", "0", "200"), TRACE_CAUSES, { 4, 5, 100, 200, 8, 8, 7, 2 } },
    { JOB("5", "5", "200", "1", "1", "100"), TRACE_CAUSES, { 5, 5, 100, 100, 1, 1, 7, 2 } },
    { JOB("6", "5", "10.9", "1", "1", "20"), TRACE_CAUSES, { 6, 5, 10, 20, 1, 1, 7, 2 } },
    { "  7 5 -1 9 1 -1 -1 1 20 -1 1 -1 -1 -1 -1", TRACE_CAUSES, { 7, 5, 9, 20, 1, 1, 0, 0 } },
    { "7\t5 -1 9 1 -1 -1 1 20 -1 1 8 -1 -1 0 \t\r\n", TRACE_CAUSES, { 7, 5, 9, 20, 1, 1, 8, 0 } },
    { JOB("8", "5", "10", "-1", "-1", "20"), TRACE_NO_SYSTEMS, { 0 } },
    { JOB("8", "5", "10", "0", "0", "20"), TRACE_NO_SYSTEMS, { 0 } },
    { JOB("8", "5", "0", "1", "1", "20"), TRACE_NO_RUN, { 0 } },
    { JOB("8", "5", "0.9", "1", "1", "20"), TRACE_NO_RUN, { 0 } },
    { JOB("8", "5", "-1", "1", "1", "20"), TRACE_NO_RUN, { 0 } },
    { JOB("8", "5", "10", "1", "1", "0"), TRACE_NO_REQUEST, { 0 } },
    { JOB("8", "5", "10", "1", "1", "-1"), TRACE_NO_REQUEST, { 0 } },
    { JOB("8", "-1", "10", "1", "1", "20"), TRACE_NO_SUBMIT, { 0 } },
    { "8 5 -1 9 1 -1 -1 1 20 -1 1 8 -1 -1\n", TRACE_MALFORMED, { 0 } }, /* 14 columns */
    { JOB("8", "5", "ten", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "5", "10s", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "5", "--1", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("-8", "5", "10", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "5", "10", "4294967296", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "5", "1000000001", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "4000000000001", "10", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { JOB("8", "99999999999999999999999", "10", "1", "1", "20"), TRACE_MALFORMED, { 0 } },
    { "8 5 -1 9 1 -1 -1 1 20 -1 1 8 -1 -1 0 -1 -1 -1 19\n", TRACE_MALFORMED, { 0 } },
    { "garbage\n", TRACE_MALFORMED, { 0 } },
};

static void check_job(const struct trace_job *job, const struct trace_job *wanted)
{
    ck_assert_uint_eq(job->id, wanted->id);
    ck_assert_int_eq(job->submit_s, wanted->submit_s);
    ck_assert_int_eq(job->run_s, wanted->run_s);
    ck_assert_int_eq(job->request_s, wanted->request_s);
    ck_assert_uint_eq(job->systems, wanted->systems);
    ck_assert_uint_eq(job->width, wanted->width);
    ck_assert_uint_eq(job->user, wanted->user);
    ck_assert_uint_eq(job->queue, wanted->queue);
}

START_TEST(a_line_is_a_job_or_is_left_out_for_a_cause)
{
    owned(free) char *text = text_format("; UnixStartTime: 0\n%s%s", GOOD, lines[_i].line);
    struct trace trace;

    ck_assert_int_eq(trace_read(file_of_text(text), "log", &trace, NULL), 0);
    for (int cause = 0; cause < TRACE_CAUSES; cause++)
        ck_assert_uint_eq(trace.omissions[cause].count, cause == lines[_i].cause);
    if (lines[_i].cause == TRACE_CAUSES) {
        ck_assert_uint_eq(trace.count, 2);
        check_job(&trace.jobs[0], &lines[_i].job);
    } else {
        const struct trace_omission *omission = &trace.omissions[lines[_i].cause];
        ck_assert_uint_eq(trace.count, 1);
        ck_assert_uint_eq(omission->line, 3);
        ck_assert(strncmp(lines[_i].line, omission->text, strlen(omission->text)) == 0);
    }
    trace_done(&trace);
}
END_TEST

START_TEST(jobs_are_in_the_order_of_submission_then_of_the_log)
{
    struct random random;
    struct trace trace;
    owned(buffer_done) struct buffer log = BUFFER_EMPTY;

    random_init(&random, 5);
    for (unsigned id = 1; id <= 1000; id++)
        buffer_format(&log, "%u %u -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1\n", id,
                      (unsigned)random_below(&random, 50));
    ck_assert_int_eq(trace_read(file_of(buffer_data(&log), log.length), "log", &trace, NULL), 0);
    ck_assert_uint_eq(trace.count, 1000);
    for (size_t i = 1; i < trace.count; i++) {
        const struct trace_job *one = &trace.jobs[i - 1], *other = &trace.jobs[i];
        ck_assert_int_le(one->submit_s, other->submit_s);
        if (one->submit_s == other->submit_s)
            ck_assert_uint_lt(one->id, other->id);
    }
    trace_done(&trace);
}
END_TEST

START_TEST(a_log_without_any_request_takes_the_run_as_every_request)
{
    struct trace trace;
    int fd = file_of_text(JOB("1", "0", "100", "4", "-1", "-1") JOB("2", "0", "7", "4", "-1", "0"));

    ck_assert_int_eq(trace_read(fd, "log", &trace, NULL), 0);
    ck_assert_uint_eq(trace.count, 2);
    ck_assert_int_eq(trace.jobs[0].request_s, 100);
    ck_assert_int_eq(trace.jobs[1].request_s, 7);
    ck_assert_uint_eq(trace.omissions[TRACE_NO_REQUEST].count, 0);
    trace_done(&trace);
}
END_TEST

START_TEST(the_log_says_how_large_its_machine_was)
{
    struct trace trace;

    ck_assert_int_eq(
        trace_read(file_of_text(";  MaxNodes: 9\n;MaxProcs:  338 \n" GOOD), "log", &trace, NULL),
        0);
    ck_assert_uint_eq(trace.machine, 338);
    trace_done(&trace);
    ck_assert_int_eq(
        trace_read(file_of_text("; MaxProcs: 99999999999\n" GOOD), "log", &trace, NULL), 0);
    ck_assert_uint_eq(trace.machine, 0);
    trace_done(&trace);
}
END_TEST

#define PHILLY "timestamp,duration,num_gpus,gpu_time,cluster\n"

START_TEST(the_philly_csv_counts_from_its_first_job)
{
    struct trace trace;
    int fd = file_of_text(PHILLY "2017-10-09 07:01:55,66.0,1,66.0,b\n"
                                 "2017-10-08 07:01:55,2951.7,16,1.0,a\n"
                                 "2017-10-09 07:01:55,10.0,1,1.0,b\n"
                                 "2017-10-09 07:01:55,0.5,1,1.0,b\n"
                                 "2017-02-30 07:01:55,5.0,1,1.0,b\n"
                                 "2017-10-09T07:01:55,5.0,1,1.0,b\n"
                                 "2017-10-09 07:01:55,nan,1,1.0,b\n"
                                 "2017-10-09 07:01:55,1e99,1,1.0,b\n"
                                 "2017-10-09 07:01:55,5.0,-1,1.0,b\n"
                                 "2017-10-09 07:01:55,5.0,1,1.0\n"
                                 "2017-10-09 07:01:55,5.0,1,1.0,b,c\n");
    static const struct trace_job jobs[] = {
        { 3, 0, 2951, 2951, 16, 16, 0, 2 },
        { 2, 86400, 66, 66, 1, 1, 0, 1 },
        { 4, 86400, 10, 10, 1, 1, 0, 1 },
    };

    ck_assert_int_eq(trace_read(fd, "philly", &trace, NULL), 0);
    ck_assert_uint_eq(trace.count, ELEMENTS(jobs));
    for (size_t i = 0; i < ELEMENTS(jobs); i++)
        check_job(&trace.jobs[i], &jobs[i]);
    ck_assert_str_eq(trace.queues[0], "b");
    ck_assert_str_eq(trace.queues[1], "a");
    ck_assert_uint_eq(trace.omissions[TRACE_NO_RUN].count, 1);
    ck_assert_uint_eq(trace.omissions[TRACE_MALFORMED].count, 7);
    ck_assert_uint_eq(trace.omissions[TRACE_MALFORMED].line, 6);
    trace_done(&trace);
}
END_TEST

START_TEST(compressed_or_not_is_the_same_and_a_part_is_damaged)
{
    struct trace trace;
    struct diag diag;
    char bytes[4096];
    owned(buffer_done) struct buffer log = BUFFER_EMPTY;

    for (unsigned id = 1; id <= 3000; id++)
        buffer_format(&log, "%u %u -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1\n", id, id * id % 977);
    int fd = file_compressed(buffer_data(&log), log.length);
    ssize_t length = pread(fd, bytes, sizeof(bytes), 0);
    ck_assert_int_gt(length, 3000);
    ck_assert_int_eq(trace_read(fd, "log", &trace, NULL), 0);
    ck_assert_uint_eq(trace.count, 3000);
    trace_done(&trace);

    for (size_t cut = 20; cut < 3000; cut += 997) {
        ck_assert_int_eq(trace_read(file_of(bytes, cut), "log", &trace, &diag), -EBADMSG);
        ck_assert_ptr_nonnull(strstr(diag.text, "cut short"));
    }
    bytes[1500] ^= 0x55;
    ck_assert_int_eq(trace_read(file_of(bytes, 3000), "log", &trace, &diag), -EBADMSG);
}
END_TEST

START_TEST(a_line_of_any_length_and_any_bytes_is_one_line)
{
    size_t length = 3 << 20;
    owned(free) char *text = memory_new(length);
    struct trace trace;

    memset(text, '1', length);
    memcpy(text, GOOD, strlen(GOOD));
    memset(text + 1000, '\0', 1000);
    memcpy(text + length - strlen(GOOD) - 1, "\n" GOOD, strlen(GOOD) + 1);
    ck_assert_int_eq(trace_read(file_of(text, length), "log", &trace, NULL), 0);
    ck_assert_uint_eq(trace.count, 2);
    ck_assert_uint_eq(trace.omissions[TRACE_MALFORMED].count, 1);
    ck_assert_uint_eq(trace.omissions[TRACE_MALFORMED].line, 2);
    trace_done(&trace);
}
END_TEST

START_TEST(jobs_that_together_run_for_longer_than_can_be_counted_are_refused)
{
    owned(buffer_done) struct buffer log = BUFFER_EMPTY;
    struct trace trace;
    struct diag diag;

    for (unsigned id = 1; id <= 4001; id++)
        buffer_format(&log, JOB("%u", "0", "1000000000", "1", "1", "1000000000"), id);
    ck_assert_int_eq(trace_read(file_of(buffer_data(&log), log.length), "log", &trace, &diag),
                     -ERANGE);
}
END_TEST

START_TEST(what_is_no_trace_is_refused)
{
    struct trace trace;
    struct diag diag;

    ck_assert_int_eq(trace_read(file_of_text("hello, world\n"), "log", &trace, &diag), -EBADMSG);
    ck_assert_str_eq(diag.text, "log: neither Standard Workload Format nor the Philly CSV");
    ck_assert_int_eq(trace_read(file_of_text(""), "log", &trace, &diag), 0);
    ck_assert_uint_eq(trace.count, 0);
    trace_done(&trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("trace");

    tcase_add_loop_test(tcase, a_line_is_a_job_or_is_left_out_for_a_cause, 0, ELEMENTS(lines));
    tcase_add_test(tcase, jobs_are_in_the_order_of_submission_then_of_the_log);
    tcase_add_test(tcase, a_log_without_any_request_takes_the_run_as_every_request);
    tcase_add_test(tcase, the_log_says_how_large_its_machine_was);
    tcase_add_test(tcase, the_philly_csv_counts_from_its_first_job);
    tcase_add_test(tcase, compressed_or_not_is_the_same_and_a_part_is_damaged);
    tcase_add_test(tcase, a_line_of_any_length_and_any_bytes_is_one_line);
    tcase_add_test(tcase, jobs_that_together_run_for_longer_than_can_be_counted_are_refused);
    tcase_add_test(tcase, what_is_no_trace_is_refused);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
