/* Applying records: the only place where durable state changes.
 *
 * A record carries the new state of what it changed, so applying it is to check that it may follow
 * what is there, and to replace. What hangs on the state (queues, who holds a system, timers) is
 * brought along here too, so that it is right after a replay as well. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/accounts.h"
#include "core/dependencies.h"
#include "core/reserved.h"
#include "core/schedule.h"
#include "core/state.h"

/* ---- jobs ---- */

static void systems_follow(struct core *core, struct job *job, bool holds)
{
    for (size_t i = 0; i < job->state.n_systems; i++) {
        struct system *system = core_system(core, job->state.systems[i]);
        assert(holds ? !system->job || system->job == job : system->job == job);
        schedule_count(core, system, -1);
        system->job = holds ? job : NULL;
        schedule_count(core, system, 1);
    }
}

static void array_count(struct core *core, struct job *job, bool running)
{
    if (!job->array)
        return;
    if (running) {
        job->array->running++;
    } else {
        job->array->running--;
        schedule_array_opened(core, job->array);
    }
}

static void job_detach(struct core *core, struct job *job)
{
    if (job->state.state == WAFER__JOB__STATE__PENDING)
        schedule_remove(core, job);
    quotas_count(core, job, -1);
    account_leave(core, job);
    systems_follow(core, job, false);
    if (job_has_systems(job)) {
        schedule_done(core, job);
        array_count(core, job, false);
    }
}

static void job_attach(struct core *core, struct job *job)
{
    if (job_has_systems(job)) {
        schedule_run(core, job);
        array_count(core, job, true);
    }
    systems_follow(core, job, true);
    account_join(core, job);
    quotas_count(core, job, 1);
    if (job->state.state == WAFER__JOB__STATE__PENDING)
        schedule_add(core, job);
    job_timer_set(core, job);
    core->pass_wanted = true;
}

static void array_join(struct core *core, struct job *job)
{
    if (!job->state.has_array_id)
        return;
    struct array *array = map_get(&core->arrays, job->state.array_id);
    if (!array) {
        array = NEW(struct array);
        array->id = job->state.array_id;
        list_init(&array->elements);
        list_init(&array->parked);
        list_init(&array->open_link);
        map_put(&core->arrays, array->id, array);
    }
    list_push_tail(&array->elements, &job->array_link);
    job->array = array;
}

static void array_leave(struct core *core, struct job *job)
{
    if (!job->array)
        return;
    list_remove(&job->array_link);
    if (list_is_empty(&job->array->elements)) {
        map_remove(&core->arrays, job->array->id);
        list_remove(&job->array->open_link);
        free(job->array);
    }
}

static struct job *job_add(struct core *core, const Wafer__JobState *state, struct spec *spec)
{
    struct job *job = NEW(struct job);

    job_state_copy(&job->state, state);
    job->spec = spec;
    job->state.spec_digest = (ProtobufCBinaryData){ DIGEST_BYTES, spec->digest.bytes };
    list_init(&job->checkpoints);
    list_init(&job->array_link);
    list_init(&job->parked_link);
    map_put(&core->jobs, state->id, job);
    array_join(core, job);
    origins_count(core, &job->state, 1);
    if (core->next_job <= state->id)
        core->next_job = state->id + 1;
    hash_replace(core, &job->hash, &job->state.base);
    dependencies_attach(core, job);
    job_attach(core, job);
    return job;
}

static void checkpoint_remove(struct core *core, struct checkpoint *checkpoint)
{
    if (!checkpoint_is_settled(&checkpoint->state))
        checkpoint->job->unsettled--;
    map_remove(&core->checkpoints, checkpoint->state.number);
    timer_clear(&core->timers, &checkpoint->timer);
    list_remove(&checkpoint->link);
    hash_replace(core, &checkpoint->hash, NULL);
    checkpoint_state_done(&checkpoint->state);
    free(checkpoint);
}

static void job_free(struct core *core, struct job *job)
{
    list_foreach_safe (&job->checkpoints, link)
        checkpoint_remove(core, CONTAINER_OF(link, struct checkpoint, link));
    preemption_release(core, job);
    job_detach(core, job);
    dependencies_detach(core, job);
    timer_clear(&core->timers, &job->timer);
    array_leave(core, job);
    map_remove(&core->jobs, job->state.id);
    job_lost_forget(core, job->state.id);
    hash_replace(core, &job->hash, NULL);
    origins_count(core, &job->state, -1);
    job_state_done(&job->state);
    spec_release(core, job->spec);
    free(job->progress);
    free(job);
}

/* A final job leaves memory once nothing of it is open; history has it since its end. */
static void job_retire(struct core *core, struct job *job)
{
    if (!job_state_is_terminal(job->state.state) || job->unsettled)
        return;
    struct key *key = job->state.has_key_hash ? core_key(core, job->state.key_hash) : NULL;
    /* The key of an array is that of all its elements: it ends with the last. */
    bool is_last = !job->array || (job->array->elements.next == &job->array_link &&
                                   job->array->elements.previous == &job->array_link);
    if (key && is_last) {
        SET(&key->state, expires_us, job->state.ended_us + KEY_KEPT_US);
        hash_replace(core, &key->hash, &key->state.base);
        timer_set(&core->timers, &key->timer, key->state.expires_us);
    }
    job_free(core, job);
}

static int job_check(const struct core *core, const struct job *job, const Wafer__JobState *next,
                     struct diag *diag)
{
    if (!job)
        return diag_fail(diag, -EINVAL, "job %llu is not there", (unsigned long long)next->id);
    if (!job->unsure && !job_may_become(job->state.state, next->state))
        return diag_fail(diag, -EINVAL, "job %llu may not go from %s to %s",
                         (unsigned long long)next->id, job_state_name(job->state.state),
                         job_state_name(next->state));
    if (next->epoch < job->state.epoch || next->attempt < job->state.attempt)
        return diag_fail(diag, -EINVAL, "job %llu: epoch or attempt would fall",
                         (unsigned long long)next->id);
    if (job_state_has_systems(next->state) != (next->n_systems > 0))
        return diag_fail(diag, -EINVAL, "job %llu: %s with %zu systems",
                         (unsigned long long)next->id, job_state_name(next->state),
                         next->n_systems);
    for (size_t i = 0; i < next->n_systems; i++) {
        const struct system *system = core_system(core, next->systems[i]);
        if (!system || (system->job && system->job != job))
            return diag_fail(diag, -EINVAL, "job %llu: system %u is not free",
                             (unsigned long long)next->id, next->systems[i]);
    }
    return 0;
}

/* `spec`: a new one, whose reference the job takes; NULL: it keeps the one that it has. */
static void job_change(struct core *core, struct job *job, const Wafer__JobState *next,
                       struct spec *spec)
{
    Wafer__JobState before = job->state;
    bool had = job_has_systems(job), before_started = before.has_first_started_us;

    preemption_release(core, job);
    job_detach(core, job); /* from the queue where the old terms put it */
    dependencies_detach(core, job);
    job_state_copy(&job->state, next); /* next may borrow from before */
    origins_count(core, &job->state, 1);
    origins_count(core, &before, -1);
    job_state_done(&before);
    if (spec) {
        spec_release(core, job->spec);
        job->spec = spec;
    }
    job->state.spec_digest = (ProtobufCBinaryData){ DIGEST_BYTES, job->spec->digest.bytes };
    hash_replace(core, &job->hash, &job->state.base);
    if (had && !job_has_systems(job)) {
        job_progress_change(job)->waiting_since_us = core->now_us;
        schedule_ended(core);
    }
    dependencies_attach(core, job);
    if (job_state_is_terminal(job->state.state) ||
        (job->state.has_first_started_us && !before_started))
        dependencies_tell(core, job);
    job_attach(core, job);
    if (had && !job_has_systems(job))
        quotas_opened(core, job);
}

static int job_submit(struct core *core, const Wafer__Record *record, struct diag *diag)
{
    uint32_t count = record->has_array_count ? record->array_count : 1;
    Wafer__JobState state = *record->job_state;
    bool begins_lineage = state.lineage == state.id; /* then each element begins its own */

    if (!record->has_spec)
        return diag_fail(diag, -EINVAL, "job %llu has no spec", (unsigned long long)state.id);
    if (count < 1 || count > LIMIT_ARRAY_ELEMENTS)
        return diag_fail(diag, -EINVAL, "an array of %u elements", count);
    for (uint32_t i = 0; i < count; i++)
        if (core_job(core, state.id + i))
            return diag_fail(diag, -EINVAL, "job %llu is there already",
                             (unsigned long long)(state.id + i));

    for (uint32_t i = 0; i < count; i++) {
        struct spec *spec = spec_intern(core, record->spec.data, record->spec.len);
        if (!spec->message) {
            spec_release(core, spec);
            return diag_fail(diag, -EINVAL, "the spec of job %llu cannot be read",
                             (unsigned long long)state.id);
        }
        job_add(core, &state, spec);
        state.id++;
        state.array_index++;
        if (begins_lineage)
            state.lineage = state.id;
        if (!state.has_array_id)
            break;
    }
    return 0;
}

/* ---- checkpoints ---- */

static bool is_before(const struct checkpoint *a, const struct checkpoint *b)
{
    if (a->state.step != b->state.step)
        return a->state.step < b->state.step;
    return a->state.fence->epoch < b->state.fence->epoch;
}

static void checkpoint_add(struct core *core, struct job *job, const Wafer__CheckpointState *state)
{
    struct checkpoint *checkpoint = NEW(struct checkpoint);

    checkpoint_state_copy(&checkpoint->state, state);
    checkpoint->job = job;
    checkpoint->timer.owner = TIMER_CHECKPOINT;
    map_put(&core->checkpoints, state->number, checkpoint);
    if (core->next_checkpoint <= state->number)
        core->next_checkpoint = state->number + 1;

    struct list *place = job->checkpoints.previous; /* nearly always the newest */
    while (place != &job->checkpoints &&
           is_before(checkpoint, CONTAINER_OF(place, struct checkpoint, link)))
        place = place->previous;
    list_insert_after(place, &checkpoint->link);
    job->unsettled += !checkpoint_is_settled(state);
    hash_replace(core, &checkpoint->hash, &checkpoint->state.base);
}

static int checkpoint_check(const struct core *core, const Wafer__CheckpointState *next,
                            struct diag *diag)
{
    const struct job *job = core_job(core, next->job);
    const struct checkpoint *checkpoint = core_checkpoint(core, next->number);

    if (checkpoint && checkpoint->job != job)
        return diag_fail(diag, -EINVAL, "checkpoint %llu is of another job",
                         (unsigned long long)next->number);
    /* Of an unsure job it may be the beginning that was lost. */
    if (job && !checkpoint && next->number < core->next_checkpoint && !job->unsure)
        return diag_fail(diag, -EINVAL, "checkpoint %llu is gone",
                         (unsigned long long)next->number);
    return 0;
}

static void checkpoint_change(struct core *core, const Wafer__CheckpointState *next)
{
    struct job *job = core_job(core, next->job);
    struct checkpoint *checkpoint = core_checkpoint(core, next->number);

    origins_follow(core, next);
    verifications_follow(core, next);
    if (!job)
        return; /* of an ended job: history follows, memory has no more of it */
    if (!checkpoint && next->state != WAFER__CHECKPOINT__STATE__DELETED) {
        checkpoint_add(core, job, next);
    } else if (!checkpoint) {
        return;
    } else if (next->state == WAFER__CHECKPOINT__STATE__DELETED) {
        checkpoint_remove(core, checkpoint);
    } else {
        Wafer__CheckpointState before = checkpoint->state;
        job->unsettled -= !checkpoint_is_settled(&before);
        checkpoint_state_copy(&checkpoint->state, next);
        checkpoint_state_done(&before);
        job->unsettled += !checkpoint_is_settled(&checkpoint->state);
        hash_replace(core, &checkpoint->hash, &checkpoint->state.base);
        if (next->state != WAFER__CHECKPOINT__STATE__COMMITTED)
            timer_clear(&core->timers, &checkpoint->timer);
    }
    schedule_review(core, job); /* it may have to wait for a verdict, or no longer */
    core->pass_wanted = true;
}

/* ---- the rest ---- */

static void system_change(struct core *core, const Wafer__SystemState *next)
{
    struct system *system = core_system(core, next->number);
    Wafer__SystemState before = WAFER__SYSTEM_STATE__INIT;

    if (!system) {
        system = NEW(struct system);
        system->host = core_host(core, next->host);
        assert(system->host);
        system->pool = core_pool(core, next->pool);
        list_push_tail(&system->host->systems, &system->host_link);
        map_put(&core->systems, next->number, system);
        if (system->pool)
            system->pool->systems++;
        if (core->next_system <= next->number)
            core->next_system = next->number + 1;
    } else {
        schedule_count(core, system, -1);
        before = system->state;
    }
    system->state = *next;
    schedule_count(core, system, 1);
    if (!system_is_healthy(system))
        preemption_lose(core, system);
    system->state.name = text_copy(next->name);
    core_name_system(core, system);
    system->state.pool = text_copy(next->pool);
    system->state.platform = text_copy(next->platform);
    system->state.host = text_copy(next->host);
    system->state.reason = text_copy(next->reason);
    system->state.drain_reason = text_copy(next->drain_reason);
    free(before.name);
    free(before.pool);
    free(before.platform);
    free(before.host);
    free(before.reason);
    free(before.drain_reason);
    hash_replace(core, &system->hash, &system->state.base);
    core->pass_wanted = true;
}

static void host_change(struct core *core, const Wafer__HostState *next)
{
    struct host *host = core_host(core, next->name);

    if (!host) {
        host = NEW(struct host);
        wafer__host_state__init(&host->state);
        host->state.name = text_copy(next->name);
        list_init(&host->systems);
        host->supply = memory_new(core->pool_count * sizeof(*host->supply));
        ARRAY_RESERVE(core->hosts, core->host_count, core->host_capacity);
        host->index = core->host_count;
        core->hosts[core->host_count++] = host;
        for (size_t i = 0; i < core->pool_count; i++)
            scheduler_add_domain(core->pools[i].scheduler);
    }
    char *before = host->state.boot_id;
    host->state.boot_id = text_copy(next->boot_id);
    free(before);
    hash_replace(core, &host->hash, &host->state.base);
}

static void queue_change(struct core *core, const Wafer__QueueState *next)
{
    struct queue_state *queue = NULL;

    for (size_t i = 0; i < core->queue_count && !queue; i++)
        if (strcmp(core->queues[i].state.name, next->name) == 0)
            queue = &core->queues[i];
    if (!queue) {
        ARRAY_RESERVE(core->queues, core->queue_count, core->queue_capacity);
        queue = &core->queues[core->queue_count++];
        memset(queue, 0, sizeof(*queue));
        wafer__queue_state__init(&queue->state);
        queue->state.name = text_copy(next->name);
    }
    char *name = queue->state.name, *reason = queue->state.reason;
    queue->state = *next; /* which may borrow from it */
    queue->state.name = name;
    queue->state.reason = text_copy(next->reason);
    free(reason);
    hash_replace(core, &queue->hash, &queue->state.base);

    struct pool *pool = core_pool(core, next->name);
    if (pool)
        pool->stopped = next->stopped;
    core->pass_wanted = true;
}

static void clock_change(struct core *core, const Wafer__ClockState *next)
{
    if (core->clock)
        free(core->clock->boot_id);
    else
        core->clock = NEW(Wafer__ClockState);
    *core->clock = *next;
    core->clock->boot_id = text_copy(next->boot_id);
    hash_replace(core, &core->clock_hash, &core->clock->base);
}

static void key_add(struct core *core, const Wafer__KeyState *state)
{
    struct key *key = core_key(core, state->hash);

    if (!key) {
        key = NEW(struct key);
        key->timer.owner = TIMER_KEY;
        map_put(&core->keys, state->hash, key);
    }
    key->state = *state;
    hash_replace(core, &key->hash, &key->state.base);
    if (state->has_expires_us)
        timer_set(&core->timers, &key->timer, state->expires_us);
}

static void key_forget(struct core *core, uint64_t hash)
{
    struct key *key = map_remove(&core->keys, hash);

    if (!key)
        return;
    hash_replace(core, &key->hash, NULL);
    timer_clear(&core->timers, &key->timer);
    free(key);
}

/* ---- deliveries ---- */

static void count_delivery(struct core *core, uid_t uid, bool added)
{
    unsigned count = delivery_count(core, uid);

    count = added ? count + 1 : count - 1;
    if (count)
        map_put(&core->delivery_counts, uid, (void *)(uintptr_t)count);
    else
        map_remove(&core->delivery_counts, uid);
}

static void delivery_add(struct core *core, const Wafer__DeliveryState *state)
{
    struct delivery *delivery = NEW(struct delivery);

    delivery->state = *state;
    delivery->state.webhook = text_copy(state->webhook);
    delivery->state.url = text_copy(state->url);
    list_init(&delivery->owed_link);
    map_put(&core->deliveries, state->number, delivery);
    count_delivery(core, state->uid, true);
    hash_replace(core, &delivery->hash, &delivery->state.base);
}

static void delivery_free(struct core *core, struct delivery *delivery)
{
    map_remove(&core->deliveries, delivery->state.number);
    count_delivery(core, delivery->state.uid, false);
    hash_replace(core, &delivery->hash, NULL);
    list_remove(&delivery->owed_link);
    timer_clear(&core->retries, &delivery->timer);
    free(delivery->state.webhook);
    free(delivery->state.url);
    free(delivery);
}

static int delivery_check(const Wafer__Record *record, struct diag *diag)
{
    if (record->kind == WAFER__RECORD_KIND__NOTIFY_QUEUED &&
        record->delivery->number != record->sequence)
        return diag_fail(diag, -EINVAL, "notification %llu is queued by record %llu",
                         (unsigned long long)record->delivery->number,
                         (unsigned long long)record->sequence);
    return 0;
}

static void delivery_change(struct core *core, const Wafer__Record *record)
{
    const Wafer__DeliveryState *next = record->delivery;
    struct delivery *delivery = map_get(&core->deliveries, next->number);

    if (record->kind == WAFER__RECORD_KIND__NOTIFY_QUEUED) {
        delivery_add(core, next);
    } else if (!delivery) {
        return; /* the record that queued it could not be read: nobody waits for it */
    } else if (record->kind == WAFER__RECORD_KIND__NOTIFY_FAILED) {
        SET(&delivery->state, failures, next->failures);
        hash_replace(core, &delivery->hash, &delivery->state.base);
    } else {
        delivery_free(core, delivery);
    }
}

static bool covers_all(const struct core *core, const Wafer__Record *record)
{
    const struct lost *lost = job_lost(core, record->job_state->id);

    for (size_t i = 0; i < lost->count; i++)
        if (!core_isolation_covers(record, record->job_state->id, lost->sequences[i]))
            return false;
    return true;
}

static int apply_job(struct core *core, const Wafer__Record *record, struct diag *diag)
{
    struct job *job = core_job(core, record->job_state->id);
    struct spec *spec = NULL;
    int r = job_check(core, job, record->job_state, diag);

    if (r < 0)
        return r;
    if (record->has_spec) {
        spec = spec_intern(core, record->spec.data, record->spec.len);
        if (!spec->message) {
            spec_release(core, spec);
            return diag_fail(diag, -EINVAL, "the new spec of job %llu cannot be read",
                             (unsigned long long)record->job_state->id);
        }
    }
    if (job_has_systems(job) && !job_state_has_systems(record->job_state->state))
        account_charge(core, job, record->job_state);
    job_change(core, job, record->job_state, spec);
    if (job->unsure && covers_all(core, record)) {
        job->unsure = false;
        job_lost_forget(core, job->state.id);
    }
    return 0;
}

static int apply(struct core *core, const Wafer__Record *record, struct diag *diag)
{
    int r = record->checkpoint ? checkpoint_check(core, record->checkpoint, diag) : 0;

    /* All that may not be comes first, so that nothing is half applied. */
    if (r == 0 && record->delivery)
        r = delivery_check(record, diag);
    if (r == 0 && record->reservation)
        r = reserved_may_change(core, record->reservation, diag);
    if (r < 0)
        return r;
    bool new_host =
        record->host && record->system && strcmp(record->host->name, record->system->host) == 0;
    if (record->system && !new_host && !core_host(core, record->system->host))
        return diag_fail(diag, -EINVAL, "system %s is of an unknown host", record->system->name);
    if (record->kind == WAFER__RECORD_KIND__JOB_SUBMITTED) {
        if (!record->job_state)
            return diag_fail(diag, -EINVAL, "a submission without a job");
        r = job_submit(core, record, diag);
    } else if (record->job_state) {
        r = apply_job(core, record, diag);
    }
    if (r < 0)
        return r;
    if (record->checkpoint)
        checkpoint_change(core, record->checkpoint);
    if (record->delivery)
        delivery_change(core, record);
    if (record->host)
        host_change(core, record->host);
    if (record->system)
        system_change(core, record->system);
    if (record->queue)
        queue_change(core, record->queue);
    if (record->quota)
        quota_state_change(core, record->quota);
    if (record->reservation && record->kind == WAFER__RECORD_KIND__RESERVATION_REMOVED)
        reserved_remove(core, record->reservation->number);
    else if (record->reservation)
        reserved_change(core, record->reservation);
    if (record->clock)
        clock_change(core, record->clock);
    if (record->key) {
        if (record->kind == WAFER__RECORD_KIND__KEY_FORGOTTEN)
            key_forget(core, record->key->hash);
        else
            key_add(core, record->key);
    }
    if (record->has_term)
        core->term = record->term;
    if (record->has_next_job && record->next_job > core->next_job)
        core->next_job = record->next_job;

    struct job *job = record->has_job ? core_job(core, record->job) : NULL;
    if (job)
        job_retire(core, job);
    return 0;
}

int core_apply(struct core *core, const Wafer__Record *record, struct diag *diag)
{
    if (record->sequence != core->sequence + 1)
        return diag_fail(diag, -EBADMSG, "record %llu follows record %llu",
                         (unsigned long long)record->sequence, (unsigned long long)core->sequence);
    core->now_us = record->time_us;
    /* The number is used up even when the record cannot be applied: the next one must follow. */
    core->sequence = record->sequence;
    return apply(core, record, diag);
}

void core_skip(struct core *core, uint64_t sequence, uint64_t id)
{
    struct job *job = core_job(core, id);

    if (core->sequence < sequence)
        core->sequence = sequence;
    if (id == core->next_job) /* it may be the submission: the number was given out */
        core->next_job++;
    if (!job || job_state_is_terminal(job->state.state))
        return;
    job->unsure = true;
    struct lost *lost = job_lost(core, id);
    if (!lost) {
        lost = NEW(struct lost);
        map_put(&core->lost, id, lost);
    }
    ARRAY_RESERVE(lost->sequences, lost->count, lost->capacity);
    lost->sequences[lost->count++] = sequence;
    if (job_has_systems(job)) {
        Wafer__JobState next = job->state;
        next.state = WAFER__JOB__STATE__HELD;
        next.n_systems = 0;
        job_change(core, job, &next, NULL);
    }
}

bool core_isolation_covers(const Wafer__Record *record, uint64_t job, uint64_t sequence)
{
    if (record->kind != WAFER__RECORD_KIND__JOB_ISOLATED || record->job != job)
        return false;
    for (size_t i = 0; i < record->n_lost; i++)
        if (record->lost[i] == sequence)
            return true;
    return record->n_lost == 0; /* of a job that memory did not know */
}

void core_record(struct core *core, Wafer__Record *draft)
{
    struct records *records = core->records;
    struct diag diag;

    deliveries_owe(core, draft); /* what says so may leave memory with this record */
    draft->sequence = core->sequence + 1;
    draft->time_us = core->now_us;
    if (draft->has_uid)
        draft->role = (char *)core->asking_role;

    /* The copy is made first: applying may free what the draft borrows. */
    Wafer__Record *record = MESSAGE_COPY(draft);

    int r = core_apply(core, record, &diag);
    assert(r == 0);
    ARRAY_RESERVE(records->items, records->count, records->capacity);
    records->items[records->count++] = record;
}

/* ---- snapshots ---- */

static int by_id(const void *a, const void *b)
{
    uint64_t one = (*(struct job *const *)a)->state.id, other = (*(struct job *const *)b)->state.id;
    return one < other ? -1 : one > other;
}

/* Rising ids: whoever loads them finds the place of each in its queue at the end. */
static struct job **sorted_jobs(const struct core *core)
{
    struct job **jobs = memory_new((map_count(&core->jobs) + 1) * sizeof(struct job *));
    size_t count = 0, cursor = 0;

    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        jobs[count++] = job;
    qsort(jobs, count, sizeof(struct job *), by_id);
    return jobs;
}

struct usage_emit {
    core_emit_fn emit;
    void *userdata;
};

static int emit_usage(void *userdata, const Wafer__UsageState *state)
{
    const struct usage_emit *usage = userdata;
    Wafer__SnapshotItem item = WAFER__SNAPSHOT_ITEM__INIT;

    item.usage = (Wafer__UsageState *)state;
    return usage->emit(usage->userdata, &item);
}

int core_save(const struct core *core, core_emit_fn emit, void *userdata)
{
    Wafer__SnapshotHeader header = WAFER__SNAPSHOT_HEADER__INIT;
    uint8_t hash[32];
    int r;

    core_hash(core, hash);
    header.format = 1;
    header.sequence = core->sequence;
    header.term = core->term;
    header.next_job = core->next_job;
    header.next_checkpoint = core->next_checkpoint;
    header.next_system = core->next_system;
    header.state_hash = (ProtobufCBinaryData){ sizeof(hash), hash };

#define EMIT(member, value)                                                                        \
    do {                                                                                           \
        Wafer__SnapshotItem item = WAFER__SNAPSHOT_ITEM__INIT;                                     \
        item.member = (value);                                                                     \
        if ((r = emit(userdata, &item)) != 0)                                                      \
            return r;                                                                              \
    } while (0)

    EMIT(header, &header);
    if (core->clock)
        EMIT(clock, core->clock);
    for (size_t i = 0; i < core->queue_count; i++)
        EMIT(queue, &core->queues[i].state);
    for (size_t i = 0; i < core->level_count; i++)
        EMIT(quota, &core->levels[i].state);
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        if (core->reserved[i])
            EMIT(reservation, core->reserved[i]->state);
    for (size_t i = 0; i < core->host_count; i++)
        EMIT(host, &core->hosts[i]->state);

    size_t cursor = 0;
    for (struct system *system; (system = map_next(&core->systems, &cursor));)
        EMIT(system, &system->state);
    cursor = 0;
    for (struct key *key; (key = map_next(&core->keys, &cursor));)
        EMIT(key, &key->state);
    cursor = 0;
    for (struct spec *spec; (spec = map_next(&core->specs, &cursor));) {
        Wafer__SnapshotItem item = WAFER__SNAPSHOT_ITEM__INIT;
        SET(&item, spec, ((ProtobufCBinaryData){ spec->length, spec->packed }));
        if ((r = emit(userdata, &item)) != 0)
            return r;
    }
    owned(free) struct job **jobs = sorted_jobs(core);
    for (size_t i = 0; i < map_count(&core->jobs); i++)
        EMIT(job, &jobs[i]->state);
    cursor = 0;
    for (struct checkpoint *checkpoint; (checkpoint = map_next(&core->checkpoints, &cursor));)
        EMIT(checkpoint, &checkpoint->state);
    cursor = 0;
    for (struct delivery *delivery; (delivery = map_next(&core->deliveries, &cursor));)
        EMIT(delivery, &delivery->state);
#undef EMIT
    struct usage_emit usage = { emit, userdata };
    return accounts_save(core, emit_usage, &usage);
}

static int load_header(struct core *core, const Wafer__SnapshotHeader *header, struct diag *diag)
{
    if (header->format != 1)
        return diag_fail(diag, -EBADMSG, "snapshot format %u; this version reads 1",
                         header->format);
    if (header->state_hash.len != sizeof(core->loaded_hash))
        return diag_fail(diag, -EBADMSG, "the snapshot has no state hash");
    core->sequence = header->sequence;
    core->term = header->term;
    core->next_job = header->next_job;
    core->next_checkpoint = header->next_checkpoint;
    core->next_system = header->next_system;
    memcpy(core->loaded_hash, header->state_hash.data, sizeof(core->loaded_hash));
    return 0;
}

static int load_job(struct core *core, const Wafer__JobState *state, struct diag *diag)
{
    uint64_t slot;
    if (state->spec_digest.len != DIGEST_BYTES)
        return diag_fail(diag, -EBADMSG, "job %llu names no spec", (unsigned long long)state->id);
    memcpy(&slot, state->spec_digest.data, sizeof(slot));
    struct spec *spec = map_get(&core->specs, slot & UINT64_MAX >> 1);

    if (!spec || !spec->message)
        return diag_fail(diag, -EBADMSG, "the spec of job %llu is missing",
                         (unsigned long long)state->id);
    if (core_job(core, state->id))
        return diag_fail(diag, -EBADMSG, "job %llu is there twice", (unsigned long long)state->id);
    for (size_t i = 0; i < state->n_systems; i++)
        if (!core_system(core, state->systems[i]))
            return diag_fail(diag, -EBADMSG, "job %llu holds an unknown system",
                             (unsigned long long)state->id);
    spec->references++;
    job_add(core, state, spec);
    return 0;
}

int core_load(struct core *core, const Wafer__SnapshotItem *item, struct diag *diag)
{
    if (item->header)
        return load_header(core, item->header, diag);
    if (item->clock)
        clock_change(core, item->clock);
    if (item->queue)
        queue_change(core, item->queue);
    if (item->quota)
        quota_state_change(core, item->quota);
    if (item->reservation && reserved_may_change(core, item->reservation, diag) < 0)
        return -EBADMSG;
    if (item->reservation)
        reserved_change(core, item->reservation);
    if (item->host)
        host_change(core, item->host);
    if (item->system) {
        if (!core_host(core, item->system->host))
            return diag_fail(diag, -EBADMSG, "system %s is of an unknown host", item->system->name);
        system_change(core, item->system);
    }
    if (item->key)
        key_add(core, item->key);
    if (item->has_spec)
        spec_intern(core, item->spec.data, item->spec.len);
    if (item->job)
        return load_job(core, item->job, diag);
    if (item->checkpoint) {
        struct job *job = core_job(core, item->checkpoint->job);
        if (!job || core_checkpoint(core, item->checkpoint->number))
            return diag_fail(diag, -EBADMSG, "checkpoint %llu has no job, or is there twice",
                             (unsigned long long)item->checkpoint->number);
        checkpoint_add(core, job, item->checkpoint);
    }
    if (item->usage)
        account_load(core, item->usage);
    if (item->delivery) {
        if (map_get(&core->deliveries, item->delivery->number))
            return diag_fail(diag, -EBADMSG, "notification %llu is there twice",
                             (unsigned long long)item->delivery->number);
        delivery_add(core, item->delivery);
    }
    return 0;
}

int core_load_end(struct core *core, struct diag *diag)
{
    uint8_t hash[32];
    size_t cursor = 0;

    /* Each spec came once and was counted once for it; jobs have counted themselves. */
    for (struct spec *spec; (spec = map_next(&core->specs, &cursor));)
        spec_release(core, spec);
    core_hash(core, hash);
    if (memcmp(hash, core->loaded_hash, sizeof(hash)) != 0)
        return diag_fail(diag, -EBADMSG, "the snapshot does not have the state hash that it names");
    return 0;
}

struct core *core_free(struct core *core)
{
    size_t cursor = 0;

    if (!core)
        return NULL;
    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        job_free(core, job);
    cursor = 0;
    for (struct key *key; (key = map_next(&core->keys, &cursor));)
        free(key);
    cursor = 0;
    for (struct delivery *delivery; (delivery = map_next(&core->deliveries, &cursor));)
        delivery_free(core, delivery);
    cursor = 0;
    for (struct system *system; (system = map_next(&core->systems, &cursor));) {
        free(system->state.name);
        free(system->state.pool);
        free(system->state.platform);
        free(system->state.host);
        free(system->state.reason);
        free(system->state.drain_reason);
        free(system);
    }
    list_foreach_safe (&core->verifications, link) {
        struct verification *verification = CONTAINER_OF(link, struct verification, link);
        checkpoint_state_done(verification->state);
        free(verification->state);
        free(verification);
    }
    for (size_t i = 0; i < core->host_count; i++) {
        free(core->hosts[i]->state.name);
        free(core->hosts[i]->state.boot_id);
        free(core->hosts[i]->supply);
        free(core->hosts[i]);
    }
    for (size_t i = 0; i < core->queue_count; i++) {
        free(core->queues[i].state.name);
        free(core->queues[i].state.reason);
    }
    reserved_free(core);
    for (size_t i = 0; i < core->pool_count; i++) {
        free(core->pools[i].name);
        free(core->pools[i].platform);
        free(core->pools[i].currency);
        scheduler_free(core->pools[i].scheduler);
        free(core->pools[i].forecast.starts_us);
    }
    quota_rules_done(core);
    for (size_t i = 0; i < core->level_count; i++)
        free(core->levels[i].state.name);
    free(core->levels);
    if (core->clock)
        free(core->clock->boot_id);
    free(core->clock);
    free(core->hosts);
    free(core->queues);
    free(core->pools);
    access_free(core->access);
    map_done(&core->jobs);
    map_done(&core->checkpoints);
    map_done(&core->systems);
    map_done(&core->system_names);
    map_done(&core->keys);
    map_done(&core->specs);
    map_done(&core->deliveries);
    map_done(&core->delivery_counts);
    accounts_free(core);
    core_free_shares(core);
    map_done(&core->arrays);
    map_done(&core->user_quotas);
    map_done(&core->project_quotas);
    map_done(&core->lost);
    map_done(&core->dependents);
    map_done(&core->dependencies);
    free(core->changed);
    free(core->news);
    map_done(&core->origins);
    map_done(&core->links);
    timers_done(&core->timers);
    timers_done(&core->retries);
    free(core);
    return NULL;
}
