/* diag — the sentence that goes with a negative errno.
 *
 * A function that fails returns a negative errno and writes one line into the caller's diag: the
 * thing, its value, and what would have worked. Whoever handles the failure prints it, once. */
#ifndef WAFERD_BASE_DIAG_H
#define WAFERD_BASE_DIAG_H

#include <stdarg.h>

#define DIAG_TEXT_MAX 512

struct diag {
    char text[DIAG_TEXT_MAX];
};

/* Write the sentence and return `error` (a negative errno), so that callers can return it.
 * `diag` may be NULL. Longer sentences are cut and end in "...". */
int diag_fail(struct diag *diag, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "what: " before the sentence that is there. */
int diag_prefix(struct diag *diag, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
