#include "agents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "logs.h"
#include "model/limits.h"
#include "net/link.h"
#include "net/listener.h"
#include "net/unpack.h"

/* A full one holds the starts of many jobs, a job file each. */
#define AGENT_OUTPUT_BYTES (16 << 20)
#define BEATS_A_LEASE      4

struct agent_link {
    struct list list_link;
    struct agents *agents;
    struct link *link;
    uint64_t number;
    uid_t uid;
    char *host;      /* once it has registered */
    bool heard_from; /* since the last beat */
    bool has_sent_us;
    int64_t sent_us; /* of its newest report, by its own clock */
};

struct agents {
    struct daemon *daemon;
    struct listener *listener;
    struct list links;
    uint64_t next_number;
    size_t registered;
    sd_event_source *beat;
};

static void agent_close(struct agent_link *agent)
{
    struct agents *agents = agent->agents;
    struct input input = { .type = INPUT_LINK_CLOSED, .link = agent->number };
    bool was_registered = agent->host != NULL;

    list_remove(&agent->list_link);
    agent->link = link_free(agent->link);
    listener_gone(agents->listener, agent->uid);
    if (was_registered) {
        agents->registered--;
        log_notice("host %s: its link is gone", agent->host);
    }
    free(agent->host);
    free(agent);
    if (agents->daemon->stopping)
        return;
    daemon_step(agents->daemon, &input);
    if (was_registered && agents->registered == 0)
        daemon_agents_gone(agents->daemon);
}

static void on_registration(struct agent_link *agent, const Wafer__Report *report)
{
    struct agents *agents = agent->agents;

    /* Before the core sees it: its Welcome holds the clock as it runs from now on. */
    daemon_agent_came(agents->daemon, report->time_us);
    log_notice("host %s registers with %zu systems", report->host, report->n_systems);
    if (!agent->host)
        agents->registered++;
    free(agent->host);
    agent->host = text_copy(report->host);
}

static void on_report(struct agent_link *agent, const Wafer__Report *report)
{
    agent->has_sent_us = report->has_sent_us;
    agent->sent_us = report->sent_us;
    if (report->registration)
        on_registration(agent, report);
}

/* Most often it is a client that was given the wrong socket: it understands a Response. */
static void refuse(struct agent_link *agent)
{
    Wafer__Error error = WAFER__ERROR__INIT;
    Wafer__Response response = WAFER__RESPONSE__INIT;

    error.code = (char *)"E_SOCKET";
    error.exit = EX_CONFIG;
    error.message = (char *)"this socket is for the hosts of systems";
    error.hint = (char *)"clients have one of their own, waferd.sock beside it by default";
    response.body_case = WAFER__RESPONSE__BODY_ERROR;
    response.error = &error;
    link_send(agent->link, &response.base);
    link_close_after_send(agent->link);
}

static void on_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
    struct agent_link *agent = userdata;
    struct diag diag;
    Wafer__ToController *message =
        (Wafer__ToController *)net_unpack(&wafer__to_controller__descriptor, bytes, length, &diag);

    if (!message) {
        log_error("host %s: closed: %s", agent->host ? agent->host : "(not registered)", diag.text);
        if (agent->host)
            agent_close(agent);
        else
            refuse(agent);
        return;
    }
    agent->heard_from = true;
    if (message->report)
        on_report(agent, message->report);
    if (message->log) {
        if (agent->host)
            logs_on_lines(agent->agents->daemon->logs, message->log);
    } else {
        struct input input = { .type = INPUT_AGENT,
                               .agent = { .link = agent->number, .message = message } };
        daemon_step(agent->agents->daemon, &input);
    }
    wafer__to_controller__free_unpacked(message, NULL);
}

static void on_closed(struct link *link, void *userdata, int error, const char *why)
{
    struct agent_link *agent = userdata;

    if (error < 0)
        log_error("host %s: link closed: %s", agent->host ? agent->host : "(not registered)", why);
    agent_close(agent);
}

static int on_accept(struct listener *listener, void *userdata, int fd, uid_t uid, gid_t gid,
                     pid_t pid)
{
    static const struct link_ops ops = { .on_frame = on_frame, .on_closed = on_closed };
    static const struct link_limits limits = { .receive_bytes = LIMIT_AGENT_BYTES,
                                               .send_bytes = AGENT_OUTPUT_BYTES };
    struct agents *agents = userdata;

    if (uid != 0 && uid != geteuid()) {
        log_error("process %d of uid %u wants to host systems: only root and uid %u may", (int)pid,
                  (unsigned)uid, (unsigned)geteuid());
        close(fd);
        return -EACCES;
    }
    struct agent_link *agent = NEW(struct agent_link);
    int r = link_new(agents->daemon->event, fd, DAEMON_PROGRAM, &limits, &ops, agent, &agent->link);
    if (r < 0) {
        free(agent);
        return r;
    }
    agent->agents = agents;
    agent->number = agents->next_number++;
    agent->uid = uid;
    list_push_tail(&agents->links, &agent->list_link);
    return 0;
}

static int on_beat(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct agents *agents = userdata;
    Wafer__Beat beat = WAFER__BEAT__INIT;
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;

    beat.time_us = daemon_time_us(agents->daemon);
    message.beat = &beat;
    list_foreach (&agents->links, link) {
        struct agent_link *agent = CONTAINER_OF(link, struct agent_link, list_link);
        if (agent->host && agent->heard_from) {
            agent->heard_from = false;
            beat.has_echo_us = agent->has_sent_us;
            beat.echo_us = agent->sent_us;
            /* Not fitting, the agent does not read: its lease may end. */
            link_send(agent->link, &message.base);
        }
    }
    sd_event_source_set_time_relative(source,
                                      (uint64_t)agents->daemon->settings->lease_us / BEATS_A_LEASE);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

int agents_new(struct daemon *daemon, struct agents **ret, struct diag *diag)
{
    struct agents *agents = NEW(struct agents);

    agents->daemon = daemon;
    agents->next_number = 1;
    list_init(&agents->links);
    int r = listener_new(daemon->event, daemon->settings->agent_socket, 0600, DAEMON_PROGRAM,
                         on_accept, agents, &agents->listener, diag);
    if (r >= 0) {
        r = sd_event_add_time_relative(daemon->event, &agents->beat, CLOCK_MONOTONIC,
                                       (uint64_t)daemon->settings->lease_us / BEATS_A_LEASE, 1000,
                                       on_beat, agents);
        if (r < 0)
            diag_fail(diag, r, "cannot set a timer: %s", strerror(-r));
    }
    if (r < 0) {
        agents_free(agents);
        return r;
    }
    *ret = agents;
    return 0;
}

void agents_stop(struct agents *agents)
{
    list_foreach_safe (&agents->links, link)
        agent_close(CONTAINER_OF(link, struct agent_link, list_link));
    agents->listener = listener_free(agents->listener);
    agents->beat = sd_event_source_disable_unref(agents->beat);
}

struct agents *agents_free(struct agents *agents)
{
    if (!agents)
        return NULL;
    agents_stop(agents);
    free(agents);
    return NULL;
}

static struct agent_link *find(const struct agents *agents, uint64_t number)
{
    list_foreach (&agents->links, link) {
        struct agent_link *agent = CONTAINER_OF(link, struct agent_link, list_link);
        if (agent->number == number)
            return agent;
    }
    return NULL;
}

void agents_send(struct agents *agents, uint64_t link, const Wafer__ToAgent *message)
{
    struct agent_link *agent = find(agents, link);

    if (!agent)
        return; /* it is told again when it registers */
    int r = link_send(agent->link, &message->base);
    if (r == -ENOBUFS || r == -EMSGSIZE) {
        log_error("host %s: closed: it does not read what it is told",
                  agent->host ? agent->host : "(not registered)");
        agent_close(agent);
    }
}

void agents_drop(struct agents *agents, uint64_t link)
{
    struct agent_link *agent = find(agents, link);

    if (agent)
        agent_close(agent);
}

size_t agents_registered(const struct agents *agents)
{
    return agents->registered;
}
