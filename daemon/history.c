#include "history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/memory.h"
#include "daemon.h"
#include "facts.h"
#include "list_filter.h"
#include "log/log.h"
#include "model/message.h"
#include "report.h"
#include "session.h"
#include "sight.h"
#include "store/store.h"

#define ITEMS_DEFAULT 1000
#define ITEMS_MAX     10000
#define EVENTS_SHOWN  5

static void response_freep(Wafer__Response **response)
{
    wafer__response__free_unpacked(*response, NULL);
}

static void fail(struct daemon *daemon, const struct effect *effect, const struct diag *diag)
{
    log_error("history: %s", diag->text);
    sessions_reply_error(daemon->sessions, effect->client, effect->request, "E_IO", EX_IOERR,
                         diag->text);
}

static Wafer__Time *time_now(const struct daemon *daemon)
{
    Wafer__Time *time = NEW(Wafer__Time);

    wafer__time__init(time);
    time->us = daemon_time_us(daemon);
    return time;
}

static size_t limit_of(protobuf_c_boolean has_limit, uint32_t limit)
{
    if (!has_limit)
        return ITEMS_DEFAULT;
    return limit < ITEMS_MAX ? limit : ITEMS_MAX;
}

/* ---- events ---- */

struct event_collection {
    struct daemon *daemon;
    const struct rights *rights; /* of the caller; NULL: all of it was judged before */
    uint64_t last_job;
    struct sight_object last_object;
    Wafer__Event **items;
    size_t count, capacity;
    uint64_t last_sequence;
};

static void event_collection_donep(struct event_collection *events)
{
    for (size_t i = 0; i < events->count; i++)
        wafer__event__free_unpacked(events->items[i], NULL);
    free(events->items);
    sight_object_done(&events->last_object);
}

static bool is_visible(struct event_collection *events, const Wafer__Event *event)
{
    if (!events->rights)
        return true;
    if (event->has_job &&
        event->job != events->last_job) { /* those of one job often come together */
        events->last_job = event->job;
        sight_object_done(&events->last_object);
        sight_object_of_job(events->daemon, event->job, &events->last_object);
    }
    return sight_event(events->rights, event, &events->last_object);
}

static void add_event(void *userdata, const Wafer__Event *event)
{
    struct event_collection *events = userdata;

    events->last_sequence = event->sequence;
    if (!is_visible(events, event))
        return;
    ARRAY_RESERVE(events->items, events->count, events->capacity);
    events->items[events->count++] = (Wafer__Event *)message_copy(&event->base);
}

static int collect_events(struct daemon *daemon, uint64_t job, size_t limit,
                          struct event_collection *ret, struct diag *diag)
{
    ret->daemon = daemon;
    if (limit == 0)
        return 0;
    return store_history_events(daemon->store, job, limit, add_event, ret, diag);
}

static void make_event_list(struct daemon *daemon, const struct event_collection *events,
                            Wafer__EventList *ret)
{
    *ret = (Wafer__EventList)WAFER__EVENT_LIST__INIT;
    ret->schema = (char *)"wafer.event.list/v1";
    ret->generated_at = time_now(daemon);
    ret->has_total = true;
    ret->total = events->count;
    ret->n_items = events->count;
    ret->items = events->items;
}

static int send_events(struct daemon *daemon, const struct effect *effect, bool more,
                       uint64_t *ret_sequence)
{
    const Wafer__EventsRequest *request = effect->message->events;
    struct rights rights;
    owned(event_collection_done) struct event_collection events = { .rights = &rights };
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__EventList list;
    struct diag diag;
    if (!sight_rights(daemon, effect->client, &rights))
        return -ENOTCONN;
    int r = collect_events(daemon, effect->job, limit_of(request->has_limit, request->limit),
                           &events, &diag);

    if (r < 0) {
        fail(daemon, effect, &diag);
        return r;
    }
    make_event_list(daemon, &events, &list);
    response.id = effect->request;
    response.has_more = response.more = more;
    response.body_case = WAFER__RESPONSE__BODY_EVENTS;
    response.events = &list;
    if (more) /* a stream was begun: its request counts as answered */
        sessions_send(daemon->sessions, effect->client, &response);
    else
        sessions_reply(daemon->sessions, effect->client, &response);
    free(list.generated_at);
    *ret_sequence = events.last_sequence;
    return 0;
}

uint64_t history_tell_events(struct daemon *daemon, const struct effect *effect, bool more)
{
    uint64_t told = 0;

    send_events(daemon, effect, more, &told);
    /* What was decided before the request is past, also when none of it was to be told. */
    return told > effect->key_sequence ? told : effect->key_sequence;
}

void history_complete(struct daemon *daemon, const struct effect *effect)
{
    Wafer__Response *response = effect->response;
    struct event_collection events = { .count = 0 };
    struct diag diag;

    if (response->body_case != WAFER__RESPONSE__BODY_SHOW || response->show->n_events > 0)
        return;
    if (collect_events(daemon, response->show->job->id, EVENTS_SHOWN, &events, &diag) < 0) {
        log_error("history: %s", diag.text);
        event_collection_donep(&events);
        return;
    }
    response->show->events = events.items;
    response->show->n_events = events.count;
}

/* ---- jobs ---- */

struct job_collection {
    const Wafer__ListRequest *filter;
    const struct rights *rights;
    Wafer__JobList *list;
    size_t capacity, limit, passed_over;
};

static void add_job(void *userdata, const Wafer__Job *view)
{
    struct job_collection *jobs = userdata;
    Wafer__JobList *list = jobs->list;

    if (!sight_job(jobs->rights, WAFER__ROLE__ACTION__show, view) ||
        !list_shows(jobs->filter, view)) {
        jobs->passed_over++;
        return;
    }
    if (list->n_items >= jobs->limit)
        return;
    ARRAY_RESERVE(list->items, list->n_items, jobs->capacity);
    list->items[list->n_items++] = (Wafer__Job *)message_copy(&view->base);
}

static Wafer__JobList *job_list_new(struct daemon *daemon)
{
    Wafer__JobList *list = NEW(Wafer__JobList);

    wafer__job_list__init(list);
    list->schema = text_copy("wafer.job.list/v1");
    list->generated_at = time_now(daemon);
    list->has_total = true;
    return list;
}

static void answer_list(struct daemon *daemon, const struct effect *effect)
{
    const Wafer__ListRequest *request = effect->message->list;
    Wafer__Response *response = effect->response;
    owned(response_free) Wafer__Response *made = NULL;
    struct rights rights;

    if (!sight_rights(daemon, effect->client, &rights))
        return;
    if (!response) {
        made = response = NEW(Wafer__Response);
        wafer__response__init(response);
        response->id = effect->request;
        response->body_case = WAFER__RESPONSE__BODY_JOBS;
        response->jobs = job_list_new(daemon);
    }
    Wafer__JobList *list = response->jobs;
    size_t live_count = list->n_items;
    struct job_collection jobs = { .filter = request,
                                   .rights = &rights,
                                   .list = list,
                                   .capacity = list->n_items,
                                   .limit = limit_of(request->has_limit, request->limit) };
    uint64_t ended_count;
    struct diag diag;
    /* With a filter, what is passed over does not count: look at more. */
    bool some = request->all_users && !rights_reach_all(&rights, WAFER__ROLE__ACTION__show);
    size_t look = request->n_states || request->queue || some ? ITEMS_MAX : jobs.limit;
    int r = store_history_jobs(daemon->store, request->all_users, effect->uid, look, add_job, &jobs,
                               &ended_count, &diag);
    if (r < 0) {
        fail(daemon, effect, &diag);
        return;
    }
    if (some) /* how many others there are is not the caller's business */
        ended_count = list->n_items - live_count + jobs.passed_over;
    list->total += ended_count > jobs.passed_over ? ended_count - jobs.passed_over : 0;
    list->has_truncated = true;
    list->truncated = list->total > list->n_items;
    sessions_reply(daemon->sessions, effect->client, response);
}

static void answer_show(struct daemon *daemon, const struct effect *effect)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__ShowResponse show = WAFER__SHOW_RESPONSE__INIT;
    owned(event_collection_done) struct event_collection events = { .count = 0 };
    struct rights rights;
    struct store_job job;
    struct diag diag;
    int r = store_history_job(daemon->store, effect->job, &job, &diag);

    if (r >= 0) {
        r = collect_events(daemon, effect->job, EVENTS_SHOWN, &events, &diag);
        if (r < 0)
            store_job_done(&job);
    }
    if (r < 0) {
        fail(daemon, effect, &diag);
        return;
    }
    show.job = job.view;
    /* What a job is made of is content. */
    if (sight_rights(daemon, effect->client, &rights) &&
        sight_job(&rights, WAFER__ROLE__ACTION__read, job.view))
        show.spec = wafer__job_spec__unpack(NULL, job.spec.len, job.spec.data);
    show.n_events = events.count;
    show.events = events.items;
    response.id = effect->request;
    response.body_case = WAFER__RESPONSE__BODY_SHOW;
    response.show = &show;
    sessions_reply(daemon->sessions, effect->client, &response);
    wafer__job_spec__free_unpacked(show.spec, NULL);
    store_job_done(&job);
}

/* ---- where its time went ---- */

static void on_past_attempt(void *userdata, const Wafer__AttemptState *attempt)
{
    report_add_attempt(userdata, attempt);
}

static void on_past_hold(void *userdata, int64_t time_us, bool held)
{
    report_add_hold(userdata, time_us, held);
}

/* What the core says of the job as it is, after what is past. */
static int collect_past(struct daemon *daemon, const struct effect *effect, struct report_past *ret,
                        struct diag *diag)
{
    static const struct store_past_ops ops = { .attempt = on_past_attempt, .hold = on_past_hold };
    int r = store_history_past(daemon->store, effect->job, &ops, ret, diag);

    if (r >= 0 && effect->attempt) {
        report_add_attempt(ret, effect->attempt);
        ret->last_goes_on = true;
    }
    return r;
}

/* The core has said why; what the job has been through is added. */
static void answer_explanation(struct daemon *daemon, const struct effect *effect)
{
    owned(report_past_done) struct report_past past = { .attempts = NULL };
    Wafer__Explanation *explanation = effect->response->explanation;
    struct diag diag;

    if (collect_past(daemon, effect, &past, &diag) < 0) {
        fail(daemon, effect, &diag);
        return;
    }
    Wafer__JobReport *report = report_new(effect->view, &past, daemon_time_us(daemon));
    explanation->attempts = TAKE(report->attempts);
    explanation->n_attempts = report->n_attempts;
    report->n_attempts = 0;
    wafer__job_report__free_unpacked(report, NULL);
    sessions_reply(daemon->sessions, effect->client, effect->response);
}

static void answer_report(struct daemon *daemon, const struct effect *effect)
{
    owned(report_past_done) struct report_past past = { .attempts = NULL };
    Wafer__Response response = WAFER__RESPONSE__INIT;
    struct diag diag;

    if (collect_past(daemon, effect, &past, &diag) < 0) {
        fail(daemon, effect, &diag);
        return;
    }
    response.id = effect->request;
    response.body_case = WAFER__RESPONSE__BODY_REPORT;
    response.report = report_new(effect->view, &past, daemon_time_us(daemon));
    sessions_reply(daemon->sessions, effect->client, &response);
    wafer__job_report__free_unpacked(response.report, NULL);
}

void history_answer(struct daemon *daemon, const struct effect *effect)
{
    uint64_t told;

    switch (effect->message->body_case) {
    case WAFER__REQUEST__BODY_LIST: answer_list(daemon, effect); break;
    case WAFER__REQUEST__BODY_SHOW: answer_show(daemon, effect); break;
    case WAFER__REQUEST__BODY_EXPLAIN: answer_explanation(daemon, effect); break;
    case WAFER__REQUEST__BODY_REPORT: answer_report(daemon, effect); break;
    case WAFER__REQUEST__BODY_EVENTS: send_events(daemon, effect, false, &told); break;
    default:
        sessions_reply_error(daemon->sessions, effect->client, effect->request, "E_INTERNAL",
                             EX_SOFTWARE, "history cannot answer this request");
    }
}
