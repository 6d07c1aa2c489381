/* arguments — the words of a command line, sorted by the tables of verbs.c.
 *
 * Flags may stand before or after targets; `--` ends them. Long flags are never abbreviated. What
 * is not known is refused with the nearest that is, and nothing is run. */
#ifndef WAFERD_CLI_ARGUMENTS_H
#define WAFERD_CLI_ARGUMENTS_H

#include "cli/command.h"

/* Fill verb, group, values, sets and targets. */
int arguments_parse(int argc, char *const *argv, struct command *command);

/* The verb `name` of `group` (NULL: of none), or NULL. */
const struct verb *verb_find(const char *group, const char *name);
const struct group *group_find(const char *name);
/* "did you mean 'submit'?" or where to look; for a word that is no verb. The caller frees. */
char *verb_suggest(const struct group *group, const char *name);

#endif
