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
 *
 * Batch k of worker w is batch k * workers + w of the data set: undisturbed, step n consumes batch
 * n whatever the number of workers.
 */
#ifndef WAFERD_ENGINE_TRAINING_H
#define WAFERD_ENGINE_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "job.pb-c.h"
#include "record.pb-c.h"

#define TRAINING_LANES       4
#define TRAINING_WORKERS_MAX 4096 /* input workers of one job; more are taken as so many */

struct training {
    uint64_t lanes[TRAINING_LANES];
    uint64_t step;     /* steps done */
    uint64_t settings; /* hash of seed and hyper-parameters */
    uint64_t rng;      /* of dropout: moves with each step and is mixed into it */
    uint32_t workers;
    uint64_t *cursors; /* next batch of each worker */
};

void training_init(struct training *training, const Wafer__JobSpec *spec, uint32_t array_index);
void training_done(struct training *training);

/* Run `count` steps. At least 10^7 a second on one core. */
void training_run(struct training *training, uint64_t count);

/* Of lanes, step, generator and the number of batches consumed. */
void training_digest(const struct training *training, struct digest *ret);

/* Bytes of shard `lane`, with `filler_bytes` of filler; the caller frees. */
uint8_t *training_shard(const struct training *training, unsigned lane, int64_t filler_bytes,
                        size_t *ret_length);

/* Fill the cursors and the generator of a resume state that is to go beside the shards. */
void training_save(const struct training *training, Wafer__ResumeState *ret);

/* Take the lanes from shard bytes, in order, and the rest from `step` and `resume` (NULL: nothing
 * is known). `count` other than TRAINING_LANES, or bytes too short for a header, load as what they
 * are: another state. Cursors of another number of workers are dealt out anew from the number of
 * batches consumed. `weights_only` keeps step, cursors and generator. */
void training_load(struct training *training, const uint8_t *const *shards, const size_t *lengths,
                   size_t count, uint64_t step, const Wafer__ResumeState *resume,
                   bool weights_only);

#endif
