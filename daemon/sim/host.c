#include "sim/host.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <time.h>

#include "base/map.h"
#include "base/memory.h"
#include "engine/lease.h"
#include "log/log.h"
#include "model/limits.h"
#include "net/connect.h"
#include "net/link.h"
#include "net/unpack.h"
#include "sim/logs.h"
#include "sim/notices.h"
#include "sim/pace.h"
#include "sim/shards.h"
#include "sim/workers.h"
#include "vault/vault.h"

enum {
    SHARD_THREADS = 8, /* that sync: they share the file system's commits */
    BACKOFF_FIRST_US = 20 * 1000,
    BACKOFF_MAX_US = 1000 * 1000,
    WELCOME_US = 5 * 1000 * 1000, /* a controller that is there answers by then */
    PROGRESS_US = 500 * 1000,     /* between progress messages of a job, real time */
    PROGRESS_MIN_US = 100 * 1000, /* at most ten a second leave, whatever the job does */
    HEARTBEAT_MIN_US = 10 * 1000,
};

/* What must not wait for anything comes first; catching up with time comes last. */
enum {
    PRIORITY_LEASE = SD_EVENT_PRIORITY_IMPORTANT,
    PRIORITY_TIME = SD_EVENT_PRIORITY_IDLE,
};

struct host {
    const struct host_config *config;
    sd_event *event;
    char boot_id[SD_ID128_UUID_STRING_MAX];
    struct vault *vault;
    struct workers *shard_workers, *log_workers;
    struct logs *logs;
    struct agent *agent;
    struct agent_effects effects;
    struct map progress_sent; /* by job: when, as struct sent */
    struct notices *notices;

    struct pace pace;

    struct link *link;
    bool registered, welcomed; /* on this link */
    bool announced;            /* READY=1 was said */
    bool ending;
    int connect_error; /* logged already */
    int64_t backoff_us;
    struct lease lease;

    /* All on CLOCK_BOOTTIME: a machine that slept has not renewed its lease. */
    sd_event_source *on_time, *on_heartbeat, *on_lease, *on_connect, *on_welcome, *on_linger;
};

struct sent {
    int64_t boottime_us;
};

/* --- timers --- */

static int64_t boottime_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void timer_at(sd_event_source *timer, int64_t due_us)
{
    if (due_us == INT64_MAX) {
        sd_event_source_set_enabled(timer, SD_EVENT_OFF);
        return;
    }
    sd_event_source_set_time(timer, due_us < 1 ? 1 : (uint64_t)due_us);
    sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void timer_in(sd_event_source *timer, int64_t span_us)
{
    timer_at(timer, boottime_us() + span_us);
}

static void timer_off(sd_event_source *timer)
{
    timer_at(timer, INT64_MAX);
}

/* --- time --- */

static int64_t take_time(struct host *host)
{
    return pace_take(&host->pace, boottime_us(), agent_next_us(host->agent));
}

static void arm_time(struct host *host)
{
    timer_at(host->on_time, clock_due_us(&host->pace.clock, agent_next_us(host->agent)));
}

static void take_anchor(struct host *host, const Wafer__ClockAnchor *anchor)
{
    pace_set(&host->pace, anchor, boottime_us());
    agent_set_progress(host->agent, PROGRESS_US * (anchor->speed > 0 ? anchor->speed : 1));
}

/* Four to a lease, but no storm whatever the lease. */
static void arm_heartbeat(struct host *host)
{
    int64_t span_us = host->lease.span_us / 4;

    timer_in(host->on_heartbeat, span_us < HEARTBEAT_MIN_US ? HEARTBEAT_MIN_US : span_us);
}

/* --- the link --- */

static void link_schedule(struct host *host)
{
    timer_in(host->on_connect, host->backoff_us);
    host->backoff_us *= 2;
    if (host->backoff_us > BACKOFF_MAX_US)
        host->backoff_us = BACKOFF_MAX_US;
}

/* Forget this link and make another. What was under way on it is said again at registration. */
static void link_drop(struct host *host, const char *why)
{
    int enabled = SD_EVENT_OFF;

    if (host->welcomed)
        log_warning("link to the controller lost: %s", why);
    host->link = link_free(host->link);
    host->registered = host->welcomed = false;
    timer_off(host->on_heartbeat);
    timer_off(host->on_welcome);
    sd_event_source_get_enabled(host->on_linger, &enabled);
    if (host->config->linger_us > 0 && enabled == SD_EVENT_OFF)
        timer_in(host->on_linger, host->config->linger_us);
    link_schedule(host);
}

/* Nobody wants more than a few of these; each says all that the one before said. */
static bool progress_is_due(struct host *host, const Wafer__Progress *progress)
{
    struct sent *sent = map_get(&host->progress_sent, progress->job);
    int64_t now_us = boottime_us();

    if (sent && now_us - sent->boottime_us < PROGRESS_MIN_US)
        return false;
    if (!sent) {
        sent = NEW(struct sent);
        map_put(&host->progress_sent, progress->job, sent);
    }
    sent->boottime_us = now_us;
    return true;
}

static void on_attempt_end(struct host *host, const Wafer__AttemptEnd *end)
{
    free(map_remove(&host->progress_sent, end->job));
    logs_end(host->logs, end->job, end->fence->epoch);
}

/* Progress is said again later, and log lines are in the vault: with a controller that lags, they
 * leave the room to what must arrive. */
static bool can_wait(const struct host *host, const Wafer__ToController *message)
{
    return (message->progress || message->log) && host->link &&
           link_queued(host->link) > LIMIT_OUTPUT_BYTES / 2;
}

static void send_message(struct host *host, Wafer__ToController *message)
{
    if (can_wait(host, message))
        return;
    if (message->report) {
        message->report->has_sent_us = true;
        message->report->sent_us = lease_stamp(&host->lease, boottime_us());
    }
    if (message->progress && !progress_is_due(host, message->progress))
        return;
    if (message->ended)
        on_attempt_end(host, message->ended);
    notices_message(host->notices, message);
    if (!host->registered)
        return;
    int r = link_send(host->link, &message->base);
    if (r == -ENOBUFS)
        link_drop(host, "the controller does not read, and the queue is full");
    else if (r < 0 && r != -EPIPE) /* a link that is gone says so itself */
        log_error("a message could not be sent: %s", strerrordesc_np(-r));
}

/* --- the agent --- */

static void on_shards(void *userdata, const struct shards_answer *answer);

static void carry_out_one(struct host *host, struct agent_effect *effect)
{
    switch (effect->type) {
    case AGENT_SEND: send_message(host, effect->message); break;
    case AGENT_WRITE:
    case AGENT_READ: shards_start(host->shard_workers, host->vault, effect, on_shards, host); break;
    case AGENT_LOG:
        logs_add(host->logs, effect->job, effect->epoch, effect->attempt, effect->offset,
                 effect->text, strlen(effect->text));
        break;
    }
}

/* After anything that the agent was told. */
static void carry_out(struct host *host)
{
    for (size_t i = 0; i < host->effects.count; i++)
        carry_out_one(host, &host->effects.items[i]);
    agent_effects_clear(&host->effects);
    arm_time(host);
}

static void on_shards(void *userdata, const struct shards_answer *answer)
{
    struct host *host = userdata;

    if (host->ending)
        return;
    if (answer->is_write)
        agent_on_written(host->agent, take_time(host), answer->job, answer->term, answer->epoch,
                         answer->step, answer->error, answer->why, answer->states, answer->count,
                         &host->effects);
    else
        agent_on_read(host->agent, take_time(host), answer->job, answer->term, answer->epoch,
                      answer->error, answer->why, answer->shards, answer->count, &host->effects);
    carry_out(host);
}

/* --- messages --- */

static void announce(struct host *host)
{
    if (!host->announced)
        sd_notify(0, "READY=1\nSTATUS=registered with the controller");
    host->announced = true;
}

static void renew_lease(struct host *host, const int64_t *echo_us)
{
    lease_renew(&host->lease, echo_us, boottime_us());
    timer_at(host->on_lease, lease_due_us(&host->lease));
}

static void on_welcome(struct host *host, const Wafer__Welcome *welcome)
{
    bool known = host->welcomed;

    host->welcomed = true;
    lease_grant(&host->lease, welcome->lease_us);
    renew_lease(host, welcome->has_echo_us ? &welcome->echo_us : NULL);
    host->backoff_us = BACKOFF_FIRST_US;
    host->connect_error = 0;
    take_anchor(host, welcome->clock);
    timer_off(host->on_welcome);
    timer_off(host->on_linger);
    arm_heartbeat(host);
    if (!known)
        log_notice("registered with the controller: term %" PRIu64 ", speed %" PRIu32
                   ", lease %" PRId64 " ms; jobs running here: %zu",
                   welcome->term, welcome->clock->speed, welcome->lease_us / 1000,
                   agent_running(host->agent));
    announce(host);
}

static void on_message(struct host *host, const Wafer__ToAgent *message)
{
    if (message->welcome)
        on_welcome(host, message->welcome);
    if (!host->welcomed || !host->lease.runs) /* there is no time yet, or no lease */
        return;
    if (message->clock)
        take_anchor(host, message->clock);
    if (message->beat)
        renew_lease(host, message->beat->has_echo_us ? &message->beat->echo_us : NULL);
    notices_order(host->notices, message);
    agent_on_message(host->agent, take_time(host), message, &host->effects);
    carry_out(host);
}

static void on_ready(struct link *link, void *userdata, const Wafer__Hello *peer)
{
    struct host *host = userdata;

    if (link != host->link || !peer)
        return;
    host->registered = true;
    agent_on_link(host->agent, take_time(host), &host->effects);
    carry_out(host);
}

static void on_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
    struct host *host = userdata;
    struct diag diag;

    if (link != host->link)
        return;
    ProtobufCMessage *message = net_unpack(&wafer__to_agent__descriptor, bytes, length, &diag);
    if (!message) {
        link_drop(host, diag.text);
        return;
    }
    on_message(host, (Wafer__ToAgent *)message);
    protobuf_c_message_free_unpacked(message, NULL);
}

/* Of many tries in a row that fail in the same way the first is worth a line. */
static void connect_failed(struct host *host, int error, const char *why)
{
    if (error != host->connect_error)
        log_warning("cannot register with the controller: %s; trying again", why);
    host->connect_error = error;
}

static void on_closed(struct link *link, void *userdata, int error, const char *why)
{
    struct host *host = userdata;

    if (link != host->link)
        return;
    if (!host->welcomed)
        connect_failed(host, error < 0 ? error : -EPIPE, why);
    link_drop(host, why);
}

/* --- what is due --- */

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;

    agent_on_time(host->agent, take_time(host), &host->effects);
    carry_out(host);
    return 0;
}

static int on_heartbeat(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;

    int64_t now_us = take_time(host);
    agent_set_speed(host->agent, pace_reached(&host->pace, boottime_us()));
    agent_on_heartbeat(host->agent, now_us, &host->effects);
    arm_heartbeat(host);
    carry_out(host);
    return 0;
}

static int on_lease(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;

    log_warning("the controller has heard nothing of us, or we nothing of it, for %" PRId64
                " ms: the lease ends; jobs stopped: %zu",
                host->lease.span_us / 1000, agent_running(host->agent));
    lease_end(&host->lease);
    agent_on_lease_end(host->agent, take_time(host), &host->effects);
    carry_out(host);
    if (host->link)
        link_drop(host, "the controller is silent");
    return 0;
}

static int link_open(struct host *host, struct diag *diag)
{
    static const struct link_ops ops = { on_ready, on_frame, on_closed };
    const struct link_limits limits = { .receive_bytes = LIMIT_AGENT_BYTES,
                                        .send_bytes = LIMIT_OUTPUT_BYTES };
    int fd;

    int r = connect_unix(host->config->socket, 0, &fd, diag);
    if (r < 0)
        return r;
    r = link_new(host->event, fd, host->config->program, &limits, &ops, host, &host->link);
    if (r < 0)
        return diag_fail(diag, r, "cannot use the connection: %s", strerrordesc_np(-r));
    return 0;
}

static int on_connect(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;
    struct diag diag;

    int r = link_open(host, &diag);
    if (r < 0) {
        connect_failed(host, r, diag.text);
        link_schedule(host);
    } else {
        timer_in(host->on_welcome, WELCOME_US);
    }
    return 0;
}

static int on_no_welcome(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;

    connect_failed(host, -ETIMEDOUT, "it accepts and does not answer");
    link_drop(host, "no welcome");
    return 0;
}

static int on_linger(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct host *host = userdata;

    log_notice("the controller has been gone for %" PRId64 " s: ending",
               host->config->linger_us / 1000000);
    return sd_event_exit(host->event, 0);
}

/* --- life --- */

static int add_timers(struct host *host)
{
    const struct {
        sd_event_source **source;
        sd_event_time_handler_t handler;
        int64_t priority;
    } timers[] = {
        { &host->on_time, on_time, PRIORITY_TIME },
        { &host->on_heartbeat, on_heartbeat, SD_EVENT_PRIORITY_NORMAL },
        { &host->on_lease, on_lease, PRIORITY_LEASE },
        { &host->on_connect, on_connect, SD_EVENT_PRIORITY_NORMAL },
        { &host->on_welcome, on_no_welcome, SD_EVENT_PRIORITY_NORMAL },
        { &host->on_linger, on_linger, SD_EVENT_PRIORITY_NORMAL },
    };

    for (size_t i = 0; i < ELEMENTS(timers); i++) {
        int r = sd_event_add_time(host->event, timers[i].source, CLOCK_BOOTTIME, UINT64_MAX, 1000,
                                  timers[i].handler, host);
        if (r >= 0)
            r = sd_event_source_set_priority(*timers[i].source, timers[i].priority);
        if (r < 0)
            return r;
        timer_off(*timers[i].source);
    }
    return 0;
}

static int add_workers(struct host *host)
{
    int r = workers_new(host->event, SHARD_THREADS, &host->shard_workers);

    if (r == 0)
        r = workers_new(host->event, 1, &host->log_workers);
    if (r == 0)
        r = logs_new(host->event, host->log_workers, host->vault, &host->logs);
    return r;
}

int host_new(sd_event *event, const struct host_config *config, struct host **ret,
             struct diag *diag)
{
    owned(host_free) struct host *host = NEW(struct host);
    struct agent_config agent = config->agent;
    sd_id128_t boot_id;

    host->config = config;
    host->event = sd_event_ref(event);
    host->backoff_us = BACKOFF_FIRST_US;
    int r = vault_open(config->vault, &host->vault, diag);
    if (r < 0)
        return r;
    r = sd_id128_randomize(&boot_id);
    if (r == 0)
        r = add_workers(host);
    if (r == 0)
        r = add_timers(host);
    if (r < 0)
        return diag_fail(diag, r, "cannot set up the event loop and its threads: %s",
                         strerrordesc_np(-r));

    agent.boot_id = sd_id128_to_uuid_string(boot_id, host->boot_id);
    agent.progress_us = PROGRESS_US;
    host->agent = agent_new(&agent);
    host->notices = notices_new();
    timer_in(host->on_connect, 0);
    if (config->linger_us > 0)
        timer_in(host->on_linger, config->linger_us);
    *ret = TAKE(host);
    return 0;
}

struct host *host_free(struct host *host)
{
    struct sent *sent;
    size_t cursor = 0;

    if (!host)
        return NULL;
    host->ending = true;
    host->link = link_free(host->link);
    workers_free(host->shard_workers);
    workers_free(host->log_workers);
    logs_free(host->logs);
    vault_close(host->vault);
    agent_effects_clear(&host->effects);
    agent_free(host->agent);
    notices_free(host->notices);
    while ((sent = map_next(&host->progress_sent, &cursor)))
        free(sent);
    map_done(&host->progress_sent);
    sd_event_source_disable_unref(host->on_time);
    sd_event_source_disable_unref(host->on_heartbeat);
    sd_event_source_disable_unref(host->on_lease);
    sd_event_source_disable_unref(host->on_connect);
    sd_event_source_disable_unref(host->on_welcome);
    sd_event_source_disable_unref(host->on_linger);
    sd_event_unref(host->event);
    free(host);
    return NULL;
}
