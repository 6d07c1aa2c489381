/* url — a strict reading of http and https addresses, for where notifications may go.
 *
 * What two parsers could read in two ways is refused: user names, backslashes, odd numbers for IPv4
 * addresses, dot segments and hidden slashes in the path. So what was compared here is where the
 * transfer will go.
 *
 * A host is compared by its name. Whoever lets a name through trusts whoever answers for it, also
 * with an address of this machine. */
#ifndef WAFERD_MODEL_URL_H
#define WAFERD_MODEL_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define URL_HOST_SIZE 256

struct url {
    bool is_https;
    char host[URL_HOST_SIZE]; /* lower case; IPv6 in brackets and in its shortest form */
    uint16_t port;
    const char *path; /* borrowed: from its '/' on, with the query; or "" */
};

/* -EINVAL, with what is wrong in `diag`: never the text itself, which may hold a token. */
int url_parse(const char *text, struct url *ret, struct diag *diag);

/* Same scheme, host and port, and a path that is that of `allowed` or below it. */
bool url_is_within(const struct url *url, const struct url *allowed);

/* Within one of `allowed`? */
bool url_is_allowed(const struct url *url, const struct url *allowed, size_t count);

/* "https://host:port", the port where it is not the usual one; the caller frees. */
char *url_origin(const struct url *url);

#endif
