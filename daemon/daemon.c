#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "agents.h"
#include "base/memory.h"
#include "dev.h"
#include "effects.h"
#include "log/log.h"
#include "logs.h"
#include "reload.h"
#include "restore.h"
#include "session.h"
#include "sight.h"
#include "snapshot_policy.h"
#include "startup.h"
#include "streams.h"
#include "webhooks.h"
#include "workers.h"

#define BATCH_RECORDS  4096 /* a batch that large need not wait for the end of the turn */
#define STOP_US        UINT64_C(10000000) /* for the journal and the clients, when told to end */
#define STUCK_US       1000000            /* with a full disk, before clients are told at once */
#define TIMER_SLACK_US 1000

/* ---- time ---- */

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int64_t daemon_boottime_us(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t daemon_mono_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t daemon_time_us(const struct daemon *daemon)
{
    return clock_time_us(&daemon->clock, daemon_boottime_us());
}

void daemon_clock_changed(struct daemon *daemon)
{
    Wafer__ClockState state;
    struct input input = { .type = INPUT_CLOCK, .clock = &state };

    clock_state(&daemon->clock, &state);
    daemon_step(daemon, &input);
}

void daemon_agents_gone(struct daemon *daemon)
{
    if (!daemon->settings->dev || daemon->clock.frozen)
        return;
    clock_freeze(&daemon->clock, daemon_boottime_us());
    daemon_clock_changed(daemon);
}

void daemon_agent_came(struct daemon *daemon, int64_t seen_us)
{
    if (daemon->dev)
        dev_registered(daemon->dev);
    if (!daemon->clock.frozen)
        return;
    clock_thaw(&daemon->clock, daemon_boottime_us(), seen_us);
    daemon_clock_changed(daemon);
}

/* ---- steps ---- */

void daemon_step(struct daemon *daemon, struct input *input)
{
    struct records *records = pipeline_records(&daemon->pipeline);

    input->time_us = daemon_time_us(daemon);
    input->mono_us = daemon_mono_us();
    core_step(daemon->core, input, records, pipeline_effects(&daemon->pipeline));
    if (records->count >= BATCH_RECORDS)
        pipeline_seal(&daemon->pipeline);
}

void daemon_set_watched(struct daemon *daemon, bool watched)
{
    if (daemon->watched == watched)
        return;
    daemon->watched = watched;
    core_set_watched(daemon->core, watched);
}

static void on_queue(void *userdata, struct store_batch *batch)
{
    struct daemon *daemon = userdata;

    restore_keep_floor(daemon);
    store_queue(daemon->store, batch);
}

static void on_release(void *userdata, const struct records *records, const struct effects *effects)
{
    effects_carry_out(userdata, records, effects);
}

static const struct pipeline_ops pipeline_ops = { .queue = on_queue, .release = on_release };

/* ---- the journal ---- */

static void check_journal(struct daemon *daemon)
{
    struct diag diag;
    enum store_state state = store_state(daemon->store, &diag);

    if (state == STORE_FAILED) {
        /* What became of the last batch is not known, and nothing in memory may be trusted to say.
         * The next start reads it from the disk. Agents keep their jobs meanwhile. */
        log_error("the journal cannot be written: %s; ending", diag.text);
        _exit(EX_IOERR);
    }
    if ((state == STORE_FULL) == daemon->journal_full)
        return;
    daemon->journal_full = state == STORE_FULL;
    if (daemon->journal_full)
        log_error("the journal has no room: %s; only cancel and release are served until there is",
                  diag.text);
    else
        log_notice("the journal has room again");
    struct input input = { .type = daemon->journal_full ? INPUT_JOURNAL_FULL : INPUT_JOURNAL_ROOM };
    daemon_step(daemon, &input);
}

static int on_journal(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct daemon *daemon = userdata;

    check_journal(daemon);
    pipeline_durable(&daemon->pipeline, store_take(daemon->store));
    return 0;
}

static void note_progress(struct daemon *daemon)
{
    const struct pipeline *pipeline = &daemon->pipeline;

    if (pipeline_is_empty(pipeline)) {
        daemon->waiting_us = 0;
    } else if (!daemon->waiting_us || daemon->waiting_mark != pipeline->released) {
        daemon->waiting_us = daemon_mono_us();
        daemon->waiting_mark = pipeline->released;
    }
}

bool daemon_is_stuck(const struct daemon *daemon)
{
    return daemon->journal_full && daemon->waiting_us &&
           daemon_mono_us() - daemon->waiting_us > STUCK_US;
}

/* ---- turns of the loop ---- */

static int on_more(sd_event_source *source, void *userdata)
{
    struct daemon *daemon = userdata;

    pipeline_release(&daemon->pipeline);
    return 0;
}

static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct input input = { .type = INPUT_TIMER };

    daemon_step(userdata, &input);
    return 0;
}

static void set_timer(sd_event_source *timer, int64_t due_us)
{
    if (due_us == INT64_MAX) {
        sd_event_source_set_enabled(timer, SD_EVENT_OFF);
        return;
    }
    sd_event_source_set_time(timer, due_us > 0 ? (uint64_t)due_us : 1);
    sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void set_timers(struct daemon *daemon)
{
    int64_t time_us, mono_us;

    core_next(daemon->core, &time_us, &mono_us);
    set_timer(daemon->cluster_timer, clock_due_us(&daemon->clock, time_us));
    set_timer(daemon->lease_timer, mono_us);
}

static void stop_when_flushed(struct daemon *daemon)
{
    if (!pipeline_is_empty(&daemon->pipeline))
        return;
    sessions_close(daemon->sessions);
    if (sessions_count(daemon->sessions) == 0)
        sd_event_exit(daemon->event, EX_OK);
}

static void turn(struct daemon *daemon)
{
    pipeline_seal(&daemon->pipeline);
    note_progress(daemon);
    sessions_turn(daemon->sessions);
    streams_turn(daemon->streams);
    logs_turn(daemon->logs);
    if (daemon->stopping) {
        pipeline_seal(&daemon->pipeline);
        stop_when_flushed(daemon);
        return;
    }
    snapshot_policy_turn(daemon->snapshots);
    if (daemon->watched && !streams_want_views(daemon->streams) &&
        pipeline_is_empty(&daemon->pipeline))
        daemon_set_watched(daemon, false);
    pipeline_seal(&daemon->pipeline);
    set_timers(daemon);
}

/* After each event: what it decided goes to the journal, together with whatever else is ready. */
static int on_turn(sd_event_source *source, void *userdata)
{
    struct daemon *daemon = userdata;

    turn(daemon);
    if (pipeline_has_more(&daemon->pipeline))
        sd_event_source_set_enabled(daemon->more, SD_EVENT_ONESHOT);
    return 0;
}

/* ---- the end ---- */

static int on_stop_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct daemon *daemon = userdata;

    log_warning("not everything could be written in time: clients must ask again");
    sd_event_exit(daemon->event, EX_OK);
    return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    if (daemon->stopping)
        return 0;
    log_notice("signal %" PRIu32 ": ending", info->ssi_signo);
    sd_notify(0, "STOPPING=1\nSTATUS=writing what was decided");
    daemon->stopping = true;
    set_timer(daemon->cluster_timer, INT64_MAX);
    set_timer(daemon->lease_timer, INT64_MAX);
    sessions_stop(daemon->sessions);
    agents_stop(daemon->agents);
    int r = sd_event_add_time_relative(daemon->event, &daemon->stop_timer, CLOCK_MONOTONIC, STOP_US,
                                       TIMER_SLACK_US, on_stop_due, daemon);
    if (r < 0)
        sd_event_exit(daemon->event, EX_OK);
    return 0;
}

/* ---- the beginning ---- */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    if (!daemon->stopping)
        reload(daemon, info->ssi_uid);
    return 0;
}

static int add_signals(struct daemon *daemon)
{
    static const int ending[] = { SIGTERM, SIGINT };
    sigset_t mask;
    int r;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of a write, and no death */
    for (size_t i = 0; i < ELEMENTS(ending); i++) {
        r = sd_event_add_signal(daemon->event, NULL, ending[i], on_signal, daemon);
        if (r < 0)
            return r;
    }
    /* With --dev there is nothing to read again, and a terminal that is closed is the end. */
    return sd_event_add_signal(daemon->event, NULL, SIGHUP,
                               daemon->settings->dev ? on_signal : on_hangup, daemon);
}

static int add_sources(struct daemon *daemon)
{
    int r = sd_event_add_io(daemon->event, &daemon->journal, store_fd(daemon->store), EPOLLIN,
                            on_journal, daemon);
    if (r >= 0)
        r = sd_event_add_post(daemon->event, &daemon->turn, on_turn, daemon);
    if (r >= 0)
        r = sd_event_add_defer(daemon->event, &daemon->more, on_more, daemon);
    if (r >= 0)
        r = sd_event_add_time(daemon->event, &daemon->cluster_timer, CLOCK_BOOTTIME, 0,
                              TIMER_SLACK_US, on_due, daemon);
    if (r >= 0)
        r = sd_event_add_time(daemon->event, &daemon->lease_timer, CLOCK_MONOTONIC, 0,
                              TIMER_SLACK_US, on_due, daemon);
    return r;
}

static int make_loop(struct daemon *daemon, struct diag *diag)
{
    int r = sd_event_new(&daemon->event);

    if (r >= 0)
        r = add_signals(daemon);
    if (r >= 0)
        r = sd_event_set_watchdog(daemon->event, true);
    return r < 0 ? diag_fail(diag, r, "no event loop: %s", strerror(-r)) : 0;
}

static bool client_sees_job(void *userdata, uint64_t client, const Wafer__Job *view)
{
    struct rights rights;
    return sight_rights(userdata, client, &rights) &&
           sight_job(&rights, WAFER__ROLE__ACTION__show, view);
}

static bool client_sees_event(void *userdata, uint64_t client, const Wafer__Event *event,
                              const struct sight_object *object)
{
    struct rights rights;
    return sight_rights(userdata, client, &rights) && sight_event(&rights, event, object);
}

static int send_to_client(void *userdata, uint64_t client, const Wafer__Response *response)
{
    struct daemon *daemon = userdata;

    return sessions_send(daemon->sessions, client, response);
}

static int make_parts(struct daemon *daemon, struct diag *diag)
{
    static const struct streams_ops streams_ops = { .send = send_to_client,
                                                    .sees_job = client_sees_job,
                                                    .sees_event = client_sees_event };
    static const struct logs_ops logs_ops = { .send = send_to_client };
    int r = workers_new(daemon->event, &daemon->workers, diag);

    if (r >= 0)
        r = webhooks_new(daemon, &daemon->webhooks, diag);
    if (r < 0)
        return r;
    daemon->streams = streams_new(&streams_ops, daemon);
    daemon->logs = logs_new(daemon->vault, daemon->workers, &logs_ops, daemon);
    daemon->snapshots = snapshot_policy_new(daemon);
    r = add_sources(daemon);
    return r < 0 ? diag_fail(diag, r, "no event sources: %s", strerror(-r)) : 0;
}

static int start(struct daemon *daemon, const struct options *options, struct diag *diag)
{
    int r = make_loop(daemon, diag);

    if (r >= 0)
        r = startup(daemon, diag);
    if (r >= 0)
        r = make_parts(daemon, diag);
    if (r >= 0)
        r = agents_new(daemon, &daemon->agents, diag);
    if (r >= 0)
        r = sessions_new(daemon, &daemon->sessions, diag);
    if (r >= 0 && daemon->settings->dev)
        r = dev_new(daemon, options, &daemon->dev, diag);
    if (r < 0)
        return r;
    check_journal(daemon); /* the disk may have been full before */
    pipeline_seal(&daemon->pipeline);
    return 0;
}

static void finish(struct daemon *daemon)
{
    daemon->stopping = true;
    daemon->dev = dev_free(daemon->dev);
    daemon->agents = agents_free(daemon->agents);
    daemon->sessions = sessions_free(daemon->sessions);
    daemon->streams = streams_free(daemon->streams);
    daemon->logs = logs_free(daemon->logs);
    daemon->webhooks = webhooks_free(daemon->webhooks);
    daemon->workers = workers_free(daemon->workers);
    daemon->snapshots = snapshot_policy_free(daemon->snapshots);
    sd_event_source_disable_unref(daemon->journal);
    sd_event_source_disable_unref(daemon->turn);
    sd_event_source_disable_unref(daemon->more);
    sd_event_source_disable_unref(daemon->cluster_timer);
    sd_event_source_disable_unref(daemon->lease_timer);
    sd_event_source_disable_unref(daemon->stop_timer);
    daemon->store = store_close(daemon->store);
    pipeline_done(&daemon->pipeline); /* after the store, which had its batches */
    daemon->vault = vault_close(daemon->vault);
    daemon->core = core_free(daemon->core);
    sd_event_unref(daemon->event);
}

static int exit_status(int error)
{
    switch (-error) {
    case EBUSY:
    case EADDRINUSE: return EX_TEMPFAIL; /* somebody else is at it */
    case ENOKEY:
    case ENAMETOOLONG:
    case ENOTSOCK: return EX_CONFIG;
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EINVAL: /* a pipe or a device where a file should be */
    case EEXIST: return EX_CANTCREAT;
    case EIO:
    case EBADMSG:
    case ENOSPC:
    case EDQUOT: return EX_IOERR;
    default: return EX_OSERR;
    }
}

int daemon_run(struct settings *settings, const struct options *options)
{
    struct daemon daemon = { .settings = settings };
    struct diag diag;

    pipeline_init(&daemon.pipeline, &pipeline_ops, &daemon);
    int status, r = start(&daemon, options, &diag);
    if (r < 0) {
        log_error("%s", diag.text);
        status = exit_status(r);
    } else {
        log_notice("%s is ready: clients at %s, systems at %s", DAEMON_PROGRAM, settings->socket,
                   settings->agent_socket);
        sd_notify(0, "READY=1\nSTATUS=serving");
        status = sd_event_loop(daemon.event);
        if (status < 0) {
            log_error("the event loop failed: %s", strerror(-status));
            status = EX_OSERR;
        }
    }
    finish(&daemon);
    return status;
}
