/* controller — the other side of a real wafersim process: a test that listens on the agents'
 * socket, keeps what it is told, and gives orders. */
#ifndef WAFERD_TESTS_SIM_CONTROLLER_H
#define WAFERD_TESTS_SIM_CONTROLLER_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "agent.pb-c.h"
#include "base/memory.h"
#include "model/job.h"
#include "model/limits.h"
#include "net/link.h"
#include "net/listener.h"
#include "scratch.h"
#include "tap.h"
#include "vault/vault.h"

#define CLUSTER_US INT64_C(1800000000000000) /* when the tests begin */
#define LEASE_US   INT64_C(5000000)          /* longer than a test that wants none to end */

static struct controller {
    sd_event *event;
    struct listener *listener;
    struct link *link;
    unsigned links;
    bool closed; /* the newest link */
    Wafer__ToController **messages;
    size_t count, capacity;
    size_t from; /* searches begin here */
    pid_t pid;   /* of wafersim; 0: none */
    char socket[96], vault[96], platforms[96];
} controller;

/* --- the socket --- */

static inline void on_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
    Wafer__ToController *message = wafer__to_controller__unpack(NULL, length, bytes);

    ck_assert_ptr_nonnull(message);
    ARRAY_RESERVE(controller.messages, controller.count, controller.capacity);
    controller.messages[controller.count++] = message;
}

static inline void on_closed(struct link *link, void *userdata, int error, const char *why)
{
    controller.link = link_free(controller.link);
    controller.closed = true;
    listener_gone(controller.listener, getuid());
}

static inline int on_accept(struct listener *listener, void *userdata, int fd, uid_t uid, gid_t gid,
                            pid_t pid)
{
    static const struct link_ops ops = { NULL, on_frame, on_closed };
    const struct link_limits limits = { .receive_bytes = LIMIT_AGENT_BYTES,
                                        .send_bytes = LIMIT_OUTPUT_BYTES };

    ck_assert_ptr_null(controller.link); /* one link at a time */
    controller.closed = false;
    controller.links++;
    return link_new(controller.event, fd, "test", &limits, &ops, NULL, &controller.link);
}

static inline void controller_listen(void)
{
    struct diag diag;

    ck_assert_msg(listener_new(controller.event, controller.socket, 0600, "test", on_accept, NULL,
                               &controller.listener, &diag) == 0,
                  "%s", diag.text);
}

static inline void controller_hang_up(void)
{
    if (controller.link)
        listener_gone(controller.listener, getuid());
    controller.link = link_free(controller.link);
}

/* --- processes --- */

/* The program that was just built, also for those who go elsewhere; the caller frees. */
static inline char *wafersim_path(void)
{
    const char *build = getenv("top_builddir");
    owned(free) char *program = text_format("%s/wafersim", build ? build : ".");
    char *path = realpath(program, NULL);

    ck_assert_msg(path != NULL, "no %s", program);
    return path;
}

/* Argv beside what every test wants; NULL ends it. */
static inline pid_t wafersim_start(const char *const *more)
{
    owned(free) char *program = wafersim_path();
    owned(free) char *output = text_format("%s/stderr", scratch);
    const char *argv[32] = {
        program,       "--socket",           controller.socket, "--vault",        controller.vault,
        "--platforms", controller.platforms, "--pool",          "wafer=test:3:s", "--host",
        "h1"
    };
    size_t count = 11;

    while (more && *more)
        argv[count++] = *more++;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        int fd = open(output, O_CREAT | O_WRONLY | O_APPEND, 0600);
        dup2(fd, STDERR_FILENO);
        execv(program, (char **)argv);
        _exit(127);
    }
    return pid;
}

static inline int wafersim_wait(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (controller.pid == pid)
        controller.pid = 0;
    return status;
}

static inline void wafersim_kill(int signal_number)
{
    ck_assert_int_eq(kill(controller.pid, signal_number), 0);
}

/* --- life --- */

static const char test_platform[] = "apiVersion: wafer/v1\n"
                                    "kind: Platform\n"
                                    "name: test\n"
                                    "target: wafer\n"
                                    "rate: {peak_pflops: 1, realised_fraction: 1,\n"
                                    "       realised_fraction_small: 1, per_layer_ms: 0,\n"
                                    "       weights_gb_per_s: 0, scaling_efficiency: 1}\n"
                                    "phases:\n"
                                    "  compile: {min: 2s, max: 4s}\n"
                                    "  compile_cached: {min: 1s, max: 2s}\n"
                                    "  start: {min: 1s, max: 2s}\n"
                                    "  program: {min: 1s, max: 2s}\n"
                                    "  weights_floor: 1s\n"
                                    "  weights_s_per_1e9: 1\n"
                                    "  save_s_per_1e9: 1\n"
                                    "  evaluate_fraction: 0.01\n"
                                    "  cleanup: 1s\n"
                                    "faults: {mtbf: 100h}\n"
                                    "price_per_hour: 1.00 EUR\n"
                                    "operators: [attention]\n"
                                    "precisions: [cb16]\n";

static inline void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void controller_make(void)
{
    controller = (struct controller){ .pid = 0 };
    scratch_make();
    snprintf(controller.socket, sizeof(controller.socket), "%s/agent.sock", scratch);
    snprintf(controller.vault, sizeof(controller.vault), "%s/vault", scratch);
    snprintf(controller.platforms, sizeof(controller.platforms), "%s/platforms", scratch);
    ck_assert_int_eq(mkdir(controller.platforms, 0700), 0);
    owned(free) char *platform = text_format("%s/test.yaml", controller.platforms);
    file_put(platform, test_platform);
    ck_assert_int_ge(sd_event_new(&controller.event), 0);
    controller_listen();
}

static inline void controller_remove(void)
{
    if (controller.pid > 0) {
        kill(controller.pid, SIGKILL);
        wafersim_wait(controller.pid);
    }
    controller.link = link_free(controller.link);
    controller.listener = listener_free(controller.listener);
    sd_event_unref(controller.event);
    for (size_t i = 0; i < controller.count; i++)
        wafer__to_controller__free_unpacked(controller.messages[i], NULL);
    free(controller.messages);
    scratch_remove();
}

/* --- waiting --- */

static inline int64_t clock_us(clockid_t clock_id)
{
    struct timespec now;

    clock_gettime(clock_id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Turn the loop until the condition holds; much later than it ever should, give up. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int64_t until_ = clock_us(CLOCK_MONOTONIC) + 10 * 1000000;                                 \
        while (!(condition)) {                                                                     \
            ck_assert_msg(clock_us(CLOCK_MONOTONIC) < until_, "waited in vain: %s", #condition);   \
            ck_assert_int_ge(sd_event_run(controller.event, 100000), 0);                           \
        }                                                                                          \
    } while (0)

/* The first message from `controller.from` on that has `field`, whatever else it is. */
#define FIND(type, field, condition)                                                               \
    ({                                                                                             \
        type *found_ = NULL;                                                                       \
        for (size_t i_ = controller.from; !found_ && i_ < controller.count; i_++) {                \
            type *it = controller.messages[i_]->field;                                             \
            if (it && (condition))                                                                 \
                found_ = it;                                                                       \
        }                                                                                          \
        found_;                                                                                    \
    })

#define AWAIT(type, field, condition)                                                              \
    ({                                                                                             \
        type *awaited_ = NULL;                                                                     \
        UNTIL((awaited_ = FIND(type, field, condition)));                                          \
        awaited_;                                                                                  \
    })

static inline Wafer__Report *await_registration(void)
{
    return AWAIT(Wafer__Report, report, it->registration);
}

static inline Wafer__CheckpointReport *await_checkpoint(uint64_t job, uint64_t step)
{
    return AWAIT(Wafer__CheckpointReport, checkpoint,
                 it->job == job && it->step == step &&
                     it->kind == WAFER__CHECKPOINT_REPORT__KIND__WRITTEN);
}

static inline Wafer__AttemptEnd *await_end(uint64_t job)
{
    return AWAIT(Wafer__AttemptEnd, ended, it->job == job);
}

/* --- orders --- */

static inline void send_order(const Wafer__ToAgent *order)
{
    ck_assert_ptr_nonnull(controller.link);
    ck_assert_int_eq(link_send(controller.link, &order->base), 0);
}

/* When it sent the newest report that came; its clock is this machine's. */
static inline int64_t newest_sent_us(void)
{
    for (size_t i = controller.count; i-- > 0;)
        if (controller.messages[i]->report)
            return controller.messages[i]->report->sent_us;
    return 0;
}

static inline void send_welcome(uint32_t speed, int64_t lease_us)
{
    Wafer__ToAgent order = WAFER__TO_AGENT__INIT;
    Wafer__Welcome welcome = WAFER__WELCOME__INIT;
    Wafer__ClockAnchor anchor = WAFER__CLOCK_ANCHOR__INIT;

    anchor.boottime_us = clock_us(CLOCK_BOOTTIME);
    anchor.cluster_us = CLUSTER_US;
    anchor.speed = speed;
    welcome.clock = &anchor;
    welcome.lease_us = lease_us;
    welcome.term = 1;
    welcome.has_echo_us = true;
    welcome.echo_us = newest_sent_us();
    order.welcome = &welcome;
    send_order(&order);
}

static inline void send_beat(int64_t echo_us)
{
    Wafer__ToAgent order = WAFER__TO_AGENT__INIT;
    Wafer__Beat beat = WAFER__BEAT__INIT;

    beat.has_echo_us = true;
    beat.echo_us = echo_us;
    order.beat = &beat;
    int r = link_send(controller.link, &order.base);
    ck_assert_msg(r == 0 || r == -EPIPE, "%d", r); /* it may just have hung up */
}

/* 0.123 s of cluster time a step on the test's platform. */
#define JOB_TEXT                                                                                   \
    "apiVersion: wafer/v1\n"                                                                       \
    "kind: Job\n"                                                                                  \
    "name: small\n"                                                                                \
    "workload: {model: {params: 1e8}, batch: 100, steps: %u}\n"                                    \
    "checkpoint: {every: {steps: 200}}\n"

static inline void send_start(uint64_t job, uint64_t epoch, unsigned steps,
                              Wafer__CheckpointState *resume)
{
    Wafer__ToAgent order = WAFER__TO_AGENT__INIT;
    Wafer__StartJob start = WAFER__START_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    owned(free) char *text = text_format(JOB_TEXT, steps);
    struct bind_errors errors = { NULL, 0, false };
    char *systems[] = { "s1" };
    Wafer__JobSpec *spec;

    ck_assert_int_eq(job_spec_read(text, strlen(text), NULL, &spec, &errors), 0);
    start.spec.len = wafer__job_spec__get_packed_size(spec);
    start.spec.data = memory_new(start.spec.len);
    wafer__job_spec__pack(spec, start.spec.data);
    wafer__job_spec__free_unpacked(spec, NULL);
    fence.term = 1;
    fence.epoch = epoch;
    start.job = job;
    start.fence = &fence;
    start.attempt = (uint32_t)epoch;
    start.n_systems = 1;
    start.systems = systems;
    start.resume = resume;
    order.start = &start;
    send_order(&order);
    free(start.spec.data);
}

/* Launch, registration, welcome. */
static inline Wafer__Report *wafersim_up(const char *const *more, uint32_t speed, int64_t lease_us)
{
    controller.from = controller.count;
    controller.pid = wafersim_start(more);
    Wafer__Report *report = await_registration();
    send_welcome(speed, lease_us);
    return report;
}

#endif
