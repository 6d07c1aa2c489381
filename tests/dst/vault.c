#include "vault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void file_done(struct vault_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->shards[i].bytes);
    free(file->shards);
    free(file->manifest);
}

void vault_model_done(struct vault_model *vault)
{
    for (size_t i = 0; i < vault->count; i++)
        file_done(&vault->files[i]);
    free(vault->files);
}

static struct vault_file *find(const struct vault_model *vault, uint64_t job, uint64_t step,
                               uint64_t term, uint64_t epoch)
{
    for (size_t i = 0; i < vault->count; i++) {
        struct vault_file *file = &vault->files[i];
        if (file->job == job && file->step == step && file->term == term && file->epoch == epoch)
            return file;
    }
    return NULL;
}

struct vault_file *vault_find(const struct vault_model *vault, const Wafer__CheckpointState *state)
{
    return find(vault, state->job, state->step, state->fence->term, state->fence->epoch);
}

struct vault_file *vault_write(struct vault_model *vault, const struct agent_effect *write,
                               size_t whole)
{
    struct vault_file *file = find(vault, write->job, write->step, write->term, write->epoch);

    if (!file) {
        ARRAY_RESERVE(vault->files, vault->count, vault->capacity);
        file = &vault->files[vault->count++];
        *file = (struct vault_file){ .job = write->job,
                                     .step = write->step,
                                     .term = write->term,
                                     .epoch = write->epoch,
                                     .count = write->shard_count };
        file->shards = memory_new(file->count * sizeof(*file->shards));
    }
    for (size_t i = 0; i < write->shard_count && i <= whole; i++) {
        const struct agent_shard *shard = &write->shards[i];
        size_t length = i < whole ? shard->length : shard->length / 2;
        free(file->shards[i].bytes);
        file->shards[i].bytes = memory_copy(shard->bytes, length);
        file->shards[i].length = length;
    }
    return file;
}

static int compare(const struct vault_file *file, const Wafer__CheckpointState *state)
{
    if (file->count != state->n_shards)
        return -EBADMSG;
    for (size_t i = 0; i < file->count; i++) {
        const struct agent_shard *shard = &file->shards[i];
        struct digest digest;
        if (!shard->bytes || (int64_t)shard->length != state->shards[i]->bytes)
            return -EBADMSG;
        digest_of(shard->bytes, shard->length, &digest);
        if (memcmp(digest.bytes, state->shards[i]->digest.data, DIGEST_BYTES) != 0)
            return -EBADMSG;
    }
    return 0;
}

int vault_read(const struct vault_model *vault, const Wafer__CheckpointState *state,
               const struct agent_shard **ret, size_t *ret_count)
{
    const struct vault_file *file = vault_find(vault, state);

    if (!file)
        return -ENOENT;
    *ret = file->shards;
    *ret_count = file->count;
    return compare(file, state);
}

int vault_commit(struct vault_model *vault, const Wafer__Manifest *manifest,
                 struct digest *ret_digest)
{
    struct vault_file *file = vault_find(vault, manifest->checkpoint);
    size_t length = wafer__manifest__get_packed_size(manifest);
    uint8_t *packed;

    if (!file)
        return -ENOENT;
    packed = memory_new(length);
    wafer__manifest__pack(manifest, packed);
    digest_of(packed, length, ret_digest);
    if (file->manifest) {
        free(packed);
        return digest_is_equal(ret_digest, &file->manifest_digest) ? 0 : -EEXIST;
    }
    file->manifest = packed;
    file->manifest_length = length;
    file->manifest_digest = *ret_digest;
    return 0;
}

int vault_check(const struct vault_model *vault, const Wafer__CheckpointState *state,
                const uint8_t *manifest_digest)
{
    const struct vault_file *file = vault_find(vault, state);

    if (!file || !file->manifest)
        return -ENOENT;
    if (manifest_digest && memcmp(manifest_digest, file->manifest_digest.bytes, DIGEST_BYTES) != 0)
        return -EBADMSG;
    Wafer__Manifest *manifest =
        wafer__manifest__unpack(NULL, file->manifest_length, file->manifest);
    int r = compare(file, manifest->checkpoint);
    wafer__manifest__free_unpacked(manifest, NULL);
    return r;
}

void vault_remove(struct vault_model *vault, const Wafer__CheckpointState *state)
{
    struct vault_file *file = vault_find(vault, state);

    if (!file)
        return;
    file_done(file);
    *file = vault->files[--vault->count];
}
