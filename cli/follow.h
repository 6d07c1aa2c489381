/* follow — watch jobs to their ends and show what happens on the way, in the format asked for. */
#ifndef WAFERD_CLI_FOLLOW_H
#define WAFERD_CLI_FOLLOW_H

#include "cli/watch.h"

/* `with_progress`: show changes as they come; else only what each has become. */
int follow_jobs(const struct command *command, struct connection **connection,
                const struct targets *targets, bool with_progress);

#endif
