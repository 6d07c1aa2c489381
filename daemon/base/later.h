/* later — sums of times of which some may be never. */
#ifndef WAFERD_BASE_LATER_H
#define WAFERD_BASE_LATER_H

#include <stdint.h>

/* `span_us` after `us`; INT64_MAX, which is never, when no clock reaches that. A span may be
 * negative, as long as the sum can be told. */
static inline int64_t later_us(int64_t us, int64_t span_us)
{
    int64_t sum_us;

    return __builtin_add_overflow(us, span_us, &sum_us) ? INT64_MAX : sum_us;
}

#endif
