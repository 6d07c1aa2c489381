#include "net/address.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int address_unix(const char *path, struct sockaddr_un *ret, struct diag *diag)
{
    size_t length = strlen(path);

    /* An empty one would name a socket that the kernel makes up. */
    if (!length)
        return diag_fail(diag, -EINVAL, "the socket path is empty");
    if (length > ADDRESS_PATH_MAX)
        return diag_fail(diag, -ENAMETOOLONG,
                         "socket path '%s' has %zu bytes, at most %zu fit: use a shorter directory",
                         path, length, ADDRESS_PATH_MAX);

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(ret->sun_path, path, length + 1);
    return 0;
}
