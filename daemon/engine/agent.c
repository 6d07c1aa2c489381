#include "engine/agent_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/later.h"
#include "base/memory.h"
#include "engine/effects.h"
#include "model/limits.h"

/* Of one job: written, and not yet known to be committed. Older ones are forgotten. */
#define WRITTEN_MAX 16

/* An order may come late, or twice: fences of jobs with nothing open here are remembered so long,
 * and at least so many of them. */
#define IDLE_US  (3600 * 1000000ll)
#define IDLE_MIN 65536

/* ---- life ---- */

struct agent *agent_new(const struct agent_config *config)
{
    struct agent *agent = NEW(struct agent);

    assert(config->progress_us > 0 && config->filler_bytes >= 0);
    units_init(&agent->units, config->pools, config->pool_count);
    agent->host = text_copy(config->host);
    agent->boot_id = text_copy(config->boot_id);
    agent->run_config = (struct run_config){ .seed = config->seed,
                                             .filler_bytes = config->filler_bytes,
                                             .progress_us = config->progress_us,
                                             .cache = &agent->cache };
    agent->now_us = INT64_MIN;
    list_init(&agent->active);
    list_init(&agent->idle);
    return agent;
}

static void forget_open(struct job *job)
{
    for (size_t i = 0; i < job->written_count; i++)
        wafer__checkpoint_report__free_unpacked(job->written[i], NULL);
    job->written_count = 0;
    if (job->ended)
        wafer__attempt_end__free_unpacked(TAKE(job->ended), NULL);
}

static void job_free(struct job *job)
{
    forget_open(job);
    run_free(job->run);
    free(job->units);
    free(job->written);
    free(job);
}

struct agent *agent_free(struct agent *agent)
{
    struct job *job;
    size_t cursor = 0;

    if (!agent)
        return NULL;
    while ((job = map_next(&agent->jobs, &cursor)))
        job_free(job);
    map_done(&agent->jobs);
    heap_done(&agent->runs);
    compile_cache_done(&agent->cache);
    units_done(&agent->units);
    free(agent->host);
    free(agent->boot_id);
    free(agent);
    return NULL;
}

/* ---- jobs and their fences ---- */

static int fence_compare(const Wafer__Fence *fence, uint64_t term, uint64_t epoch)
{
    if (fence->term != term)
        return fence->term < term ? -1 : 1;
    return fence->epoch < epoch ? -1 : fence->epoch > epoch;
}

static struct job *job_find(const struct agent *agent, uint64_t id, const Wafer__Fence *fence)
{
    struct job *job = map_get(&agent->jobs, id);

    return job && fence && fence_compare(fence, job->term, job->epoch) == 0 ? job : NULL;
}

static void forget_idle(struct agent *agent)
{
    while (agent->idle_count > IDLE_MIN) {
        struct job *oldest = CONTAINER_OF(agent->idle.next, struct job, link);
        if (agent->now_us - oldest->idle_since_us < IDLE_US)
            return;
        list_remove(&oldest->link);
        map_remove(&agent->jobs, oldest->id);
        agent->idle_count--;
        job_free(oldest);
    }
}

/* Keep the job in the list where it belongs. */
static void file(struct agent *agent, struct job *job)
{
    bool is_idle = !job->run && !job->ended && job->written_count == 0;

    if (is_idle == job->is_idle)
        return;
    list_remove(&job->link);
    list_push_tail(is_idle ? &agent->idle : &agent->active, &job->link);
    job->is_idle = is_idle;
    job->idle_since_us = agent->now_us;
    agent->idle_count += is_idle ? 1 : (size_t)-1;
    forget_idle(agent);
}

static void release_units(struct job *job)
{
    for (size_t i = 0; i < job->unit_count; i++)
        job->units[i]->job = NULL;
    free(TAKE(job->units));
    job->unit_count = 0;
}

static void drop_run(struct agent *agent, struct job *job)
{
    heap_set(&agent->runs, &job->run->timer, INT64_MAX);
    release_units(job);
    job->run = run_free(job->run);
    agent->running--;
}

/* A higher fence than the one here: whatever the old one did is void. The order lets in only those
 * that are higher; true if it is. */
static bool let_in(struct agent *agent, uint64_t id, const Wafer__Fence *fence, struct job **ret)
{
    struct job *job = map_get(&agent->jobs, id);
    bool is_new = !job;

    if (is_new) {
        job = NEW(struct job);
        job->id = id;
        list_init(&job->link);
        list_push_tail(&agent->active, &job->link);
        map_put(&agent->jobs, id, job);
    }
    *ret = job;
    if (!is_new && fence_compare(fence, job->term, job->epoch) <= 0)
        return false;
    if (job->run)
        drop_run(agent, job);
    forget_open(job);
    job->term = fence->term;
    job->epoch = fence->epoch;
    return true;
}

static void send_end(const struct job *job, struct agent_effects *effects)
{
    effects_send(effects)->ended = MESSAGE_COPY(job->ended);
}

/* The end of what never began. */
static void refuse(struct agent *agent, struct job *job, Wafer__Cause cause, const char *detail,
                   struct agent_effects *effects)
{
    Wafer__AttemptEnd *end = MESSAGE_NEW(Wafer__AttemptEnd, attempt_end);

    end->job = job->id;
    end->fence = fence_new(job->term, job->epoch);
    end->time_us = agent->now_us;
    end->cause = cause;
    end->detail = text_copy(detail);
    job->ended = end;
    send_end(job, effects);
    file(agent, job);
}

static void keep_written(struct job *job, Wafer__CheckpointReport *report)
{
    if (job->written_count == WRITTEN_MAX) {
        wafer__checkpoint_report__free_unpacked(job->written[0], NULL);
        memmove(job->written, job->written + 1, --job->written_count * sizeof(*job->written));
    }
    ARRAY_RESERVE(job->written, job->written_count, job->written_capacity);
    job->written[job->written_count++] = report;
}

/* After anything that happened to the run: collect what came of it. */
static void collect(struct agent *agent, struct job *job, struct agent_effects *effects)
{
    struct run *run = job->run;

    if (run->written)
        keep_written(job, TAKE(run->written));
    run_flush_log(run, effects);
    if (run->state == RUN_ENDED) {
        job->ended = run_attempt_end(run, agent->now_us);
        send_end(job, effects);
        drop_run(agent, job);
    } else {
        heap_set(&agent->runs, &run->timer, run_next_us(run));
    }
    file(agent, job);
}

static void end_run(struct agent *agent, struct job *job, Wafer__Cause cause, const char *detail,
                    const char *system, struct agent_effects *effects)
{
    run_end(job->run, agent->now_us, cause, detail, system);
    collect(agent, job, effects);
}

/* ---- time ---- */

static void heal(struct agent *agent, struct unit *unit, struct agent_effects *effects)
{
    heap_set(&agent->units.heals, &unit->heal, INT64_MAX);
    if (!unit->down)
        return;
    unit->down = false;
    unit->changed = true;
    agent_send_report(agent, false, effects);
}

static void advance(struct agent *agent, int64_t now_us, struct agent_effects *effects)
{
    for (;;) {
        struct timer *run = heap_first(&agent->runs), *unit = heap_first(&agent->units.heals);
        bool is_unit = unit && (!run || unit->due_us <= run->due_us);
        struct timer *first = is_unit ? unit : run;
        if (!first || first->due_us > now_us)
            break;
        if (first->due_us > agent->now_us)
            agent->now_us = first->due_us;
        if (is_unit) {
            heal(agent, CONTAINER_OF(unit, struct unit, heal), effects);
            continue;
        }
        struct run *due = CONTAINER_OF(run, struct run, timer);
        run_on_time(due, agent->now_us, now_us, effects);
        collect(agent, map_get(&agent->jobs, due->job), effects);
    }
    if (now_us > agent->now_us) /* cluster time never runs backwards */
        agent->now_us = now_us;
}

void agent_on_time(struct agent *agent, int64_t now_us, struct agent_effects *effects)
{
    advance(agent, now_us, effects);
}

int64_t agent_next_us(const struct agent *agent)
{
    const struct timer *run = heap_first(&agent->runs), *unit = heap_first(&agent->units.heals);
    int64_t run_us = run ? run->due_us : INT64_MAX;
    int64_t unit_us = unit ? unit->due_us : INT64_MAX;

    return run_us < unit_us ? run_us : unit_us;
}

/* ---- links ---- */

void agent_on_link(struct agent *agent, int64_t now_us, struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    agent_send_report(agent, true, effects);
}

void agent_on_heartbeat(struct agent *agent, int64_t now_us, struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    agent_send_report(agent, false, effects);
}

void agent_on_lease_end(struct agent *agent, int64_t now_us, struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    list_foreach_safe (&agent->active, link) {
        struct job *job = CONTAINER_OF(link, struct job, link);
        if (job->run)
            end_run(agent, job, WAFER__CAUSE__SYSTEM_LOST,
                    "the lease has ended without a new word from the controller", NULL, effects);
    }
}

/* ---- orders ---- */

static int take_unit(struct agent *agent, struct job *job, const char *name, struct diag *diag)
{
    struct unit *unit = units_find(&agent->units, name);

    if (!unit)
        return diag_fail(diag, -ENOENT, "system %.63s is not hosted by %s", name, agent->host);
    if (unit->down)
        return diag_fail(diag, -EIO, "system %s is down", name);
    if (unit->job)
        return diag_fail(diag, -EBUSY, "system %s is taken by job %llu", name,
                         (unsigned long long)unit->job->id);
    if (job->unit_count > 0 && job->units[0]->platform != unit->platform)
        return diag_fail(diag, -EXDEV, "systems %s and %s are of two platforms",
                         job->units[0]->name, name);
    unit->job = job;
    job->units[job->unit_count++] = unit;
    return 0;
}

/* All or none. */
static int take_units(struct agent *agent, struct job *job, const Wafer__StartJob *start,
                      struct diag *diag)
{
    if (start->n_systems == 0 || start->n_systems > LIMIT_SYSTEMS)
        return diag_fail(diag, -EINVAL, "%zu systems; 1 to %u", start->n_systems, LIMIT_SYSTEMS);
    job->units = memory_new(start->n_systems * sizeof(*job->units));
    for (size_t i = 0; i < start->n_systems; i++) {
        int r = take_unit(agent, job, start->systems[i], diag);
        if (r < 0) {
            release_units(job);
            return r;
        }
    }
    return 0;
}

static char *unit_names(const struct job *job)
{
    owned(buffer_done) struct buffer names = BUFFER_EMPTY;

    for (size_t i = 0; i < job->unit_count; i++)
        buffer_format(&names, "%s%s", i ? " " : "", job->units[i]->name);
    return buffer_text(&names);
}

static void launch(struct agent *agent, struct job *job, const Wafer__StartJob *start,
                   struct agent_effects *effects)
{
    struct diag diag = { "" };
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, start->spec.len, start->spec.data);

    if (!spec) {
        refuse(agent, job, WAFER__CAUSE__LAUNCH_REFUSED, "the spec cannot be read", effects);
        return;
    }
    if (take_units(agent, job, start, &diag) < 0) {
        wafer__job_spec__free_unpacked(spec, NULL);
        refuse(agent, job, WAFER__CAUSE__LAUNCH_REFUSED, diag.text, effects);
        return;
    }
    int r = run_new(&agent->run_config, start, spec, job->units[0]->platform, unit_names(job),
                    &job->run, &diag);
    if (r < 0) {
        release_units(job);
        refuse(agent, job,
               r == -EBADMSG ? WAFER__CAUSE__CHECKPOINT_UNREADABLE : WAFER__CAUSE__CONFIG,
               diag.text, effects);
        return;
    }
    agent->running++;
    run_begin(job->run, agent->now_us, effects);
    collect(agent, job, effects);
}

static void on_start(struct agent *agent, const Wafer__StartJob *start,
                     struct agent_effects *effects)
{
    struct job *job;

    if (let_in(agent, start->job, start->fence, &job))
        launch(agent, job, start, effects);
    else if (fence_compare(start->fence, job->term, job->epoch) < 0)
        return;
    else if (job->run)
        run_send_started(job->run, effects);
    else if (job->ended)
        send_end(job, effects);
}

static void on_stop(struct agent *agent, const Wafer__StopJob *stop, struct agent_effects *effects)
{
    struct job *job;

    if (let_in(agent, stop->job, stop->fence, &job)) {
        refuse(agent, job, stop->cause, "stopped before it began", effects);
    } else if (fence_compare(stop->fence, job->term, job->epoch) < 0) {
        return;
    } else if (job->run) {
        run_on_stop(job->run, agent->now_us, stop, effects);
        collect(agent, job, effects);
    } else if (job->ended) {
        send_end(job, effects);
    }
}

static void on_ended_ack(struct agent *agent, const Wafer__JobFence *ack)
{
    struct job *job = job_find(agent, ack->job, ack->fence);

    if (!job || !job->ended)
        return;
    wafer__attempt_end__free_unpacked(TAKE(job->ended), NULL);
    file(agent, job);
}

static void on_checkpoint_ack(struct agent *agent, const Wafer__CheckpointAck *ack,
                              struct agent_effects *effects)
{
    struct job *job = job_find(agent, ack->job, ack->fence);

    for (size_t i = 0; job && i < job->written_count; i++) {
        if (job->written[i]->step != ack->step)
            continue;
        wafer__checkpoint_report__free_unpacked(job->written[i], NULL);
        memmove(job->written + i, job->written + i + 1,
                (--job->written_count - i) * sizeof(*job->written));
        if (job->run) {
            trainer_log_line(&job->run->log, agent->now_us, "Checkpoint: step %llu %s",
                             (unsigned long long)ack->step,
                             ack->committed ? "committed" : "dropped by the controller");
            run_flush_log(job->run, effects);
        }
        file(agent, job);
        return;
    }
}

static void on_crash(struct agent *agent, struct unit *unit, const Wafer__Duration *span,
                     struct agent_effects *effects)
{
    int64_t heal_us = INT64_MAX;

    if (span && span->us > 0)
        heal_us = later_us(agent->now_us, span->us);
    heap_set(&agent->units.heals, &unit->heal, heal_us);
    if (unit->down)
        return;
    unit->down = true;
    unit->changed = true;
    if (unit->job)
        end_run(agent, unit->job, WAFER__CAUSE__SYSTEM_FAILED, "the system crashed", unit->name,
                effects);
    agent_send_report(agent, false, effects);
}

static void on_fault(struct agent *agent, const Wafer__InjectFault *fault,
                     struct agent_effects *effects)
{
    struct unit *unit = units_find(&agent->units, fault->system);

    if (!unit)
        return;
    switch (fault->kind) {
    case WAFER__INJECT_FAULT__KIND__CRASH: on_crash(agent, unit, fault->for_, effects); return;
    case WAFER__INJECT_FAULT__KIND__HEAL: heal(agent, unit, effects); return;
    default: return; /* of a later version */
    }
}

/* No job has these numbers; the map keeps them for itself. */
static bool is_number(uint64_t job)
{
    return job < UINT64_MAX - 1;
}

void agent_on_message(struct agent *agent, int64_t now_us, const Wafer__ToAgent *message,
                      struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    /* Clock, lease and beats are the shell's: it gives the time and calls agent_on_lease_end(). */
    if (message->start && is_number(message->start->job))
        on_start(agent, message->start, effects);
    else if (message->stop && is_number(message->stop->job))
        on_stop(agent, message->stop, effects);
    else if (message->ended_ack && is_number(message->ended_ack->job))
        on_ended_ack(agent, message->ended_ack);
    else if (message->checkpoint_ack && is_number(message->checkpoint_ack->job))
        on_checkpoint_ack(agent, message->checkpoint_ack, effects);
    else if (message->fault)
        on_fault(agent, message->fault, effects);
}

/* ---- answers of the shell ---- */

static struct job *running_as(const struct agent *agent, uint64_t id, uint64_t term, uint64_t epoch)
{
    struct job *job = is_number(id) ? map_get(&agent->jobs, id) : NULL;

    return job && job->run && job->term == term && job->epoch == epoch ? job : NULL;
}

void agent_on_written(struct agent *agent, int64_t now_us, uint64_t id, uint64_t term,
                      uint64_t epoch, uint64_t step, int error, const char *why,
                      Wafer__ShardState **shards, size_t shard_count, struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    struct job *job = running_as(agent, id, term, epoch);
    if (!job)
        return;
    run_on_written(job->run, agent->now_us, step, error, why, shards, shard_count, effects);
    collect(agent, job, effects);
}

void agent_on_read(struct agent *agent, int64_t now_us, uint64_t id, uint64_t term, uint64_t epoch,
                   int error, const char *why, const struct agent_shard *shards, size_t shard_count,
                   struct agent_effects *effects)
{
    advance(agent, now_us, effects);
    struct job *job = running_as(agent, id, term, epoch);
    if (!job)
        return;
    run_on_read(job->run, agent->now_us, error, why, shards, shard_count, effects);
    collect(agent, job, effects);
}

size_t agent_running(const struct agent *agent)
{
    return agent->running;
}

void agent_set_speed(struct agent *agent, double reached)
{
    agent->speed = reached;
}

void agent_set_progress(struct agent *agent, int64_t progress_us)
{
    assert(progress_us > 0);
    agent->run_config.progress_us = progress_us;
}
