/* message — what goes wrong, in one line on stderr: "wafer: VERB: what: fix".
 *
 * With `-o json` the line is an ErrorItem of view.proto. */
#ifndef WAFERD_CLI_MESSAGE_H
#define WAFERD_CLI_MESSAGE_H

#include "api.pb-c.h"
#include "cli/command.h"
#include "model/bind.h"

/* Tell it and return `exit`. */
int message_fail(const struct command *command, int exit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the controller answered; returns the exit code that came with it. */
int message_refused(const struct command *command, const Wafer__Error *error);

/* Each error of a job file on a line of its own; returns 65. */
int message_bind(const struct command *command, const char *file, const struct bind_errors *errors);

/* News that is neither data nor an error, on stderr; nothing with -q. */
void message_note(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
