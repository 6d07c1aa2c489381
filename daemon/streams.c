#include "streams.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/memory.h"
#include "list_filter.h"
#include "model/message.h"

enum stream_kind { STREAM_JOB, STREAM_LIST, STREAM_EVENTS };

struct stream {
    struct list link;         /* streams->all */
    struct list stalled_link; /* streams->stalled, while something waits for room */
    enum stream_kind kind;
    struct stream_reader reader;
    uint64_t job;               /* JOB, EVENTS; 0: all */
    uint64_t sequence;          /* EVENTS: told up to this one */
    Wafer__ListRequest *filter; /* LIST */
    uint64_t missed;            /* messages dropped and not told yet */
    Wafer__Job *view;           /* JOB: the newest one that did not fit */
    bool view_is_last;
};

struct streams {
    const struct streams_ops *ops;
    void *userdata;
    struct list all, stalled;
    size_t view_count, event_count;
};

struct streams *streams_new(const struct streams_ops *ops, void *userdata)
{
    struct streams *streams = NEW(struct streams);

    streams->ops = ops;
    streams->userdata = userdata;
    list_init(&streams->all);
    list_init(&streams->stalled);
    return streams;
}

static struct stream *of_link(struct list *link)
{
    return CONTAINER_OF(link, struct stream, link);
}

static size_t *count_of(struct streams *streams, const struct stream *stream)
{
    return stream->kind == STREAM_EVENTS ? &streams->event_count : &streams->view_count;
}

static void stream_end(struct streams *streams, struct stream *stream)
{
    --*count_of(streams, stream);
    list_remove(&stream->link);
    list_remove(&stream->stalled_link);
    if (stream->filter)
        wafer__list_request__free_unpacked(stream->filter, NULL);
    if (stream->view)
        wafer__job__free_unpacked(stream->view, NULL);
    free(stream);
}

struct streams *streams_free(struct streams *streams)
{
    if (!streams)
        return NULL;
    list_foreach_safe (&streams->all, link)
        stream_end(streams, of_link(link));
    free(streams);
    return NULL;
}

static struct stream *stream_new(struct streams *streams, enum stream_kind kind,
                                 const struct stream_reader *reader)
{
    struct stream *stream = NEW(struct stream);

    stream->kind = kind;
    stream->reader = *reader;
    list_push_tail(&streams->all, &stream->link);
    list_init(&stream->stalled_link);
    ++*count_of(streams, stream);
    return stream;
}

void streams_watch_job(struct streams *streams, const struct stream_reader *reader, uint64_t job)
{
    stream_new(streams, STREAM_JOB, reader)->job = job;
}

void streams_watch_list(struct streams *streams, const struct stream_reader *reader,
                        const Wafer__ListRequest *filter)
{
    struct stream *stream = stream_new(streams, STREAM_LIST, reader);

    stream->filter = (Wafer__ListRequest *)message_copy(&filter->base);
}

void streams_watch_events(struct streams *streams, const struct stream_reader *reader, uint64_t job,
                          uint64_t sequence)
{
    struct stream *stream = stream_new(streams, STREAM_EVENTS, reader);

    stream->job = job;
    stream->sequence = sequence;
}

void streams_drop_client(struct streams *streams, uint64_t client)
{
    list_foreach_safe (&streams->all, link) {
        if (of_link(link)->reader.client == client)
            stream_end(streams, of_link(link));
    }
}

size_t streams_of_client(const struct streams *streams, uint64_t client)
{
    size_t count = 0;

    list_foreach (&streams->all, link)
        count += of_link(link)->reader.client == client;
    return count;
}

bool streams_want_views(const struct streams *streams)
{
    return streams->view_count > 0;
}

bool streams_want_events(const struct streams *streams)
{
    return streams->event_count > 0;
}

/* Send `response`, completed with what was missed. 0, -ENOBUFS, or the stream is no more (1). */
static int stream_send(struct streams *streams, struct stream *stream, Wafer__Response *response,
                       bool last)
{
    response->id = stream->reader.request;
    response->has_more = true;
    response->more = !last;
    response->has_missed = stream->missed > 0;
    response->missed = stream->missed;
    int r = streams->ops->send(streams->userdata, stream->reader.client, response);
    if (r == -ENOBUFS) {
        if (list_is_empty(&stream->stalled_link))
            list_push_tail(&streams->stalled, &stream->stalled_link);
        return r;
    }
    if (r < 0 || last) {
        stream_end(streams, stream);
        return 1;
    }
    stream->missed = 0;
    list_remove(&stream->stalled_link);
    return 0;
}

/* A message that is not kept: the reader will learn that it missed one. */
static void stream_tell(struct streams *streams, struct stream *stream, Wafer__Response *response)
{
    if (stream_send(streams, stream, response, false) == -ENOBUFS)
        stream->missed++;
}

static void tell_job(struct streams *streams, struct stream *stream, const Wafer__Job *view,
                     bool last)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;

    if (stream->view) {
        stream->missed++; /* overtaken */
        wafer__job__free_unpacked(TAKE(stream->view), NULL);
    }
    response.body_case = WAFER__RESPONSE__BODY_JOB;
    response.job = (Wafer__Job *)view;
    if (stream_send(streams, stream, &response, last) != -ENOBUFS)
        return;
    /* Only the newest state matters, and the last one must arrive: it is kept. */
    stream->view = (Wafer__Job *)message_copy(&view->base);
    stream->view_is_last = last;
}

static void tell_list(struct streams *streams, struct stream *stream, const Wafer__Job *view)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__JobList jobs = WAFER__JOB_LIST__INIT;
    Wafer__JobIds ids = WAFER__JOB_IDS__INIT;
    Wafer__Job *item = (Wafer__Job *)view;

    if (list_shows(stream->filter, view)) {
        jobs.schema = (char *)"wafer.job.list/v1";
        jobs.n_items = 1;
        jobs.items = &item;
        response.body_case = WAFER__RESPONSE__BODY_JOBS;
        response.jobs = &jobs;
        stream_tell(streams, stream, &response);
        return;
    }
    /* It may have matched before: the reader knows. */
    ids.n_ids = 1;
    ids.ids = &item->id;
    response.body_case = WAFER__RESPONSE__BODY_REMOVED;
    response.removed = &ids;
    stream_tell(streams, stream, &response);
}

void streams_on_job(struct streams *streams, const Wafer__Job *view, bool removed)
{
    if (!streams_want_views(streams))
        return;
    list_foreach_safe (&streams->all, link) {
        struct stream *stream = of_link(link);
        if (stream->kind == STREAM_JOB && stream->job == view->id) {
            tell_job(streams, stream, view, removed);
        } else if (stream->kind == STREAM_LIST) {
            bool mine = view->has_uid && view->uid == stream->reader.uid;
            if ((mine || stream->filter->all_users) &&
                streams->ops->sees_job(streams->userdata, stream->reader.client, view))
                tell_list(streams, stream, view);
        }
    }
}

static Wafer__EventList event_list(Wafer__Event **items, size_t count)
{
    Wafer__EventList list = WAFER__EVENT_LIST__INIT;

    list.schema = (char *)"wafer.event.list/v1";
    list.n_items = count;
    list.items = items;
    return list;
}

static bool wants_event(const struct streams *streams, const struct stream *stream,
                        const Wafer__Event *event, const struct sight_object *object)
{
    if (stream->job && (!event->has_job || event->job != stream->job))
        return false;
    return streams->ops->sees_event(streams->userdata, stream->reader.client, event, object);
}

void streams_on_event(struct streams *streams, const Wafer__Event *event,
                      const struct sight_object *object)
{
    Wafer__Event *item = (Wafer__Event *)event;

    if (!streams_want_events(streams))
        return;
    list_foreach_safe (&streams->all, link) {
        struct stream *stream = of_link(link);
        if (stream->kind != STREAM_EVENTS || event->sequence <= stream->sequence ||
            !wants_event(streams, stream, event, object))
            continue;
        Wafer__Response response = WAFER__RESPONSE__INIT;
        Wafer__EventList list = event_list(&item, 1);
        response.body_case = WAFER__RESPONSE__BODY_EVENTS;
        response.events = &list;
        stream->sequence = event->sequence;
        stream_tell(streams, stream, &response);
    }
}

/* Nothing new came: an empty message says what was missed. */
static void tell_missed(struct streams *streams, struct stream *stream)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__EventList events = event_list(NULL, 0);
    Wafer__JobList jobs = WAFER__JOB_LIST__INIT;

    if (stream->kind == STREAM_EVENTS) {
        response.body_case = WAFER__RESPONSE__BODY_EVENTS;
        response.events = &events;
    } else {
        jobs.schema = (char *)"wafer.job.list/v1";
        response.body_case = WAFER__RESPONSE__BODY_JOBS;
        response.jobs = &jobs;
    }
    stream_send(streams, stream, &response, false);
}

static void retry(struct streams *streams, struct stream *stream)
{
    if (stream->kind != STREAM_JOB) {
        tell_missed(streams, stream);
        return;
    }
    Wafer__Response response = WAFER__RESPONSE__INIT;
    response.body_case = WAFER__RESPONSE__BODY_JOB;
    response.job = stream->view;
    if (stream_send(streams, stream, &response, stream->view_is_last) == 0) {
        wafer__job__free_unpacked(stream->view, NULL);
        stream->view = NULL;
    }
}

void streams_turn(struct streams *streams)
{
    list_foreach_safe (&streams->stalled, link)
        retry(streams, CONTAINER_OF(link, struct stream, stalled_link));
}
