#include "base/memory.h"
#include "engine/agent_parts.h"
#include "engine/effects.h"
#include "model/limits.h"

/* A report must fit its frame: what does not waits for a later one. */
#define REPORT_ENDED_BYTES       (LIMIT_AGENT_BYTES / 4)
#define REPORT_CHECKPOINTS_BYTES (LIMIT_AGENT_BYTES / 2)

static void report_systems(struct agent *agent, Wafer__Report *report)
{
    report->systems = memory_new((agent->units.count + 1) * sizeof(Wafer__HostedSystem *));
    for (size_t i = 0; i < agent->units.count; i++) {
        struct unit *unit = &agent->units.items[i];
        if (report->registration)
            unit->changed = false;
        else if (!unit->changed)
            continue;
        report->systems[report->n_systems++] = unit_hosted_system(unit);
    }
}

static Wafer__RunningJob *running_job(struct run *run, int64_t now_us)
{
    Wafer__RunningJob *running = MESSAGE_NEW(Wafer__RunningJob, running_job);

    run_catch_up(run, now_us);
    running->job = run->job;
    running->fence = fence_new(run->term, run->epoch);
    running->step = run_step(run);
    running->phase = run->phase;
    running->has_suspended = true;
    running->suspended = run->suspended;
    running->times = run_phase_times(run, now_us);
    return running;
}

struct report_space {
    size_t ended_bytes, checkpoint_bytes;
    size_t ended_capacity, checkpoint_capacity;
};

static void report_job(struct agent *agent, struct job *job, Wafer__Report *report,
                       struct report_space *space)
{
    if (job->run)
        report->running[report->n_running++] = running_job(job->run, agent->now_us);
    if (job->ended) {
        space->ended_bytes += wafer__attempt_end__get_packed_size(job->ended) + 8;
        if (space->ended_bytes <= REPORT_ENDED_BYTES) {
            ARRAY_RESERVE(report->ended, report->n_ended, space->ended_capacity);
            report->ended[report->n_ended++] = MESSAGE_COPY(job->ended);
        }
    }
    for (size_t i = job->written_count; i-- > 0;) {
        space->checkpoint_bytes += wafer__checkpoint_report__get_packed_size(job->written[i]) + 8;
        if (space->checkpoint_bytes > REPORT_CHECKPOINTS_BYTES)
            return;
        ARRAY_RESERVE(report->checkpoints, report->n_checkpoints, space->checkpoint_capacity);
        report->checkpoints[report->n_checkpoints++] = MESSAGE_COPY(job->written[i]);
    }
}

void agent_send_report(struct agent *agent, bool registration, struct agent_effects *effects)
{
    Wafer__Report *report = MESSAGE_NEW(Wafer__Report, report);
    struct report_space space = { 0 };

    report->host = text_copy(agent->host);
    report->boot_id = text_copy(agent->boot_id);
    report->time_us = agent->now_us;
    report->registration = registration;
    report->has_speed = agent->speed > 0;
    report->speed = agent->speed;
    report_systems(agent, report);
    report->running = memory_new((agent->running + 1) * sizeof(Wafer__RunningJob *));
    list_foreach (&agent->active, link)
        report_job(agent, CONTAINER_OF(link, struct job, link), report, &space);
    effects_send(effects)->report = report;
}
