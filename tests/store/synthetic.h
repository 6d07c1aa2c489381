/* synthetic — records as a core would make them, and what a test does with a store.
 *
 * The shadow below stands in for a core: it keeps a digest of each record that was loaded. */
#ifndef WAFERD_TESTS_STORE_SYNTHETIC_H
#define WAFERD_TESTS_STORE_SYNTHETIC_H

#include "base/buffer.h"
#include "base/random.h"
#include "store/store.h"

/* ---- records; all memory is the record's ---- */

Wafer__Record *record_new(uint64_t sequence, Wafer__RecordKind kind, uint64_t job);
/* A submission of about 250 bytes packed. */
Wafer__Record *record_submitted(uint64_t sequence, uint64_t job, const char *name);
Wafer__Record *record_ended(uint64_t sequence, uint64_t job, uint32_t uid, const char *name);
Wafer__Record *record_checkpoint(uint64_t sequence, uint64_t job, uint64_t number, uint64_t step,
                                 Wafer__Checkpoint__State state);
/* Any kind, about any of a hundred jobs. */
Wafer__Record *record_random(uint64_t sequence, struct random *random);
void record_set_bytes(ProtobufCBinaryData *ret, const void *bytes, size_t length);

/* ---- batches ---- */

/* Takes the records over; the batch is freed with batch_free(), which store_take() does not do. */
struct store_batch *batch_new(Wafer__Record **records, size_t count);
struct store_batch *batch_of(Wafer__Record *record);
void batch_free(struct store_batch *batch);

/* Wait on the descriptor and take until the record `sequence` is durable; frees the batches. */
void take_until(struct store *store, uint64_t sequence);

/* ---- a directory that a test may fill ---- */

char *directory_new(void); /* text_format'ed; removed by directory_remove() */
void directory_remove(char *dir);

/* ---- what was loaded ---- */

struct shadow {
    struct buffer log; /* one line for each thing that happened */
    uint64_t *digests; /* hash64 of each packed record, by order */
    uint64_t *sequences;
    size_t count, capacity, items, unreadable, resets, notes;
    uint64_t refuse_sequence; /* as a core that finds this record contradictory */
    bool refuse_items;
};

void shadow_done(struct shadow *shadow);
static inline void shadow_donep(struct shadow *shadow)
{
    shadow_done(shadow);
}
extern const struct store_load_ops shadow_ops; /* userdata: the shadow */
uint64_t record_hash(const Wafer__Record *record);

/* Open and load, and expect that it works. */
struct store *open_loaded(const char *dir, struct shadow *shadow);

/* A snapshot source: `core` is a uint64_t, the sequence; it saves 10 jobs beside the header. */
int shadow_save(const void *core, store_emit_fn emit, void *userdata);

#endif
