/* Plan: what would become of a job that is not handed in. It is put into the queue for the time of
 * the question, and leaves no trace. */
#include <stdlib.h>

#include "base/memory.h"
#include "core/accounts.h"
#include "core/dependencies.h"
#include "core/request.h"
#include "core/schedule.h"

/* A job as it would be; no object of the state. */
static struct job *imagine(struct request *request, const struct planned *planned)
{
    struct core *core = request->core;
    struct job *job = NEW(struct job);

    wafer__job_state__init(&job->state);
    job->state.id = job->state.lineage = core->next_job;
    job->state.uid = request->uid;
    job->state.state = WAFER__JOB__STATE__PENDING;
    job->state.submitted_us = core->now_us;
    job->state.after = planned->after;
    job->state.n_after = planned->after_count;
    if (planned->resumed_from)
        SET(&job->state, resumed_from, planned->resumed_from);
    job->spec = spec_intern(core, planned->packed.data, planned->packed.len);
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

static Wafer__Plan *plan_new(struct request *request, struct job *job)
{
    struct core *core = request->core;
    struct pool *pool = job_pool(core, job);
    Wafer__Plan *plan = NEW(Wafer__Plan);

    wafer__plan__init(plan);
    schedule_imagine(core, job);
    plan->explanation = explanation_new(request, job);
    plan->starts_now = job->entry.chunk && !pool->stopped && !core->journal_full &&
                       scheduler_would_start(pool->scheduler, &job->entry, core->now_us);
    if (!plan->starts_now)
        plan->stops = preemption_preview(core, pool, job, &plan->n_stops);
    schedule_remove(core, job);
    plan->explanation->job->id = 0;
    /* What can be done is told; the commands would name a job that there is not. */
    for (size_t i = 0; i < plan->explanation->n_advice; i++)
        free(TAKE(plan->explanation->advice[i]->command));
    plan->cost_at_most = cost_at_most(core, job);
    plan->spec = MESSAGE_COPY(job->spec->message);
    return plan;
}

void on_plan(struct request *request)
{
    const Wafer__JobSpec *spec = request->message->plan->spec;
    struct planned planned;

    if (!plan_read(request, spec, &planned))
        return;
    struct job *job = imagine(request, &planned);
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_PLAN);
    response->plan = plan_new(request, job);
    account_leave(request->core, job);
    spec_release(request->core, job->spec);
    free(planned.packed.data);
    dependencies_free(planned.after, planned.after_count);
    free(job);
    effect_reply(request->core, request->input, response);
}
