/* spec - the job file that a command is about, with what its flags set and the user's settings add.
 */
#ifndef WAFER_CLI_SPEC_H
#define WAFER_CLI_SPEC_H

#include "cli/command.h"
#include "job.pb-c.h"

/* The first target is its path, or - for standard input. 0, or an exit status after a message. The
 * caller's. */
int spec_read(const struct command *command, Wafer__JobSpec **ret);

#endif
