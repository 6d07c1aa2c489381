#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/memory.h"
#include "model/limits.h"
#include "net/address.h"
#include "net/frame.h"
#include "net/hello.h"
#include "net/peer.h"

#define BATCH    32                                  /* connections taken in one turn of the loop */
#define PAUSE_US (100 * UINT64_C(1000))              /* when the process has no descriptor left */
#define CONTROL  LIMIT_CONNECTIONS_PER_UID           /* more for root, and for our own uid */
#define KEPT     (2 * 2 * LIMIT_CONNECTIONS_PER_UID) /* of the total, for these two */

struct listener {
    sd_event_source *io, *pause;
    int fd;
    char *path; /* NULL: not ours to unlink */
    dev_t device;
    ino_t inode;
    char *program;
    listener_accept_fn accept;
    void *userdata;
    struct map places; /* uid -> how many connections, as a pointer's value */
    size_t total;
};

/* ---- places -----------------------------------------------------------------------------------
 */

static size_t places_of(const struct listener *listener, uid_t uid)
{
    return (size_t)(uintptr_t)map_get(&listener->places, uid);
}

static void set_places(struct listener *listener, uid_t uid, size_t count)
{
    if (count)
        map_put(&listener->places, uid, (void *)(uintptr_t)count);
    else
        map_remove(&listener->places, uid);
}

static bool is_control(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

void listener_gone(struct listener *listener, uid_t uid)
{
    size_t count = places_of(listener, uid);

    assert(count > 0);
    set_places(listener, uid, count - 1);
    listener->total--;
}

/* ---- refusing ---------------------------------------------------------------------------------
 */

/* A new socket's buffer is empty, so that these few bytes always fit. */
static void refuse(const struct listener *listener, int fd, const char *code, uint32_t status,
                   const char *message)
{
    Wafer__Error error = WAFER__ERROR__INIT;
    error.code = (char *)code;
    error.exit = status;
    error.message = (char *)message;
    Wafer__Response response = WAFER__RESPONSE__INIT;
    response.body_case = WAFER__RESPONSE__BODY_ERROR;
    response.error = &error;

    owned(buffer_done) struct buffer out = BUFFER_EMPTY;
    hello_append(&out, listener->program, NULL);
    frame_append(&out, &response.base, LIMIT_STRING_BYTES);
    send(fd, buffer_data(&out), out.length, MSG_NOSIGNAL | MSG_DONTWAIT);

    /* What was sent to us and not read would turn the end of file into a reset. After the shutdown
     * no more can come. */
    uint8_t unread[HELLO_LIMIT_BYTES];
    shutdown(fd, SHUT_RDWR);
    while (recv(fd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
        continue;
    close(fd);
}

static void refuse_limit(const struct listener *listener, int fd, uid_t uid, size_t limit)
{
    owned(free) char *message =
        limit ? text_format("uid %u has %zu connections to the controller, the most allowed: close "
                            "one and try again",
                            (unsigned)uid, limit)
              : text_format("the controller has no place for more connections: try again later");

    refuse(listener, fd, "E_BUSY", 75, message);
}

/* ---- accepting --------------------------------------------------------------------------------
 */

static void admit(struct listener *listener, int fd)
{
    uid_t uid;
    gid_t gid;
    pid_t pid;
    int r = peer_credentials(fd, &uid, &gid, &pid);
    if (r < 0) {
        refuse(listener, fd, "E_DENIED", 77,
               "the kernel cannot tell who you are: uid 65534 is nobody");
        return;
    }

    bool control = is_control(uid);
    size_t limit = LIMIT_CONNECTIONS_PER_UID + (control ? CONTROL : 0),
           count = places_of(listener, uid);
    if (count >= limit) {
        refuse_limit(listener, fd, uid, limit);
        return;
    }
    if (listener->total >= LIMIT_CONNECTIONS - (control ? 0 : KEPT)) {
        refuse_limit(listener, fd, uid, 0);
        return;
    }

    /* Counted first: the link that the owner makes of it may be gone before it returns. */
    set_places(listener, uid, count + 1);
    listener->total++;
    if (listener->accept(listener, listener->userdata, fd, uid, gid, pid) < 0)
        listener_gone(listener, uid);
}

static void pause_accepting(struct listener *listener)
{
    sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
    sd_event_source_set_time_relative(listener->pause, PAUSE_US);
    sd_event_source_set_enabled(listener->pause, SD_EVENT_ONESHOT);
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct listener *listener = userdata;

    return sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
}

static int on_connection(sd_event_source *source, int listening_fd, uint32_t events, void *userdata)
{
    struct listener *listener = userdata;

    for (int i = 0; i < BATCH; i++) {
        int fd = accept4(listening_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(listener, fd);
            continue;
        }
        /* Out of descriptors or memory: those who wait stay in the queue meanwhile. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_accepting(listener);
        if (errno != ECONNABORTED && errno != EINTR)
            break;
    }
    return 0;
}

/* ---- binding ----------------------------------------------------------------------------------
 */

/* 0: the path is free now. */
static int clear_path(const char *path, const struct sockaddr_un *address, struct diag *diag)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT
                   ? 0
                   : diag_fail(diag, -errno, "cannot look at '%s': %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return diag_fail(diag, -EEXIST, "'%s' exists and is no socket: move it away", path);

    owned(fd_close) int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return diag_fail(diag, -errno, "cannot create a socket: %s", strerror(errno));
    if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
        errno != ECONNREFUSED)
        return diag_fail(diag, -EADDRINUSE, "somebody listens on '%s' already", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return diag_fail(diag, -errno, "cannot replace the stale socket '%s': %s", path,
                         strerror(errno));
    return 0;
}

/* The mode holds before anybody can connect: that takes listen(). */
static int bind_path(int fd, const char *path, mode_t mode, struct diag *diag)
{
    struct sockaddr_un address;
    int r = address_unix(path, &address, diag);
    if (r < 0)
        return r;
    r = clear_path(path, &address, diag);
    if (r < 0)
        return r;

    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return diag_fail(diag, -errno, "cannot bind '%s': %s", path, strerror(errno));
    if (chmod(path, mode) < 0 || listen(fd, SOMAXCONN) < 0) {
        r = -errno;
        unlink(path);
        return diag_fail(diag, r, "cannot listen on '%s': %s", path, strerror(-r));
    }
    return 0;
}

int listener_new_fd(sd_event *event, int fd, const char *program, listener_accept_fn accept,
                    void *userdata, struct listener **ret, struct diag *diag)
{
    owned(listener_free) struct listener *listener = NEW(struct listener);

    listener->fd = fd;
    listener->program = text_copy(program);
    listener->accept = accept;
    listener->userdata = userdata;
    listener->places = (struct map)MAP_EMPTY;
    int r = sd_event_add_io(event, &listener->io, fd, EPOLLIN, on_connection, listener);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &listener->pause, CLOCK_MONOTONIC, PAUSE_US, 0,
                                       on_pause_over, listener);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->pause, SD_EVENT_OFF);
    if (r < 0)
        return diag_fail(diag, r, "cannot wait for connections: %s", strerror(-r));

    *ret = TAKE(listener);
    return 0;
}

int listener_new(sd_event *event, const char *path, mode_t mode, const char *program,
                 listener_accept_fn accept, void *userdata, struct listener **ret,
                 struct diag *diag)
{
    owned(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return diag_fail(diag, -errno, "cannot create a socket: %s", strerror(errno));
    int r = bind_path(fd, path, mode, diag);
    if (r < 0)
        return r;

    struct stat st = { 0 };
    struct listener *listener = NULL;
    r = lstat(path, &st) < 0 ? -errno : 0;
    if (r == 0)
        r = listener_new_fd(event, fd_take(&fd), program, accept, userdata, &listener, diag);
    if (r < 0) {
        unlink(path);
        return r;
    }
    listener->path = text_copy(path);
    listener->device = st.st_dev;
    listener->inode = st.st_ino;
    *ret = listener;
    return 0;
}

/* A successor may have bound the path meanwhile. */
static void unlink_ours(const struct listener *listener)
{
    struct stat st;

    if (lstat(listener->path, &st) == 0 && st.st_dev == listener->device &&
        st.st_ino == listener->inode)
        unlink(listener->path);
}

struct listener *listener_free(struct listener *listener)
{
    if (!listener)
        return NULL;
    if (listener->path)
        unlink_ours(listener);
    sd_event_source_disable_unref(listener->io);
    sd_event_source_disable_unref(listener->pause);
    close(listener->fd);
    map_done(&listener->places);
    free(listener->path);
    free(listener->program);
    free(listener);
    return NULL;
}
