#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "calendars.h"
#include "daemon.h"
#include "facts.h"
#include "log/log.h"
#include "logs.h"
#include "model/limits.h"
#include "net/activation.h"
#include "net/bucket.h"
#include "net/link.h"
#include "net/listener.h"
#include "net/peer.h"
#include "net/unpack.h"
#include "streams.h"

#define EXIT_PROTOCOL      76
#define REQUESTS_IN_FLIGHT 1024      /* of one client */
#define ANSWERS_QUEUED     (1 << 20) /* bytes; more, and a client must read before it may ask on */
#define RECORDS_IN_FLIGHT  (1 << 16) /* more, and nobody may: the disk does not keep up */
#define STREAMS_A_CLIENT   16
/* What one user may ask for: far more than four clients that never wait for an answer reach. */
#define REQUESTS_PER_S 500000
#define USERS_MAX      1024
#define QUIET_US       UINT64_C(2000000) /* then a bucket is full again */

struct session {
    struct list link;        /* sessions->all */
    struct list paused_link; /* sessions->paused, while it is not read from */
    struct sessions *sessions;
    struct link *connection;
    uint64_t client;
    struct subject subject; /* owns its groups and role */
    unsigned in_flight;     /* requests without their (last) answer */
    bool serial;            /* the last one may be answered at length: nothing more before that */
    bool closing;
};

struct user {
    uid_t uid;
    struct bucket bucket;
    uint64_t asked_us;
};

/* A request that waits until all that was decided before it is durable. */
struct parked {
    struct list link; /* sessions->parked, oldest first */
    uint64_t client, mark;
    Wafer__Request *message;
};

struct sessions {
    struct daemon *daemon;
    struct listener *listener;
    struct list all, paused, parked;
    struct map by_client; /* client -> session */
    struct map users;     /* uid -> user */
    size_t count;
    uint64_t next_client;
};

/* ---- answers ---- */

static struct session *find(const struct sessions *sessions, uint64_t client)
{
    return map_get(&sessions->by_client, client);
}

static void session_free(struct session *session)
{
    struct sessions *sessions = session->sessions;

    streams_drop_client(sessions->daemon->streams, session->client);
    logs_drop_client(sessions->daemon->logs, session->client);
    list_remove(&session->link);
    list_remove(&session->paused_link);
    map_remove(&sessions->by_client, session->client);
    sessions->count--;
    link_free(session->connection);
    if (sessions->listener)
        listener_gone(sessions->listener, session->subject.uid);
    free((gid_t *)session->subject.groups);
    free((char *)session->subject.role);
    free(session);
}

static void close_after_send(struct session *session)
{
    session->closing = true;
    link_close_after_send(session->connection);
}

static void make_error(Wafer__Response *response, Wafer__Error *error, uint64_t request,
                       const char *code, uint32_t status, const char *message)
{
    *response = (Wafer__Response)WAFER__RESPONSE__INIT;
    *error = (Wafer__Error)WAFER__ERROR__INIT;
    error->code = (char *)code;
    error->exit = status;
    error->message = (char *)message;
    response->id = request;
    response->body_case = WAFER__RESPONSE__BODY_ERROR;
    response->error = error;
}

static void answered(struct session *session)
{
    if (session->in_flight > 0)
        session->in_flight--;
    if (session->in_flight == 0)
        session->serial = false;
}

void sessions_reply(struct sessions *sessions, uint64_t client, Wafer__Response *response)
{
    struct session *session = find(sessions, client);

    if (!session || session->closing)
        return; /* it asks again under its key */
    if (!response->more)
        answered(session);
    int r = link_send(session->connection, &response->base);
    if (r == -EMSGSIZE) {
        Wafer__Response refusal;
        Wafer__Error error;
        make_error(&refusal, &error, response->id, "E_TOO_LARGE", EX_TEMPFAIL,
                   "the answer is too large: ask for less (--limit)");
        r = link_send(session->connection, &refusal.base);
    }
    if (r == -ENOBUFS) {
        log_warning("uid %u: a client is closed: it does not read its answers",
                    (unsigned)session->subject.uid);
        close_after_send(session);
    }
}

void sessions_reply_error(struct sessions *sessions, uint64_t client, uint64_t request,
                          const char *code, uint32_t status, const char *message)
{
    Wafer__Response response;
    Wafer__Error error;

    make_error(&response, &error, request, code, status, message);
    sessions_reply(sessions, client, &response);
}

int sessions_send(struct sessions *sessions, uint64_t client, const Wafer__Response *response)
{
    struct session *session = find(sessions, client);

    if (!session || session->closing)
        return -ENOTCONN;
    if (link_queued(session->connection) > LIMIT_OUTPUT_BYTES)
        return -ENOBUFS;
    return link_send(session->connection, &response->base);
}

bool sessions_begin_stream(struct sessions *sessions, uint64_t client, uint64_t request)
{
    struct session *session = find(sessions, client);
    struct daemon *daemon = sessions->daemon;

    if (!session || session->closing)
        return false;
    if (streams_of_client(daemon->streams, client) + logs_of_client(daemon->logs, client) >=
        STREAMS_A_CLIENT) {
        sessions_reply_error(sessions, client, request, "E_BUSY", EX_TEMPFAIL,
                             "16 streams are open on this connection: end one, or open another");
        return false;
    }
    answered(session);
    return true;
}

/* ---- requests ---- */

static bool may_read(const struct session *session)
{
    return session->in_flight < REQUESTS_IN_FLIGHT && !session->serial &&
           link_queued(session->connection) <= ANSWERS_QUEUED &&
           session->sessions->daemon->pipeline.record_count <= RECORDS_IN_FLIGHT;
}

static void pause_if_busy(struct session *session)
{
    if (session->closing || may_read(session) || !list_is_empty(&session->paused_link))
        return;
    link_read(session->connection, false);
    list_push_tail(&session->sessions->paused, &session->paused_link);
}

/* A full bucket need not be kept. */
static void forget_users(struct sessions *sessions, uint64_t now_us)
{
    struct user *user;
    size_t cursor = 0;

    while ((user = map_next(&sessions->users, &cursor))) {
        if (now_us - user->asked_us > QUIET_US) {
            map_remove(&sessions->users, user->uid);
            free(user);
        }
    }
}

static bool may_ask(struct session *session)
{
    struct sessions *sessions = session->sessions;
    uint64_t now_us = (uint64_t)daemon_mono_us();
    struct user *user = map_get(&sessions->users, session->subject.uid);

    if (!user) {
        if (map_count(&sessions->users) >= USERS_MAX)
            forget_users(sessions, now_us);
        user = NEW(struct user);
        user->uid = session->subject.uid;
        bucket_init(&user->bucket, REQUESTS_PER_S, REQUESTS_PER_S, now_us);
        map_put(&sessions->users, user->uid, user);
    }
    user->asked_us = now_us;
    return bucket_take(&user->bucket, now_us);
}

static bool is_watch(const Wafer__Request *request)
{
    return request->body_case == WAFER__REQUEST__BODY_WATCH ||
           (request->body_case == WAFER__REQUEST__BODY_LIST && request->list->watch);
}

static bool has_long_answer(const Wafer__Request *request)
{
    switch (request->body_case) {
    case WAFER__REQUEST__BODY_LIST:
    case WAFER__REQUEST__BODY_SHOW:
    case WAFER__REQUEST__BODY_EVENTS:
    case WAFER__REQUEST__BODY_REPORT:
    case WAFER__REQUEST__BODY_EXPLAIN:
    case WAFER__REQUEST__BODY_CHECKPOINT_LIST:
    case WAFER__REQUEST__BODY_SYSTEM_LIST: return true;
    default: return false;
    }
}

static void step(struct session *session, const Wafer__Request *message, const struct facts *facts)
{
    struct daemon *daemon = session->sessions->daemon;
    struct input input = { .type = INPUT_REQUEST,
                           .request = { .client = session->client,
                                        .subject = session->subject,
                                        .message = message,
                                        .facts = facts } };

    /* Now, and not when the stream begins: what changes in between must be told. */
    if (is_watch(message))
        daemon_set_watched(daemon, true);
    daemon_step(daemon, &input);
}

/* The windows of a reservation that is to be made: the core knows no zones. */
static void step_with_calendar(struct session *session, const Wafer__Request *message)
{
    struct calendar_windows windows = { .items = NULL };
    struct fact_calendar calendar = { .refusal = NULL };
    const struct facts facts = { .calendar = &calendar };
    struct diag diag;

    if (calendars_expand(message->reservation_new->calendar,
                         daemon_time_us(session->sessions->daemon), &windows, &diag) < 0)
        calendar.refusal = diag.text;
    calendar.windows = windows.items;
    calendar.count = windows.count;
    calendar.known_until_us = windows.known_until_us;
    step(session, message, &facts);
    calendar_windows_done(&windows);
}

static void step_with_facts(struct session *session, const Wafer__Request *message)
{
    struct store *store = session->sessions->daemon->store;
    struct facts_held held;
    struct facts_wish wish;
    struct diag diag;

    if (!facts_wanted(session->sessions->daemon->core, message, session->subject.uid, &wish)) {
        step(session, message, NULL);
        return;
    }
    if (facts_find(store, &wish, &held, &diag) < 0) {
        log_error("history: %s", diag.text);
        sessions_reply_error(session->sessions, session->client, message->id, "E_IO", EX_IOERR,
                             diag.text);
        return;
    }
    step(session, message, &held.facts);
    facts_done(&held);
}

static void park(struct session *session, Wafer__Request *message)
{
    struct parked *parked = NEW(struct parked);

    parked->client = session->client;
    parked->mark = pipeline_mark(&session->sessions->daemon->pipeline);
    parked->message = message;
    list_push_tail(&session->sessions->parked, &parked->link);
}

static void on_request(struct session *session, Wafer__Request *message)
{
    struct daemon *daemon = session->sessions->daemon;
    struct facts_wish wish;

    session->in_flight++;
    session->serial |= has_long_answer(message);
    if (message->body_case == WAFER__REQUEST__BODY_RESERVATION_NEW) {
        step_with_calendar(session, message);
    } else if (!facts_wanted(daemon->core, message, session->subject.uid, &wish)) {
        step(session, message, NULL);
    } else if (pipeline_is_empty(&daemon->pipeline)) {
        step_with_facts(session, message);
    } else {
        park(session, message);
        return;
    }
    wafer__request__free_unpacked(message, NULL);
}

/* At once, past whatever waits for the disk: nothing was decided. Takes `message`. */
static void turn_away(struct session *session, Wafer__Request *message, const char *code,
                      const char *why)
{
    session->in_flight++;
    sessions_reply_error(session->sessions, session->client, message->id, code, EX_TEMPFAIL, why);
    wafer__request__free_unpacked(message, NULL);
}

static void on_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
    struct session *session = userdata;
    struct diag diag;
    Wafer__Request *message =
        (Wafer__Request *)net_unpack(&wafer__request__descriptor, bytes, length, &diag);

    if (!message) {
        sessions_reply_error(session->sessions, session->client, 0, "E_PROTOCOL", EXIT_PROTOCOL,
                             diag.text);
        close_after_send(session);
        return;
    }
    if (!may_ask(session)) {
        turn_away(session, message, "E_BUSY", "too many requests at once: try again in a second");
    } else if (daemon_is_stuck(session->sessions->daemon)) {
        turn_away(session, message, "E_FULL",
                  "the controller's disk is full: nothing can be answered until there is room");
    } else {
        on_request(session, message);
    }
    pause_if_busy(session);
}

static void on_ready(struct link *link, void *userdata, const Wafer__Hello *peer)
{
    struct session *session = userdata;

    session->subject.role = text_copy(peer->role);
}

static void on_closed(struct link *link, void *userdata, int error, const char *why)
{
    struct session *session = userdata;

    if (error < 0)
        log_info("uid %u: a client is closed: %s", (unsigned)session->subject.uid, why);
    session_free(session);
}

static int on_accept(struct listener *listener, void *userdata, int fd, uid_t uid, gid_t gid,
                     pid_t pid)
{
    static const struct link_ops ops = { .on_ready = on_ready,
                                         .on_frame = on_frame,
                                         .on_closed = on_closed };
    static const struct link_limits limits = {
        .receive_bytes = LIMIT_REQUEST_BYTES,
        .send_bytes = LIMIT_RESPONSE_BYTES + LIMIT_OUTPUT_BYTES,
    };
    struct sessions *sessions = userdata;
    struct subject subject = { .uid = uid, .gid = gid };
    gid_t *groups = NULL;
    int r = peer_groups(fd, &groups, &subject.group_count);

    if (r < 0) {
        close(fd);
        return r;
    }
    subject.groups = groups;
    struct session *session = NEW(struct session);
    r = link_new(sessions->daemon->event, fd, DAEMON_PROGRAM, &limits, &ops, session,
                 &session->connection);
    if (r < 0) {
        free(groups);
        free(session);
        return r;
    }
    session->sessions = sessions;
    session->client = sessions->next_client++;
    session->subject = subject;
    list_push_tail(&sessions->all, &session->link);
    list_init(&session->paused_link);
    map_put(&sessions->by_client, session->client, session);
    sessions->count++;
    return 0;
}

/* ---- turns ---- */

/* What was decided about its jobs since it was parked, by a request before it or by a worker's
 * verdict, is not in history either before it is durable. Waiting for all that is decided would
 * never end on a busy day. */
static uint64_t mark_of_facts(const struct sessions *sessions, const struct session *session,
                              const Wafer__Request *message)
{
    const struct daemon *daemon = sessions->daemon;
    struct facts_wish wish;

    if (!facts_wanted(daemon->core, message, session->subject.uid, &wish))
        return 0;
    return facts_mark(daemon->store, &daemon->pipeline, &wish);
}

/* Whether the oldest one need not wait any longer. */
static bool unpark_next(struct sessions *sessions)
{
    struct pipeline *pipeline = &sessions->daemon->pipeline;
    struct parked *parked = CONTAINER_OF(sessions->parked.next, struct parked, link);
    struct session *session = find(sessions, parked->client);

    if (!pipeline_is_released(pipeline, parked->mark))
        return false;
    if (session && !session->closing) {
        parked->mark = mark_of_facts(sessions, session, parked->message);
        if (!pipeline_is_released(pipeline, parked->mark))
            return false;
        step_with_facts(session, parked->message);
        pipeline_seal(pipeline); /* the next one must see that this was decided */
    }
    list_remove(&parked->link);
    wafer__request__free_unpacked(parked->message, NULL);
    free(parked);
    return true;
}

static void unpark(struct sessions *sessions)
{
    while (!list_is_empty(&sessions->parked) && unpark_next(sessions))
        continue;
}

void sessions_turn(struct sessions *sessions)
{
    unpark(sessions);
    list_foreach_safe (&sessions->paused, link) {
        struct session *session = CONTAINER_OF(link, struct session, paused_link);
        if (session->closing || !may_read(session))
            continue;
        list_remove(&session->paused_link);
        link_read(session->connection, true);
    }
}

/* On what the service manager hands over: its socket unit says who may connect. Else everybody may:
 * who calls is known, and what he may do is decided for each request. */
static int listen_for_clients(struct sessions *sessions, struct diag *diag)
{
    const struct settings *settings = sessions->daemon->settings;
    sd_event *event = sessions->daemon->event;
    int fd;
    int r = activation_take("clients", settings->socket, &fd, diag);

    if (r < 0)
        return r;
    if (r > 0)
        return listener_new_fd(event, fd, DAEMON_PROGRAM, on_accept, sessions, &sessions->listener,
                               diag);
    return listener_new(event, settings->socket, settings->dev ? 0600 : 0666, DAEMON_PROGRAM,
                        on_accept, sessions, &sessions->listener, diag);
}

int sessions_new(struct daemon *daemon, struct sessions **ret, struct diag *diag)
{
    struct sessions *sessions = NEW(struct sessions);

    sessions->daemon = daemon;
    sessions->next_client = 1;
    list_init(&sessions->all);
    list_init(&sessions->paused);
    list_init(&sessions->parked);
    int r = listen_for_clients(sessions, diag);
    if (r < 0) {
        sessions_free(sessions);
        return r;
    }
    *ret = sessions;
    return 0;
}

void sessions_stop(struct sessions *sessions)
{
    sessions->listener = listener_free(sessions->listener);
    list_foreach (&sessions->all, link)
        link_read(CONTAINER_OF(link, struct session, link)->connection, false);
    /* Nobody reads on: sessions_turn() must not either. */
    list_foreach_safe (&sessions->paused, link)
        list_remove(link);
}

void sessions_close(struct sessions *sessions)
{
    list_foreach (&sessions->all, link)
        close_after_send(CONTAINER_OF(link, struct session, link));
}

const struct subject *sessions_subject(const struct sessions *sessions, uint64_t client)
{
    const struct session *session = find(sessions, client);

    return session ? &session->subject : NULL;
}

size_t sessions_count(const struct sessions *sessions)
{
    return sessions->count;
}

struct sessions *sessions_free(struct sessions *sessions)
{
    size_t cursor = 0;

    if (!sessions)
        return NULL;
    list_foreach_safe (&sessions->all, link)
        session_free(CONTAINER_OF(link, struct session, link));
    list_foreach_safe (&sessions->parked, link) {
        struct parked *parked = CONTAINER_OF(link, struct parked, link);
        wafer__request__free_unpacked(parked->message, NULL);
        free(parked);
    }
    for (struct user *user; (user = map_next(&sessions->users, &cursor));)
        free(user);
    map_done(&sessions->users);
    map_done(&sessions->by_client);
    listener_free(sessions->listener);
    free(sessions);
    return NULL;
}
