/* notify — posts JSON to webhooks, without ever holding up the loop.
 *
 * A post is acknowledged by the head of a response with a status of 200 to 299; what follows it is
 * not read to its end. Anything else is a failure that the caller may try again: redirects are not
 * followed, and time has limits. A receiver that hangs holds up its own posts alone.
 *
 *     webhook-id: ID                 the same each time that a post is tried
 *     webhook-timestamp: SECONDS     of this try, since 1970 UTC
 *     webhook-signature: v1,BASE64   where there is a secret (secret.h)
 *
 * http_proxy, https_proxy and no_proxy of the environment are honoured.
 *
 * Errors     0 or a negative errno with a sentence that never holds more of an address than its
 *            origin
 * Ownership  what notify_post() is given stays the caller's and must live until done() or
 *            notify_free()
 */
#ifndef WAFERD_NOTIFY_NOTIFY_H
#define WAFERD_NOTIFY_NOTIFY_H

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "base/list.h"
#include "model/url.h"
#include "notify/secret.h"

#define NOTIFY_TIMEOUT_MS   10000
#define NOTIFY_PER_ORIGIN   4     /* at once */
#define NOTIFY_AT_ONCE      32    /* in all */
#define NOTIFY_RESPONSE_MAX 16384 /* bytes of a response that are taken before it is cut off */

struct notify;

struct notify_post {
    const char *id;
    const char *url;
    const struct secret *secret; /* NULL: no signature */
    struct list link;            /* notify's own */
};

struct notify_ops {
    /* Its turn has come: what to send, which is freed. Called from the loop. -errno: it fails. */
    int (*body)(void *userdata, struct notify_post *post, char **ret, struct diag *diag);
    /* It was acknowledged (0), or not. Called from the loop, never from notify_post(). */
    void (*done)(void *userdata, struct notify_post *post, int error, const char *text);
};

struct notify_config {
    const char *agent; /* User-Agent; copied */
    long timeout_ms;   /* for one try, from its begin to the head of the response */
};

int notify_new(sd_event *event, const struct notify_config *config, const struct notify_ops *ops,
               void *userdata, struct notify **ret, struct diag *diag);
/* What waits or is under way is dropped: done() is not called. Always NULL. */
struct notify *notify_free(struct notify *notify);
OWNED_DEFINE(notify_free, struct notify *);

/* Send it as soon as its origin has room. */
void notify_post(struct notify *notify, struct notify_post *post);

#endif
