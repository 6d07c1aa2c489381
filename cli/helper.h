/* helper — a program that does what wafer has not the libraries for. */
#ifndef WAFERD_CLI_HELPER_H
#define WAFERD_CLI_HELPER_H

#include "base/buffer.h"
#include "cli/command.h"

/* Run it with these arguments, up to a NULL; what it writes to standard output is appended to
 * `ret`, what it says on standard error goes to ours. Its exit status. */
int helper_run(const struct command *command, const char *name, const char *const *arguments,
               struct buffer *ret);

#endif
