/* targets — the jobs that a command line names, or that its standard input does for `-`. */
#ifndef WAFERD_CLI_TARGETS_H
#define WAFERD_CLI_TARGETS_H

#include <stddef.h>

#include "api.pb-c.h"
#include "cli/command.h"

/* Names as they were written, those of standard input too where `-` stands. */
struct words {
    char **items;
    size_t count, capacity;
};

/* At least one; `what` names what is missing if there is none. */
int words_read(const struct command *command, const char *what, struct words *ret);
void words_done(struct words *words);
static inline void words_donep(struct words *words)
{
    words_done(words);
}

struct targets {
    Wafer__Target *items;
    struct words words; /* as written; the items borrow names from them */
    size_t count;
};

/* At least one. From standard input the first word of each line counts, so that the records of
 * `wafer ls -o plain` do. */
int targets_read(const struct command *command, struct targets *ret);
/* The only target of a verb that takes one, also from standard input. It borrows from the command,
 * or what was read lives as long as the process. */
int target_read(const struct command *command, const char *text, Wafer__Target *ret);
void targets_done(struct targets *targets);
static inline void targets_donep(struct targets *targets)
{
    targets_done(targets);
}

/* Before something is done to several targets: ask, or fail with the flag that would answer. */
int targets_confirm(const struct command *command, size_t count);

#endif
