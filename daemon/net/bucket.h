/* bucket — a token bucket: so many a second in the long run, so many at once.
 *
 * Pure: the caller tells the time, in microseconds of any clock; one that steps back
 * counts on from there. */
#ifndef WAFERD_NET_BUCKET_H
#define WAFERD_NET_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    uint32_t rate_per_s, burst;
    uint64_t micro_tokens; /* millionths of a token: what one a second gives in a microsecond */
    uint64_t filled_us;    /* the time up to which they are counted */
};

void bucket_init(struct bucket *bucket, uint32_t rate_per_s, uint32_t burst,
                 uint64_t now_us);                        /* full */
bool bucket_take(struct bucket *bucket, uint64_t now_us); /* one token, if there is one */
/* How long until bucket_take() can succeed; 0: now. */
uint64_t bucket_wait_us(struct bucket *bucket, uint64_t now_us);

#endif
