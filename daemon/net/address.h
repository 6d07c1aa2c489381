/* address — a path as the address of a Unix socket. */
#ifndef WAFERD_NET_ADDRESS_H
#define WAFERD_NET_ADDRESS_H

#include <sys/un.h>

#include "base/diag.h"

#define ADDRESS_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* -ENAMETOOLONG with both lengths; -EINVAL an empty path */
int address_unix(const char *path, struct sockaddr_un *ret, struct diag *diag);

#endif
