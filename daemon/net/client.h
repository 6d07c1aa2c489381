/* client — the calling end of a connection, without a loop: for the command line.
 *
 * A Response with id 0 answers no request: the controller refuses the connection with it.
 *
 * Errors  -ECONNREFUSED, -ENOENT nobody listens; -EACCES; -EPROTONOSUPPORT other version (diag
 *         names both); -ETIMEDOUT; -ENAMETOOLONG; -EPROTO; -EMSGSIZE a message over the limit;
 *         -EPIPE the controller went away */
#ifndef WAFERD_NET_CLIENT_H
#define WAFERD_NET_CLIENT_H

#include <stdint.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/diag.h"

struct client;

/* Connect and exchange Hellos within `timeout_ms` (< 0: for ever), which is also how long
 * client_send() waits for a controller that takes nothing. `role` NULL: act with all that the
 * caller has. */
int client_connect(const char *path, const char *program, const char *role, int timeout_ms,
                   struct client **ret, struct diag *diag);

/* The same on a stream that is open already; takes `fd`, which must not block, also on failure.
 * `name` is what messages call the other end. */
int client_attach(int fd, const char *name, const char *program, const char *role, int timeout_ms,
                  struct client **ret, struct diag *diag);
struct client *client_free(struct client *client); /* always NULL */
OWNED_DEFINE(client_free, struct client *);

const char *client_peer_program(const struct client *client);
int client_fd(const struct client *client); /* to poll beside others */

/* Send; requests may be sent ahead of their responses. 0 also when the controller has just gone:
 * what it said before comes out of client_receive(), and then -EPIPE. */
int client_send(struct client *client, const Wafer__Request *request, struct diag *diag);

/* As client_send(), but the bytes leave with the next client_send() or client_receive(), so that
 * many requests cost one system call. */
int client_queue(struct client *client, const Wafer__Request *request, struct diag *diag);

/* The next response; timeout_ms < 0 waits for ever, 0 only looks. Free it with
 * wafer__response__free_unpacked(). -EAGAIN: nothing yet. After poll() on client_fd() take
 * responses until -EAGAIN: several may have come in one read. */
int client_receive(struct client *client, int timeout_ms, Wafer__Response **ret, struct diag *diag);

#endif
