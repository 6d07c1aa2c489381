#include "net/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"

static void names_freep(char ***names)
{
    for (char **name = *names; name && *name; name++)
        free(*name);
    free(*names);
}

/* Where a socket is bound, for a message. */
static void describe(int fd, struct sockaddr_un *ret)
{
    socklen_t length = sizeof(*ret) - 1; /* room for an end that the kernel may leave out */

    memset(ret, 0, sizeof(*ret));
    if (getsockname(fd, (struct sockaddr *)ret, &length) < 0 || ret->sun_family != AF_UNIX ||
        !ret->sun_path[0])
        strcpy(ret->sun_path, "no path");
}

static int check(int fd, const char *path, struct diag *diag)
{
    struct sockaddr_un address;

    if (sd_is_socket_unix(fd, SOCK_STREAM, true, path, 0) > 0)
        return 0;
    describe(fd, &address);
    return diag_fail(diag, -ENOTSOCK,
                     "the service manager listens at %s, and the site file says %s: let "
                     "ListenStream= of the socket unit and `socket` of the site file be the same",
                     address.sun_path, path);
}

int activation_take(const char *name, const char *path, int *ret_fd, struct diag *diag)
{
    owned(names_free) char **names = NULL;
    int count = sd_listen_fds_with_names(true, &names);

    if (count < 0)
        return diag_fail(diag, -ENOTSOCK, "what the service manager hands over is not usable: %s",
                         strerror(-count));
    if (count == 0)
        return 0;
    if (count > 1)
        return diag_fail(diag, -ENOTSOCK,
                         "the service manager hands over %d sockets: only one is expected, with "
                         "FileDescriptorName=%s",
                         count, name);
    if (strcmp(names[0], name) != 0)
        return diag_fail(diag, -ENOTSOCK,
                         "the service manager hands over a socket named '%s': only one with "
                         "FileDescriptorName=%s is expected",
                         names[0], name);
    int r = check(SD_LISTEN_FDS_START, path, diag);
    if (r < 0)
        return r;
    /* Its other end of the file is the manager's, which polls: this harms nobody. */
    if (fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0)
        return diag_fail(diag, -ENOTSOCK, "the socket handed over cannot be set up: %s",
                         strerror(errno));
    *ret_fd = SD_LISTEN_FDS_START;
    return 1;
}
