/* plan_page - a plan as a document, a record or a page. */
#ifndef WAFERD_CLI_PLAN_PAGE_H
#define WAFERD_CLI_PLAN_PAGE_H

#include "api.pb-c.h"
#include "cli/command.h"

/* Fills in names. The exit code: 0 it would start now, 2 it would wait. */
int plan_print(const struct command *command, Wafer__Plan *plan);

#endif
