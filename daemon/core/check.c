/* The invariants of the design, asserted over every object. For tests, after each step. */
#include <assert.h>
#include <string.h>

#include "core/accounts.h"
#include "core/dependencies.h"
#include "core/reserved.h"
#include "core/state.h"

static bool is_step_of_origin(const Wafer__JobState *state)
{
    for (size_t i = 0; i < state->n_older_origins; i++)
        if (state->committed_step == state->older_origins[i]->step)
            return true;
    return state->origin && state->committed_step == state->origin->step;
}

static void check_job(const struct core *core, const struct job *job)
{
    const Wafer__JobState *state = &job->state;
    unsigned unsettled = 0;
    uint64_t step = 0, epoch = 0, highest = 0;

    assert(state->id < core->next_job);
    /* I14, I15: all parts or none, and each knows its one owner. */
    assert(job_has_systems(job) == (state->n_systems > 0));
    for (size_t i = 0; i < state->n_systems; i++)
        assert(core_system(core, state->systems[i])->job == job);
    /* I3: an attempt has a grant of its own. */
    assert(state->attempt <= state->epoch);
    assert((!list_is_empty(&job->parked_link) || job->entry.chunk) ==
           ((state->state == WAFER__JOB__STATE__PENDING && job_pool(core, job)) ||
            job_has_systems(job)));
    assert(list_is_empty(&job->parked_link) || !job->entry.chunk);
    assert(!job->entry.is_running || job_has_systems(job));
    assert(!job_has_systems(job) || !(dependency_open(job) || dependency_unmet(job)));
    list_foreach (&job->checkpoints, link) {
        const struct checkpoint *checkpoint = CONTAINER_OF(link, struct checkpoint, link);
        const Wafer__CheckpointState *held = &checkpoint->state;
        assert(checkpoint->job == job && held->job == state->id);
        assert(held->step > step || (held->step == step && held->fence->epoch > epoch) ||
               link == job->checkpoints.next);
        assert(held->fence->epoch <= state->epoch || job->unsure);
        step = held->step;
        epoch = held->fence->epoch;
        unsettled += !checkpoint_is_settled(held);
        /* I9: what is committed names its manifest and all its shards. */
        if (held->state == WAFER__CHECKPOINT__STATE__COMMITTED ||
            held->state == WAFER__CHECKPOINT__STATE__VERIFIED) {
            assert(held->has_manifest_digest && held->manifest_digest.len == 32);
            assert(held->n_shards > 0);
            highest = step;
        }
        /* Only the epoch that holds systems may be writing. */
        if (held->state == WAFER__CHECKPOINT__STATE__WRITING)
            assert((held->fence->epoch == state->epoch && job_has_systems(job)) || job->unsure);
    }
    assert(unsettled == job->unsettled);
    /* I7: the committed step stands on something that was committed here, or where it began. */
    assert(job_state_is_terminal(state->state) || job->unsure || state->committed_step <= highest ||
           (!state->weights_only && is_step_of_origin(state)));
    /* I8: what it resumes from is its own and was verified, or is its origin. */
    if (state->state == WAFER__JOB__STATE__STARTING && state->has_resume_checkpoint &&
        !job->unsure) {
        const struct checkpoint *from = core_checkpoint(core, state->resume_checkpoint);
        assert(from && from->job == job
                   ? from->job == job && (from->state.state == WAFER__CHECKPOINT__STATE__VERIFIED ||
                                          from->state.state == WAFER__CHECKPOINT__STATE__CORRUPT)
                   : origin_numbered(job, state->resume_checkpoint) != NULL);
    }
    assert(!job_state_is_terminal(state->state) || job->unsettled);
}

/* What is kept for a job works, and whoever still has it is being stopped. */
static void check_claim(const struct claim *claim)
{
    assert(claim->job->has_claim);
    assert(claim->job->state.state == WAFER__JOB__STATE__PENDING);
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct system *system = claim->systems[i];
        assert(system->claim == claim && system->host == claim->host);
        assert(system_is_healthy(system));
        assert(!system->job || system->job->state.state == WAFER__JOB__STATE__STOPPING);
    }
}

/* What a pass counts on. */
static void check_supply(const struct core *core, const struct host *host)
{
    for (size_t i = 0; i < core->pool_count; i++) {
        struct supply supply = { 0, 0, 0 };
        list_foreach (&host->systems, link) {
            const struct system *system = CONTAINER_OF(link, struct system, host_link);
            bool healthy =
                system->state.state == WAFER__SYSTEM__STATE__UP && !system->state.drained;
            if (system->pool != &core->pools[i])
                continue;
            supply.known++;
            supply.healthy += healthy;
            supply.free += healthy && !system->job && !system->claim;
        }
        assert(supply.known == host->supply[i].known);
        assert(supply.healthy == host->supply[i].healthy);
        assert(supply.free == host->supply[i].free);
    }
}

/* What it counts is what its jobs are; and who waits with the scheduler may start. */
static void check_quota(const struct core *core, const struct quota *quota)
{
    bool is_limited =
        quota->limits.systems != QUOTA_UNLIMITED || !list_is_empty(&quota->meter_link);
    uint64_t pending = 0, running = 0, used = 0, admitted = 0;
    size_t cursor = 0;

    for (struct job *job; (job = map_next(&core->jobs, &cursor));) {
        Wafer__Job__State state = job->state.state;
        if (job_quota(job, quota->kind) != quota)
            continue;
        pending += state == WAFER__JOB__STATE__PENDING || state == WAFER__JOB__STATE__HELD;
        running += job_has_systems(job);
        used += job->state.n_systems;
        admitted += is_limited && job->admitted ? job->entry.systems : 0;
        assert(job->admitted == (job->entry.chunk || job->has_claim));
    }
    list_foreach (&quota->parked, link)
        assert(CONTAINER_OF(link, struct job, parked_link)->entry.systems >= quota->narrowest);
    assert(pending == quota->pending && running == quota->running);
    assert(used == quota->used && admitted == quota->admitted);
    assert(!admitted || used + admitted <= quota->limits.systems ||
           !list_is_empty(&quota->open_link));
    assert(!admitted || !quota->meter.spent || !list_is_empty(&quota->open_link));
}

void core_check(const struct core *core)
{
    size_t cursor = 0;

    for (struct quota *quota; (quota = map_next(&core->user_quotas, &cursor));)
        check_quota(core, quota);
    cursor = 0;
    for (struct quota *quota; (quota = map_next(&core->project_quotas, &cursor));)
        for (; quota; quota = quota->next)
            check_quota(core, quota);
    for (size_t i = 0; i < core->pool_count; i++)
        check_quota(core, &core->pools[i].quota);
    cursor = 0;

    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        check_job(core, job);
    cursor = 0;
    size_t delivery_sum = 0;
    for (struct delivery *delivery; (delivery = map_next(&core->deliveries, &cursor));) {
        assert(!delivery->state.webhook != !delivery->state.url);
        assert(delivery->state.number <= core->sequence);
        assert(delivery_count(core, delivery->state.uid) > 0);
        delivery_sum++;
    }
    assert(delivery_sum <= LIMIT_DELIVERIES);
    cursor = 0;
    for (struct system *system; (system = map_next(&core->systems, &cursor));) {
        /* I13, I14: whoever holds a system lists it. */
        if (!system->job)
            continue;
        bool listed = false;
        for (size_t i = 0; i < system->job->state.n_systems; i++)
            listed |= system->job->state.systems[i] == system->state.number;
        assert(listed);
    }
    for (size_t i = 0; i < core->host_count; i++)
        check_supply(core, core->hosts[i]);
    accounts_check(core);
    reserved_check(core);
    list_foreach (&core->claims, link)
        check_claim(CONTAINER_OF(link, struct claim, link));
}
