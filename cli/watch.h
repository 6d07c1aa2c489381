/* watch — jobs up to their ends.
 *
 * A controller that goes away meanwhile is waited for: it disturbs no job by that, and a watch can
 * begin again at any time. */
#ifndef WAFERD_CLI_WATCH_H
#define WAFERD_CLI_WATCH_H

#include "cli/connection.h"
#include "cli/targets.h"

#define WATCH_STREAMS 16 /* at a time: what a controller allows one connection */

struct watch {
    const struct command *command;
    const struct targets *targets;
    bool any;            /* until the first has ended; then at most WATCH_STREAMS targets */
    int64_t deadline_us; /* of connection_now_us(); -1: none */
    /* Each view of a job, with the one before it (NULL: the first); may be NULL. False: nobody
     * reads on. */
    bool (*on_job)(void *userdata, const Wafer__Job *before, const Wafer__Job *job);
    /* Before something is told on stderr that does not end the watch; may be NULL. */
    void (*on_message)(void *userdata);
    void *userdata;
};

/* The outcome: of the first target whose outcome is not 0; 6 at the deadline; 130 after Ctrl-C. */
int watch_jobs(const struct watch *watch, struct connection **connection);

/* The outcome of a job that has ended, or will in a moment. */
int watch_outcome(const struct command *command, struct connection **connection,
                  Wafer__Target *target);

/* What --timeout means for a wait that starts now. */
int64_t watch_deadline_us(const struct command *command);

#endif
