/* Copies of durable state, and finding objects. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/dependencies.h"
#include "core/state.h"

ProtobufCBinaryData bytes_copy(ProtobufCBinaryData from)
{
    return (ProtobufCBinaryData){ .len = from.len,
                                  .data = from.data ? memory_copy(from.data, from.len) : NULL };
}

static void *array_copy(const void *from, size_t count, size_t size)
{
    return count ? memory_copy(from, count * size) : NULL;
}

void checkpoint_state_copy(Wafer__CheckpointState *to, const Wafer__CheckpointState *from)
{
    *to = *from;
    to->fence = memory_copy(from->fence, sizeof(*from->fence));
    to->manifest_digest = bytes_copy(from->manifest_digest);
    to->resume = bytes_copy(from->resume);
    to->detail = text_copy(from->detail);
    to->shards = array_copy(from->shards, from->n_shards, sizeof(*from->shards));
    for (size_t i = 0; i < from->n_shards; i++) {
        to->shards[i] = memory_copy(from->shards[i], sizeof(*from->shards[i]));
        to->shards[i]->digest = bytes_copy(from->shards[i]->digest);
    }
}

Wafer__CheckpointState *checkpoint_state_new(const Wafer__CheckpointState *from)
{
    Wafer__CheckpointState *state = NEW(Wafer__CheckpointState);
    checkpoint_state_copy(state, from);
    return state;
}

void checkpoint_state_done(Wafer__CheckpointState *state)
{
    free(state->fence);
    free(state->manifest_digest.data);
    free(state->resume.data);
    free(state->detail);
    for (size_t i = 0; i < state->n_shards; i++) {
        free(state->shards[i]->digest.data);
        free(state->shards[i]);
    }
    free(state->shards);
}

void job_state_copy(Wafer__JobState *to, const Wafer__JobState *from)
{
    *to = *from;
    to->detail = text_copy(from->detail);
    to->queue = text_copy(from->queue);
    to->next_queue = text_copy(from->next_queue);
    to->systems = array_copy(from->systems, from->n_systems, sizeof(*from->systems));
    to->final_digest = bytes_copy(from->final_digest);
    to->origin = from->origin ? checkpoint_state_new(from->origin) : NULL;
    to->older_origins =
        array_copy(from->older_origins, from->n_older_origins, sizeof(*from->older_origins));
    for (size_t i = 0; i < from->n_older_origins; i++)
        to->older_origins[i] = checkpoint_state_new(from->older_origins[i]);
    to->after = array_copy(from->after, from->n_after, sizeof(*from->after));
    for (size_t i = 0; i < from->n_after; i++)
        to->after[i] = memory_copy(from->after[i], sizeof(*from->after[i]));
}

/* spec_digest belongs to the spec. */
void job_state_done(Wafer__JobState *state)
{
    free(state->detail);
    free(state->queue);
    free(state->next_queue);
    free(state->systems);
    free(state->final_digest.data);
    if (state->origin) {
        checkpoint_state_done(state->origin);
        free(state->origin);
    }
    for (size_t i = 0; i < state->n_older_origins; i++) {
        checkpoint_state_done(state->older_origins[i]);
        free(state->older_origins[i]);
    }
    free(state->older_origins);
    dependencies_free(state->after, state->n_after);
}

struct job *core_job(const struct core *core, uint64_t id)
{
    return map_get(&core->jobs, id);
}

struct checkpoint *core_checkpoint(const struct core *core, uint64_t number)
{
    return map_get(&core->checkpoints, number);
}

struct system *core_system(const struct core *core, uint32_t number)
{
    return map_get(&core->systems, number);
}

static uint64_t name_slot(const char *name)
{
    return hash64(name, strlen(name)) & UINT64_MAX >> 1; /* the map keeps its largest keys */
}

void core_name_system(struct core *core, struct system *system)
{
    uint64_t slot = name_slot(system->state.name);

    if (!map_get(&core->system_names, slot))
        map_put(&core->system_names, slot, system);
}

struct system *core_system_named(const struct core *core, const char *name)
{
    struct system *system = map_get(&core->system_names, name_slot(name));
    size_t cursor = 0;

    if (!system || strcmp(system->state.name, name) == 0)
        return system;
    while ((system = map_next(&core->systems, &cursor)))
        if (strcmp(system->state.name, name) == 0)
            return system;
    return NULL;
}

struct host *core_host(const struct core *core, const char *name)
{
    for (size_t i = 0; i < core->host_count; i++)
        if (strcmp(core->hosts[i]->state.name, name) == 0)
            return core->hosts[i];
    return NULL;
}

struct pool *core_pool(const struct core *core, const char *name)
{
    for (size_t i = 0; i < core->pool_count; i++)
        if (strcmp(core->pools[i].name, name) == 0)
            return &core->pools[i];
    return NULL;
}

struct key *core_key(const struct core *core, uint64_t hash)
{
    return map_get(&core->keys, hash);
}

struct pool *job_pool(const struct core *core, const struct job *job)
{
    const char *name = job->state.queue ? job->state.queue : job->spec->terms.queue;
    return name ? core_pool(core, name) : &core->pools[0];
}

uint32_t job_systems_wanted(const struct job *job)
{
    return job->state.has_systems_count ? job->state.systems_count : job->spec->terms.systems_count;
}

int64_t job_limit_left_us(const struct job *job)
{
    int64_t limit_us = job->spec->terms.limit_us;

    return limit_us ? limit_us - job->state.run_us : INT64_MAX;
}

bool job_has_systems(const struct job *job)
{
    return job_state_has_systems(job->state.state);
}

const struct progress *job_progress(const struct job *job)
{
    static const struct progress nothing;

    return job->progress ? job->progress : &nothing;
}

/* Most jobs of a long queue never had an attempt: they do without. */
struct progress *job_progress_change(struct job *job)
{
    if (!job->progress)
        job->progress = NEW(struct progress);
    return job->progress;
}

int64_t job_waiting_since_us(const struct job *job)
{
    int64_t since_us = job_progress(job)->waiting_since_us;

    return since_us ? since_us : job->state.submitted_us;
}

struct lost *job_lost(const struct core *core, uint64_t id)
{
    return map_get(&core->lost, id);
}

void job_lost_forget(struct core *core, uint64_t id)
{
    struct lost *lost = map_remove(&core->lost, id);

    if (lost)
        free(lost->sequences);
    free(lost);
}

struct host *job_host(const struct core *core, const struct job *job)
{
    return job->state.n_systems ? core_system(core, job->state.systems[0])->host : NULL;
}

bool checkpoint_is_settled(const Wafer__CheckpointState *state)
{
    switch (state->state) {
    case WAFER__CHECKPOINT__STATE__WRITING:
    case WAFER__CHECKPOINT__STATE__WRITTEN:
    case WAFER__CHECKPOINT__STATE__COMMITTED:
    case WAFER__CHECKPOINT__STATE__DELETING: return false;
    default: return true;
    }
}

Wafer__CheckpointState **checkpoint_states(const struct job *job, size_t *ret_count)
{
    Wafer__CheckpointState **states = NULL;
    size_t count = 0, capacity = 0;

    list_foreach (&job->checkpoints, link) {
        ARRAY_RESERVE(states, count, capacity);
        states[count++] = &CONTAINER_OF(link, struct checkpoint, link)->state;
    }
    *ret_count = count;
    return states;
}

static uint64_t spec_slot(const struct digest *digest)
{
    uint64_t slot;

    memcpy(&slot, digest->bytes, sizeof(slot));
    return slot & UINT64_MAX >> 1; /* the map keeps its largest keys for itself */
}

/* Many submissions in a row have one spec, and so have all elements of an array: to compare it is
 * cheaper than its digest. */
static struct spec *recent_spec(const struct core *core, const uint8_t *packed, size_t length)
{
    struct spec *spec = core->recent_spec;

    return spec && length && spec->length == length && memcmp(spec->packed, packed, length) == 0
               ? spec
               : NULL;
}

const struct spec *spec_find(const struct core *core, const uint8_t *packed, size_t length)
{
    struct digest digest;
    const struct spec *spec = recent_spec(core, packed, length);

    if (spec)
        return spec;
    digest_of(packed, length, &digest);
    spec = map_get(&core->specs, spec_slot(&digest));
    return spec && digest_is_equal(&spec->digest, &digest) ? spec : NULL;
}

static struct spec *spec_new(struct core *core, const struct digest *digest, const uint8_t *packed,
                             size_t length)
{
    struct spec *spec = NEW(struct spec);

    spec->digest = *digest;
    spec->slot = spec_slot(digest);
    spec->packed = memory_copy(packed, length);
    spec->length = length;
    spec->message = wafer__job_spec__unpack(NULL, length, packed);
    if (spec->message)
        job_terms(spec->message, &spec->terms);
    map_put(&core->specs, spec->slot, spec);
    return spec;
}

struct spec *spec_intern(struct core *core, const uint8_t *packed, size_t length)
{
    struct digest digest;
    struct spec *spec = recent_spec(core, packed, length);

    if (!spec) {
        digest_of(packed, length, &digest);
        spec = map_get(&core->specs, spec_slot(&digest));
        assert(!spec || digest_is_equal(&spec->digest, &digest));
        if (!spec)
            spec = spec_new(core, &digest, packed, length);
        core->recent_spec = spec;
    }
    spec->references++;
    return spec;
}

void spec_release(struct core *core, struct spec *spec)
{
    if (--spec->references)
        return;
    map_remove(&core->specs, spec->slot);
    if (core->recent_spec == spec)
        core->recent_spec = NULL;
    if (spec->message)
        wafer__job_spec__free_unpacked(spec->message, NULL);
    free(spec->packed);
    free(spec);
}
