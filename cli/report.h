/* report — of jobs, what `wafer report` and `wafer show --attempts` tell. */
#ifndef WAFERD_CLI_REPORT_H
#define WAFERD_CLI_REPORT_H

#include "cli/command.h"

/* A row for each attempt of the targets; for scripts the same documents as `wafer report`. */
int report_attempts(const struct command *command);

#endif
