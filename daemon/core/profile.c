#include "core/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"

void profile_init(struct profile *profile)
{
    *profile = (struct profile){ .steps = NULL };
    ARRAY_RESERVE(profile->steps, profile->count, profile->capacity);
    profile->steps[profile->count++] = (struct profile_step){ INT64_MIN, 0 };
}

void profile_done(struct profile *profile)
{
    free(profile->steps);
    *profile = (struct profile){ .steps = NULL };
}

void profile_copy(struct profile *to, const struct profile *from)
{
    profile_done(to);
    *to = *from;
    to->steps = memory_copy(from->steps, from->count * sizeof(*from->steps));
    to->capacity = from->count;
}

/* The step that holds at that time. */
static size_t step_at(const struct profile *profile, int64_t us)
{
    size_t low = 0, high = profile->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (profile->steps[middle].from_us <= us)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Let a step begin at that time; its number. */
static size_t cut(struct profile *profile, int64_t us)
{
    size_t at = step_at(profile, us);

    if (profile->steps[at].from_us == us)
        return at;
    ARRAY_RESERVE(profile->steps, profile->count, profile->capacity);
    at++;
    memmove(&profile->steps[at + 1], &profile->steps[at],
            (profile->count - at) * sizeof(*profile->steps));
    profile->count++;
    profile->steps[at] = (struct profile_step){ us, profile->steps[at - 1].more };
    return at;
}

/* Steps that say the same as the one before them go. */
static void join(struct profile *profile, size_t at)
{
    if (!at || at >= profile->count || profile->steps[at].more != profile->steps[at - 1].more)
        return;
    profile->count--;
    memmove(&profile->steps[at], &profile->steps[at + 1],
            (profile->count - at) * sizeof(*profile->steps));
}

void profile_add(struct profile *profile, int64_t from_us, int64_t until_us, int64_t systems)
{
    if (from_us >= until_us || !systems)
        return;
    if (from_us == INT64_MIN && until_us == INT64_MAX) {
        profile->base += systems;
        return;
    }
    size_t first = cut(profile, from_us);
    size_t end = until_us == INT64_MAX ? profile->count : cut(profile, until_us);
    for (size_t i = first; i < end; i++)
        profile->steps[i].more += systems;
    join(profile, end);
    join(profile, first);
}

void profile_forget(struct profile *profile, int64_t now_us)
{
    size_t at = step_at(profile, now_us);

    if (!at)
        return;
    profile->count -= at;
    memmove(profile->steps, &profile->steps[at], profile->count * sizeof(*profile->steps));
    profile->steps[0].from_us = INT64_MIN;
}

int64_t profile_find(const struct profile *profile, int64_t from_us, int64_t before_us,
                     int64_t span_us, int64_t systems, int64_t own_us)
{
    const struct profile_step *steps = profile->steps;
    int64_t more = systems - profile->base, start_us = from_us;
    size_t at = step_at(profile, from_us);

    for (;;) {
        while (at < profile->count && steps[at].more < more && steps[at].from_us < before_us)
            at++;
        if (at == profile->count)
            return INT64_MAX;
        if (steps[at].from_us > start_us)
            start_us = steps[at].from_us;
        if (start_us >= before_us)
            return INT64_MAX;
        /* From `own_us` on it stands on what it holds: a start before that ends before it would. */
        int64_t end_us = later_us(start_us, span_us);
        if (end_us > own_us)
            end_us = own_us;
        for (; steps[at].more >= more; at++)
            if (at + 1 == profile->count || steps[at + 1].from_us >= end_us)
                return start_us;
    }
}

int64_t profile_least(const struct profile *profile, int64_t from_us, int64_t until_us)
{
    size_t at = step_at(profile, from_us);
    int64_t least = profile->steps[at].more;

    for (at++; at < profile->count && profile->steps[at].from_us < until_us; at++)
        if (profile->steps[at].more < least)
            least = profile->steps[at].more;
    return profile->base + least;
}

int64_t profile_next(const struct profile *profile, int64_t us)
{
    size_t at = step_at(profile, us) + 1;

    return at < profile->count ? profile->steps[at].from_us : INT64_MAX;
}

int64_t profile_at(const struct profile *profile, int64_t us, int64_t *ret_until_us)
{
    size_t at = step_at(profile, us);
    int64_t free = profile->base + profile->steps[at].more;

    while (at < profile->count && profile->base + profile->steps[at].more > 0)
        at++;
    *ret_until_us = at < profile->count ? profile->steps[at].from_us : INT64_MAX;
    return free;
}
