/* list_poll — `--watch` of a list that the controller does not tell changes of: it is asked for
 * again and again. */
#ifndef WAFERD_CLI_LIST_POLL_H
#define WAFERD_CLI_LIST_POLL_H

#include "cli/connection.h"
#include "cli/noun.h"

/* `body`: of the response, a list of `noun`. `print` shows it to people. */
int list_poll(const struct command *command, const struct noun *noun,
              struct connection **connection, Wafer__Request *request, uint64_t body,
              void (*print)(const struct command *command, const ProtobufCMessage *list));

#endif
