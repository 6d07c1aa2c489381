#include "logs.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "ring.h"
#include "scratch.h"
#include "tap.h"

#define CLIENT  7
#define REQUEST 3
#define JOB     42

static sd_event *event;
static struct vault *vault;
static struct workers *workers;
static struct logs *logs;

/* What the client was sent. */
static struct buffer text;
static uint64_t missed_bytes;
static uint64_t next_offset; /* of its attempt */
static int send_error;
static bool ended;
static char *error;

static int on_send(void *userdata, uint64_t client, const Wafer__Response *response)
{
    ck_assert_uint_eq(client, CLIENT);
    ck_assert_uint_eq(response->id, REQUEST);
    ck_assert(!ended);
    if (send_error)
        return send_error;
    ended = !response->more;
    if (response->body_case == WAFER__RESPONSE__BODY_ERROR) {
        error = text_copy(response->error->message);
        return 0;
    }
    buffer_append(&text, response->log->text.data, response->log->text.len);
    missed_bytes += response->log->missed_bytes;
    next_offset = response->log->offset + response->log->text.len;
    return 0;
}

static const struct logs_ops ops = { .send = on_send };

static void setup(void)
{
    struct diag diag;

    scratch_make();
    char *dir = text_format("%s/vault", scratch);
    ck_assert_int_eq(vault_open(dir, &vault, &diag), 0);
    free(dir);
    ck_assert_int_ge(sd_event_new(&event), 0);
    ck_assert_int_eq(workers_new(event, &workers, &diag), 0);
    logs = logs_new(vault, workers, &ops, NULL);
    missed_bytes = 0;
    send_error = 0;
    ended = false;
    error = NULL;
}

static void teardown(void)
{
    logs_free(logs);
    workers_free(workers);
    sd_event_unref(event);
    vault_close(vault);
    buffer_done(&text);
    free(error);
    scratch_remove();
}

/* Let the workers finish; true once `wanted` bytes have come, or the end if that is wanted. */
static void run(size_t wanted, bool want_end)
{
    time_t deadline = time(NULL) + 3;

    while ((text.length < wanted || ended != want_end) && time(NULL) < deadline) {
        sd_event_run(event, 20000);
        logs_turn(logs);
    }
    ck_assert_uint_eq(text.length, wanted);
    ck_assert_int_eq(ended, want_end);
}

/* Let a look into the vault that finds nothing come to its end. */
static void settle(void)
{
    for (int i = 0; i < 3; i++)
        sd_event_run(event, 10000);
}

/* Lines that tell attempt and offset, so that no two places are alike. */
static struct buffer lines_from(uint32_t attempt, uint64_t offset, size_t length)
{
    struct buffer lines = BUFFER_EMPTY;

    while (lines.length < length)
        buffer_format(&lines, "%u:%012llu\n", attempt, (unsigned long long)(offset + lines.length));
    ck_assert_uint_eq(lines.length, length); /* callers ask for whole lines: 15 bytes each */
    return lines;
}

static void write_vault(uint32_t attempt, uint64_t offset, size_t length)
{
    struct buffer lines = lines_from(attempt, offset, length);
    struct diag diag;

    ck_assert_msg(
        vault_log_append(vault, JOB, attempt, offset, buffer_data(&lines), length, &diag) == 0,
        "%s", diag.text);
    buffer_done(&lines);
}

static void tell(uint32_t attempt, uint64_t epoch, uint64_t offset, size_t length)
{
    struct buffer lines = lines_from(attempt, offset, length);
    Wafer__LogLines message = WAFER__LOG_LINES__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;

    fence.term = 1;
    fence.epoch = epoch;
    message.job = JOB;
    message.fence = &fence;
    message.attempt = attempt;
    message.offset = offset;
    message.text = (ProtobufCBinaryData){ .data = buffer_data(&lines), .len = length };
    logs_on_lines(logs, &message);
    buffer_done(&lines);
}

/* As an agent does it: into the vault, and to us. */
static void write_and_tell(uint32_t attempt, uint64_t offset, size_t length)
{
    write_vault(attempt, offset, length);
    tell(attempt, attempt, offset, length);
}

static void record(Wafer__RecordKind kind, uint32_t attempt)
{
    Wafer__Record message = WAFER__RECORD__INIT;
    Wafer__JobState state = WAFER__JOB_STATE__INIT;

    message.kind = kind;
    message.has_job = true;
    message.job = JOB;
    message.job_state = &state;
    state.attempt = attempt;
    logs_on_record(logs, &message);
}

/* What a reader asks that was cut off after `offset` bytes of an attempt. */
static void serve_from(uint32_t attempt, uint32_t from_attempt, uint64_t from_offset)
{
    Wafer__LogsRequest request = WAFER__LOGS_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    request.target = &target;
    request.has_follow = request.follow = true;
    request.has_tail = true; /* of what it read first: it counts no more */
    request.has_from_attempt = request.has_from_offset = true;
    request.from_attempt = from_attempt;
    request.from_offset = from_offset;
    logs_serve(logs, CLIENT, REQUEST, JOB, attempt, false, &request);
}

static void serve(uint32_t attempt, bool job_ended, bool follow, uint32_t only, int tail)
{
    Wafer__LogsRequest request = WAFER__LOGS_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    request.target = &target;
    request.has_follow = request.follow = follow;
    target.has_attempt = only > 0;
    target.attempt = only;
    request.has_tail = tail >= 0;
    request.tail = (uint64_t)tail;
    logs_serve(logs, CLIENT, REQUEST, JOB, attempt, job_ended, &request);
}

static void assert_text(uint32_t attempt, uint64_t offset, size_t length)
{
    struct buffer lines = lines_from(attempt, offset, length);

    ck_assert_uint_ge(text.length, length);
    ck_assert_mem_eq(buffer_data(&text), buffer_data(&lines), length);
    buffer_take(&text, length);
    buffer_done(&lines);
}

START_TEST(all_attempts_come_in_order_from_the_vault)
{
    write_vault(1, 0, 15 * 20000); /* many chunks */
    write_vault(3, 0, 15 * 10);    /* the second one wrote nothing */
    serve(3, true, false, 0, -1);
    run(15 * 20010, true);
    assert_text(1, 0, 15 * 20000);
    assert_text(3, 0, 15 * 10);
}
END_TEST

START_TEST(one_attempt_is_all_that_comes_when_it_is_asked_for)
{
    write_vault(1, 0, 150);
    write_vault(2, 0, 300);
    write_vault(3, 0, 450);
    serve(3, true, false, 2, -1);
    run(300, true);
    assert_text(2, 0, 300);
}
END_TEST

START_TEST(an_attempt_that_never_was_is_an_error)
{
    serve(2, true, false, 9, -1);
    run(0, true);
    ck_assert_str_eq(error, "job 42 has no attempt 9 (so far 2)");
}
END_TEST

START_TEST(a_follower_goes_over_from_the_vault_to_live_lines_without_a_gap_or_a_repeat)
{
    write_vault(1, 0, 15 * 10000);
    tell(1, 1, 15 * 9990, 15 * 10); /* we came late: the ring has the end only */
    serve(1, false, true, 0, -1);
    write_and_tell(1, 15 * 10000, 150);
    run(15 * 10010, false);
    tell(1, 1, 15 * 10010, 150); /* not in the vault yet */
    run(15 * 10020, false);
    record(WAFER__RECORD_KIND__JOB_ENDED, 1);
    run(15 * 10020, true);
    assert_text(1, 0, 15 * 10020);
    ck_assert_uint_eq(missed_bytes, 0);
}
END_TEST

START_TEST(a_follower_of_a_job_that_waits_sees_it_start_be_started_again_and_end)
{
    serve(0, false, true, 0, -1);
    settle();
    record(WAFER__RECORD_KIND__JOB_STARTED, 1);
    write_and_tell(1, 0, 150);
    run(150, false);
    write_vault(1, 150, 30); /* the last lines of an agent whose link broke */
    record(WAFER__RECORD_KIND__JOB_STARTED, 2);
    write_and_tell(2, 0, 60);
    run(240, false);
    record(WAFER__RECORD_KIND__JOB_ENDED, 2);
    run(240, true);
    assert_text(1, 0, 180);
    assert_text(2, 0, 60);
}
END_TEST

START_TEST(a_slow_follower_reads_later_and_misses_nothing_that_the_vault_has)
{
    size_t total = 15 * 20000; /* several times the ring */

    serve(1, false, true, 0, -1);
    settle();
    send_error = -ENOBUFS;
    for (uint64_t offset = 0; offset < total; offset += 15 * 100)
        write_and_tell(1, offset, 15 * 100);
    for (int i = 0; i < 5; i++) {
        sd_event_run(event, 1000);
        logs_turn(logs);
    }
    ck_assert_uint_eq(text.length, 0);
    send_error = 0;
    run(total, false);
    assert_text(1, 0, total);
    ck_assert_uint_eq(missed_bytes, 0);
}
END_TEST

START_TEST(what_neither_ring_nor_vault_has_is_told_as_missed)
{
    serve(1, false, true, 0, -1);
    settle();
    send_error = -ENOBUFS;
    size_t total = 15 * 20000;
    for (uint64_t offset = 0; offset < total; offset += 15 * 100)
        tell(1, 1, offset, 15 * 100);
    send_error = 0;
    run(RING_BYTES, false);
    ck_assert_uint_eq(missed_bytes, total - RING_BYTES);
    record(WAFER__RECORD_KIND__JOB_ENDED, 1);
    run(RING_BYTES, true);
}
END_TEST

START_TEST(the_tail_is_of_the_newest_attempt)
{
    write_vault(1, 0, 1500);
    write_vault(2, 0, 1500);
    serve(2, false, false, 0, 3);
    run(45, true);
    assert_text(2, 1455, 45);
}
END_TEST

START_TEST(a_tail_of_none_shows_only_what_comes)
{
    write_vault(1, 0, 1500);
    serve(1, false, true, 0, 0);
    settle();
    write_and_tell(1, 1500, 30);
    run(30, false);
    assert_text(1, 1500, 30);
}
END_TEST

START_TEST(lines_of_a_grant_that_never_began_are_replaced_by_those_of_the_next)
{
    serve(0, false, true, 0, -1);
    tell(1, 1, 0, 150); /* the first grant of what may become attempt 1 */
    run(150, false);
    tell(1, 2, 0, 300);   /* the second one got the same number */
    tell(1, 1, 150, 150); /* a late word of the first */
    run(450, false);
    assert_text(1, 0, 150);
    assert_text(1, 0, 300);
}
END_TEST

START_TEST(a_reader_that_was_cut_off_goes_on_where_it_was)
{
    write_vault(1, 0, 300);
    write_vault(2, 0, 60);
    serve_from(2, 1, 150);
    run(210, false);
    assert_text(1, 150, 150);
    assert_text(2, 0, 60);
    ck_assert_uint_eq(next_offset, 60);
}
END_TEST

START_TEST(a_place_that_no_log_has_yields_nothing_until_the_job_ends)
{
    write_vault(1, 0, 300);
    serve_from(1, UINT32_MAX, UINT64_MAX);
    settle();
    ck_assert_uint_eq(text.length, 0);
    record(WAFER__RECORD_KIND__JOB_ENDED, 1);
    run(0, true);
}
END_TEST

START_TEST(a_client_that_leaves_while_its_log_is_read_is_forgotten)
{
    write_vault(1, 0, 150);
    serve(1, false, true, 0, -1); /* a worker is on it */
    ck_assert_uint_eq(logs_of_client(logs, CLIENT), 1);
    logs_drop_client(logs, CLIENT);
    ck_assert_uint_eq(logs_of_client(logs, CLIENT), 0);
    settle();
    ck_assert_uint_eq(text.length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("logs");
    TCase *tcase = tcase_create("logs");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_attempts_come_in_order_from_the_vault);
    tcase_add_test(tcase, one_attempt_is_all_that_comes_when_it_is_asked_for);
    tcase_add_test(tcase, an_attempt_that_never_was_is_an_error);
    tcase_add_test(tcase,
                   a_follower_goes_over_from_the_vault_to_live_lines_without_a_gap_or_a_repeat);
    tcase_add_test(tcase, a_follower_of_a_job_that_waits_sees_it_start_be_started_again_and_end);
    tcase_add_test(tcase, a_slow_follower_reads_later_and_misses_nothing_that_the_vault_has);
    tcase_add_test(tcase, what_neither_ring_nor_vault_has_is_told_as_missed);
    tcase_add_test(tcase, the_tail_is_of_the_newest_attempt);
    tcase_add_test(tcase, a_tail_of_none_shows_only_what_comes);
    tcase_add_test(tcase, lines_of_a_grant_that_never_began_are_replaced_by_those_of_the_next);
    tcase_add_test(tcase, a_reader_that_was_cut_off_goes_on_where_it_was);
    tcase_add_test(tcase, a_place_that_no_log_has_yields_nothing_until_the_job_ends);
    tcase_add_test(tcase, a_client_that_leaves_while_its_log_is_read_is_forgotten);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
