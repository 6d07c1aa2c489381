#include "base/random.h"

#include <assert.h>

uint64_t random_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

void random_init(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->s[i] = random_mix(seed + (uint64_t)i * 0x9e3779b97f4a7c15u);
}

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

uint64_t random_next(struct random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    assert(bound > 0);
    uint64_t least = -bound % bound; /* values below it would favour small results */
    uint64_t value;

    do
        value = random_next(random);
    while (value < least);
    return value % bound;
}

double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1.0p-53;
}
