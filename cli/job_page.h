/* job_page — the screen of `wafer show`. */
#ifndef WAFERD_CLI_JOB_PAGE_H
#define WAFERD_CLI_JOB_PAGE_H

#include "api.pb-c.h"
#include "cli/command.h"

void job_page_print(const struct command *command, const Wafer__ShowResponse *show);

#endif
