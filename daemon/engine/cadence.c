#include "engine/cadence.h"

#include <math.h>

/* A save that takes no time would be due all the time. */
static const double SAVE_MIN_US = 1e6;

static int64_t auto_us(const Wafer__PlatformFaults *faults, int64_t save_us, uint32_t systems)
{
    double save = fmax((double)save_us, SAVE_MIN_US);
    double between_failures = fmax((double)faults->mtbf->us, 1) / systems;

    /* More often than it takes is never worth it. */
    return llround(fmax(sqrt(2 * save * between_failures), save));
}

void cadence_init(struct cadence *cadence, const Wafer__CheckpointSpec *spec,
                  const Wafer__PlatformFaults *faults, int64_t save_us, uint32_t systems)
{
    const Wafer__Cadence *every = spec ? spec->every : NULL;

    *cadence = (struct cadence){ 0 };
    if (!every || (every->has_auto_ && every->auto_)) {
        cadence->time_us = auto_us(faults, save_us, systems);
        return;
    }
    if (every->steps)
        cadence->steps = every->steps->value;
    if (every->time && every->time->us > 0)
        cadence->time_us = every->time->us;
}
