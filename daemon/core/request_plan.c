/* Plan: what would become of a job that is not handed in. It is put into the queue for the time of
 * the question, and leaves no trace. */
#include <stdlib.h>

#include "base/memory.h"
#include "core/accounts.h"
#include "core/dependencies.h"
#include "core/request.h"
#include "core/schedule.h"

/* A job as it would be; no object of the state. */
static struct job *imagine(struct core *core, ProtobufCBinaryData packed,
                           const Wafer__JobState *state)
{
    struct job *job = NEW(struct job);

    job->state = *state;
    job->spec = spec_intern(core, packed.data, packed.len);
    list_init(&job->checkpoints);
    list_init(&job->array_link);
    list_init(&job->parked_link);
    account_join(core, job);
    return job;
}

/* Of all its systems until its limit; NULL: it has none. */
static Wafer__Job__Cost *cost_at_most(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);
    const struct job_terms *terms = &job->spec->terms;
    Wafer__Job__Cost *cost = NEW(Wafer__Job__Cost);

    wafer__job__cost__init(cost);
    if (!terms->limit_us) {
        free(cost);
        return NULL;
    }
    __int128 held_us = (__int128)terms->limit_us * terms->systems_count;
    __int128 micro = held_us * pool->price_micro / HOUR_US;
    if (terms->max_cost_micro && terms->max_cost_micro < micro)
        micro = terms->max_cost_micro;
    if (micro > INT64_MAX)
        micro = INT64_MAX;
    SET(cost, system_s, (int64_t)(held_us / SECOND_US));
    cost->amount = text_format("%lld.%02lld", (long long)(micro / 1000000),
                               (long long)(micro % 1000000 / 10000));
    cost->currency = text_copy(pool->currency);
    SET(cost, estimated, true);
    return cost;
}

/* What is used of what there is, of those that leave it at that. */
static void add_quotas(const struct core *core, const struct job *job, Wafer__Plan *plan)
{
    plan->quotas = memory_new(QUOTA_KINDS * sizeof(*plan->quotas));
    for (int i = 0; i < QUOTA_KINDS; i++) {
        const struct quota *quota = job_quota(job, (enum quota_kind)i);
        if (quota && quota_is_limited(quota))
            plan->quotas[plan->n_quotas++] = view_quota(core, quota);
    }
}

static Wafer__Plan *plan_new(struct request *request, struct job *job)
{
    struct core *core = request->core;
    struct pool *pool = job_pool(core, job);
    Wafer__Plan *plan = NEW(Wafer__Plan);

    wafer__plan__init(plan);
    meters_read(core); /* those that came with this job */
    schedule_imagine(core, job);
    plan->explanation = explanation_new(request, job);
    plan->starts_now = job->entry.chunk && !pool->stopped && !core->journal_full &&
                       scheduler_would_start(pool->scheduler, &job->entry, core->now_us);
    if (!plan->starts_now)
        plan->stops = preemption_preview(core, pool, job, &plan->n_stops);
    schedule_remove(core, job);
    add_quotas(core, job, plan);
    plan->cost_at_most = cost_at_most(core, job);
    plan->spec = MESSAGE_COPY(job->spec->message);
    return plan;
}

static void answer(struct request *request, Wafer__Plan *plan, Wafer__Plan__Resumption *resumption)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_PLAN);
    const struct pool *pool = core_pool(request->core, plan->explanation->job->pool);

    if (!resumption || resumption->as_new_job) {
        plan->explanation->job->id = 0;
        /* What can be done is told; the commands would name a job that there is not. */
        for (size_t i = 0; i < plan->explanation->n_advice; i++)
            free(TAKE(plan->explanation->advice[i]->command));
    }
    plan->resumption = resumption;
    if (resumption && pool) {
        resumption->pool_classes = memory_new(32 * sizeof(*resumption->pool_classes));
        for (int level = 0; level <= WAFER__LABEL__LEVEL__restricted; level++)
            if (pool_takes(pool, level))
                resumption->pool_classes[resumption->n_pool_classes++] = level;
    }
    response->plan = plan;
    effect_reply(request->core, request->input, response);
}

void answer_plan(struct request *request, ProtobufCBinaryData packed, const Wafer__JobState *state,
                 Wafer__Plan__Resumption *resumption)
{
    struct core *core = request->core;
    struct job *waiting = core_job(core, state->id);
    struct job *job = imagine(core, packed, state);

    /* It would be there as it would be, and not as it is too. */
    if (waiting && waiting->state.state == WAFER__JOB__STATE__PENDING)
        schedule_remove(core, waiting);
    Wafer__Plan *plan = plan_new(request, job);
    if (waiting && waiting->state.state == WAFER__JOB__STATE__PENDING)
        schedule_add(core, waiting);
    answer(request, plan, resumption);
    account_leave(core, job);
    spec_release(core, job->spec);
    free(job);
}

void answer_plan_of_running(struct request *request, const struct job *job,
                            Wafer__Plan__Resumption *resumption)
{
    Wafer__Plan *plan = NEW(Wafer__Plan);

    wafer__plan__init(plan);
    plan->explanation = explanation_new(request, job);
    plan->cost_at_most = cost_at_most(request->core, job);
    plan->spec = MESSAGE_COPY(job->spec->message);
    answer(request, plan, resumption);
}

void on_plan(struct request *request)
{
    const Wafer__JobSpec *spec = request->message->plan->spec;
    Wafer__JobState state = WAFER__JOB_STATE__INIT;
    struct planned planned;

    if (!plan_read(request, spec, &planned))
        return;
    state.id = state.lineage = request->core->next_job;
    state.uid = request->uid;
    state.state = WAFER__JOB__STATE__PENDING;
    state.submitted_us = request->core->now_us;
    state.after = planned.after;
    state.n_after = planned.after_count;
    if (planned.resumed_from)
        SET(&state, resumed_from, planned.resumed_from);
    answer_plan(request, planned.packed, &state, NULL);
    free(planned.packed.data);
    dependencies_free(planned.after, planned.after_count);
}
