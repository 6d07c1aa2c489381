/* random — a seeded generator (xoshiro256**, Blackman and Vigna 2018, seeded by splitmix64).
 *
 * The same seed gives the same numbers on every machine. Never a source of secrets. */
#ifndef WAFERD_BASE_RANDOM_H
#define WAFERD_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t s[4];
};

void random_init(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t bound); /* bound > 0; no bias */
double random_unit(struct random *random);                    /* [0, 1) */

/* One mixing step of splitmix64: a hash of one number. */
uint64_t random_mix(uint64_t value);

#endif
