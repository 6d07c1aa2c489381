/* event_line — what happened, one line each: when, what, to whom, by whom, why. */
#ifndef WAFERD_CLI_EVENT_LINE_H
#define WAFERD_CLI_EVENT_LINE_H

#include "cli/command.h"
#include "view.pb-c.h"

/* `indent`: before it; `names_job`: where events of several jobs mix. */
void event_line_print(const struct command *command, const Wafer__Event *event, const char *indent,
                      bool names_job);

#endif
