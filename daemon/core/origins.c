/* Origins: checkpoints of another job that a job starts from while it has none of its own.
 *
 * A job holds copies, newest first: `origin`, and with a resume that let us choose the older ones
 * that it may fall back on. Their jobs may be history; so a copy follows each record of its
 * checkpoint, and whatever a job holds is kept from deletion. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

typedef Wafer__CheckpointState State;

/* The i-th of a job, from 0; NULL past the last. */
static State *origin_at(const Wafer__JobState *state, size_t i)
{
    if (i == 0)
        return state->origin;
    return i <= state->n_older_origins ? state->older_origins[i - 1] : NULL;
}

/* How many hold on to each is kept as a number in place of a pointer. */
static void count_one(struct core *core, uint64_t number, int change)
{
    uintptr_t count = (uintptr_t)map_get(&core->origins, number) + (uintptr_t)change;

    if (count)
        map_put(&core->origins, number, (void *)count);
    else
        map_remove(&core->origins, number);
}

void origins_count(struct core *core, const Wafer__JobState *state, int change)
{
    const State *origin;

    for (size_t i = 0; (origin = origin_at(state, i)); i++)
        count_one(core, origin->number, change);
}

bool checkpoint_is_origin(const struct core *core, uint64_t number)
{
    return map_get(&core->origins, number) != NULL;
}

static bool follow_one(const Wafer__JobState *state, const State *next)
{
    State *origin;

    for (size_t i = 0; (origin = origin_at(state, i)); i++) {
        if (origin->number != next->number)
            continue;
        State before = *origin;
        checkpoint_state_copy(origin, next);
        checkpoint_state_done(&before);
        return true;
    }
    return false;
}

void origins_follow(struct core *core, const State *next)
{
    size_t cursor = 0;

    if (!checkpoint_is_origin(core, next->number))
        return;
    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        if (follow_one(&job->state, next))
            hash_replace(core, &job->hash, &job->state.base);
}

const State *origin_numbered(const struct job *job, uint64_t number)
{
    const State *origin;

    for (size_t i = 0; (origin = origin_at(&job->state, i)); i++)
        if (origin->number == number)
            return origin;
    return NULL;
}

const State *origin_to_resume(const struct job *job)
{
    const State *origin;

    for (size_t i = 0; (origin = origin_at(&job->state, i)); i++)
        if (origin->state == WAFER__CHECKPOINT__STATE__VERIFIED)
            return origin;
    return NULL;
}

/* ---- what a new job may start from ---- */

static void add(const struct core *core, struct origins *origins, const State *state)
{
    const struct checkpoint *held = core_checkpoint(core, state->number);

    if (held)
        state = &held->state;
    if (state->state == WAFER__CHECKPOINT__STATE__VERIFIED && origins->count < ORIGINS_MAX)
        origins->states[origins->count++] = (State *)state;
}

void origins_of(const struct core *core, const Wafer__JobState *ended, State *const *checkpoints,
                size_t count, struct origins *ret)
{
    const State *origin;

    *ret = (struct origins){ .count = 0 };
    for (size_t i = count; i-- > 0;)
        add(core, ret, checkpoints[i]);
    /* Weights alone are no older state of what the job has come to. */
    if (ret->count && ended->weights_only)
        return;
    ret->weights_only = ended->origin && ended->weights_only;
    for (size_t i = 0; (origin = origin_at(ended, i)); i++)
        add(core, ret, origin);
}
