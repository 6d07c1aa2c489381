#include "core/preemption.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "core/forecast.h"
#include "core/reserved.h"
#include "core/schedule.h"
#include "core/state.h"

/* ---- claims ---- */

static void claim_system(struct core *core, struct claim *claim, struct system *system)
{
    schedule_count(core, system, -1);
    system->claim = claim;
    claim->systems[claim->count++] = system;
    schedule_count(core, system, 1);
}

static struct claim *claim_of(const struct core *core, const struct job *job)
{
    list_foreach (&core->claims, link) {
        struct claim *claim = CONTAINER_OF(link, struct claim, link);
        if (claim->job == job)
            return claim;
    }
    return NULL;
}

void preemption_release(struct core *core, struct job *job)
{
    struct claim *claim = job->has_claim ? claim_of(core, job) : NULL;

    if (!claim)
        return;
    job->has_claim = false;
    for (uint32_t i = 0; i < claim->count; i++) {
        struct system *system = claim->systems[i];
        schedule_count(core, system, -1);
        system->claim = NULL;
        schedule_count(core, system, 1);
    }
    list_remove(&claim->link);
    free(claim->systems);
    free(claim);
    core->pass_wanted = true;
}

void preemption_lose(struct core *core, struct system *system)
{
    struct job *job = system->claim ? system->claim->job : NULL;

    if (!job)
        return;
    preemption_release(core, job);
    schedule_review(core, job); /* back to the queue */
}

static bool is_complete(const struct claim *claim)
{
    for (uint32_t i = 0; i < claim->count; i++)
        if (claim->systems[i]->job)
            return false;
    return claim->host->link != 0;
}

/* It was when the claim was laid; it may have taken long. */
static bool is_open(const struct claim *claim)
{
    for (uint32_t i = 0; i < claim->count; i++)
        if (!reserved_is_open(claim->systems[i], claim->job))
            return false;
    return true;
}

void preemption_start(struct core *core, struct pool *pool)
{
    list_foreach_safe (&core->claims, link) {
        struct claim *claim = CONTAINER_OF(link, struct claim, link);
        struct job *job = claim->job;
        if (job_pool(core, job) != pool)
            continue;
        if (pool->stopped || (is_complete(claim) && !is_open(claim))) {
            preemption_release(core, job);
            schedule_review(core, job);
        } else if (is_complete(claim)) {
            uint32_t count = claim->count;
            owned(free) struct system **systems =
                memory_copy(claim->systems, count * sizeof(*systems));
            preemption_release(core, job); /* for as long as the grant takes */
            attempt_grant(core, job, systems, count);
        }
    }
}

int64_t preemption_start_us(const struct core *core, const struct job *job)
{
    const struct claim *claim = claim_of(core, job);
    int64_t start_us = core->now_us;

    for (uint32_t i = 0; i < claim->count; i++) {
        const struct job *holder = claim->systems[i]->job;
        int64_t end_us = holder ? forecast_end(core, holder) : core->now_us;
        start_us = end_us > start_us ? end_us : start_us;
    }
    return start_us;
}

char *preemption_text(const struct core *core, const struct job *job, uint64_t *ret_blocker)
{
    const struct claim *claim = claim_of(core, job);
    const struct job *last = NULL;
    uint32_t stopping = 0;

    *ret_blocker = 0;
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct job *holder = claim->systems[i]->job;
        if (!holder || holder == last)
            continue;
        last = holder; /* the systems of one job follow each other */
        if (!stopping++)
            *ret_blocker = holder->state.id;
    }
    const char *host = claim->host->state.name;
    if (!stopping)
        return text_format("%u systems of host %s are kept for it, which is not connected",
                           claim->count, host);
    return text_format("%u systems of host %s are kept for it; %u job%s there %s being stopped",
                       claim->count, host, stopping, stopping == 1 ? "" : "s",
                       stopping == 1 ? "is" : "are");
}

/* ---- whom to stop ---- */

/* A job that runs on the host: what stopping it would cost. */
struct victim {
    struct job *job;
    uint32_t systems; /* that it would give back: some may be drained, or promised to another */
    __int128 loss_us;
    bool spared;
};

struct choice {
    struct host *host;
    struct victim *victims; /* that are not spared: to be stopped */
    size_t count;
    __int128 loss_us;
};

static int64_t unsaved_us(const struct core *core, const struct job *job)
{
    const Wafer__CheckpointState *saved = checkpoint_to_resume(job);
    int64_t since_us = job->state.has_started_us ? job->state.started_us : core->now_us;

    if (saved && saved->created_us > since_us)
        since_us = saved->created_us;
    return core->now_us - since_us;
}

static bool may_be_stopped(const struct core *core, const struct job *job, const struct job *by)
{
    uint32_t priority = job->spec->terms.priority;

    return job->state.state != WAFER__JOB__STATE__STOPPING && priority >= core->preempt.of &&
           priority > by->spec->terms.priority &&
           !(job->state.has_preempted_for && job->state.preempted_for == by->state.id);
}

/* Cheapest for what it gives back first; of equals whoever began last. */
static int by_loss(const void *a, const void *b)
{
    const struct victim *one = a, *other = b;

    __int128 a_us = one->loss_us * other->systems, b_us = other->loss_us * one->systems;

    if (a_us != b_us)
        return a_us < b_us ? -1 : 1;
    return (one->job->state.granted_us < other->job->state.granted_us) -
           (one->job->state.granted_us > other->job->state.granted_us);
}

/* For that job, if it were free. */
static bool is_usable(const struct system *system, const struct pool *pool, const struct job *by)
{
    return system->pool == pool && !system->claim && system_is_healthy(system) &&
           reserved_is_open(system, by);
}

static struct victim victim_of(const struct core *core, const struct pool *pool, struct job *job,
                               const struct job *by)
{
    struct victim victim = { .job = job,
                             .loss_us =
                                 (__int128)unsaved_us(core, job) * (int64_t)job->state.n_systems };

    for (size_t i = 0; i < job->state.n_systems; i++)
        victim.systems += is_usable(core_system(core, job->state.systems[i]), pool, by);
    return victim;
}

/* So that each job is looked at once. */
static bool is_first_usable(const struct core *core, const struct pool *pool,
                            const struct system *system, const struct job *by)
{
    const Wafer__JobState *state = &system->job->state;
    size_t i = 0;

    while (!is_usable(core_system(core, state->systems[i]), pool, by))
        i++;
    return state->systems[i] == system->state.number;
}

/* Of this pool, host and time: who could be stopped, and what is there or coming without that. */
static struct victim *find_victims(const struct core *core, const struct host *host,
                                   const struct pool *pool, const struct job *by, size_t *ret_count,
                                   uint32_t *ret_there)
{
    struct victim *victims = NULL;
    size_t count = 0, capacity = 0;

    *ret_there = 0;
    list_foreach (&host->systems, link) {
        const struct system *system = CONTAINER_OF(link, struct system, host_link);
        struct job *job = system->job;
        if (!is_usable(system, pool, by))
            continue;
        if (!job || job->state.state == WAFER__JOB__STATE__STOPPING) {
            ++*ret_there;
            continue;
        }
        if (!may_be_stopped(core, job, by) || !is_first_usable(core, pool, system, by))
            continue;
        ARRAY_RESERVE(victims, count, capacity);
        victims[count++] = victim_of(core, pool, job, by);
    }
    if (count)
        sort_stable(victims, count, sizeof(*victims), by_loss);
    *ret_count = count;
    return victims;
}

/* The cheapest until there are enough, then without those that the later ones made needless. False:
 * there are not enough. */
static bool choose(struct choice *choice, uint32_t there, uint32_t wanted)
{
    size_t taken = 0;

    while (there < wanted && taken < choice->count)
        there += choice->victims[taken++].systems;
    if (there < wanted)
        return false;
    choice->count = taken;
    choice->loss_us = 0;
    for (size_t i = taken; i-- > 0;) {
        struct victim *victim = &choice->victims[i];
        victim->spared = there - victim->systems >= wanted;
        if (victim->spared)
            there -= victim->systems;
        else
            choice->loss_us += victim->loss_us;
    }
    return true;
}

/* Over all hosts. False: none has enough. */
static bool choose_host(const struct core *core, const struct pool *pool, const struct job *job,
                        struct choice *best)
{
    uint32_t wanted = job->entry.systems;

    *best = (struct choice){ .host = NULL };
    for (size_t i = 0; i < core->host_count; i++) {
        struct choice choice = { .host = core->hosts[i] };
        uint32_t there;
        if (!choice.host->link)
            continue;
        choice.victims = find_victims(core, choice.host, pool, job, &choice.count, &there);
        if (choose(&choice, there, wanted) && (!best->host || choice.loss_us < best->loss_us)) {
            free(best->victims);
            *best = choice;
        } else {
            free(choice.victims);
        }
    }
    return best->host != NULL;
}

static void stop(struct core *core, struct job *victim, const struct job *by)
{
    owned(free) char *text =
        text_format("for job %llu, which is more urgent", (unsigned long long)by->state.id);

    attempt_preempt(core, victim, by->state.id, text);
}

static bool is_chosen(const struct choice *choice, const struct job *job)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->victims[i].job == job && !choice->victims[i].spared)
            return true;
    return false;
}

/* What is free or coming anyway goes before what victims give back. */
static void lay(struct core *core, const struct pool *pool, struct job *job,
                const struct choice *choice)
{
    uint32_t wanted = job->entry.systems;
    struct claim *claim = NEW(struct claim);

    claim->job = job;
    claim->host = choice->host;
    claim->systems = memory_new(wanted * sizeof(struct system *));
    for (int round = 0; round < 2; round++)
        list_foreach (&choice->host->systems, link) {
            struct system *system = CONTAINER_OF(link, struct system, host_link);
            const struct job *holder = system->job;
            if (claim->count == wanted || !is_usable(system, pool, job))
                continue;
            bool is_there = !holder || holder->state.state == WAFER__JOB__STATE__STOPPING;
            if (round == 0 ? is_there : !is_there && is_chosen(choice, holder))
                claim_system(core, claim, system);
        }
    assert(claim->count == wanted);
    list_push_tail(&core->claims, &claim->link);
    job->has_claim = true;
    schedule_review(core, job); /* out of the queue */
    effect_changed(core, job);
}

static bool try_claim(struct core *core, const struct pool *pool, struct job *job)
{
    struct choice choice;

    if (!choose_host(core, pool, job, &choice))
        return false;
    lay(core, pool, job, &choice);
    for (size_t i = 0; i < choice.count; i++)
        if (!choice.victims[i].spared)
            stop(core, choice.victims[i].job, job);
    free(choice.victims);
    return true;
}

uint64_t *preemption_preview(const struct core *core, const struct pool *pool, struct job *job,
                             size_t *ret_count)
{
    struct choice choice = { .host = NULL };
    uint64_t *ids = NULL;

    *ret_count = 0;
    if (!core->preempt.of || pool->stopped || !job->entry.chunk ||
        scheduler_first(pool->scheduler) != &job->entry ||
        job->spec->terms.priority > core->preempt.by || !choose_host(core, pool, job, &choice))
        return NULL;
    ids = memory_new((choice.count + 1) * sizeof(*ids));
    for (size_t i = 0; i < choice.count; i++)
        if (!choice.victims[i].spared)
            ids[(*ret_count)++] = choice.victims[i].job->state.id;
    free(choice.victims);
    return ids;
}

void preemption_claim(struct core *core, struct pool *pool)
{
    struct schedule_entry *first;

    if (!core->preempt.of || pool->stopped)
        return;
    /* Whoever is behind one that gets nothing gets nothing either: it would take what that waits
     * for.
     */
    while ((first = scheduler_first(pool->scheduler))) {
        struct job *job = CONTAINER_OF(first, struct job, entry);
        if (job->spec->terms.priority > core->preempt.by || !try_claim(core, pool, job))
            return;
    }
}
