/* moment — a point in time as somebody types it: RFC 3339, a date or a local date and time, or a
 * duration, which is that long ago. */
#ifndef WAFERD_CLI_MOMENT_H
#define WAFERD_CLI_MOMENT_H

#include "cli/command.h"
#include "view.pb-c.h"

struct moment {
    bool is_given;
    int64_t us; /* since 1970; of `is_ago`: how long before now */
    bool is_ago;
};

/* From a flag; not given when the flag is absent. */
int moment_read(const struct command *command, enum flag_id flag, struct moment *ret);

/* Is `time` at or after it? The clock of the cluster says what now is. */
bool moment_is_before(const struct moment *moment, const Wafer__Time *time, const Wafer__Time *now);

#endif
