/* shards — the bytes of checkpoints, on their way between agent and vault, off the loop. */
#ifndef WAFERD_SIM_SHARDS_H
#define WAFERD_SIM_SHARDS_H

#include "engine/agent.h"
#include "sim/workers.h"
#include "vault/vault.h"

struct shards_answer {
    bool is_write;
    uint64_t job, term, epoch, step;
    int error; /* 0, or a negative errno and why: */
    const char *why;
    struct agent_shard *shards; /* what was read */
    Wafer__ShardState **states; /* of what was written */
    size_t count;
};

typedef void (*shards_answer_fn)(void *userdata, const struct shards_answer *answer);

/* Start what an AGENT_WRITE or AGENT_READ asks for and take its shards or checkpoint; `answer` is
 * called on the loop. */
void shards_start(struct workers *workers, struct vault *vault, struct agent_effect *effect,
                  shards_answer_fn answer, void *userdata);

#endif
