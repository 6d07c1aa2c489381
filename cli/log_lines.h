/* log_lines — the part of a log that is not older than some time.
 *
 * A line begins with its time; one that does not goes with the line before it. Lines may come in
 * pieces. */
#ifndef WAFERD_CLI_LOG_LINES_H
#define WAFERD_CLI_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define LOG_TIME_BYTES 24 /* 2026-12-01T13:11:15.909Z */

struct log_lines {
    int64_t since_us;
    struct buffer head; /* of a line whose time has not come whole yet */
    bool in_line;       /* it has, or there is none */
    bool shows;         /* the line, and those without a time that follow */
};

/* Append to `ret` what is to be shown of `bytes`, which follow those of the last call. */
void log_lines_take(struct log_lines *lines, const uint8_t *bytes, size_t length,
                    struct buffer *ret);
void log_lines_done(struct log_lines *lines);

#endif
