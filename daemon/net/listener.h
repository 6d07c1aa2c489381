/* listener — a Unix socket that hands out connections.
 *
 * Refuses more than LIMIT_CONNECTIONS_PER_UID connections of one uid, and more than
 * LIMIT_CONNECTIONS in all. Root and our own uid have twice as many each, and that many of the
 * total are kept for them, so that a flood cannot lock out control. Callers whom the kernel cannot
 * name (uid 65534 and -1) are refused too. Who is refused gets our Hello and a Response with id 0
 * that holds an Error (exit 75 for limits, 77 for callers), then the end of file.
 * Descriptors passed to us are closed unread.
 *
 * Threads    one, the loop's */
#ifndef WAFERD_NET_LISTENER_H
#define WAFERD_NET_LISTENER_H

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/diag.h"

struct listener;

/* A new connection: make a link of `fd` and return 0; listener_gone() gives its place back. Return
 * < 0 to refuse. Takes `fd`, also on failure, as link_new() does. */
typedef int (*listener_accept_fn)(struct listener *listener, void *userdata, int fd, uid_t uid,
                                  gid_t gid, pid_t pid);

/* Bind `path` with `mode`, replacing a socket that nobody listens on. `program` goes into the Hello
 * of refusals.
 * -ENAMETOOLONG  longer than sun_path allows; says how long it may be
 * -EADDRINUSE    somebody listens there
 * -EEXIST        something else than a socket is there */
int listener_new(sd_event *event, const char *path, mode_t mode, const char *program,
                 listener_accept_fn accept, void *userdata, struct listener **ret,
                 struct diag *diag);

/* Over a socket that listens already, as systemd hands it on. Takes `fd`, also on failure. */
int listener_new_fd(sd_event *event, int fd, const char *program, listener_accept_fn accept,
                    void *userdata, struct listener **ret, struct diag *diag);

/* Unlinks the socket, if it is still the one that we bound; always NULL. */
struct listener *listener_free(struct listener *listener);
OWNED_DEFINE(listener_free, struct listener *);

/* The owner of a link that listener_accept_fn made tells when it is gone. */
void listener_gone(struct listener *listener, uid_t uid);

#endif
