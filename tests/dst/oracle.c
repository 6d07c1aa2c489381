/* What the end of a job must have been: worked out with the training alone, or with one agent that
 * nothing ever happens to. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "engine/training.h"
#include "model/job.h"
#include "world.h"

/* What it began from on its way to `step`. It may have fallen back on one that is older than where
 * it ended; all are states of one run, so that what comes later does not depend on which it was. */
static const Wafer__CheckpointState *origin_before(const Wafer__JobState *state, uint64_t step)
{
    const Wafer__CheckpointState *origin = state->origin;

    for (size_t i = 0; i < state->n_older_origins && !state->weights_only && origin->step > step;
         i++)
        origin = state->older_origins[i];
    return origin;
}

/* The state of the job after `step` steps. */
static void train(struct world *world, const struct ledger_job *job, uint64_t step,
                  struct training *ret)
{
    const Wafer__CheckpointState *origin = origin_before(job->state, step);
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, job->spec.len, job->spec.data);

    training_init(ret, spec, job->index);
    if (origin) {
        Wafer__ResumeState resume = WAFER__RESUME_STATE__INIT;
        uint8_t *shards[TRAINING_LANES];
        size_t lengths[TRAINING_LANES];
        struct training from;
        train(world, ledger_job(&world->controller.history, origin->job), origin->step, &from);
        training_save(&from, &resume);
        for (unsigned i = 0; i < TRAINING_LANES; i++)
            shards[i] = training_shard(&from, i, 0, &lengths[i]);
        training_load(ret, (const uint8_t *const *)shards, lengths, TRAINING_LANES, origin->step,
                      &resume, job->state->weights_only);
        for (unsigned i = 0; i < TRAINING_LANES; i++)
            free(shards[i]);
        free(resume.cursors);
        free(resume.rng);
        training_done(&from);
    }
    if (step < ret->step)
        world_fail(world, "job %llu is at step %llu, before it began", (unsigned long long)job->id,
                   (unsigned long long)step);
    training_run(ret, step - ret->step);
    wafer__job_spec__free_unpacked(spec, NULL);
}

/* Carry out what the agent of an undisturbed run asks; its end, once it has one. */
static Wafer__AttemptEnd *carry_out(struct agent *agent, int64_t now_us,
                                    struct agent_effects *effects)
{
    Wafer__AttemptEnd *end = NULL;

    for (size_t i = 0; i < effects->count; i++) {
        struct agent_effect *effect = &effects->items[i];
        if (effect->type == AGENT_WRITE) {
            struct agent_effect write = *effect; /* the array may move under us */
            agent_on_written(agent, now_us, write.job, write.term, write.epoch, write.step, 0, NULL,
                             NULL, 0, effects);
        } else if (effect->type == AGENT_SEND && effect->message->ended) {
            end = MESSAGE_COPY(effect->message->ended);
        }
    }
    agent_effects_clear(effects);
    return end;
}

static Wafer__AttemptEnd *run_alone(struct world *world, const struct ledger_job *job)
{
    const struct agent_pool pool = { "wafer", "s", world->platforms[0], 8 };
    struct agent *agent = agent_new(&(struct agent_config){ .host = "oracle",
                                                            .boot_id = "1",
                                                            .pools = &pool,
                                                            .pool_count = 1,
                                                            .progress_us = HOUR_US });
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StartJob start = WAFER__START_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    char *system = (char[]){ "s1" };
    struct agent_effects effects = { NULL, 0, 0 };
    int64_t now_us = START_US;

    fence.term = fence.epoch = 1;
    start.job = job->id;
    start.fence = &fence;
    start.attempt = 1;
    start.spec = job->spec;
    start.systems = &system;
    start.n_systems = 1;
    if (job->state->has_array_index)
        SET_FIELD(&start, array_index, job->index);
    message.start = &start;
    agent_on_message(agent, now_us, &message, &effects);
    Wafer__AttemptEnd *end = carry_out(agent, now_us, &effects);
    while (!end) {
        now_us = agent_next_us(agent);
        agent_on_time(agent, now_us, &effects);
        end = carry_out(agent, now_us, &effects);
    }
    agent_free(agent);
    return end;
}

void oracle_check(struct world *world, const struct ledger_job *job)
{
    const Wafer__JobState *state = job->state;
    bool by_metric = state->has_cause && (state->cause == WAFER__CAUSE__FINISHED ||
                                          state->cause == WAFER__CAUSE__STOP_METRIC ||
                                          state->cause == WAFER__CAUSE__STOP_STALLED);
    struct training training;
    struct digest digest;

    if (by_metric && state->state != WAFER__JOB__STATE__SUCCEEDED)
        world_fail(world, "job %llu reached its end and did not succeed",
                   (unsigned long long)job->id);
    if (by_metric && !state->has_final_digest)
        world_fail(world, "job %llu succeeded without a digest", (unsigned long long)job->id);
    if (state->has_final_digest) {
        train(world, job, state->final_step, &training);
        training_digest(&training, &digest);
        training_done(&training);
        if (memcmp(digest.bytes, state->final_digest.data, DIGEST_BYTES) != 0)
            world_fail(world,
                       "job %llu ended (%s) at step %llu with another digest than an "
                       "undisturbed run", /* I10 */
                       (unsigned long long)job->id, cause_name(state->cause),
                       (unsigned long long)state->final_step);
    }
    if (!by_metric || state->origin)
        return;
    Wafer__AttemptEnd *end = run_alone(world, job);
    if (end->cause != state->cause || end->step != state->final_step)
        world_fail(world, "job %llu ended with %s at step %llu; undisturbed, with %s at step %llu",
                   (unsigned long long)job->id, cause_name(state->cause),
                   (unsigned long long)state->final_step, cause_name(end->cause),
                   (unsigned long long)end->step);
    wafer__attempt_end__free_unpacked(end, NULL);
}
