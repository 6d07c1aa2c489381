/* listener — a Unix socket that hands out links.
 *
 * Refuses more than LIMIT_CONNECTIONS_PER_UID connections of one uid (root and our own uid have
 * twice as many, so that a flood cannot lock out control) and more than LIMIT_CONNECTIONS in all:
 * such a client gets its Hello and an Error response with exit 75, then the end of file.
 * Descriptors passed to us are closed unread. */
#ifndef WAFERD_NET_LISTENER_H
#define WAFERD_NET_LISTENER_H

#include <systemd/sd-event.h>

#include "net/link.h"

struct listener;

/* A new connection: make a link of it and return it through ret_link, which the listener counts
 * until link_free(). Return < 0 to refuse; the fd is closed then. */
typedef int (*listener_accept_fn)(struct listener *listener, void *userdata, int fd, uid_t uid,
                                  gid_t gid, pid_t pid);

/* Bind `path` with `mode`, replacing a socket that nobody listens on.
 * -ENAMETOOLONG  longer than sun_path allows; says how long it may be
 * -EADDRINUSE    somebody listens there */
int listener_new(sd_event *event, const char *path, mode_t mode, listener_accept_fn accept,
                 void *userdata, struct listener **ret, struct diag *diag);
struct listener *listener_free(struct listener *listener); /* unlinks the socket; always NULL */

/* The owner of a link that listener_accept_fn made tells when it is gone. */
void listener_gone(struct listener *listener, uid_t uid);

#endif
