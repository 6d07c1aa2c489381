/* training — the simulated state of one training run: a chain over real bytes.
 *
 * The state is four 64-bit lanes. A step multiplies and mixes each with the id of the batch that
 * the step consumed, the step, the seed and the settings that change results, so the final digest
 * is equal if and only if every batch was consumed once, in order, under the same settings. The
 * number of systems, the platform and the number format stay out of it, as an exact all-reduce
 * would have it.
 *
 * Step n takes its batch from input worker n mod workers, at that worker's cursor. A checkpoint has
 * one shard a lane; loading mixes a hash of all bytes of a shard into its lane in such a way that
 * only the bytes that were saved give the lane that was saved.
 */
#ifndef WAFERD_ENGINE_TRAINING_H
#define WAFERD_ENGINE_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "job.pb-c.h"
#include "record.pb-c.h"

#define TRAINING_LANES 4

struct training {
    uint64_t lanes[TRAINING_LANES];
    uint64_t step;     /* steps done */
    uint64_t settings; /* hash of seed and hyper-parameters */
    uint32_t workers;
    uint64_t *cursors; /* next batch of each worker */
};

void training_init(struct training *training, const Wafer__JobSpec *spec, uint32_t array_index);
void training_done(struct training *training);

/* Run `count` steps. At least 10^7 a second on one core. */
void training_run(struct training *training, uint64_t count);

void training_digest(const struct training *training, struct digest *ret);

/* Bytes of shard `lane`, with `filler_bytes` of filler; the caller frees. */
uint8_t *training_shard(const struct training *training, unsigned lane, int64_t filler_bytes,
                        size_t *ret_length);

/* Take the lanes from shard bytes, in order. `count` other than TRAINING_LANES, or bytes too short
 * for a header, load as what they are: another state. `weights_only` keeps step and cursors. */
void training_load(struct training *training, const uint8_t *const *shards, const size_t *lengths,
                   size_t count, uint64_t step, const Wafer__ResumeState *resume,
                   bool weights_only);

#endif
