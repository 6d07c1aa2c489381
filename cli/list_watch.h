/* list_watch — `wafer ls --watch`: on a terminal the list, drawn again as it changes; elsewhere a
 * line or a record for each change. */
#ifndef WAFERD_CLI_LIST_WATCH_H
#define WAFERD_CLI_LIST_WATCH_H

#include "cli/connection.h"
#include "cli/job_filter.h"
#include "cli/noun.h"

/* How often to draw; 64 for a value that is no duration. */
int list_watch_interval(const struct command *command, int64_t *ret_us);

int list_watch(const struct command *command, const struct job_filter *filter,
               struct connection **connection, Wafer__Request *request, int64_t interval_us);

/* Is a watched list drawn again on the screen, and not told change by change? */
bool list_is_drawn(const struct command *command);

#endif
