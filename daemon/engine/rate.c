#include "engine/rate.h"

#include <math.h>

/* Between these sizes the realised part of the peak is interpolated over the logarithm. */
static const double SMALL_MODEL = 0.6e9, LARGE_MODEL = 6e9;

/* No step is shorter or longer than this, whatever a spec says. */
static const double STEP_MIN_S = 10e-6, STEP_MAX_S = 3.6e6;

static double decimal(const Wafer__Decimal *value)
{
    return (double)value->micro / 1e6;
}

static double realised_fraction(const Wafer__PlatformRate *rate, double parameters)
{
    double small = decimal(rate->realised_fraction_small);
    double large = decimal(rate->realised_fraction);
    double position = log(parameters / SMALL_MODEL) / log(LARGE_MODEL / SMALL_MODEL);

    return small + (large - small) * fmin(fmax(position, 0), 1);
}

/* Of n systems beside n times one. */
static double efficiency(const Wafer__PlatformRate *rate, uint32_t systems)
{
    double lost_at_16 = 1 - decimal(rate->scaling_efficiency);

    return fmax(1 - lost_at_16 * log2(systems) / log2(16), 0.1);
}

/* What the hardware does more than the model asks for: full recompute runs the forward pass twice
 * (6N -> 8N); selective costs 2.7 % (arXiv 2205.05198). */
static double recompute_factor(Wafer__Workload__Recompute recompute)
{
    switch (recompute) {
    case WAFER__WORKLOAD__RECOMPUTE__selective: return 1.027;
    case WAFER__WORKLOAD__RECOMPUTE__full: return 4.0 / 3;
    default: return 1;
    }
}

static double compute_s(const struct workload *workload, const Wafer__Platform *platform,
                        uint32_t systems)
{
    const Wafer__PlatformRate *rate = platform->rate;
    double parameters = fmax((double)workload->parameters, 1);
    double attention = 12.0 * workload->layers * workload->hidden * workload->seq;
    double tokens = (double)workload->batch * workload->seq;
    double peak = decimal(rate->peak_pflops) * 1e15 * realised_fraction(rate, parameters);

    if (workload->precision == WAFER__WORKLOAD__PRECISION__fp32)
        peak /= 2; /* assumed: the peaks are of 16-bit formats */
    return tokens * (6 * parameters + attention) * recompute_factor(workload->recompute) /
           (peak * systems * efficiency(rate, systems));
}

/* Weights come in twice, gradients leave once, 2 bytes each; every system sees all of them. */
static double stream_s(const struct workload *workload, const Wafer__PlatformRate *rate)
{
    double bytes_per_s = decimal(rate->weights_gb_per_s) * 1e9;

    return bytes_per_s > 0 ? 3 * 2.0 * (double)workload->parameters / bytes_per_s : 0;
}

void rate_init(struct rate *rate, const struct workload *workload, const Wafer__Platform *platform,
               uint32_t systems)
{
    double compute = compute_s(workload, platform, systems);
    double stream = stream_s(workload, platform->rate);
    double feed = workload->feed_per_s > 0 ? workload->batch / workload->feed_per_s : 0;
    double overhead = workload->layers * decimal(platform->rate->per_layer_ms) / 1e3;
    double step = fmax(compute, stream) + overhead;

    rate->bound = feed > step ? RATE_INPUT : stream > compute ? RATE_STREAM : RATE_COMPUTE;
    step = fmax(step, feed);
    step = step > STEP_MIN_S ? fmin(step, STEP_MAX_S) : STEP_MIN_S; /* a NaN too ends here */
    rate->step_ns = llround(step * 1e9);
    rate->samples_per_s = workload->batch / step;
}

const char *rate_bound_name(enum rate_bound bound)
{
    static const char *const names[] = { [RATE_COMPUTE] = "compute",
                                         [RATE_STREAM] = "weight streaming",
                                         [RATE_INPUT] = "input workers" };

    return names[bound];
}

int64_t rate_time_us(const struct rate *rate, uint64_t count)
{
    unsigned __int128 us = (unsigned __int128)count * (uint64_t)rate->step_ns / 1000;

    return us < INT64_MAX ? (int64_t)us : INT64_MAX;
}

uint64_t rate_steps(const struct rate *rate, int64_t elapsed_us)
{
    if (elapsed_us <= 0)
        return 0;
    /* The last nanosecond of the microsecond: rate_steps(rate_time_us(n)) is n. */
    unsigned __int128 ns = (unsigned __int128)(uint64_t)elapsed_us * 1000 + 999;
    unsigned __int128 steps = ns / (uint64_t)rate->step_ns;

    return steps < UINT64_MAX ? (uint64_t)steps : UINT64_MAX;
}
