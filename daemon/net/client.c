#include "net/client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "model/limits.h"
#include "net/connect.h"
#include "net/frame.h"
#include "net/hello.h"
#include "net/unpack.h"

struct client {
    int fd;
    int timeout_ms; /* of a send */
    char *path, *program;
    Wafer__Hello *peer;
    struct frame_reader in;
    struct buffer out;
    bool ended; /* nothing more comes; sending is no use */
    uint8_t chunk[FRAME_CHUNK_BYTES];
};

struct client *client_free(struct client *client)
{
    if (!client)
        return NULL;
    fd_closep(&client->fd);
    if (client->peer)
        wafer__hello__free_unpacked(client->peer, NULL);
    frame_reader_done(&client->in);
    buffer_done(&client->out);
    free(client->path);
    free(client->program);
    free(client);
    return NULL;
}

const char *client_peer_program(const struct client *client)
{
    return client->peer->program;
}

int client_fd(const struct client *client)
{
    return client->fd;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The end of a wait that starts now; -1: there is none. */
static int64_t deadline(int timeout_ms)
{
    return timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
}

/* 1: one of `events` came; 0: the deadline did. */
static int wait_for(const struct client *client, short events, int64_t deadline_ms)
{
    for (;;) {
        int64_t left_ms = deadline_ms < 0 ? -1 : deadline_ms - now_ms();
        if (deadline_ms >= 0 && left_ms < 0)
            left_ms = 0;
        struct pollfd poll_fd = { .fd = client->fd, .events = events };
        int r = poll(&poll_fd, 1, (int)left_ms);
        if (r >= 0)
            return r;
        if (errno != EINTR)
            return -errno;
    }
}

/* ---- moving bytes -----------------------------------------------------------------------------
 */

/* One read, if there is anything. A reset is an end too: the controller left without reading all.
 */
static void take_in(struct client *client)
{
    frame_keep(&client->in); /* out of the chunk */
    ssize_t n = recv(client->fd, client->chunk, sizeof(client->chunk), MSG_DONTWAIT);

    if (n > 0)
        frame_feed(&client->in, client->chunk, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        client->ended = true;
}

/* One write, if there is anything. Whoever refuses us may have said why before it closed. */
static void give_out(struct client *client)
{
    if (!client->out.length)
        return;
    ssize_t n = send(client->fd, buffer_data(&client->out), client->out.length,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        buffer_take(&client->out, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        buffer_clear(&client->out);
}

/* The next frame before the deadline: 1, 0 none in time, or an error. */
static int next_frame(struct client *client, int64_t deadline_ms, const uint8_t **ret_bytes,
                      size_t *ret_length, struct diag *diag)
{
    for (;;) {
        give_out(client);
        int r = frame_next(&client->in, ret_bytes, ret_length);
        if (r > 0)
            return 1;
        if (r < 0)
            return diag_fail(diag, r, "'%s' sent a frame of a wrong size (at most %zu bytes)",
                             client->path, client->in.limit);
        if (client->ended)
            return frame_is_pending(&client->in)
                       ? diag_fail(diag, -EPIPE, "the controller went away within a message")
                       : diag_fail(diag, -EPIPE, "the controller closed the connection");
        r = wait_for(client, POLLIN | (client->out.length ? POLLOUT : 0), deadline_ms);
        if (r < 0)
            return diag_fail(diag, r, "cannot wait for '%s': %s", client->path, strerror(-r));
        if (r == 0)
            return 0;
        take_in(client);
    }
}

/* ---- the interface ----------------------------------------------------------------------------
 */

static int greet(struct client *client, const char *role, int64_t deadline_ms, struct diag *diag)
{
    const uint8_t *bytes;
    size_t length;

    hello_append(&client->out, client->program, role);
    int r = next_frame(client, deadline_ms, &bytes, &length, diag);
    if (r == 0)
        return diag_fail(diag, -ETIMEDOUT,
                         "'%s' did not say Hello within %d ms: it is busy or stopped", client->path,
                         client->timeout_ms);
    if (r < 0)
        return r;
    return hello_read(bytes, length, client->program, &client->peer, diag);
}

static int begin(int fd, const char *name, const char *program, const char *role, int timeout_ms,
                 int64_t deadline_ms, struct client **ret, struct diag *diag)
{
    owned(client_free) struct client *client = NEW(struct client);

    client->fd = fd;
    client->timeout_ms = timeout_ms;
    client->path = text_copy(name);
    client->program = text_copy(program);
    frame_reader_init(&client->in, HELLO_LIMIT_BYTES);
    int r = greet(client, role, deadline_ms, diag);
    if (r < 0)
        return r;
    client->in.limit = LIMIT_RESPONSE_BYTES;

    *ret = TAKE(client);
    return 0;
}

int client_connect(const char *path, const char *program, const char *role, int timeout_ms,
                   struct client **ret, struct diag *diag)
{
    int64_t deadline_ms = deadline(timeout_ms);
    int fd;
    int r = connect_unix(path, timeout_ms, &fd, diag);

    return r < 0 ? r : begin(fd, path, program, role, timeout_ms, deadline_ms, ret, diag);
}

int client_attach(int fd, const char *name, const char *program, const char *role, int timeout_ms,
                  struct client **ret, struct diag *diag)
{
    return begin(fd, name, program, role, timeout_ms, deadline(timeout_ms), ret, diag);
}

int client_queue(struct client *client, const Wafer__Request *request, struct diag *diag)
{
    int r = frame_append(&client->out, &request->base, LIMIT_REQUEST_BYTES);

    return r < 0 ? diag_fail(diag, r, "a request has %zu bytes, at most %d are allowed",
                             wafer__request__get_packed_size(request), LIMIT_REQUEST_BYTES)
                 : 0;
}

int client_send(struct client *client, const Wafer__Request *request, struct diag *diag)
{
    int r = client_queue(client, request, diag);
    if (r < 0)
        return r;

    for (give_out(client); client->out.length && !client->ended; give_out(client)) {
        /* Responses are taken meanwhile, or both sides could wait for each other. */
        int64_t deadline_ms = deadline(client->timeout_ms);
        r = wait_for(client, POLLIN | POLLOUT, deadline_ms);
        if (r == 0)
            return diag_fail(diag, -ETIMEDOUT, "'%s' took nothing for %d ms: it is busy or stopped",
                             client->path, client->timeout_ms);
        if (r < 0)
            return diag_fail(diag, r, "cannot wait for '%s': %s", client->path, strerror(-r));
        take_in(client);
    }
    return 0;
}

int client_receive(struct client *client, int timeout_ms, Wafer__Response **ret, struct diag *diag)
{
    const uint8_t *bytes;
    size_t length;
    int r = next_frame(client, deadline(timeout_ms), &bytes, &length, diag);
    if (r < 0)
        return r;
    if (r == 0)
        return diag_fail(diag, -EAGAIN, "no response yet");

    *ret = (Wafer__Response *)net_unpack(&wafer__response__descriptor, bytes, length, diag);
    return *ret ? 0
                : diag_prefix(diag, -EPROTO, "'%s' sent bytes that are no response", client->path);
}
