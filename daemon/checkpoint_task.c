#include "checkpoint_task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "model/message.h"
#include "vault/vault.h"
#include "workers.h"

struct checkpoint_task {
    struct task task;
    struct daemon *daemon;
    enum effect_type type;
    uint64_t job, number;
    struct vault_place place;
    Wafer__Manifest *manifest; /* COMMIT_MANIFEST */
    bool has_digest;
    struct digest digest; /* VERIFY: of the manifest; COMMIT_MANIFEST: result */
    int error;
    struct diag diag;
};

static struct checkpoint_task *of_task(struct task *task)
{
    return CONTAINER_OF(task, struct checkpoint_task, task);
}

static void run(struct task *task)
{
    struct checkpoint_task *work = of_task(task);
    struct vault *vault = work->daemon->vault;

    switch (work->type) {
    case EFFECT_COMMIT_MANIFEST:
        work->error =
            vault_manifest_write(vault, &work->place, work->manifest, &work->digest, &work->diag);
        break;
    case EFFECT_VERIFY:
        work->error =
            vault_verify(vault, &work->place, work->has_digest ? &work->digest : NULL, &work->diag);
        break;
    case EFFECT_DELETE: work->error = vault_delete(vault, &work->place, &work->diag); break;
    default: assert(!"no task of a checkpoint");
    }
}

static void drop(struct task *task)
{
    struct checkpoint_task *work = of_task(task);

    wafer__manifest__free_unpacked(work->manifest, NULL);
    free(work);
}

static enum input_type verdict_of(enum effect_type type)
{
    switch (type) {
    case EFFECT_COMMIT_MANIFEST: return INPUT_MANIFEST;
    case EFFECT_VERIFY: return INPUT_VERIFIED;
    default: return INPUT_DELETED;
    }
}

static void finish(struct task *task)
{
    struct checkpoint_task *work = of_task(task);
    struct input input = {
        .type = verdict_of(work->type),
        .verdict = { .checkpoint = work->number,
                     .error = work->error,
                     .text = work->error < 0 ? work->diag.text : NULL,
                     .manifest_digest = work->digest.bytes },
    };

    if (work->error < 0)
        log_write(LOG_ERR, &(struct log_about){ .job = work->job }, "job %llu, step %llu: %s",
                  (unsigned long long)work->job, (unsigned long long)work->place.step,
                  work->diag.text);
    daemon_step(work->daemon, &input);
    drop(task);
}

void checkpoint_task_start(struct daemon *daemon, const struct effect *effect)
{
    const Wafer__CheckpointState *checkpoint = effect->manifest->checkpoint;
    struct checkpoint_task *work = NEW(struct checkpoint_task);

    work->task = (struct task){
        .run = run, .finish = finish, .drop = drop, .slow = effect->type != EFFECT_COMMIT_MANIFEST
    };
    work->daemon = daemon;
    work->type = effect->type;
    work->job = effect->job;
    work->number = effect->checkpoint;
    work->place = (struct vault_place){ .job = checkpoint->job,
                                        .step = checkpoint->step,
                                        .term = checkpoint->fence->term,
                                        .epoch = checkpoint->fence->epoch };
    if (effect->type == EFFECT_COMMIT_MANIFEST)
        work->manifest = (Wafer__Manifest *)message_copy(&effect->manifest->base);
    work->has_digest = effect->has_manifest_digest;
    if (work->has_digest)
        memcpy(work->digest.bytes, effect->manifest_digest, DIGEST_BYTES);
    workers_add(daemon->workers, &work->task);
}
