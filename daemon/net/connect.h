/* connect — open a stream to a Unix socket; shared by the client and by agents. */
#ifndef WAFERD_NET_CONNECT_H
#define WAFERD_NET_CONNECT_H

#include "base/diag.h"

/* A connected non-blocking socket. Waits up to `timeout_ms` (< 0: for ever, 0: not at all) for a
 * listener whose queue is full.
 * -ENAMETOOLONG, -EINVAL an empty path, -ENOENT, -ECONNREFUSED, -EACCES, -ETIMEDOUT */
int connect_unix(const char *path, int timeout_ms, int *ret_fd, struct diag *diag);

#endif
