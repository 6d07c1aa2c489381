#include "engine/training.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"

#define GOLDEN 0x9e3779b97f4a7c15u

/* ---- settings ---- */

static void add_number(struct buffer *buffer, uint64_t value)
{
    value = htole64(value);
    buffer_append(buffer, &value, sizeof(value));
}

static void add_text(struct buffer *buffer, const char *text, const char *otherwise)
{
    const char *value = text ? text : otherwise;

    add_number(buffer, strlen(value)); /* so that no two lists of texts look alike */
    buffer_append_text(buffer, value);
}

static void add_model(struct buffer *buffer, const Wafer__ModelSpec *model)
{
    add_text(buffer, model->family, "");
    add_number(buffer, model->has_layers ? model->layers : 0);
    add_number(buffer, model->has_hidden ? model->hidden : 0);
    add_number(buffer, model->has_heads ? model->heads : 0);
    add_number(buffer, model->has_vocab ? model->vocab : 50257);
    add_number(buffer, model->has_seq ? model->seq : 2048);
    add_number(buffer, model->params ? model->params->value : 0);
}

/* What changes the result of a run. Not: steps (a longer run begins like a shorter one), number
 * format, recompute, systems, platform, workers. */
static uint64_t settings_of(const Wafer__JobSpec *spec, uint32_t array_index)
{
    const Wafer__Workload *workload = spec->workload;
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    add_number(&buffer, array_index);
    if (workload) {
        add_model(&buffer, workload->model);
        add_text(&buffer, workload->optimizer, "adamw");
        add_number(&buffer, workload->batch);
        add_number(&buffer, workload->has_seed ? workload->seed : 1);
    }
    if (spec->data)
        for (size_t i = 0; i < spec->data->n_inputs; i++) {
            add_text(&buffer, spec->data->inputs[i]->id, "");
            add_text(&buffer, spec->data->inputs[i]->version, "");
            if (spec->data->inputs[i]->has_shards)
                add_number(&buffer, spec->data->inputs[i]->shards);
        }
    return hash64(buffer_data(&buffer), buffer.length);
}

static uint32_t workers_of(const Wafer__JobSpec *spec)
{
    const Wafer__InputSpec *input = spec->workload ? spec->workload->input : NULL;

    if (!input || !input->has_workers || input->workers == 0)
        return 1;
    return input->workers < TRAINING_WORKERS_MAX ? input->workers : TRAINING_WORKERS_MAX;
}

void training_init(struct training *training, const Wafer__JobSpec *spec, uint32_t array_index)
{
    *training = (struct training){ .settings = settings_of(spec, array_index),
                                   .workers = workers_of(spec) };
    training->cursors = memory_new(training->workers * sizeof(*training->cursors));
    training->rng = random_mix(training->settings + GOLDEN);
    for (unsigned i = 0; i < TRAINING_LANES; i++)
        training->lanes[i] = random_mix(training->settings ^ (i + 1) * GOLDEN);
}

void training_done(struct training *training)
{
    free(training->cursors);
    training->cursors = NULL;
}

/* ---- steps ---- */

static inline uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* For one input each lane's new value is a bijection of its old one, and the sum of its neighbour
 * that follows can be undone too: two states that differ stay different for ever. */
static inline void mix_lanes(uint64_t lanes[static TRAINING_LANES], uint64_t input)
{
    static const uint64_t factors[TRAINING_LANES] = { 0xd6e8feb86659fd93u, 0xff51afd7ed558ccdu,
                                                      0xc4ceb9fe1a85ec53u, 0x94d049bb133111ebu };

    for (unsigned i = 0; i < TRAINING_LANES; i++) {
        lanes[i] = (lanes[i] ^ input) * factors[i];
        lanes[i] ^= lanes[i] >> 32;
    }
    for (unsigned i = 0; i < TRAINING_LANES; i++)
        lanes[i] += rotate(lanes[(i + 1) % TRAINING_LANES], 23);
}

void training_run(struct training *training, uint64_t count)
{
    struct training t = *training; /* in registers, not behind a pointer that may alias */
    uint32_t worker = (uint32_t)(t.step % t.workers);

    for (; count > 0; count--) {
        uint64_t batch = t.cursors[worker]++ * t.workers + worker;
        t.rng += GOLDEN;
        mix_lanes(t.lanes, random_mix(batch ^ t.settings) + t.step * GOLDEN + rotate(t.rng, 31));
        t.step++;
        worker = worker + 1 == t.workers ? 0 : worker + 1;
    }
    *training = t;
}

static uint64_t batches_consumed(const struct training *training)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < training->workers; i++)
        sum += training->cursors[i];
    return sum;
}

void training_digest(const struct training *training, struct digest *ret)
{
    uint64_t words[TRAINING_LANES + 4];
    size_t count = 0;

    for (unsigned i = 0; i < TRAINING_LANES; i++)
        words[count++] = htole64(training->lanes[i]);
    words[count++] = htole64(training->step);
    words[count++] = htole64(training->settings);
    words[count++] = htole64(training->rng);
    words[count++] = htole64(batches_consumed(training));
    digest_of(words, sizeof(words), ret);
}

/* ---- shards ---- */

/* On disk, little-endian. The first word is the lane, hidden under the hash of all that follows it:
 * change a byte anywhere, and another lane comes out. */
struct shard_header {
    uint64_t hidden_lane;
    char magic[8];
    uint32_t lane, lanes;
    uint64_t step, filler_bytes;
};

#define HIDDEN_BYTES sizeof(uint64_t)

static void fill(uint8_t *bytes, size_t length, uint64_t seed)
{
    struct random random;

    random_init(&random, seed);
    while (length > 0) {
        uint64_t word = htole64(random_next(&random));
        size_t part = length < sizeof(word) ? length : sizeof(word);
        memcpy(bytes, &word, part);
        bytes += part;
        length -= part;
    }
}

uint8_t *training_shard(const struct training *training, unsigned lane, int64_t filler_bytes,
                        size_t *ret_length)
{
    size_t length = sizeof(struct shard_header) + (size_t)filler_bytes;
    uint8_t *bytes = memory_resize(NULL, length, 1);
    struct shard_header header = {
        .magic = { 'W', 'F', 'S', 'H', 'A', 'R', 'D', '1' },
        .lane = htole32(lane),
        .lanes = htole32(TRAINING_LANES),
        .step = htole64(training->step),
        .filler_bytes = htole64((uint64_t)filler_bytes),
    };

    fill(bytes + sizeof(header), (size_t)filler_bytes, training->lanes[lane]);
    memcpy(bytes, &header, sizeof(header));
    header.hidden_lane =
        htole64(training->lanes[lane] ^ hash64(bytes + HIDDEN_BYTES, length - HIDDEN_BYTES));
    memcpy(bytes, &header.hidden_lane, HIDDEN_BYTES);
    *ret_length = length;
    return bytes;
}

static uint64_t lane_of(const uint8_t *bytes, size_t length)
{
    uint64_t hidden;

    if (length < sizeof(struct shard_header))
        return random_mix(hash64(bytes, length) + length);
    memcpy(&hidden, bytes, sizeof(hidden));
    return le64toh(hidden) ^ hash64(bytes + HIDDEN_BYTES, length - HIDDEN_BYTES);
}

void training_save(const struct training *training, Wafer__ResumeState *ret)
{
    ret->n_cursors = training->workers;
    ret->cursors = memory_copy(training->cursors, training->workers * sizeof(*ret->cursors));
    ret->n_rng = 1;
    ret->rng = memory_copy(&training->rng, sizeof(training->rng));
}

/* So many batches of the data set are consumed, in order: worker w had each `workers`th. */
static void deal_cursors(struct training *training, uint64_t consumed)
{
    uint64_t each = consumed / training->workers, rest = consumed % training->workers;

    for (uint32_t i = 0; i < training->workers; i++)
        training->cursors[i] = each + (i < rest);
}

static void load_cursors(struct training *training, const Wafer__ResumeState *resume)
{
    uint64_t consumed = 0;

    if (resume->n_cursors == training->workers) {
        memcpy(training->cursors, resume->cursors, resume->n_cursors * sizeof(*resume->cursors));
        return;
    }
    for (size_t i = 0; i < resume->n_cursors; i++)
        consumed += resume->cursors[i];
    deal_cursors(training, consumed);
}

void training_load(struct training *training, const uint8_t *const *shards, const size_t *lengths,
                   size_t count, uint64_t step, const Wafer__ResumeState *resume, bool weights_only)
{
    memset(training->lanes, 0, sizeof(training->lanes));
    for (size_t i = 0; i < count; i++)
        training->lanes[i % TRAINING_LANES] ^= lane_of(shards[i], lengths[i]);
    if (weights_only)
        return;
    training->step = step;
    if (resume) {
        load_cursors(training, resume);
        if (resume->n_rng > 0)
            training->rng = resume->rng[0];
    }
}
