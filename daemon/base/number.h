/* number — a decimal number as it was written, kept exact until its unit is known. */
#ifndef WAFERD_BASE_NUMBER_H
#define WAFERD_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct number {
    uint64_t digits; /* value: digits * 10^exponent */
    int exponent;
};

enum {
    NUMBER_EXPONENT = 1, /* 26.3e9 */
};

/* Scan the number at the start of `text`: digits, perhaps with a point and digits; no sign, no
 * leading zeros, at most 18 digits that count. Returns what follows it, or NULL if there is none.
 */
const char *number_scan(const char *text, unsigned flags, struct number *ret);

enum number_rounding {
    NUMBER_EXACT, /* -EDOM if a part is left over */
    NUMBER_UP,
};

/* number * unit. -ERANGE beyond INT64_MAX */
int number_times(const struct number *number, uint64_t unit, enum number_rounding rounding,
                 int64_t *ret);

/* A whole number of nothing but digits, without leading zeros. -EINVAL, -ERANGE (above `max`) */
int number_parse_whole(const char *text, uint64_t max, uint64_t *ret);

#endif
