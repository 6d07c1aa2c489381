/* job_list — the screen of `wafer ls`. */
#ifndef WAFERD_CLI_JOB_LIST_H
#define WAFERD_CLI_JOB_LIST_H

#include "cli/command.h"
#include "view.pb-c.h"

/* `systems` (may be NULL) is for the last line. */
void job_list_print(const struct command *command, const Wafer__JobList *jobs,
                    const Wafer__SystemList *systems);

#endif
