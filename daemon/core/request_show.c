/* What exists: one job, many jobs, their events and logs. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

#define LIST_DEFAULT 1000
#define LIST_MAX     200000

/* ---- what exists ---- */

/* What a job is made of is content: whoever may only know that it exists is not shown it. */
static void show_view(struct request *request, Wafer__Job *view, const struct spec *spec)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_SHOW);

    response->show = NEW(Wafer__ShowResponse);
    wafer__show_response__init(response->show);
    response->show->job = view;
    if (spec)
        response->show->spec = wafer__job_spec__unpack(NULL, spec->length, spec->packed);
    effect_reply(request->core, request->input, response);
}

void on_show(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->show->target, &facts);

    if (job) {
        Wafer__Job *view = view_job(request->core, job);
        view_add_start(request->core, job, view);
        show_view(request, view, may(request, WAFER__ROLE__ACTION__read, job) ? job->spec : NULL);
    } else if (facts) {
        hand_on(request, EFFECT_HISTORY, facts->state->id);
    }
}

void on_watch(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->watch->target, &facts);

    if (facts)
        answer_view(request, MESSAGE_COPY(facts->view));
    if (!job)
        return;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOB);
    bool ended = job_state_is_terminal(job->state.state);
    response->job = view_job(request->core, job);
    SET(response, more, !ended);
    effect_reply(request->core, request->input, response);
    if (!ended)
        hand_on(request, EFFECT_SUBSCRIBE, job->state.id);
}

void on_logs(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->logs->target, &facts);

    if (job)
        hand_on(request, EFFECT_LOGS, job->state.id)->view = view_job(request->core, job);
    else if (facts)
        hand_on(request, EFFECT_LOGS, facts->state->id)->view = MESSAGE_COPY(facts->view);
}

void on_report(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->report->target, &facts);

    if (!job && !facts)
        return;
    struct effect *effect =
        hand_on(request, EFFECT_HISTORY, job ? job->state.id : facts->state->id);
    effect->view = job ? view_job(request->core, job) : MESSAGE_COPY(facts->view);
    if (job && job_has_systems(job)) {
        struct attempt_description now;
        attempt_describe(request->core, job, &now);
        effect->attempt = MESSAGE_COPY(&now.state);
    }
}

void on_events(struct request *request)
{
    const Wafer__EventsRequest *asked = request->message->events;
    const struct facts *facts = NULL;
    uint64_t id = 0;

    if (asked->target) {
        struct job *job = seen_target(request, asked->target, &facts);
        if (!job && !facts)
            return;
        id = job ? job->state.id : facts->state->id;
    }
    hand_on(request, asked->has_follow && asked->follow ? EFFECT_SUBSCRIBE : EFFECT_HISTORY, id);
}

static bool is_listed(struct request *request, const struct job *job)
{
    const Wafer__ListRequest *asked = request->message->list;

    if ((job->state.uid != request->uid && !asked->all_users) || !permits(request, job))
        return false;
    if (asked->queue) {
        const struct pool *pool = job_pool(request->core, job);
        if (!pool || strcmp(pool->name, asked->queue) != 0)
            return false;
    }
    /* One that has ended and is still in memory, for its last checkpoint, is in history already. */
    if (job_state_is_terminal(job->state.state))
        return false;
    if (!asked->n_states)
        return true;
    for (size_t i = 0; i < asked->n_states; i++)
        if (asked->states[i] == job->state.state)
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    uint64_t one = (*(struct job *const *)a)->state.id, other = (*(struct job *const *)b)->state.id;
    return one < other ? -1 : one > other;
}

void on_list(struct request *request)
{
    const Wafer__ListRequest *asked = request->message->list;
    size_t limit = asked->has_limit ? asked->limit : LIST_DEFAULT;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOBS);
    Wafer__JobList *list = response->jobs = NEW(Wafer__JobList);
    struct job **jobs = memory_new(map_count(&request->core->jobs) * sizeof(*jobs));
    size_t count = 0, cursor = 0;

    if (limit > LIST_MAX)
        limit = LIST_MAX;
    for (struct job *job; (job = map_next(&request->core->jobs, &cursor));)
        if (is_listed(request, job))
            jobs[count++] = job;
    if (limit) /* 0 only counts them */
        qsort(jobs, count, sizeof(*jobs), by_id);

    wafer__job_list__init(list);
    list->schema = text_copy("wafer.job.list/v1");
    list->generated_at = view_time(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, count > limit);
    list->n_items = count < limit ? count : limit;
    list->items = memory_new(list->n_items * sizeof(*list->items));
    for (size_t i = 0; i < list->n_items; i++) {
        list->items[i] = asked->has_brief && asked->brief ? view_row(request->core, jobs[i])
                                                          : view_job(request->core, jobs[i]);
        view_add_start(request->core, jobs[i], list->items[i]);
    }
    free(jobs);

    if (asked->has_watch && asked->watch) {
        SET(response, more, true);
        effect_reply(request->core, request->input, response);
        hand_on(request, EFFECT_SUBSCRIBE, 0);
    } else if (asked->has_ended && asked->ended) {
        hand_on(request, EFFECT_HISTORY, 0)->response = response;
    } else {
        effect_reply(request->core, request->input, response);
    }
}
