/* list_watch — `wafer ls --watch`: on a terminal the list, drawn again as it changes; elsewhere a
 * line or a record for each change. */
#ifndef WAFERD_CLI_LIST_WATCH_H
#define WAFERD_CLI_LIST_WATCH_H

#include "cli/connection.h"

int list_watch(const struct command *command, struct connection **connection,
               Wafer__Request *request);

#endif
