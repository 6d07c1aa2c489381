/* list_poll — a list of which the controller tells no changes: asked for once, or with `--watch`
 * again and again. */
#ifndef WAFERD_CLI_LIST_POLL_H
#define WAFERD_CLI_LIST_POLL_H

#include "cli/connection.h"
#include "cli/noun.h"

/* `body`: of the response, a list of `noun`. `print` shows it to people. */
int list_poll(const struct command *command, const struct noun *noun, Wafer__Request *request,
              bit_set body,
              void (*print)(const struct command *command, const ProtobufCMessage *list));

#endif
