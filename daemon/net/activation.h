/* activation — sockets that the service manager listens on and hands over when it starts us. */
#ifndef WAFERD_NET_ACTIVATION_H
#define WAFERD_NET_ACTIVATION_H

#include "base/diag.h"

/* The stream socket at `path` that was handed over under `name` (FileDescriptorName= of its unit);
 * it becomes the caller's. Call once: what was handed over is then known to no child.
 * 0         none was handed over
 * 1         *ret_fd is set
 * -ENOTSOCK what was handed over is something else: says what, and what would be right */
int activation_take(const char *name, const char *path, int *ret_fd, struct diag *diag);

#endif
