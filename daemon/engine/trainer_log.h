/* trainer_log — the lines that a trainer prints, gathered until the agent hands them on. */
#ifndef WAFERD_ENGINE_TRAINER_LOG_H
#define WAFERD_ENGINE_TRAINER_LOG_H

#include <stdint.h>

#include "base/buffer.h"

struct trainer_log {
    struct buffer text; /* whole lines */
    uint64_t offset;    /* of `text` in the log of the attempt */
};

/* Add "2026-02-01T08:00:00.123Z INFO <words>\n". */
void trainer_log_line(struct trainer_log *log, int64_t now_us, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Length of the longest run of whole lines within `limit` bytes at `text`; a longer first line is
 * taken whole. */
size_t trainer_log_chunk(const char *text, size_t length, size_t limit);

#endif
