#include "sim/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct shards_task {
    struct task task;
    struct vault *vault;
    struct vault_place place;
    Wafer__CheckpointState *checkpoint; /* to be read */
    struct shards_answer answer;
    struct diag diag;
    shards_answer_fn fn;
    void *userdata;
};

/* --- on a thread --- */

static Wafer__ShardState *state_new(const struct digest *digest, size_t length)
{
    Wafer__ShardState *state = NEW(Wafer__ShardState);

    wafer__shard_state__init(state);
    state->bytes = (int64_t)length;
    state->digest.len = DIGEST_BYTES;
    state->digest.data = memory_copy(digest->bytes, DIGEST_BYTES);
    return state;
}

static void run_write(struct task *base)
{
    struct shards_task *task = CONTAINER_OF(base, struct shards_task, task);
    struct shards_answer *answer = &task->answer;

    for (size_t i = 0; answer->error == 0 && i < answer->count; i++) {
        const struct agent_shard *shard = &answer->shards[i];
        struct digest digest;
        answer->error = vault_shard_write(task->vault, &task->place, (uint32_t)i, shard->bytes,
                                          shard->length, &digest, &task->diag);
        if (answer->error == 0)
            answer->states[i] = state_new(&digest, shard->length);
    }
}

static int read_one(struct shards_task *task, uint32_t index)
{
    const Wafer__ShardState *state = task->checkpoint->shards[index];
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
    struct digest digest;

    if (state->digest.len != DIGEST_BYTES)
        return diag_fail(&task->diag, -EBADMSG, "the checkpoint names no digest of shard %u",
                         index);
    memcpy(digest.bytes, state->digest.data, DIGEST_BYTES);
    int r = vault_shard_read(task->vault, &task->place, index, state->bytes, &digest, &bytes,
                             &task->diag);
    if (r < 0)
        return r;
    /* As it is, and not copied: a shard may be large. Nothing was taken from its front. */
    task->answer.shards[index] = (struct agent_shard){ TAKE(bytes.bytes), bytes.length };
    return 0;
}

static void run_read(struct task *base)
{
    struct shards_task *task = CONTAINER_OF(base, struct shards_task, task);
    struct shards_answer *answer = &task->answer;

    for (size_t i = 0; answer->error == 0 && i < answer->count; i++)
        answer->error = read_one(task, (uint32_t)i);
}

/* --- on the loop --- */

static void done(struct task *base)
{
    struct shards_task *task = CONTAINER_OF(base, struct shards_task, task);
    struct shards_answer *answer = &task->answer;

    task->fn(task->userdata, answer);
    for (size_t i = 0; i < answer->count; i++) {
        free(answer->shards[i].bytes);
        if (answer->states && answer->states[i])
            wafer__shard_state__free_unpacked(answer->states[i], NULL);
    }
    free(answer->shards);
    free(answer->states);
    wafer__checkpoint_state__free_unpacked(task->checkpoint, NULL);
    free(task);
}

/* A write goes where its own fence says; a read, where the fence that wrote the checkpoint says. */
void shards_start(struct workers *workers, struct vault *vault, struct agent_effect *effect,
                  shards_answer_fn answer, void *userdata)
{
    struct shards_task *task = NEW(struct shards_task);

    task->answer = (struct shards_answer){ .is_write = effect->type == AGENT_WRITE,
                                           .job = effect->job,
                                           .term = effect->term,
                                           .epoch = effect->epoch,
                                           .step = effect->step,
                                           .why = task->diag.text };
    if (task->answer.is_write) {
        task->place =
            (struct vault_place){ effect->job, effect->step, effect->term, effect->epoch };
        task->answer.count = effect->shard_count;
        task->answer.shards = TAKE(effect->shards);
        effect->shard_count = 0;
        task->answer.states = memory_new((task->answer.count + 1) * sizeof(Wafer__ShardState *));
        task->task.run = run_write;
    } else {
        task->checkpoint = TAKE(effect->resume);
        task->place =
            (struct vault_place){ task->checkpoint->job, task->checkpoint->step,
                                  task->checkpoint->fence->term, task->checkpoint->fence->epoch };
        task->answer.count = task->checkpoint->n_shards;
        task->answer.shards = memory_new((task->answer.count + 1) * sizeof(struct agent_shard));
        task->task.run = run_read;
        if (task->answer.count > VAULT_SHARDS_MAX)
            task->answer.error = diag_fail(&task->diag, -EBADMSG,
                                           "the checkpoint names %zu shards; at most %d can be",
                                           task->answer.count, VAULT_SHARDS_MAX);
    }
    task->vault = vault;
    task->task.done = done;
    task->fn = answer;
    task->userdata = userdata;
    workers_post(workers, &task->task);
}
