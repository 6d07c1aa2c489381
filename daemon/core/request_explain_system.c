/* Explain, of one system: everything that keeps a job from it, not the first reason alone. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/timestamp.h"
#include "core/forecast.h"
#include "core/request.h"
#include "core/reserved.h"
#include "core/schedule.h"
#include "model/job.h"

typedef Wafer__Explanation__SystemFit SystemFit;

struct fitting {
    const struct request *request;
    const struct core *core;
    const struct job *job;
    const struct system *system;
    SystemFit *ret;
    size_t capacity;
};

/* Takes `text`. */
static void add(struct fitting *fitting, char *text)
{
    SystemFit *ret = fitting->ret;

    ARRAY_RESERVE(ret->obstacles, ret->n_obstacles, fitting->capacity);
    ret->obstacles[ret->n_obstacles++] = text;
}

/* "job 7", if the caller may know of it. */
static char *job_text(const struct fitting *fitting, const struct job *job)
{
    return may(fitting->request, WAFER__ROLE__ACTION__show, job)
               ? text_format("job %llu", (unsigned long long)job->state.id)
               : text_copy("a job of somebody else");
}

static void add_holder(struct fitting *fitting)
{
    const struct system *system = fitting->system;
    const struct job *holder = system->job     ? system->job
                               : system->claim ? system->claim->job
                                               : NULL;

    if (!holder || holder == fitting->job)
        return;
    owned(free) char *whose = job_text(fitting, holder);
    int64_t until_us = system->job ? forecast_end(fitting->core, holder) : INT64_MAX;
    char until[TIMESTAMP_TEXT_SIZE];

    if (!system->job) {
        add(fitting, text_format("it is kept for %s", whose));
    } else if (until_us < INT64_MAX) {
        timestamp_format(until_us, until);
        add(fitting, text_format("%s has it until %s at most", whose, until));
    } else {
        add(fitting, text_format("%s has it, without a time limit", whose));
    }
}

static void add_state(struct fitting *fitting)
{
    const Wafer__SystemState *state = &fitting->system->state;
    const char *reason = state->reason ? state->reason : "";
    const char *drain_reason = state->drain_reason ? state->drain_reason : "";

    if (state->drained)
        add(fitting, text_format("it is drained%s%s", *drain_reason ? ": " : "", drain_reason));
    if (state->state != WAFER__SYSTEM__STATE__UP)
        add(fitting, text_format("it is down%s%s", *reason ? ": " : "", reason));
    else if (!fitting->system->host->link)
        add(fitting, text_copy("its host is not connected"));
}

/* All systems of a job are of one host. */
static void add_host(struct fitting *fitting, const struct pool *pool)
{
    const struct host *host = fitting->system->host;
    const struct supply *supply = &host->supply[pool - fitting->core->pools];
    uint32_t wanted = schedule_systems_for(fitting->core, fitting->job);

    if (supply->known < wanted)
        add(fitting, text_format("the job needs %u systems of one host, and %s has %u", wanted,
                                 host->state.name, supply->known));
    else if (supply->healthy < wanted)
        add(fitting, text_format("the job needs %u systems of one host, and %s has %u in order",
                                 wanted, host->state.name, supply->healthy));
    else if (supply->free < wanted)
        add(fitting, text_format("the job needs %u systems of one host, and %s has %u free", wanted,
                                 host->state.name, supply->free));
}

static void add_windows(struct fitting *fitting)
{
    if (!reserved_is_open(fitting->system, fitting->job))
        add(fitting, text_copy(fitting->job->entry.reservation
                                   ? "it has no window now that the job may use to its limit"
                                   : "the job would run into a window of a reservation there"));
}

/* What keeps the job from starting anywhere. */
static void add_own(struct fitting *fitting)
{
    struct wait wait = { 0 };

    if (fitting->job->state.state == WAFER__JOB__STATE__HELD) {
        add(fitting, text_copy("the job is held"));
        return;
    }
    schedule_explain(fitting->core, fitting->job, &wait);
    owned(free) char *detail = wait.detail;
    switch (wait.reason) {
    case WAFER__JOB__REASON__NeverFits:
    case WAFER__JOB__REASON__SystemUnavailable:
    case WAFER__JOB__REASON__Resources: return; /* of systems: told above, of this one */
    default:
        add(fitting, text_format("%s: %s", job_reason_name(wait.reason), detail ? detail : ""));
    }
}

static void fit_waiting(struct fitting *fitting)
{
    const struct pool *pool = job_pool(fitting->core, fitting->job);
    const struct system *system = fitting->system;

    if (!pool || system->pool != pool) {
        add(fitting, text_format("the job is for pool %s", pool ? pool->name : "-"));
        if (system->pool && !pool_takes(system->pool, fitting->job->spec->terms.level))
            add(fitting, text_format("pool %s does not take its class", system->pool->name));
        return;
    }
    add_state(fitting);
    add_holder(fitting);
    add_host(fitting, pool);
    add_windows(fitting);
    add_own(fitting);
}

Wafer__Explanation__SystemFit *system_fit_new(const struct request *request, const struct job *job,
                                              const struct system *system)
{
    struct fitting fitting = {
        .request = request, .core = request->core, .job = job, .system = system
    };
    SystemFit *ret = fitting.ret = NEW(SystemFit);

    wafer__explanation__system_fit__init(ret);
    ret->system = text_copy(system->state.name);
    ret->host = text_copy(system->host->state.name);
    ret->pool = system->pool ? text_copy(system->pool->name) : NULL;
    if (!job || job_state_is_terminal(job->state.state))
        add(&fitting, text_copy("the job has ended"));
    else if (!job_has_systems(job))
        fit_waiting(&fitting);
    else if (system->job != job)
        add(&fitting, text_copy("the job runs elsewhere"));
    return ret;
}
