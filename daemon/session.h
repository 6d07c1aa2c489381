/* session — the connections of clients, and the requests that come in on them.
 *
 * A client that asks faster than it is served is not refused but slowed down: no more is read from
 * it than a bounded number of requests and a bounded queue of answers. Only beyond a rate that no
 * real client needs it is told to come back later.
 *
 * A request may name a job that is no longer in memory. What history knows of it is attached, once
 * all that was decided before is durable, so that no job is ever in neither place. */
#ifndef WAFERD_SESSION_H
#define WAFERD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/diag.h"
#include "policy/access.h"

struct daemon;
struct sessions;

/* Listen. Errors of listener_new(). */
int sessions_new(struct daemon *daemon, struct sessions **ret, struct diag *diag);
/* Always NULL; clients see the end of the file. */
struct sessions *sessions_free(struct sessions *sessions);

/* The answer to a request; with `more` the first one of a stream. */
void sessions_reply(struct sessions *sessions, uint64_t client, Wafer__Response *response);
void sessions_reply_error(struct sessions *sessions, uint64_t client, uint64_t request,
                          const char *code, uint32_t status, const char *message);
/* One of many, of a stream whose request was answered with sessions_begin_stream().
 * -ENOBUFS  it has enough to read; -ENOTCONN  it is gone */
int sessions_send(struct sessions *sessions, uint64_t client, const Wafer__Response *response);
/* False: it has too many streams, and was told so. */
bool sessions_begin_stream(struct sessions *sessions, uint64_t client, uint64_t request);

/* At the end of each turn of the loop: requests that waited for the journal, clients that may be
 * read from again. */
void sessions_turn(struct sessions *sessions);

/* No new clients, no new requests; then close each once its answers are sent. */
void sessions_stop(struct sessions *sessions);
void sessions_close(struct sessions *sessions);
/* Who a client is, as the kernel said when it connected; NULL: it is gone. */
const struct subject *sessions_subject(const struct sessions *sessions, uint64_t client);
size_t sessions_count(const struct sessions *sessions);

#endif
