/* client — the calling end of a connection, without a loop: for the command line.
 *
 * Errors  -ECONNREFUSED, -ENOENT nobody listens; -EPROTONOSUPPORT other version (diag names both);
 *         -ETIMEDOUT; -ENAMETOOLONG; -EPROTO; -EPIPE the controller went away */
#ifndef WAFERD_NET_CLIENT_H
#define WAFERD_NET_CLIENT_H

#include <stdint.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/diag.h"

struct client;

/* Connect and exchange Hellos within `timeout_ms`. */
int client_connect(const char *path, const char *program, int timeout_ms, struct client **ret,
                   struct diag *diag);
struct client *client_free(struct client *client); /* always NULL */
OWNED_DEFINE(client_free, struct client *);

const char *client_peer_program(const struct client *client);
int client_fd(const struct client *client); /* to poll beside others */

/* Send; requests may be sent ahead of their responses. */
int client_send(struct client *client, const Wafer__Request *request, struct diag *diag);

/* The next response; timeout_ms < 0 waits for ever, 0 only looks. Free it with
 * wafer__response__free_unpacked(). -EAGAIN: nothing yet */
int client_receive(struct client *client, int timeout_ms, Wafer__Response **ret, struct diag *diag);

#endif
