/* phases — how long each phase of one attempt takes beside its steps, drawn from the ranges of the
 * platform file; the same seed, job and epoch give the same times. */
#ifndef WAFERD_ENGINE_PHASES_H
#define WAFERD_ENGINE_PHASES_H

#include <stdint.h>

#include "platform.pb-c.h"

struct phases {
    int64_t compile_us;        /* nothing cached */
    int64_t compile_cached_us; /* also until a compile error shows */
    int64_t start_us;          /* processes up */
    int64_t program_us;        /* the systems programmed */
    int64_t weights_us;        /* weights in */
    int64_t save_us;           /* one checkpoint */
    int64_t cleanup_us;
};

void phases_init(struct phases *phases, const Wafer__Platform *platform, uint64_t parameters,
                 uint64_t seed, uint64_t job, uint64_t epoch);

#endif
