/* cadence — when a run writes a checkpoint. */
#ifndef WAFERD_ENGINE_CADENCE_H
#define WAFERD_ENGINE_CADENCE_H

#include <stdint.h>

#include "job.pb-c.h"
#include "platform.pb-c.h"

/* Whichever comes first; 0: not by this. By time means at the first step that ends after it. */
struct cadence {
    uint64_t steps;
    int64_t time_us;
};

/* `auto`, also the default, is the interval of Young and Daly, sqrt(2 C M / n): C is the time of a
 * save, M the mean time between failures of one of the n systems. */
void cadence_init(struct cadence *cadence, const Wafer__CheckpointSpec *spec,
                  const Wafer__PlatformFaults *faults, int64_t save_us, uint32_t systems);

#endif
