#include "engine/phases.h"

#include <math.h>

#include "base/random.h"

static const double PHASE_MAX_US = 3.6e12; /* 1000 hours, whatever a file says */

static int64_t whole_us(double us)
{
    return us > 0 ? llround(fmin(us, PHASE_MAX_US)) : 0;
}

static int64_t uniform_us(const Wafer__PhaseRange *range, struct random *random)
{
    double min = (double)range->min->us, max = (double)range->max->us;

    return whole_us(min + (max - min) * random_unit(random));
}

static int64_t log_uniform_us(const Wafer__PhaseRange *range, struct random *random)
{
    double min = fmax((double)range->min->us, 1), max = fmax((double)range->max->us, min);

    return whole_us(min * exp(log(max / min) * random_unit(random)));
}

static double for_size_us(const Wafer__Decimal *s_per_1e9, uint64_t parameters)
{
    return (double)s_per_1e9->micro * ((double)parameters / 1e9);
}

void phases_init(struct phases *phases, const Wafer__Platform *platform, uint64_t parameters,
                 uint64_t seed, uint64_t job, uint64_t epoch)
{
    const Wafer__PlatformPhases *file = platform->phases;
    struct random random;

    random_init(&random, random_mix(random_mix(seed) ^ job) ^ epoch);
    phases->compile_us = log_uniform_us(file->compile, &random);
    phases->compile_cached_us = uniform_us(file->compile_cached, &random);
    phases->start_us = uniform_us(file->start, &random);
    phases->program_us = uniform_us(file->program, &random);
    phases->weights_us = whole_us(
        fmax((double)file->weights_floor->us, for_size_us(file->weights_s_per_1e9, parameters)));
    phases->save_us = whole_us(for_size_us(file->save_s_per_1e9, parameters));
    phases->cleanup_us = whole_us((double)file->cleanup->us);
}
