/* streams — clients that watch: one job, the list of jobs, events.
 *
 * Bounded: nothing is kept for a reader that is too slow but a number, and for a watched job its
 * newest view. When there is room again it is told how much it missed.
 *
 * Knows no socket: whoever owns the connections sends. */
#ifndef WAFERD_STREAMS_H
#define WAFERD_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.pb-c.h"

struct sight_object;
struct streams;

struct streams_ops {
    /* -ENOBUFS  its queue is full: tried again by streams_turn(); other errors end the stream */
    int (*send)(void *userdata, uint64_t client, const Wafer__Response *response);
    /* Whether a client may see it. */
    bool (*sees_job)(void *userdata, uint64_t client, const Wafer__Job *view);
    bool (*sees_event)(void *userdata, uint64_t client, const Wafer__Event *event,
                       const struct sight_object *object);
};

struct stream_reader {
    uint64_t client, request;
    uid_t uid;
};

struct streams *streams_new(const struct streams_ops *ops, void *userdata);
struct streams *streams_free(struct streams *streams); /* always NULL; tells nobody */

/* Begin. What the reader has to know of the past it was sent before. */
void streams_watch_job(struct streams *streams, const struct stream_reader *reader, uint64_t job);
void streams_watch_list(struct streams *streams, const struct stream_reader *reader,
                        const Wafer__ListRequest *filter);
/* Events after `sequence`; of all jobs when `job` is 0. */
void streams_watch_events(struct streams *streams, const struct stream_reader *reader, uint64_t job,
                          uint64_t sequence);

void streams_drop_client(struct streams *streams, uint64_t client);
size_t streams_of_client(const struct streams *streams, uint64_t client);
/* Whether anybody wants to be told of jobs. */
bool streams_want_views(const struct streams *streams);
bool streams_want_events(const struct streams *streams);

/* A job has changed; `removed`: for the last time. */
void streams_on_job(struct streams *streams, const Wafer__Job *view, bool removed);
/* Something happened to the job that `object` is, or to the pool (event->job not set). */
void streams_on_event(struct streams *streams, const Wafer__Event *event,
                      const struct sight_object *object);

/* Try again what did not fit. */
void streams_turn(struct streams *streams);

#endif
