/* link — one framed connection on an sd-event loop.
 *
 * A frame is four bytes of length (little endian, at least 1) and that many bytes of one packed
 * protobuf message. The first frame of either side is a Hello; links exchange and check it by
 * themselves and hand on only what comes after. Lengths are checked against the limit before
 * anything is allocated; a peer that sends nothing whole within LIMIT_FIRST_FRAME_MS, a frame over
 * the limit, or bytes that are no message is closed with a reason.
 *
 * Output is queued up to a limit. link_send() beyond it fails with -ENOBUFS and queues nothing: a
 * stream counts what it had to drop, an agent link is closed by its owner.
 *
 * Threads    one, the loop's
 * Ownership  the link is its creator's; it may be freed inside its own callbacks
 */
#ifndef WAFERD_NET_LINK_H
#define WAFERD_NET_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/diag.h"

#define NET_MAGIC 0x57464452u /* "WFDR" */
#define NET_MAJOR 1
#define NET_MINOR 0

struct link;

struct link_ops {
    void (*on_ready)(struct link *link, void *userdata, const Wafer__Hello *peer); /* may be NULL */
    void (*on_frame)(struct link *link, void *userdata, const uint8_t *bytes, size_t length);
    /* Once, the last call: the peer went away (0), or a negative errno: -EPROTO bad bytes,
     * -EPROTONOSUPPORT other version, -EMSGSIZE frame over the limit, -ETIMEDOUT first frame. */
    void (*on_closed)(struct link *link, void *userdata, int error, const char *why);
};

struct link_limits {
    size_t receive_bytes; /* of one frame */
    size_t send_bytes;    /* queued */
};

/* Takes `fd` (a connected, non-blocking stream socket), also on failure. `program` goes into our
 * Hello. */
int link_new(sd_event *event, int fd, const char *program, const struct link_limits *limits,
             const struct link_ops *ops, void *userdata, struct link **ret);
struct link *link_free(struct link *link); /* always NULL; no callback */
OWNED_DEFINE(link_free, struct link *);

/* Queue one message. -ENOBUFS: the queue is full; -EMSGSIZE: it can never be sent */
int link_send(struct link *link, const ProtobufCMessage *message);
size_t link_queued(const struct link *link); /* bytes not yet handed to the kernel */
/* Stop or go on reading, so that a busy owner pushes back on its peer. */
void link_read(struct link *link, bool enabled);
/* Close once everything queued is sent, or after 2 s: then on_closed(). */
void link_close_after_send(struct link *link);

/* Who is at the other end, from the kernel. -EACCES for uid 65534 and -1. */
int link_peer(const struct link *link, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid);

#endif
