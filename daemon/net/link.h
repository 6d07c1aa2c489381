/* link — one framed connection on an sd-event loop.
 *
 * A frame is four bytes of length (little endian, at least 1) and that many bytes of one packed
 * protobuf message. The first frame of either side is a Hello; links exchange and check it by
 * themselves and hand on only what comes after. Lengths are checked against the limit before
 * anything is allocated; a peer that sends nothing whole within LIMIT_FIRST_FRAME_MS, leaves a
 * frame unfinished for LIMIT_FRAME_MS, sends a frame over the limit, or bytes that are no frame,
 * is closed with a reason. A peer of another version still gets our Hello, so that it can say why.
 *
 * Many frames come out of one read and go into one write: what is queued leaves when the loop has
 * served the sources that were ready before. Queued is what the kernel did not take yet, up to a
 * limit. link_send() beyond it fails with -ENOBUFS and queues nothing: a stream counts what it had
 * to drop, an agent link is closed by its owner.
 *
 * An end of file between two frames is a goodbye: whole frames before it are handed on, what is
 * queued is offered to the kernel once, then comes on_closed(). A peer that wants its responses
 * keeps its sending side open.
 *
 * Threads    one, the loop's
 * Ownership  the link is its creator's; it may be freed inside its own callbacks, and what was
 *            passed to that callback stays valid until it returns
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
#include "net/hello.h"

struct link;

struct link_ops {
    void (*on_ready)(struct link *link, void *userdata, const Wafer__Hello *peer); /* may be NULL */
    void (*on_frame)(struct link *link, void *userdata, const uint8_t *bytes, size_t length);
    /* Once, the last call, never from inside one of ours: the peer went away or we closed after
     * sending (0), or a negative errno: -EPROTO bad bytes or a frame cut short, -EPROTONOSUPPORT
     * other version, -EMSGSIZE frame over the limit, -ETIMEDOUT too slow. */
    void (*on_closed)(struct link *link, void *userdata, int error, const char *why);
};

struct link_limits {
    size_t receive_bytes;    /* of one frame */
    size_t send_bytes;       /* queued */
    unsigned first_frame_ms; /* for a complete Hello; 0: LIMIT_FIRST_FRAME_MS */
    unsigned frame_ms;       /* for a frame once it has begun; 0: LIMIT_FRAME_MS */
    unsigned close_ms;       /* for what is queued at the end; 0: LIMIT_CLOSE_MS */
};

/* Takes `fd` (a connected, non-blocking stream socket), also on failure. `program` goes into our
 * Hello. */
int link_new(sd_event *event, int fd, const char *program, const struct link_limits *limits,
             const struct link_ops *ops, void *userdata, struct link **ret);
struct link *link_free(struct link *link); /* always NULL; no callback */
OWNED_DEFINE(link_free, struct link *);

/* Queue one message. -ENOBUFS: the queue is full; -EMSGSIZE: it can never be sent; -EPIPE: the link
 * is closing */
int link_send(struct link *link, const ProtobufCMessage *message);
size_t link_queued(const struct link *link); /* bytes not yet handed to the kernel */
/* Stop or go on reading, so that a busy owner pushes back on its peer. A peer that goes away
 * meanwhile takes with it what was not read. */
void link_read(struct link *link, bool enabled);
/* Read no more, and close once everything queued is sent, or after `close_ms`: then on_closed(). */
void link_close_after_send(struct link *link);

/* Who is at the other end, from the kernel; each result may be NULL. -EACCES for uid 65534 and -1;
 * -ENOTCONN once the link is closed. */
int link_peer(const struct link *link, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid);

#endif
