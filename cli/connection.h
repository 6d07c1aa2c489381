/* connection — to the controller that the command line names.
 *
 * Functions tell what went wrong by themselves and return its exit code; 0 is success. */
#ifndef WAFERD_CLI_CONNECTION_H
#define WAFERD_CLI_CONNECTION_H

#include <stdint.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "cli/command.h"

struct connection;

static inline void response_free(Wafer__Response *response)
{
    wafer__response__free_unpacked(response, NULL);
}
OWNED_DEFINE(response_free, Wafer__Response *);

/* Within a second, or --timeout. */
int connection_open(const struct command *command, struct connection **ret);
/* What keeps a socket from being reached, told; its exit code. */
int connection_refused(const struct command *command, int error, const struct diag *diag);
struct connection *connection_close(struct connection *connection); /* always NULL */
OWNED_DEFINE(connection_close, struct connection *);

/* "waferd 0.1.0" */
const char *connection_peer(const struct connection *connection);

/* Give the request the next id and send it. Several may be sent before their responses come. */
int connection_send(struct connection *connection, Wafer__Request *request);

/* The next response of any request; one that is an error is told and its code returned. */
int connection_receive(struct connection *connection, Wafer__Response **ret);

/* Nothing more can come; it was told. */
bool connection_is_broken(const struct connection *connection);

/* One request that has one response, with one of those bodies: BIT(WAFER__RESPONSE__BODY_...). */
int connection_call(struct connection *connection, Wafer__Request *request, bit_set bodies,
                    Wafer__Response **ret);

/* The same, of a connection of its own: for a verb that asks one thing. */
int connection_ask(const struct command *command, Wafer__Request *request, bit_set bodies,
                   Wafer__Response **ret);

/* The same, but when the controller goes away before it answers, connect again and send it once
 * more. Only for requests that may arrive twice. */
int connection_call_again(struct connection **connection, Wafer__Request *request, bit_set bodies,
                          Wafer__Response **ret);

/* ---- streams ------------------------------------------------------------------------------- */

enum next {
    NEXT_RESPONSE,
    NEXT_DEADLINE,    /* `deadline_us` has come */
    NEXT_INTERRUPTED, /* Ctrl-C, after connection_catch_interrupt() */
    NEXT_GONE,        /* the controller went away; not told yet */
};

/* The next response of a stream, whatever it is. `deadline_us`: of connection_now_us(), or -1. */
enum next connection_next(struct connection *connection, int64_t deadline_us,
                          Wafer__Response **ret);
int64_t connection_now_us(void); /* monotonic */

/* Wait, but no longer than the controller is there. */
void connection_pause(struct connection *connection, int64_t us);

/* From now on Ctrl-C ends only a wait in connection_next(). */
void connection_catch_interrupt(void);

/* Tell how the connection ended; returns 69, or 76 when what came was no response. */
int connection_gone(const struct connection *connection);

/* Try for a while to reach a controller that went away: it may be starting again. NEXT_RESPONSE:
 * connected; NEXT_GONE: it did not come back. */
enum next connection_reopen(struct connection **connection, int64_t deadline_us);

#endif
