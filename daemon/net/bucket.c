#include "net/bucket.h"

#include <assert.h>

#define TOKEN UINT64_C(1000000)

void bucket_init(struct bucket *bucket, uint32_t rate_per_s, uint32_t burst, uint64_t now_us)
{
    assert(rate_per_s > 0 && burst > 0);
    *bucket = (struct bucket){
        .rate_per_s = rate_per_s, .burst = burst, .micro_tokens = burst * TOKEN, .filled_us = now_us
    };
}

static void fill(struct bucket *bucket, uint64_t now_us)
{
    uint64_t passed_us = now_us > bucket->filled_us ? now_us - bucket->filled_us : 0;
    uint64_t missing = bucket->burst * TOKEN - bucket->micro_tokens;

    bucket->filled_us = now_us;
    /* Divided, not multiplied: a long pause must not overflow. */
    if (passed_us > missing / bucket->rate_per_s)
        bucket->micro_tokens = bucket->burst * TOKEN;
    else
        bucket->micro_tokens += passed_us * bucket->rate_per_s;
}

bool bucket_take(struct bucket *bucket, uint64_t now_us)
{
    fill(bucket, now_us);
    if (bucket->micro_tokens < TOKEN)
        return false;
    bucket->micro_tokens -= TOKEN;
    return true;
}

uint64_t bucket_wait_us(struct bucket *bucket, uint64_t now_us)
{
    fill(bucket, now_us);
    if (bucket->micro_tokens >= TOKEN)
        return 0;
    uint64_t missing = TOKEN - bucket->micro_tokens;
    return (missing + bucket->rate_per_s - 1) / bucket->rate_per_s;
}
