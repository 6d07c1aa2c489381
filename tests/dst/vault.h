/* vault — a model of the vault: shards and manifests by place, in memory, with the rules of
 * daemon/vault/vault.h. */
#ifndef WAFERD_TESTS_DST_VAULT_H
#define WAFERD_TESTS_DST_VAULT_H

#include "base/digest.h"
#include "engine/agent.h"
#include "record.pb-c.h"

struct vault_file { /* one checkpoint */
    uint64_t job, step, term, epoch;
    struct agent_shard *shards; /* bytes NULL: not there */
    size_t count;
    uint8_t *manifest; /* packed; NULL: none */
    size_t manifest_length;
    struct digest manifest_digest;
    bool harmed; /* by a fault */
};

struct vault_model {
    struct vault_file *files;
    size_t count, capacity;
};

void vault_model_done(struct vault_model *vault);
struct vault_file *vault_find(const struct vault_model *vault, const Wafer__CheckpointState *state);

/* Takes the first `whole` shards, and a part of the next one. */
struct vault_file *vault_write(struct vault_model *vault, const struct agent_effect *write,
                               size_t whole);
int vault_read(const struct vault_model *vault, const Wafer__CheckpointState *state,
               const struct agent_shard **ret, size_t *ret_count);
int vault_commit(struct vault_model *vault, const Wafer__Manifest *manifest,
                 struct digest *ret_digest);
int vault_check(const struct vault_model *vault, const Wafer__CheckpointState *state,
                const uint8_t *manifest_digest /* or NULL */);
void vault_remove(struct vault_model *vault, const Wafer__CheckpointState *state);

#endif
