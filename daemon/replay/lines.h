/* lines — a text file, plain or gzip, line by line, without holding more than a line of it. */
#ifndef WAFERD_REPLAY_LINES_H
#define WAFERD_REPLAY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define LINE_MAX_BYTES 4096 /* what is longer is cut: `is_cut` */

struct lines;

struct line {
    char *text; /* ends in '\0', without its newline; the callee's until the next */
    size_t length;
    uint64_t number; /* from 1 */
    bool is_cut;
};

/* Takes `fd`, also when it fails. */
int lines_open(int fd, const char *name, struct lines **ret, struct diag *diag);
/* 1: there is one; 0: the end.
 * -EBADMSG  a gzip file is damaged or cut short */
int lines_next(struct lines *lines, struct line *ret, struct diag *diag);
struct lines *lines_close(struct lines *lines); /* always NULL */
static inline void lines_closep(struct lines **lines)
{
    lines_close(*lines);
}

#endif
