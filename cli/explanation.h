/* explanation - the parts that explain and plan show alike: systems, other reasons, advice. */
#ifndef WAFER_CLI_EXPLANATION_H
#define WAFER_CLI_EXPLANATION_H

#include "cli/command.h"
#include "view.pb-c.h"

#define SYSTEMS_TOLD 4 /* of each use, by name */

void explanation_print_systems(const struct command *command,
                               const Wafer__Explanation *explanation);
/* Those that hold, or those that do not. */
void explanation_print_checks(const struct command *command, const Wafer__Explanation *explanation,
                              bool holds, const char *name);
void explanation_print_advice(const struct command *command, const Wafer__Explanation *explanation,
                              const char *name);

#endif
