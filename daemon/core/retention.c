/* Retention: which checkpoints of a job stay, and why. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

typedef Wafer__CheckpointState State;

static bool is_verified(const State *state)
{
    return state->state == WAFER__CHECKPOINT__STATE__VERIFIED;
}

/* What holds on to this one, whatever the rules of its job say. */
static enum retention hold_on(const struct core *core, const State *state)
{
    const struct job *job = core_job(core, state->job);

    if (state->has_pinned && state->pinned)
        return RETAINED_PINNED;
    if (job && job->state.state == WAFER__JOB__STATE__STARTING &&
        job->state.has_resume_checkpoint && job->state.resume_checkpoint == state->number)
        return RETAINED_ATTEMPT;
    if (job && !job_state_is_terminal(job->state.state)) {
        const State *next = checkpoint_to_resume(job);
        if (next && next->number == state->number)
            return RETAINED_NEXT;
    }
    return checkpoint_is_origin(core, state->number) ? RETAINED_ORIGIN : RETAINED_NOT;
}

static bool is_better(const struct job_terms *terms, const State *a, const State *b)
{
    return terms->best_is_max ? a->metric_micro > b->metric_micro
                              : a->metric_micro < b->metric_micro;
}

/* Among the best N by the metric; of equals, the older. */
static bool is_among_best(const struct job_terms *terms, State *const *states, size_t count,
                          const State *state)
{
    uint32_t ahead = 0;

    if (!terms->keep_best || !state->has_metric_micro)
        return false;
    for (size_t i = 0; i < count; i++) {
        const State *other = states[i];
        if (other == state || !other->has_metric_micro || !is_verified(other))
            continue;
        ahead += is_better(terms, other, state) ||
                 (!is_better(terms, state, other) && other->number < state->number);
    }
    return ahead < terms->keep_best;
}

void retention_decide(const struct core *core, const Wafer__JobState *job,
                      const struct job_terms *terms, State *const *states, size_t count,
                      enum retention *ret)
{
    /* Verified steps above this one. What was given up has a count of its own, or its higher steps
     * would push out what the job now writes. */
    uint32_t counts[2] = { 0, 0 };

    for (size_t i = count; i-- > 0;) {
        const State *state = states[i];
        uint32_t *newer = &counts[checkpoint_is_given_up(job, state)];
        /* Of one step written twice, the later epoch is the one that counts. */
        bool repeated =
            i + 1 < count && states[i + 1]->step == state->step && is_verified(states[i + 1]);
        bool is_counted = is_verified(state) && !repeated;

        if (!checkpoint_is_settled(state))
            ret[i] = RETAINED_UNSETTLED;
        else if (is_counted &&
                 *newer == 0) /* whatever the rules: there must be one to resume from */
            ret[i] = RETAINED_NEWEST;
        else if ((ret[i] = hold_on(core, state)) != RETAINED_NOT || !is_counted)
            ; /* decided */
        else if (*newer < terms->keep_last)
            ret[i] = RETAINED_LAST;
        else if (terms->keep_every_steps && state->step % terms->keep_every_steps == 0)
            ret[i] = RETAINED_EVERY;
        else if (is_among_best(terms, states, count, state))
            ret[i] = RETAINED_BEST;
        *newer += is_counted;
    }
}

char *retention_text(enum retention why, const struct job_terms *terms)
{
    switch (why) {
    case RETAINED_UNSETTLED: return text_copy("kept: it is being written, verified or deleted");
    case RETAINED_NEWEST: return text_copy("kept: the newest that was verified");
    case RETAINED_PINNED: return text_copy("kept: pinned");
    case RETAINED_ATTEMPT: return text_copy("kept: an attempt starts from it");
    case RETAINED_NEXT: return text_copy("kept: the next attempt starts from it");
    case RETAINED_ORIGIN: return text_copy("kept: another job may start from it");
    case RETAINED_LAST: return text_format("kept: one of the last %u", terms->keep_last);
    case RETAINED_EVERY:
        return text_format("kept: at a step divisible by %llu",
                           (unsigned long long)terms->keep_every_steps);
    case RETAINED_BEST: return text_format("kept: one of the best %u", terms->keep_best);
    case RETAINED_NOT: break;
    }
    return NULL;
}

State **retention_drops(const struct core *core, struct checkpoint *good, size_t *ret_count)
{
    const struct job *job = good->job;
    Wafer__Checkpoint__State before = good->state.state;
    size_t count, dropped = 0;
    owned(free) State **states = checkpoint_states(job, &count);
    owned(free) enum retention *decided = memory_new(count * sizeof(*decided));
    State **ret = memory_new(count * sizeof(State *));

    good->state.state = WAFER__CHECKPOINT__STATE__VERIFIED;
    retention_decide(core, &job->state, &job->spec->terms, states, count, decided);
    good->state.state = before;
    for (size_t i = 0; i < count; i++)
        if (decided[i] == RETAINED_NOT && is_verified(states[i]))
            ret[dropped++] = checkpoint_state_new(states[i]);
    *ret_count = dropped;
    return ret;
}
