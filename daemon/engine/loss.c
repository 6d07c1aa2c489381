#include "engine/loss.h"

#include <math.h>

#include "base/random.h"

/* Approach 3 of the paper. */
static const double E = 1.69, A = 406.4, ALPHA = 0.34, B = 410.7, BETA = 0.28;

/* Of one batch's loss around the curve; a guess at what training curves show. */
static const double BATCH_NOISE = 0.015;

void loss_init(struct loss *loss, uint64_t parameters, uint32_t vocab, uint64_t tokens_a_step,
               uint64_t settings)
{
    double guess = log(fmax(vocab, 256));
    double floor = E + A / pow(fmax((double)parameters, 1), ALPHA);

    /* Even the smallest model learns something: the law was not fitted below some 50e6. */
    floor = fmin(floor, guess - 0.5);
    *loss = (struct loss){ .floor = floor,
                           .first_tokens = pow(B / (guess - floor), 1 / BETA),
                           .tokens_a_step = (double)tokens_a_step,
                           .settings = settings };
}

static double curve(const struct loss *loss, uint64_t step)
{
    double tokens = loss->first_tokens + loss->tokens_a_step * (double)step;

    return loss->floor + B / pow(tokens, BETA);
}

/* About normal, mean 0 and deviation 1: the sum of twelve uniform 16-bit numbers. */
static double noise(uint64_t settings, uint64_t step, uint64_t stream)
{
    uint64_t word = random_mix(random_mix(settings ^ stream) + step);
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        for (int shift = 0; shift < 64; shift += 16)
            sum += (double)(word >> shift & 0xffff) / 65536;
        word = random_mix(word);
    }
    return sum - 6;
}

int64_t loss_micro(const struct loss *loss, uint64_t step)
{
    double value = curve(loss, step) + BATCH_NOISE * noise(loss->settings, step, 1);

    return llround(value * 1e6);
}

int64_t loss_eval_micro(const struct loss *loss, uint64_t step)
{
    return llround(curve(loss, step) * 1e6);
}

int64_t loss_gradient_micro(const struct loss *loss, uint64_t step, uint32_t rank)
{
    double mean = 0.2 + 0.3 * (curve(loss, step) - loss->floor);
    double batch = 1 + 0.1 * noise(loss->settings, step, 2);
    double here = 1 + 0.01 * noise(loss->settings, step, 3 + (uint64_t)rank);

    return llround(fmax(mean * batch * here, 0) * 1e6);
}
