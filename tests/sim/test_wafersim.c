/* The real process, from the controller's side of the socket. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "controller.h"

enum { JOB = 7, STEPS = 1000, SPEED = 1000 };

/* The record of a checkpoint, as the controller keeps it and names it in a start. */
static Wafer__CheckpointState *state_of(const Wafer__CheckpointReport *report)
{
    Wafer__CheckpointState *state = NEW(Wafer__CheckpointState);

    wafer__checkpoint_state__init(state);
    state->number = 1;
    state->job = state->lineage = report->job;
    state->fence = report->fence;
    state->attempt = 1;
    state->step = report->step;
    state->state = WAFER__CHECKPOINT__STATE__VERIFIED;
    state->n_shards = report->n_shards;
    state->shards = report->shards;
    state->has_resume = true;
    state->resume.len = wafer__resume_state__get_packed_size(report->resume);
    state->resume.data = memory_new(state->resume.len);
    wafer__resume_state__pack(report->resume, state->resume.data);
    return state;
}

static void state_free(Wafer__CheckpointState *state) /* what it borrowed is the report's */
{
    free(state->resume.data);
    free(state);
}

static void shards_must_read(const Wafer__CheckpointReport *report)
{
    struct vault_place place = { report->job, report->step, report->fence->term,
                                 report->fence->epoch };
    struct vault *vault;
    struct diag diag;

    ck_assert_uint_gt(report->n_shards, 0);
    ck_assert_int_eq(vault_open(controller.vault, &vault, &diag), 0);
    for (uint32_t i = 0; i < report->n_shards; i++) {
        owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
        struct digest digest;
        memcpy(digest.bytes, report->shards[i]->digest.data, DIGEST_BYTES);
        ck_assert_msg(vault_shard_read(vault, &place, i, report->shards[i]->bytes, &digest, &bytes,
                                       &diag) == 0,
                      "%s", diag.text);
    }
    vault_close(vault);
}

/* What the log of an attempt has in the vault, and what its messages said. */
static void log_must_match(uint64_t job, uint32_t attempt)
{
    owned(buffer_done) struct buffer sent = BUFFER_EMPTY, stored = BUFFER_EMPTY;
    struct vault *vault;
    struct diag diag;

    for (size_t i = controller.from; i < controller.count; i++) {
        const Wafer__LogLines *lines = controller.messages[i]->log;
        if (!lines || lines->job != job || lines->attempt != attempt)
            continue;
        ck_assert_uint_eq(lines->offset, sent.length);
        buffer_append(&sent, lines->text.data, lines->text.len);
    }
    ck_assert_uint_gt(sent.length, 0);
    ck_assert_int_eq(vault_open(controller.vault, &vault, &diag), 0);
    ck_assert_msg(vault_log_read(vault, job, attempt, 0, SIZE_MAX, &stored, &diag) == 0, "%s",
                  diag.text);
    ck_assert_uint_eq(stored.length, sent.length);
    ck_assert_mem_eq(buffer_data(&stored), buffer_data(&sent), sent.length);
    vault_close(vault);
}

START_TEST(a_job_runs_from_start_to_end)
{
    Wafer__Report *report = wafersim_up(NULL, SPEED, LEASE_US);

    ck_assert_str_eq(report->host, "h1");
    ck_assert_uint_eq(report->n_systems, 3);
    ck_assert_str_eq(report->systems[2]->name, "s3");
    ck_assert_str_eq(report->systems[2]->pool, "wafer");
    ck_assert_str_eq(report->systems[2]->platform, "test");
    ck_assert_int_eq(report->systems[2]->state, WAFER__SYSTEM__STATE__UP);

    send_start(JOB, 1, STEPS, NULL);
    AWAIT(Wafer__Started, started, it->job == JOB && it->fence->epoch == 1);
    shards_must_read(await_checkpoint(JOB, 200));
    Wafer__AttemptEnd *end = await_end(JOB);
    ck_assert_int_eq(end->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end->step, STEPS);
    ck_assert_uint_eq(end->digest.len, DIGEST_BYTES);
    ck_assert_int_gt(end->time_us, CLUSTER_US + STEPS * 100000);
    ck_assert_ptr_nonnull(FIND(Wafer__Progress, progress, it->job == JOB));
    wafersim_kill(SIGTERM);
    ck_assert_int_eq(wafersim_wait(controller.pid), 0);
    log_must_match(JOB, 1); /* all of it is written before the process ends */
}
END_TEST

START_TEST(a_job_killed_with_its_process_resumes_to_the_same_digest)
{
    Wafer__Report *report = wafersim_up(NULL, SPEED, LEASE_US);

    send_start(1, 1, STEPS, NULL); /* the undisturbed one, under its own number */
    Wafer__AttemptEnd *whole = await_end(1);

    send_start(2, 1, STEPS, NULL);
    Wafer__CheckpointReport *checkpoint = await_checkpoint(2, 400);
    wafersim_kill(SIGKILL);
    ck_assert(WIFSIGNALED(wafersim_wait(controller.pid)));
    UNTIL(controller.closed);

    Wafer__Report *again = wafersim_up(NULL, SPEED, LEASE_US);
    ck_assert_str_ne(again->boot_id, report->boot_id);
    ck_assert_uint_eq(again->n_running, 0);
    Wafer__CheckpointState *state = state_of(checkpoint);
    send_start(2, 2, STEPS, state);
    Wafer__AttemptEnd *resumed = await_end(2);
    ck_assert_int_eq(resumed->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(resumed->step, STEPS);
    ck_assert_mem_eq(resumed->digest.data, whole->digest.data, DIGEST_BYTES);
    /* It did resume: it never wrote what was there. */
    ck_assert_ptr_null(FIND(Wafer__CheckpointReport, checkpoint, it->job == 2 && it->step == 200));
    state_free(state);
    wafersim_kill(SIGTERM);
    ck_assert_int_eq(wafersim_wait(controller.pid), 0);
}
END_TEST

START_TEST(a_shard_that_changed_is_not_resumed_from)
{
    wafersim_up(NULL, SPEED, LEASE_US);
    send_start(JOB, 1, STEPS, NULL);
    Wafer__CheckpointReport *checkpoint = await_checkpoint(JOB, 200);
    await_end(JOB);

    owned(free) char *path =
        text_format("%s/ckpt/%d/%012d.1.1/shard-002", controller.vault, JOB, 200);
    int fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, "?!", 2, 20), 2);
    close(fd);

    controller.from = controller.count;
    Wafer__CheckpointState *state = state_of(checkpoint);
    send_start(JOB, 2, STEPS, state);
    Wafer__AttemptEnd *end = await_end(JOB);
    ck_assert_int_eq(end->cause, WAFER__CAUSE__CHECKPOINT_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(end->detail, "shard-002"));
    state_free(state);
}
END_TEST

START_TEST(a_job_outlives_its_link_but_not_its_lease)
{
    enum { LONG = 10000000 };
    Wafer__Report *report = wafersim_up(NULL, SPEED, LEASE_US);

    send_start(JOB, 1, LONG, NULL);
    await_checkpoint(JOB, 200);
    controller_hang_up();
    controller.from = controller.count;
    Wafer__Report *again = await_registration();
    ck_assert_str_eq(again->boot_id, report->boot_id);
    ck_assert_uint_eq(again->n_running, 1);
    ck_assert_uint_eq(again->running[0]->job, JOB);
    ck_assert_uint_ge(again->running[0]->step, 200);
    ck_assert_int_ge(again->time_us, CLUSTER_US + 20 * 1000000);

    int64_t began_us = clock_us(CLOCK_MONOTONIC);
    controller.from = controller.count;
    send_welcome(SPEED, 300000); /* and no beat: it stops the job, hangs up and says so */
    again = await_registration();
    int64_t passed_us = clock_us(CLOCK_MONOTONIC) - began_us;
    ck_assert_uint_eq(again->n_running, 0);
    ck_assert_uint_eq(again->n_ended, 1);
    ck_assert_int_eq(again->ended[0]->cause, WAFER__CAUSE__SYSTEM_LOST);
    ck_assert_int_ge(passed_us, 300000);
    ck_assert_int_le(passed_us, 2000000);
}
END_TEST

START_TEST(beats_renew_the_lease_and_heartbeats_come_four_to_a_lease)
{
    const int64_t lease_us = 400000;

    wafersim_up(NULL, SPEED, lease_us);
    send_start(JOB, 1, 10000000, NULL);
    AWAIT(Wafer__Started, started, it->job == JOB);
    int64_t until_us = clock_us(CLOCK_MONOTONIC) + 2 * lease_us;
    unsigned reports = 0;
    controller.from = controller.count;
    while (clock_us(CLOCK_MONOTONIC) < until_us) {
        AWAIT(Wafer__Report, report, !it->registration);
        controller.from = controller.count;
        reports++;
        send_beat(newest_sent_us());
    }
    ck_assert_uint_ge(reports, 4);
    ck_assert_uint_le(reports, 12);
    Wafer__Report *report = AWAIT(Wafer__Report, report, !it->registration);
    ck_assert_uint_eq(report->n_running, 1);
    ck_assert_double_gt(report->speed, SPEED / 2.0);
    ck_assert_double_lt(report->speed, SPEED * 2.0);
}
END_TEST

/* As when all that it says is lost on the way, and all that it hears arrives. */
START_TEST(beats_that_bring_back_nothing_new_do_not_renew_the_lease)
{
    const int64_t lease_us = 400000;

    Wafer__Report *report = wafersim_up(NULL, SPEED, lease_us);
    int64_t registered_us = report->sent_us;
    send_start(JOB, 1, 10000000, NULL);
    AWAIT(Wafer__Started, started, it->job == JOB);
    unsigned links = controller.links;
    controller.from = controller.count;
    while (controller.links == links) {
        if (controller.link)
            send_beat(registered_us);
        ck_assert_int_ge(sd_event_run(controller.event, 20000), 0);
        ck_assert_int_le(clock_us(CLOCK_BOOTTIME), registered_us + 4 * lease_us);
    }
    report = await_registration();
    ck_assert_uint_eq(report->n_running, 0);
    ck_assert_int_eq(report->ended[0]->cause, WAFER__CAUSE__SYSTEM_LOST);
    ck_assert_int_ge(report->sent_us, registered_us + lease_us);
}
END_TEST

START_TEST(a_stopped_process_that_wakes_after_its_lease_writes_nothing_more)
{
    wafersim_up(NULL, SPEED, 300000);
    send_start(JOB, 1, 10000000, NULL);
    await_checkpoint(JOB, 200);
    wafersim_kill(SIGSTOP);
    send_beat(newest_sent_us()); /* lies in the socket while it sleeps: no renewal */
    usleep(450000);
    controller.from = controller.count;
    wafersim_kill(SIGCONT);
    Wafer__Report *again = await_registration();
    ck_assert_uint_eq(again->n_running, 0);
    ck_assert_int_eq(again->ended[0]->cause, WAFER__CAUSE__SYSTEM_LOST);
}
END_TEST

START_TEST(a_full_disk_fails_the_checkpoint_and_suspends_the_job)
{
    const struct rlimit small = { 16 << 10, RLIM_INFINITY };

    wafersim_up(NULL, SPEED, LEASE_US);
    ck_assert_int_eq(prlimit(controller.pid, RLIMIT_FSIZE, &small, NULL), 0);
    send_start(JOB, 1, STEPS, NULL);
    Wafer__Suspension *suspension = AWAIT(Wafer__Suspension, suspension, it->job == JOB);
    ck_assert(suspension->suspended);
    ck_assert_ptr_nonnull(strstr(suspension->detail, "no space left"));

    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    ck_assert_int_eq(prlimit(controller.pid, RLIMIT_FSIZE, &none, NULL), 0);
    shards_must_read(await_checkpoint(JOB, 200));
    ck_assert_int_eq(await_end(JOB)->cause, WAFER__CAUSE__FINISHED);
}
END_TEST

START_TEST(nothing_is_done_before_the_welcome)
{
    controller.pid = wafersim_start(NULL);
    await_registration();
    send_start(JOB, 1, STEPS, NULL);
    send_welcome(SPEED, LEASE_US);
    send_start(JOB + 1, 1, STEPS, NULL);
    await_end(JOB + 1);
    ck_assert_ptr_null(FIND(Wafer__Started, started, it->job == JOB));
}
END_TEST

START_TEST(it_comes_back_when_the_controller_does)
{
    controller.listener = listener_free(controller.listener);
    controller.pid = wafersim_start(NULL);
    usleep(100000); /* it tries in vain */
    controller_listen();
    await_registration();
    send_welcome(SPEED, LEASE_US);
    wafersim_kill(SIGTERM);
    ck_assert_int_eq(wafersim_wait(controller.pid), 0);
}
END_TEST

START_TEST(it_ends_by_itself_when_the_controller_is_gone_for_good)
{
    static const char *const linger[] = { "--linger", "0.2s", NULL };

    wafersim_up(linger, SPEED, LEASE_US);
    send_start(JOB, 1, 10000000, NULL);
    AWAIT(Wafer__Started, started, it->job == JOB);
    listener_gone(controller.listener, getuid());
    controller.listener = listener_free(controller.listener);
    controller.link = link_free(controller.link);
    ck_assert_int_eq(wafersim_wait(controller.pid), 0);
}
END_TEST

START_TEST(the_service_manager_hears_of_the_registration)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char said[256];

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", scratch);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    controller.pid = wafersim_start(NULL);
    await_registration();
    ck_assert_int_lt(recv(fd, said, sizeof(said), MSG_DONTWAIT), 0);
    send_welcome(SPEED, LEASE_US);
    UNTIL(recv(fd, said, sizeof(said), MSG_DONTWAIT) > 0);
    ck_assert_mem_eq(said, "READY=1", 7);
    close(fd);
}
END_TEST

static const struct call {
    const char *argv[12];
    int code;
    const char *said;
} calls[] = {
    { { "--vault", "v", "--platforms", "p", "--pool", "a=test:1" },
      64,
      "--socket PATH is missing" },
    { { "--socket", "s", "--vault", "v", "--platforms", "p" }, 64, "--pool" },
    { { "--frobnicate" }, 64, "'--frobnicate' is no option" },
    { { "--socket" }, 64, "--socket needs a value" },
    { { "word" }, 64, "'word' is one word too many" },
    { { "--pool", "a" }, 64, "NAME=PLATFORM:COUNT[:PREFIX]" },
    { { "--pool", "a=test" }, 64, "NAME=PLATFORM:COUNT[:PREFIX]" },
    { { "--pool", "a=../x:1" }, 64, "platform '../x'" },
    { { "--pool", "a=test:0" }, 64, "at least one" },
    { { "--pool", "a=test:2049" }, 64, "up to 2048" },
    { { "--pool", "a=test:-1" }, 64, "whole number" },
    { { "--pool", "a=test:2000", "--pool", "b=test:49" }, 64, "2049 systems" },
    { { "--pool", "a=test:1", "--pool", "a=test:1" }, 64, "two pools called 'a'" },
    { { "--pool", "a=test:20:s", "--pool", "b=test:1:s1" }, 64, "the same name" },
    { { "--seed", "1x" }, 64, "--seed '1x'" },
    { { "--filler", "12" }, 64, "--filler" },
    { { "--linger", "soon" }, 64, "--linger" },
    { { "--socket", "s", "--vault", "v", "--platforms", ".", "--pool", "a=test:1", "--host",
        "a/b" },
      64,
      "--host 'a/b'" },
    { { "--socket", "s", "--vault", "v", "--platforms", ".", "--pool", "a=none:1" },
      78,
      "./none.yaml: No such file" },
    { { "--socket", "s", "--vault", "v", "--platforms", ".", "--pool", "a=bad:1" },
      78,
      "./bad.yaml:4:" },
    { { "--socket", "s", "--vault", "no/v", "--platforms", "platforms", "--pool", "a=test:1" },
      73,
      "no/v" },
    { { "--version" }, 0, "wafersim " },
    { { "--help" }, 0, "Usage: wafersim" },
};

START_TEST(a_call_that_cannot_be_says_why)
{
    owned(buffer_done) struct buffer said = BUFFER_EMPTY;
    owned(free) char *program = wafersim_path();
    const char *argv[14] = { program };
    int pipes[2], status;
    ssize_t n;

    for (size_t i = 0; calls[_i].argv[i]; i++)
        argv[i + 1] = calls[_i].argv[i];
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(scratch) < 0)
            _exit(126);
        file_put("bad.yaml", "apiVersion: wafer/v1\nkind: Platform\nname: bad\ntarget: toaster\n");
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        execv(program, (char **)argv);
        _exit(127);
    }
    close(pipes[1]);
    while ((n = read(pipes[0], buffer_reserve(&said, 4096), 4096)) > 0)
        buffer_grow(&said, (size_t)n);
    close(pipes[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    owned(free) char *text = buffer_text(&said);
    ck_assert_msg(strstr(text, calls[_i].said), "'%s' is not in: %s", calls[_i].said, text);
    ck_assert_int_eq(WEXITSTATUS(status), calls[_i].code);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wafersim");
    TCase *tcase = tcase_create("wafersim");

    tcase_add_checked_fixture(tcase, controller_make, controller_remove);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_job_runs_from_start_to_end);
    tcase_add_test(tcase, a_job_killed_with_its_process_resumes_to_the_same_digest);
    tcase_add_test(tcase, a_shard_that_changed_is_not_resumed_from);
    tcase_add_test(tcase, a_job_outlives_its_link_but_not_its_lease);
    tcase_add_test(tcase, beats_renew_the_lease_and_heartbeats_come_four_to_a_lease);
    tcase_add_test(tcase, beats_that_bring_back_nothing_new_do_not_renew_the_lease);
    tcase_add_test(tcase, a_stopped_process_that_wakes_after_its_lease_writes_nothing_more);
    tcase_add_test(tcase, a_full_disk_fails_the_checkpoint_and_suspends_the_job);
    tcase_add_test(tcase, nothing_is_done_before_the_welcome);
    tcase_add_test(tcase, it_comes_back_when_the_controller_does);
    tcase_add_test(tcase, it_ends_by_itself_when_the_controller_is_gone_for_good);
    tcase_add_test(tcase, the_service_manager_hears_of_the_registration);
    tcase_add_loop_test(tcase, a_call_that_cannot_be_says_why, 0, ELEMENTS(calls));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
