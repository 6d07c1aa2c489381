#include "cli/moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "cli/message.h"

/* A date, or a date and a time without a zone. False too where the clock was put forward over it.
 */
static bool parse_local(const char *text, bool utc, int64_t *ret_us)
{
    static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
                                         "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };

    for (size_t i = 0; i < ELEMENTS(forms); i++) {
        struct tm tm = { .tm_isdst = -1 };
        const char *end = strptime(text, forms[i], &tm);
        if (!end || *end)
            continue;
        int hour = tm.tm_hour, minute = tm.tm_min;
        time_t seconds = utc ? timegm(&tm) : mktime(&tm);
        *ret_us = (int64_t)seconds * SECOND_US;
        return tm.tm_hour == hour && tm.tm_min == minute;
    }
    return false;
}

int moment_read(const struct command *command, enum flag_id flag, struct moment *ret)
{
    const char *text = command->values[flag];
    struct diag diag;

    *ret = (struct moment){ .is_given = text != NULL };
    if (!text || timestamp_parse(text, &ret->us, &diag) == 0 ||
        parse_local(text, command->utc, &ret->us))
        return 0;
    ret->is_ago = duration_parse(text, &ret->us, &diag) == 0;
    if (ret->is_ago)
        return 0;
    return message_fail(command, EXIT_USAGE,
                        "--%s: '%s' is no time: 2026-01-15, 2026-01-15T08:00:00Z, or 2h for two "
                        "hours ago",
                        flags[flag].name, text);
}

bool moment_is_before(const struct moment *moment, const Wafer__Time *time, const Wafer__Time *now)
{
    int64_t since_us = moment->us;

    if (!moment->is_given)
        return true;
    if (moment->is_ago)
        since_us = (now ? now->us : 0) - moment->us;
    return time && time->us >= since_us;
}
