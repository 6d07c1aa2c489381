/* Hosts, their links and leases, and what their agents say.
 *
 * A link may break and an agent may forget at any moment. A Report says all that we must know, so
 * whatever was lost on the way is found out from the next one: an order that did not arrive is sent
 * again, a job that we do not know there is killed, an end that we know already is acknowledged
 * again. Absence proves a job dead only in a registration, the first message of its link. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/schedule.h"
#include "core/state.h"

static struct host *host_of(const struct core *core, uint64_t link)
{
    return map_get(&core->links, link);
}

static bool fence_is_current(const struct core *core, const struct job *job,
                             const Wafer__Fence *fence)
{
    return fence->term == core->term && fence->epoch == job->state.epoch;
}

/* The job, if this host runs it under this fence as far as we know. */
static struct job *job_running_here(const struct core *core, const struct host *host, uint64_t id,
                                    const Wafer__Fence *fence)
{
    struct job *job = core_job(core, id);
    return job && job_has_systems(job) && job_host(core, job) == host &&
                   fence_is_current(core, job, fence)
               ? job
               : NULL;
}

/* ---- systems ---- */

static void record_system(struct core *core, Wafer__SystemState *next)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    owned(free) char *text = text_format(
        "%s is %s%s%s", next->name,
        protobuf_c_enum_descriptor_get_value(&wafer__system__state__descriptor, next->state)->name,
        next->reason ? ": " : "", next->reason ? next->reason : "");

    next->since_us = core->now_us;
    record.kind = WAFER__RECORD_KIND__SYSTEM_CHANGED;
    record.system = next;
    record.text = text;
    core_record(core, &record);
}

static void end_job_of(struct core *core, struct system *system, Wafer__Cause cause,
                       const char *detail)
{
    struct job *job = system->job;
    if (!job)
        return;
    struct ending ending = { .cause = cause,
                             .step = job_progress(job)->step,
                             .detail = detail,
                             .system = system->state.name };
    attempt_ended(core, job, &ending);
}

static void system_set(struct core *core, struct system *system, Wafer__System__State state,
                       const char *reason)
{
    if (system->state.state == state)
        return;
    Wafer__SystemState next = system->state;
    next.state = state;
    next.reason = (char *)reason;
    record_system(core, &next);
}

static void system_hosted(struct core *core, struct host *host, const Wafer__HostedSystem *hosted)
{
    struct system *system = core_system_named(core, hosted->name);

    if (!system) {
        Wafer__SystemState next = WAFER__SYSTEM_STATE__INIT;
        next.number = core->next_system;
        next.name = hosted->name;
        next.pool = hosted->pool;
        next.platform = hosted->platform;
        next.host = host->state.name;
        next.state = hosted->state;
        next.reason = hosted->reason;
        record_system(core, &next);
        return;
    }
    /* A name belongs to the host that first brought it: two hosts with one name is a mistake of
     * their configuration, and the second must not take over what the first one runs. */
    if (system->host == host && hosted->state != WAFER__SYSTEM__STATE__LOST)
        system_set(core, system, hosted->state, hosted->reason);
}

/* ---- registration ---- */

static void host_boot(struct core *core, struct host **host, const Wafer__Report *report)
{
    Wafer__HostState next = WAFER__HOST_STATE__INIT;
    Wafer__Record record = WAFER__RECORD__INIT;

    next.name = report->host;
    next.boot_id = report->boot_id;
    record.kind = WAFER__RECORD_KIND__HOST_CHANGED;
    record.host = &next;
    record.text = report->host;
    core_record(core, &record);
    *host = core_host(core, report->host);
}

static Wafer__ClockAnchor clock_anchor(const struct core *core)
{
    Wafer__ClockAnchor anchor = WAFER__CLOCK_ANCHOR__INIT;

    if (core->clock) {
        anchor.boottime_us = core->clock->boottime_us;
        anchor.cluster_us = core->clock->cluster_us;
        anchor.speed = core->clock->speed;
    }
    return anchor;
}

static void welcome(struct core *core, struct host *host, const Wafer__Report *report)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__Welcome body = WAFER__WELCOME__INIT;
    Wafer__ClockAnchor anchor = clock_anchor(core);

    body.clock = &anchor;
    body.lease_us = core->config.lease_us;
    body.term = core->term;
    body.has_echo_us = report->has_sent_us;
    body.echo_us = report->sent_us;
    message.welcome = &body;
    effect_agent(core, host, &message);
}

void host_clock_changed(struct core *core)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__ClockAnchor anchor = clock_anchor(core);

    message.clock = &anchor;
    for (size_t i = 0; i < core->host_count; i++)
        effect_agent(core, core->hosts[i], &message);
}

/* What a host has is free for jobs only while it can be told to start them. */
static void host_set_link(struct core *core, struct host *host, uint64_t link)
{
    bool was_there = host->link != 0;

    host->link = link;
    if (was_there != (link != 0))
        schedule_connected(core, host, link != 0);
}

static struct host *host_register(struct core *core, uint64_t link, const Wafer__Report *report)
{
    struct host *host = core_host(core, report->host);

    if (!host || strcmp(host->state.boot_id, report->boot_id) != 0)
        host_boot(core, &host, report);
    if (host->link && host->link != link) {
        map_remove(&core->links, host->link);
        effect_add(core, EFFECT_DROP_LINK)->link = host->link;
    }
    struct host *other = host_of(core, link);
    if (other && other != host)
        host_set_link(core, other, 0); /* whoever spoke on this link speaks for another host now */
    host_set_link(core, host, link);
    host->lost = false;
    map_put(&core->links, link, host);
    welcome(core, host, report);
    core->pass_wanted = true;
    return host;
}

/* Systems that the host no longer has are down, whatever they were. */
static void systems_gone(struct core *core, struct host *host, const Wafer__Report *report)
{
    for (size_t i = 0; i < report->n_systems; i++) {
        struct system *system = core_system_named(core, report->systems[i]->name);
        if (system)
            system->listed = core->report_count;
    }
    list_foreach (&host->systems, link) {
        struct system *system = CONTAINER_OF(link, struct system, host_link);
        if (system->listed != core->report_count)
            system_set(core, system, WAFER__SYSTEM__STATE__DOWN, "its host no longer has it");
    }
}

/* ---- what runs there ---- */

static void kill_there(struct core *core, struct host *host, uint64_t job, Wafer__Fence *fence)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StopJob stop = WAFER__STOP_JOB__INIT;

    stop.job = job;
    stop.fence = fence;
    stop.now = true;
    stop.cause = WAFER__CAUSE__CANCELLED;
    message.stop = &stop;
    effect_agent(core, host, &message);
}

static void runs_there(struct core *core, struct host *host, const Wafer__RunningJob *running)
{
    struct job *job = job_running_here(core, host, running->job, running->fence);

    if (!job) {
        kill_there(core, host, running->job, running->fence);
        return;
    }
    attempt_started(core, job);
    attempt_suspended(core, job, running->has_suspended && running->suspended, NULL);
    struct progress *progress = job_progress_change(job);
    if (progress->step < running->step)
        progress->step = running->step;
    progress->phase = running->phase;
    attempt_times(job, running->times);
    if (job->state.state == WAFER__JOB__STATE__STOPPING)
        attempt_send_stop(core, job); /* in case that it did not arrive */
}

static void mark_listed(struct core *core, uint64_t id, const Wafer__Fence *fence)
{
    struct job *job = core_job(core, id);

    if (job && fence_is_current(core, job, fence))
        job_progress_change(job)->listed = core->report_count;
}

/* Jobs that should be there and are not. */
static void missing_there(struct core *core, struct host *host, const Wafer__Report *report,
                          bool rebooted)
{
    for (size_t i = 0; i < report->n_running; i++)
        mark_listed(core, report->running[i]->job, report->running[i]->fence);
    for (size_t i = 0; i < report->n_ended; i++)
        mark_listed(core, report->ended[i]->job, report->ended[i]->fence);
    list_foreach (&host->systems, link) {
        struct system *system = CONTAINER_OF(link, struct system, host_link);
        struct job *job = system->job;
        /* Once for each job: at its first system. */
        if (!job || job->state.systems[0] != system->state.number ||
            job_progress(job)->listed == core->report_count)
            continue;
        if (rebooted)
            end_job_of(core, system, WAFER__CAUSE__HOST_RESTARTED, "its host came back without it");
        else if (job->state.state == WAFER__JOB__STATE__STARTING)
            attempt_send_start(core, job);
        else if (job->state.state == WAFER__JOB__STATE__STOPPING)
            attempt_send_stop(core, job);
    }
}

static void attempt_reported_end(struct core *core, struct host *host, const Wafer__AttemptEnd *end)
{
    struct job *job = job_running_here(core, host, end->job, end->fence);

    if (job) {
        struct ending ending = { .cause = end->cause,
                                 .step = end->step,
                                 .digest = end->has_digest ? &end->digest : NULL,
                                 .metric_micro = end->has_metric_micro ? &end->metric_micro : NULL,
                                 .detail = end->detail,
                                 .system = end->system,
                                 .times = end->times };
        if (end->started)
            attempt_started(core, job); /* its own word for that was lost */
        /* The failed system must not be granted again before its own report says what it is. */
        struct system *failed = end->system ? core_system_named(core, end->system) : NULL;
        if (end->cause == WAFER__CAUSE__SYSTEM_FAILED && failed && failed->job == job)
            system_set(core, failed, WAFER__SYSTEM__STATE__DOWN, end->detail);
        attempt_ended(core, job, &ending);
    }
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__JobFence ack = WAFER__JOB_FENCE__INIT;
    ack.job = end->job;
    ack.fence = end->fence;
    message.ended_ack = &ack;
    effect_agent(core, host, &message);
}

static void on_report(struct core *core, uint64_t link, const Wafer__Report *report)
{
    struct host *host = host_of(core, link);
    bool rebooted = false;

    if (report->registration) {
        host = core_host(core, report->host);
        rebooted = !host || strcmp(host->state.boot_id, report->boot_id) != 0;
        if (rebooted && host && host->link && host->link != link) {
            /* Another process under the same name, while the one that we know is connected: that
             * one may hold the systems, and only its end, or its lease's, proves that it does not.
             */
            effect_add(core, EFFECT_DROP_LINK)->link = link;
            return;
        }
        host = host_register(core, link, report);
    }
    if (!host) {
        /* A heartbeat on a link that we do not know: it must register first. */
        effect_add(core, EFFECT_DROP_LINK)->link = link;
        return;
    }
    core->report_count++;
    host->speed = report->has_speed ? report->speed : 0;
    /* Ends and checkpoints first: what has ended there must not be taken for missing. */
    for (size_t i = 0; i < report->n_checkpoints; i++)
        checkpoint_reported(core, host, report->checkpoints[i]);
    for (size_t i = 0; i < report->n_ended; i++)
        attempt_reported_end(core, host, report->ended[i]);
    for (size_t i = 0; i < report->n_running; i++)
        runs_there(core, host, report->running[i]);
    missing_there(core, host, report, rebooted);
    for (size_t i = 0; i < report->n_systems; i++)
        system_hosted(core, host, report->systems[i]);
    if (report->registration)
        systems_gone(core, host, report);
}

static void on_progress(struct core *core, struct host *host, const Wafer__Progress *report)
{
    struct job *job = job_running_here(core, host, report->job, report->fence);

    if (!job)
        return;
    attempt_started(core, job);
    struct progress *progress = job_progress_change(job);
    progress->phase = report->phase;
    attempt_times(job, report->times);
    progress->step = report->step > progress->step ? report->step : progress->step;
    if ((progress->has_loss = report->has_loss_micro || progress->has_loss) &&
        report->has_loss_micro)
        progress->loss_micro = report->loss_micro;
    progress->has_rate = report->has_samples_per_s_micro;
    progress->samples_per_s_micro = report->samples_per_s_micro;
    progress->has_eta = report->has_eta_us;
    progress->eta_us = report->eta_us;
    effect_changed(core, job);
}

void host_message(struct core *core, uint64_t link, const Wafer__ToController *message)
{
    struct host *host = host_of(core, link);
    struct job *job;

    if (message->report) {
        on_report(core, link, message->report);
        host = host_of(core, link);
        if (host)
            host->contact_mono_us = core->mono_us;
        return;
    }
    if (!host) {
        effect_add(core, EFFECT_DROP_LINK)->link = link;
        return;
    }
    host->contact_mono_us = core->mono_us;
    if (message->started) {
        job = job_running_here(core, host, message->started->job, message->started->fence);
        if (job)
            attempt_started(core, job);
        else
            kill_there(core, host, message->started->job, message->started->fence);
    }
    if (message->progress)
        on_progress(core, host, message->progress);
    if (message->checkpoint)
        checkpoint_reported(core, host, message->checkpoint);
    if (message->ended)
        attempt_reported_end(core, host, message->ended);
    if (message->suspension) {
        job = job_running_here(core, host, message->suspension->job, message->suspension->fence);
        if (job)
            attempt_suspended(core, job, message->suspension->suspended,
                              message->suspension->detail);
    }
}

/* ---- leases ---- */

void host_link_closed(struct core *core, uint64_t link)
{
    struct host *host = map_remove(&core->links, link);

    if (host)
        host_set_link(core, host, 0);
}

static int64_t lease_end(const struct core *core, const struct host *host)
{
    return host->contact_mono_us + core->config.lease_us + core->config.lease_margin_us;
}

int64_t host_next_lease(const struct core *core)
{
    int64_t next_us = INT64_MAX;

    for (size_t i = 0; i < core->host_count; i++)
        if (!core->hosts[i]->lost && lease_end(core, core->hosts[i]) < next_us)
            next_us = lease_end(core, core->hosts[i]);
    return next_us;
}

/* Silent beyond lease and margin: the agent has stopped all its jobs by itself, so they are dead.
 */
static void host_lose(struct core *core, struct host *host)
{
    host->lost = true;
    if (host->link) {
        effect_add(core, EFFECT_DROP_LINK)->link = host->link;
        map_remove(&core->links, host->link);
        host_set_link(core, host, 0);
    }
    list_foreach (&host->systems, link) {
        struct system *system = CONTAINER_OF(link, struct system, host_link);
        end_job_of(core, system, WAFER__CAUSE__SYSTEM_LOST, "contact was lost beyond the lease");
        system_set(core, system, WAFER__SYSTEM__STATE__LOST, "contact was lost beyond the lease");
    }
}

void host_check_leases(struct core *core)
{
    for (size_t i = 0; i < core->host_count; i++)
        if (!core->hosts[i]->lost && core->mono_us >= lease_end(core, core->hosts[i]))
            host_lose(core, core->hosts[i]);
}
