/* An attempt as history keeps it: when, where, how long in which phase, and what came of it. */
#include "core/state.h"

#include "base/memory.h"

void attempt_times(struct job *job, const Wafer__PhaseTimes *times)
{
    struct progress *progress = job_progress_change(job);

    if (!times)
        return;
    /* Field by field: what else a later agent says is not ours to keep. */
    wafer__phase_times__init(&progress->times);
#define COPY(field)                                                                                \
    if (times->has_##field && times->field >= 0)                                                   \
    SET(&progress->times, field, times->field)
    COPY(compile_us);
    COPY(load_us);
    COPY(execute_us);
    COPY(checkpoint_us);
    COPY(cleanup_us);
#undef COPY
    progress->has_times = true;
}

void attempt_describe(const struct core *core, const struct job *job,
                      struct attempt_description *ret)
{
    const struct pool *pool = job_pool(core, job);
    const struct progress *progress = job_progress(job);
    Wafer__AttemptState *state = &ret->state;

    wafer__attempt_state__init(state);
    state->job = job->state.id;
    state->epoch = job->state.epoch;
    state->attempt = job->state.has_started_us ? job->state.attempt : 0;
    state->granted_us = job->state.granted_us;
    if (job->state.has_started_us)
        SET(state, started_us, job->state.started_us);
    state->ended_us = core->now_us;
    if (pool) {
        state->pool = pool->name;
        state->currency = pool->currency;
    }
    state->systems = ret->systems;
    state->n_systems = job->state.n_systems;
    for (size_t i = 0; i < job->state.n_systems; i++)
        ret->systems[i] = core_system(core, job->state.systems[i])->state.name;
    SET(state, first_step, job->state.resume_step);
    SET(state, last_step,
        progress->step > job->state.resume_step ? progress->step : job->state.resume_step);
    if (progress->has_times) {
        ret->times = progress->times;
        state->times = &ret->times;
    }
    SET(state, cost_micro, attempt_cost(core, job));
}
