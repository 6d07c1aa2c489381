#include "effects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "calendars.h"
#include "checkpoint_task.h"
#include "daemon.h"
#include "history.h"
#include "log/log.h"
#include "logs.h"
#include "model/job.h"
#include "session.h"
#include "sight.h"
#include "streams.h"
#include "webhooks.h"

/* ---- effects ---- */

static void reply(struct daemon *daemon, const struct effect *effect)
{
    history_complete(daemon, effect);
    sessions_reply(daemon->sessions, effect->client, effect->response);
}

static void subscribe(struct daemon *daemon, const struct effect *effect)
{
    const Wafer__Request *request = effect->message;
    struct stream_reader reader = { .client = effect->client,
                                    .request = effect->request,
                                    .uid = effect->uid };
    struct object object;

    /* To a job that is gone from memory nothing happens any more. */
    if (request->body_case == WAFER__REQUEST__BODY_EVENTS && effect->job &&
        !core_object(daemon->core, effect->job, &object)) {
        history_tell_events(daemon, effect, false);
        return;
    }
    if (!sessions_begin_stream(daemon->sessions, effect->client, effect->request))
        return;
    switch (request->body_case) {
    case WAFER__REQUEST__BODY_WATCH:
        streams_watch_job(daemon->streams, &reader, effect->job);
        break;
    case WAFER__REQUEST__BODY_LIST:
        streams_watch_list(daemon->streams, &reader, request->list);
        break;
    case WAFER__REQUEST__BODY_EVENTS:
        streams_watch_events(daemon->streams, &reader, effect->job,
                             history_tell_events(daemon, effect, true));
        break;
    default: log_error("request %d is no stream", (int)request->body_case); break;
    }
}

static void serve_logs(struct daemon *daemon, const struct effect *effect)
{
    if (sessions_begin_stream(daemon->sessions, effect->client, effect->request))
        logs_serve(daemon->logs, effect->client, effect->request, effect->job,
                   effect->view->attempt, job_state_is_terminal(effect->view->state),
                   effect->message->logs);
}

static void carry_out(struct daemon *daemon, const struct effect *effect)
{
    switch (effect->type) { /* no default: adding an effect makes the compiler point here */
    case EFFECT_REPLY: reply(daemon, effect); break;
    case EFFECT_HISTORY: history_answer(daemon, effect); break;
    case EFFECT_SUBSCRIBE: subscribe(daemon, effect); break;
    case EFFECT_LOGS: serve_logs(daemon, effect); break;
    case EFFECT_AGENT: agents_send(daemon->agents, effect->link, effect->to_agent); break;
    case EFFECT_DROP_LINK: agents_drop(daemon->agents, effect->link); break;
    case EFFECT_COMMIT_MANIFEST:
    case EFFECT_VERIFY:
    case EFFECT_DELETE: checkpoint_task_start(daemon, effect); break;
    case EFFECT_NOTIFY: webhooks_send(daemon->webhooks, effect); break;
    case EFFECT_CALENDAR: calendars_renew(daemon, effect); break;
    case EFFECT_CHANGED: streams_on_job(daemon->streams, effect->view, effect->removed); break;
    case EFFECT_STARTED: break; /* of replays only */
    }
}

/* ---- records ---- */

/* What an operator reads without asking. */
static bool is_news(const Wafer__Record *record)
{
    switch (record->kind) {
    case WAFER__RECORD_KIND__JOB_STARTED:
    case WAFER__RECORD_KIND__ATTEMPT_ENDED:
    case WAFER__RECORD_KIND__JOB_ENDED:
    case WAFER__RECORD_KIND__JOB_ISOLATED:
    case WAFER__RECORD_KIND__JOB_SUSPENDED:
    case WAFER__RECORD_KIND__NOTIFY_FAILED:
    case WAFER__RECORD_KIND__NOTIFY_DROPPED:
    case WAFER__RECORD_KIND__SYSTEM_CHANGED:
    case WAFER__RECORD_KIND__RESERVATION_CHANGED:
    case WAFER__RECORD_KIND__RESERVATION_REMOVED:
    case WAFER__RECORD_KIND__QUEUE_CHANGED: return true;
    default: return false;
    }
}

static void log_event(const Wafer__Record *record, const Wafer__Event *event)
{
    struct log_about about = { .job = event->has_job ? event->job : 0,
                               .attempt = record->job_state ? record->job_state->attempt : 0,
                               .system = event->system };
    owned(free) char *cause =
        event->has_cause ? text_format(" %s", cause_name(event->cause)) : NULL;

    log_write_some(LOG_INFO, &about, "%s%s%s%s%s%s", event->system ? event->system : "",
                   event->system ? " " : "", event->kind, cause ? cause : "",
                   event->text ? ": " : "", event->text ? event->text : "");
}

static void tell(struct daemon *daemon, const Wafer__Record *record)
{
    Wafer__Event event;
    Wafer__Time at;
    bool news = is_news(record);

    logs_on_record(daemon->logs, record);
    if (!(news || streams_want_events(daemon->streams)) || !store_event_of(record, &event, &at))
        return;
    if (news)
        log_event(record, &event);
    if (streams_want_events(daemon->streams)) {
        owned(sight_object_done) struct sight_object object;
        sight_object_of_record(daemon, record, &object);
        streams_on_event(daemon->streams, &event, &object);
    }
}

void effects_carry_out(struct daemon *daemon, const struct records *records,
                       const struct effects *effects)
{
    /* Streams that begin here find the records of this step in history already, and are told of
     * none twice: events are numbered. */
    for (size_t i = 0; i < effects->count; i++)
        carry_out(daemon, &effects->items[i]);
    for (size_t i = 0; i < records->count; i++)
        tell(daemon, records->items[i]);
}
