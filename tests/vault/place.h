/* place — a vault in a scratch directory, and whole checkpoints in it. */
#ifndef WAFERD_TESTS_VAULT_PLACE_H
#define WAFERD_TESTS_VAULT_PLACE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "scratch.h"
#include "tap.h"
#include "vault/vault.h"

enum { SHARDS = 3, SHARD_BYTES = 5000 };

static struct vault *vault;
static struct diag diag;

static inline void vault_make(void)
{
    char path[128];

    scratch_make();
    snprintf(path, sizeof(path), "%s/vault", scratch);
    ck_assert_int_eq(vault_open(path, &vault, &diag), 0);
}

static inline void vault_remove(void)
{
    vault = vault_close(vault);
    scratch_remove();
}

static inline char *place_path(const struct vault_place *place, const char *file)
{
    return text_format("%s/vault/ckpt/%" PRIu64 "/%012" PRIu64 ".%" PRIu64 ".%" PRIu64 "/%s",
                       scratch, place->job, place->step, place->term, place->epoch, file);
}

/* Different bytes for each shard and step. */
static inline void shard_fill(uint8_t *bytes, const struct vault_place *place, uint32_t index)
{
    for (size_t i = 0; i < SHARD_BYTES; i++)
        bytes[i] = (uint8_t)(i * 31 + index * 7 + place->step * 13 + (i >> 8));
}

/* The five steps of a commit, but for the journal's. */
static inline int checkpoint_write(struct vault *where, const struct vault_place *place,
                                   struct digest *ret)
{
    Wafer__Manifest manifest = WAFER__MANIFEST__INIT;
    Wafer__CheckpointState checkpoint = WAFER__CHECKPOINT_STATE__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    Wafer__ResumeState resume = WAFER__RESUME_STATE__INIT;
    Wafer__ShardState shards[SHARDS], *list[SHARDS];
    struct digest digests[SHARDS];
    uint8_t bytes[SHARD_BYTES];

    for (uint32_t i = 0; i < SHARDS; i++) {
        shard_fill(bytes, place, i);
        int r = vault_shard_write(where, place, i, bytes, SHARD_BYTES, &digests[i], &diag);
        if (r < 0)
            return r;
        wafer__shard_state__init(&shards[i]);
        shards[i].bytes = SHARD_BYTES;
        shards[i].digest = (ProtobufCBinaryData){ DIGEST_BYTES, digests[i].bytes };
        list[i] = &shards[i];
    }
    fence.term = place->term;
    fence.epoch = place->epoch;
    checkpoint.job = checkpoint.lineage = place->job;
    checkpoint.fence = &fence;
    checkpoint.step = place->step;
    checkpoint.state = WAFER__CHECKPOINT__STATE__WRITTEN;
    checkpoint.n_shards = SHARDS;
    checkpoint.shards = list;
    manifest.format = 1;
    manifest.checkpoint = &checkpoint;
    manifest.resume = &resume;
    return vault_manifest_write(where, place, &manifest, ret, &diag);
}

#endif
