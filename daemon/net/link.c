#include "net/link.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "model/limits.h"
#include "net/frame.h"
#include "net/peer.h"

#define MS               UINT64_C(1000)
#define TIMER_SLACK_US   (10 * MS)
#define GONE             "the peer went away"
#define IDLE_QUEUE_BYTES (64 << 10) /* room that an empty queue may keep */
/* In one read: a hundred small requests, so that others get their turn between them. */
#define CHUNK_BYTES (8 << 10)

enum link_state {
    LINK_GREETING, /* waits for the peer's Hello */
    LINK_OPEN,
    LINK_CLOSING, /* sends what is queued, reads no more */
    LINK_CLOSED,
};

struct link {
    sd_event_source *io, *wake, *timer;
    int fd;
    enum link_state state;
    const struct link_ops *ops;
    void *userdata;
    struct link_limits limits;
    char *program;

    struct frame_reader in;
    struct buffer out;
    bool paused;
    bool out_blocked;        /* the kernel's buffer was full */
    bool out_dead;           /* nobody takes it any more; what was sent to us can still be read */
    uint64_t frame_began_us; /* when the frame that is half received was first seen; 0: none is */

    int error; /* why we are CLOSING */
    struct diag why;

    unsigned depth; /* of our own callbacks: freed for good when the last returns */
    bool freed;
};

static void link_destroy(struct link *link)
{
    frame_reader_done(&link->in);
    buffer_done(&link->out);
    free(link->program);
    free(link);
}

static void let_go(struct link *link)
{
    link->io = sd_event_source_disable_unref(link->io);
    link->wake = sd_event_source_disable_unref(link->wake);
    link->timer = sd_event_source_disable_unref(link->timer);
    fd_closep(&link->fd);
    link->fd = -1;
    link->state = LINK_CLOSED;
}

struct link *link_free(struct link *link)
{
    if (!link)
        return NULL;
    let_go(link);
    link->freed = true;
    if (!link->depth)
        link_destroy(link);
    return NULL;
}

/* Every handler runs between enter() and leave(), so that callbacks may free the link. */
static void enter(struct link *link)
{
    link->depth++;
}

static int leave(struct link *link)
{
    if (!--link->depth && link->freed)
        link_destroy(link);
    return 0;
}

static void finish(struct link *link, int error, const char *why)
{
    if (link->state == LINK_CLOSED)
        return;
    let_go(link);
    link->ops->on_closed(link, link->userdata, error, why);
}

static bool is_reading(const struct link *link)
{
    return !link->paused && (link->state == LINK_GREETING || link->state == LINK_OPEN);
}

/* An event source that exists can be set up, unless the loop has ended: then nothing moves. */
static void must(int r)
{
    assert(r >= 0 || r == -ESTALE);
}

static void watch(struct link *link)
{
    uint32_t events = (is_reading(link) ? EPOLLIN : 0) | (link->out_blocked ? EPOLLOUT : 0);

    must(sd_event_source_set_io_events(link->io, events));
}

static void wake(struct link *link)
{
    must(sd_event_source_set_enabled(link->wake, SD_EVENT_ONESHOT));
}

static void set_timer(struct link *link, uint64_t after_ms)
{
    must(sd_event_source_set_time_relative(link->timer, after_ms * MS));
    must(sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT));
}

/* ---- sending ----------------------------------------------------------------------------------
 */

/* Offer the queue to the kernel once. */
static void offer(struct link *link)
{
    if (!link->out.length || link->out_blocked)
        return;

    ssize_t n =
        send(link->fd, buffer_data(&link->out), link->out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        link->out_dead = true;
        buffer_done(&link->out);
    }
    if (n > 0)
        buffer_take(&link->out, (size_t)n);
    if (link->out.length) {
        link->out_blocked = true;
        watch(link);
    } else if (link->out.capacity > IDLE_QUEUE_BYTES) {
        buffer_done(&link->out);
    }
}

static void flush(struct link *link)
{
    if (link->state == LINK_CLOSED)
        return;
    offer(link);
    if (link->state == LINK_CLOSING && !link->out.length)
        finish(link, link->error, link->why.text);
    else if (link->out_dead && !is_reading(link))
        finish(link, 0, GONE);
}

static int append(struct link *link, const ProtobufCMessage *message)
{
    size_t limit = link->limits.send_bytes;
    if (limit < FRAME_HEADER_BYTES)
        return -EMSGSIZE;
    limit -= FRAME_HEADER_BYTES;

    if (link->out.length <= limit) {
        int r = frame_append(&link->out, message, limit - link->out.length);
        if (r != -EMSGSIZE)
            return r;
    }
    return protobuf_c_message_get_packed_size(message) > limit ? -EMSGSIZE : -ENOBUFS;
}

int link_send(struct link *link, const ProtobufCMessage *message)
{
    if (link->out_dead || link->state == LINK_CLOSING || link->state == LINK_CLOSED)
        return -EPIPE;

    int r = append(link, message);
    if (r == -ENOBUFS && !link->out_blocked) {
        /* The kernel may have room. That the peer is gone is told from the loop, not in here. */
        offer(link);
        r = link->out_dead ? -EPIPE : append(link, message);
    }
    if (r == 0 && !link->out_blocked)
        wake(link);
    return r;
}

size_t link_queued(const struct link *link)
{
    return link->out.length;
}

static void close_after_send(struct link *link, int error, const char *why)
{
    if (link->state == LINK_CLOSING || link->state == LINK_CLOSED)
        return;
    link->state = LINK_CLOSING;
    link->error = error;
    diag_fail(&link->why, error, "%s", why);
    watch(link);
    set_timer(link, link->limits.close_ms);
    wake(link);
}

void link_close_after_send(struct link *link)
{
    close_after_send(link, 0, "closed after sending");
}

/* ---- receiving --------------------------------------------------------------------------------
 */

static void on_hello(struct link *link, const uint8_t *bytes, size_t length)
{
    struct diag why;
    owned(hello_free) Wafer__Hello *peer = NULL;
    int r = hello_read(bytes, length, link->program, &peer, &why);
    if (r < 0) {
        close_after_send(link, r, why.text);
        return;
    }

    link->state = LINK_OPEN;
    link->in.limit = link->limits.receive_bytes;
    must(sd_event_source_set_enabled(link->timer, SD_EVENT_OFF));
    if (link->ops->on_ready)
        link->ops->on_ready(link, link->userdata, peer);
}

static void refuse_frame(struct link *link, int error)
{
    struct diag why;

    if (error == -EMSGSIZE)
        diag_fail(&why, error, "a frame is larger than the %zu bytes allowed here", link->in.limit);
    else
        diag_fail(&why, error, "a frame of no bytes");
    close_after_send(link, error, why.text);
}

/* The time of a frame runs from when its first bytes are seen. The timer is left running when it
 * completes: most reads end within a frame, and re-arming at each of them would cost more. */
static void time_frame(struct link *link)
{
    if (link->state != LINK_OPEN)
        return;
    if (!frame_is_pending(&link->in) || link->paused) {
        link->frame_began_us = 0;
        return;
    }
    int running;
    must(sd_event_now(sd_event_source_get_event(link->timer), CLOCK_MONOTONIC,
                      &link->frame_began_us));
    must(sd_event_source_get_enabled(link->timer, &running));
    if (!running)
        set_timer(link, link->limits.frame_ms);
}

/* Frames that have arrived, until there is none or a callback wants no more. Whether any was
 * handed on. */
static bool hand_on(struct link *link)
{
    bool any = false;

    while (is_reading(link)) {
        const uint8_t *bytes;
        size_t length;
        int r = frame_next(&link->in, &bytes, &length);
        if (r < 0)
            refuse_frame(link, r);
        if (r <= 0)
            break;
        any = true;
        if (link->state == LINK_GREETING)
            on_hello(link, bytes, length);
        else
            link->ops->on_frame(link, link->userdata, bytes, length);
    }
    frame_keep(&link->in); /* what was fed lives on our caller's stack */
    return any;
}

static void on_end(struct link *link)
{
    if (frame_is_pending(&link->in)) {
        finish(link, -EPROTO, "the stream ends within a frame");
        return;
    }
    offer(link);
    finish(link, 0, GONE);
}

static void receive(struct link *link)
{
    uint8_t chunk[CHUNK_BYTES];

    /* Without room for control messages: descriptors that came along are closed by the kernel. */
    ssize_t n = recv(link->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* a peer that left without reading all of ours gives an error: an end as well */
        on_end(link);
        return;
    }
    frame_feed(&link->in, chunk, (size_t)n);
    bool any = hand_on(link);
    if (any || !link->frame_began_us)
        time_frame(link);
}

void link_read(struct link *link, bool enabled)
{
    if (link->paused == !enabled || link->state == LINK_CLOSED)
        return;
    link->paused = !enabled;
    watch(link);
    if (enabled && frame_is_pending(&link->in))
        wake(link);
    else
        link->frame_began_us = 0;
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct link *link = userdata;

    enter(link);
    if (events & EPOLLOUT) {
        link->out_blocked = false;
        flush(link);
        if (link->state != LINK_CLOSED)
            watch(link);
    }
    if (is_reading(link) && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(link);
    else if (events & (EPOLLHUP | EPOLLERR))
        finish(link, link->error, link->error ? link->why.text : GONE);
    return leave(link);
}

static int on_wake(sd_event_source *source, void *userdata)
{
    struct link *link = userdata;

    enter(link);
    if (is_reading(link) && frame_is_pending(&link->in)) {
        hand_on(link);
        time_frame(link);
    }
    flush(link);
    return leave(link);
}

static void on_open_timer(struct link *link, uint64_t now_us)
{
    if (!link->frame_began_us)
        return;
    uint64_t passed_ms = (now_us - link->frame_began_us) / MS;
    if (passed_ms < link->limits.frame_ms) {
        set_timer(link, link->limits.frame_ms - passed_ms);
        return;
    }
    struct diag why;
    diag_fail(&why, -ETIMEDOUT, "a frame was not complete after %u ms", link->limits.frame_ms);
    close_after_send(link, -ETIMEDOUT, why.text);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct link *link = userdata;
    uint64_t now_us;
    struct diag why;

    enter(link);
    switch (link->state) {
    case LINK_GREETING:
        diag_fail(&why, -ETIMEDOUT, "no complete Hello within %u ms", link->limits.first_frame_ms);
        close_after_send(link, -ETIMEDOUT, why.text);
        break;
    case LINK_OPEN:
        must(sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now_us));
        on_open_timer(link, now_us);
        break;
    case LINK_CLOSING:
        finish(link, link->error,
               link->error ? link->why.text : "the peer did not take what was left");
        break;
    case LINK_CLOSED: break;
    }
    return leave(link);
}

static int add_sources(struct link *link, sd_event *event)
{
    int r = sd_event_add_io(event, &link->io, link->fd, EPOLLIN, on_io, link);
    if (r < 0)
        return r;
    r = sd_event_add_defer(event, &link->wake, on_wake, link);
    if (r < 0)
        return r;
    return sd_event_add_time_relative(event, &link->timer, CLOCK_MONOTONIC,
                                      link->limits.first_frame_ms * MS, TIMER_SLACK_US, on_timer,
                                      link);
}

int link_new(sd_event *event, int fd, const char *program, const struct link_limits *limits,
             const struct link_ops *ops, void *userdata, struct link **ret)
{
    owned(link_free) struct link *link = NEW(struct link);

    link->fd = fd;
    link->ops = ops;
    link->userdata = userdata;
    link->limits = *limits;
    if (!link->limits.first_frame_ms)
        link->limits.first_frame_ms = LIMIT_FIRST_FRAME_MS;
    if (!link->limits.frame_ms)
        link->limits.frame_ms = LIMIT_FRAME_MS;
    if (!link->limits.close_ms)
        link->limits.close_ms = LIMIT_CLOSE_MS;
    link->program = text_copy(program);
    frame_reader_init(&link->in, HELLO_LIMIT_BYTES);
    int r = add_sources(link, event);
    if (r < 0)
        return r;
    hello_append(&link->out, program, NULL); /* `wake` is on from the start and sends it */

    *ret = TAKE(link);
    return 0;
}

int link_peer(const struct link *link, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid)
{
    return link->fd < 0 ? -ENOTCONN : peer_credentials(link->fd, ret_uid, ret_gid, ret_pid);
}
