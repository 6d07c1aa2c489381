#include "net/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "net/address.h"

/* A Unix connect() waits for room in the listener's queue as long as a send may wait. */
static int set_patience(int fd, int timeout_ms)
{
    if (timeout_ms < 0)
        return 0;
    if (timeout_ms == 0)
        return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    struct timeval patience = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ? -errno : 0;
}

static int explain(int error, const char *path, int timeout_ms, struct diag *diag)
{
    switch (error) {
    case -ENOENT:
        return diag_fail(diag, error, "nobody listens at '%s': there is no such socket", path);
    case -ECONNREFUSED: return diag_fail(diag, error, "nobody listens at '%s'", path);
    case -EACCES: return diag_fail(diag, error, "no permission to connect to '%s'", path);
    case -EAGAIN:
        return diag_fail(diag, -ETIMEDOUT, "'%s' did not accept within %d ms: its queue is full",
                         path, timeout_ms);
    default: return diag_fail(diag, error, "cannot connect to '%s': %s", path, strerror(-error));
    }
}

int connect_unix(const char *path, int timeout_ms, int *ret_fd, struct diag *diag)
{
    struct sockaddr_un address;
    int r = address_unix(path, &address, diag);
    if (r < 0)
        return r;

    owned(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return diag_fail(diag, -errno, "cannot create a socket: %s", strerror(errno));
    r = set_patience(fd, timeout_ms);
    if (r < 0)
        return explain(r, path, timeout_ms, diag);
    while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        if (errno != EINTR)
            return explain(-errno, path, timeout_ms, diag);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return explain(-errno, path, timeout_ms, diag);

    *ret_fd = fd_take(&fd);
    return 0;
}
