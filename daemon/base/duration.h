/* duration — lengths of time as people write them: 90m, 1h30m, 1.5h, 30:00, 1-00:00:00.
 *
 * The forms with colons and dashes mean what they mean in Slurm: M:SS, H:MM:SS, D-H, D-H:MM,
 * D-H:MM:SS. A bare number is refused, because it is minutes here and seconds there. */
#ifndef WAFERD_BASE_DURATION_H
#define WAFERD_BASE_DURATION_H

#include <stdint.h>

#include "base/diag.h"

#define DURATION_TEXT_SIZE 40
#define DURATION_MAX_US    (INT64_C(36500) * 86400 * 1000000) /* sums of a few stay in range */

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)

/* -EINVAL: not a duration; -ERANGE: 0, negative, or over DURATION_MAX_US */
int duration_parse(const char *text, int64_t *ret_us, struct diag *diag);

/* As duration_parse() reads it: 10m, 1h30m, 1-00:00:00, 1.5s. What it refuses is shown all the
 * same: 0s, -10m. */
void duration_format(int64_t us, char ret[static DURATION_TEXT_SIZE]);

/* For columns: 00:12:31, 1-00:00:00; parts of a second are dropped. */
void duration_format_clock(int64_t us, char ret[static DURATION_TEXT_SIZE]);

#endif
