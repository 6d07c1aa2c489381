/* submission — a new job, as it is made of a request: handed in, or resumed from one that has
 * ended.
 *
 * What answers says so: then the request is over, and the caller only returns.
 *
 * Ownership  a submission borrows all that it points to, from the request for the most part */
#ifndef WAFERD_CORE_SUBMISSION_H
#define WAFERD_CORE_SUBMISSION_H

#include "core/request.h"

struct submission {
    const struct job_terms *terms;
    ProtobufCBinaryData packed;
    bool checked; /* the spec, by the rules of the schema */
    const char *key;
    uint64_t key_hash, body_hash;
    bool held;
    uint64_t lineage, resumed_from; /* 0: its own; none */
    const Wafer__CheckpointState *origin;
    Wafer__CheckpointState **older_origins; /* to fall back on */
    size_t older_origin_count;
    bool weights_only;
    uint32_t systems_count; /* 0: as in the spec */
    const char *queue;      /* NULL: as in the spec */
    Wafer__DependencyState **after;
    size_t after_count;
    const uint32_t *array_index; /* of the one element that goes on; NULL: all that the spec has */
};

static inline void spec_freep(Wafer__JobSpec **spec)
{
    if (*spec)
        wafer__job_spec__free_unpacked(*spec, NULL);
}

/* *ret_bytes are the caller's. */
ProtobufCBinaryData submission_pack(const Wafer__JobSpec *spec, uint8_t **ret_bytes);
uint64_t submission_key_hash(uid_t uid, const char *key);
/* A repeated request gets the job that it made the first time. True: it was answered. */
bool submission_is_known(struct request *request, const char *key, uint64_t hash, uint64_t body);
/* Whom the job would be counted for; `queue` NULL: the first. */
struct quota_party submission_party(const struct request *request, const Wafer__JobSpec *spec,
                                    const char *queue);

/* Whether the rules let the caller make this job. False: answered. */
bool submission_is_permitted(struct request *request, const Wafer__JobSpec *spec,
                             const struct job_terms *terms);
/* Whether data of that class may go there. False: answered. */
bool pool_takes_class(struct request *request, const struct pool *pool, Wafer__Label__Level level);
/* By its quotas. False: answered. */
bool submission_is_within(struct request *request, const Wafer__JobSpec *spec, const char *queue,
                          const struct submission *submission);
/* The checkpoint is where the job ends. True: answered. */
bool nothing_to_do(struct request *request, const struct job_terms *terms,
                   const Wafer__CheckpointState *from);

/* The state that the job begins with; borrows of the submission. */
Wafer__JobState submission_state(const struct request *request,
                                 const struct submission *submission);
/* Makes the job, or the elements of its array, and answers. */
void submission_make(struct request *request, const struct submission *submission);

/* The verified one at `step`, of that epoch (0: the newest), of `count` by rising steps. */
const Wafer__CheckpointState *checkpoint_choose(Wafer__CheckpointState *const *checkpoints,
                                                size_t count, uint64_t step, uint64_t epoch);
/* Likewise, of a live job. */
const Wafer__CheckpointState *checkpoint_verified(const struct job *job, uint64_t step,
                                                  uint64_t epoch);

#endif
