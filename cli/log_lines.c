#include "cli/log_lines.h"

#include <string.h>

#include "base/timestamp.h"

/* The head is whole, or its line has ended. */
static void judge(struct log_lines *lines, struct buffer *ret)
{
    char text[LOG_TIME_BYTES + 1];
    struct diag diag;
    int64_t us;

    memcpy(text, buffer_data(&lines->head), lines->head.length);
    text[lines->head.length] = '\0';
    if (lines->head.length == LOG_TIME_BYTES && timestamp_parse(text, &us, &diag) == 0)
        lines->shows = us >= lines->since_us;
    if (lines->shows)
        buffer_append(ret, text, lines->head.length);
    buffer_clear(&lines->head);
    lines->in_line = true;
}

void log_lines_take(struct log_lines *lines, const uint8_t *bytes, size_t length,
                    struct buffer *ret)
{
    for (size_t i = 0; i < length;) {
        const uint8_t *newline = memchr(bytes + i, '\n', length - i);
        size_t end = newline ? (size_t)(newline - bytes) : length;

        if (!lines->in_line) {
            size_t missing = LOG_TIME_BYTES - lines->head.length;
            size_t taken = end - i < missing ? end - i : missing;
            buffer_append(&lines->head, bytes + i, taken);
            i += taken;
            if (taken < missing && !newline)
                return;
            judge(lines, ret);
        }
        if (newline)
            end++;
        if (lines->shows)
            buffer_append(ret, bytes + i, end - i);
        lines->in_line = !newline;
        i = end;
    }
}

void log_lines_done(struct log_lines *lines)
{
    buffer_done(&lines->head);
}
