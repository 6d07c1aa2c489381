/* rate — how long a step takes on so many systems of a platform, and what bounds it. */
#ifndef WAFERD_ENGINE_RATE_H
#define WAFERD_ENGINE_RATE_H

#include <stdint.h>

#include "engine/workload.h"
#include "platform.pb-c.h"

enum rate_bound { RATE_COMPUTE, RATE_STREAM, RATE_INPUT };

struct rate {
    int64_t step_ns;
    double samples_per_s;
    enum rate_bound bound;
};

void rate_init(struct rate *rate, const struct workload *workload, const Wafer__Platform *platform,
               uint32_t systems);
const char *rate_bound_name(enum rate_bound bound);

/* Time of `count` steps, rounded down; saturates. */
int64_t rate_time_us(const struct rate *rate, uint64_t count);
/* Steps that are done after `elapsed_us`. */
uint64_t rate_steps(const struct rate *rate, int64_t elapsed_us);

#endif
