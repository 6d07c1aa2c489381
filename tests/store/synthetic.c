#include "synthetic.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"

void record_set_bytes(ProtobufCBinaryData *ret, const void *bytes, size_t length)
{
    ret->data = memory_copy(bytes, length);
    ret->len = length;
}

Wafer__Record *record_new(uint64_t sequence, Wafer__RecordKind kind, uint64_t job)
{
    Wafer__Record *record = NEW(Wafer__Record);

    wafer__record__init(record);
    record->sequence = sequence;
    record->time_us = 1700000000000000 + (int64_t)sequence * 1000;
    record->kind = kind;
    record->has_job = job != 0;
    record->job = job;
    return record;
}

static Wafer__JobState *job_state_new(uint64_t job, uint32_t uid, Wafer__Job__State state)
{
    Wafer__JobState *job_state = NEW(Wafer__JobState);
    struct digest digest;

    wafer__job_state__init(job_state);
    digest_of(&job, sizeof(job), &digest);
    job_state->id = job;
    job_state->uid = uid;
    job_state->state = state;
    job_state->submitted_us = 1700000000000000;
    job_state->epoch = 1;
    job_state->lineage = job;
    record_set_bytes(&job_state->spec_digest, digest.bytes, sizeof(digest.bytes));
    return job_state;
}

Wafer__Record *record_submitted(uint64_t sequence, uint64_t job, const char *name)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__JOB_SUBMITTED, job);
    char spec[160];

    memset(spec, 's', sizeof(spec));
    snprintf(spec, sizeof(spec), "wafer/v1 Job %s", name);
    record->has_uid = true;
    record->uid = 1000;
    record->job_state = job_state_new(job, 1000, WAFER__JOB__STATE__PENDING);
    record->has_spec = true;
    record_set_bytes(&record->spec, spec, sizeof(spec));
    return record;
}

Wafer__Record *record_ended(uint64_t sequence, uint64_t job, uint32_t uid, const char *name)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__JOB_ENDED, job);

    record->job_state = job_state_new(job, uid, WAFER__JOB__STATE__SUCCEEDED);
    record->has_cause = true;
    record->cause = WAFER__CAUSE__FINISHED;
    record->text = text_copy("all steps done");
    record->view = NEW(Wafer__Job);
    wafer__job__init(record->view);
    record->view->id = job;
    record->view->name = text_copy(name);
    record->view->has_uid = true;
    record->view->uid = uid;
    return record;
}

Wafer__Record *record_checkpoint(uint64_t sequence, uint64_t job, uint64_t number, uint64_t step,
                                 Wafer__Checkpoint__State state)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__CHECKPOINT_CHANGED, job);
    Wafer__CheckpointState *checkpoint = NEW(Wafer__CheckpointState);

    wafer__checkpoint_state__init(checkpoint);
    checkpoint->number = number;
    checkpoint->job = checkpoint->lineage = job;
    checkpoint->step = step;
    checkpoint->state = state;
    checkpoint->fence = NEW(Wafer__Fence);
    wafer__fence__init(checkpoint->fence);
    checkpoint->fence->term = checkpoint->fence->epoch = 1;
    record->checkpoint = checkpoint;
    return record;
}

Wafer__Record *record_random(uint64_t sequence, struct random *random)
{
    uint64_t job = 1 + random_below(random, 100);
    char name[32];

    snprintf(name, sizeof(name), "job-%u", (unsigned)random_below(random, 1000));
    switch (random_below(random, 5)) {
    case 0:
        /* A job is submitted once, so its id is new. */
        return record_submitted(sequence, 1000 + sequence, name);
    case 1: return record_ended(sequence, job, (uint32_t)random_below(random, 3), name);
    case 2:
        return record_checkpoint(sequence, job, 1 + random_below(random, 50),
                                 random_below(random, 1000),
                                 (Wafer__Checkpoint__State)random_below(random, 8));
    case 3: {
        Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__REFUSED, 0);
        size_t length = random_below(random, 3000);
        record->text = memory_new(length + 1);
        memset(record->text, 'r', length);
        return record;
    }
    default: return record_new(sequence, WAFER__RECORD_KIND__JOB_GRANTED, job);
    }
}

struct store_batch *batch_new(Wafer__Record **records, size_t count)
{
    struct store_batch *batch = NEW(struct store_batch);

    batch->records = memory_copy(records, count * sizeof(*records));
    batch->count = count;
    return batch;
}

struct store_batch *batch_of(Wafer__Record *record)
{
    return batch_new(&record, 1);
}

void batch_free(struct store_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        wafer__record__free_unpacked(batch->records[i], NULL);
    free(batch->records);
    free(batch);
}

void take_until(struct store *store, uint64_t sequence)
{
    for (uint64_t last = 0; last < sequence;) {
        struct pollfd wait = { .fd = store_fd(store), .events = POLLIN };
        ck_assert_msg(poll(&wait, 1, 10000) == 1, "nothing became durable in 10 s");
        for (struct store_batch *batch = store_take(store), *next; batch; batch = next) {
            next = batch->next;
            if (batch->count)
                last = batch->records[batch->count - 1]->sequence;
            batch_free(batch);
        }
    }
}

char *directory_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *dir = text_format("%s/waferd-store-XXXXXX", parent ? parent : "/tmp");

    ck_assert_ptr_nonnull(mkdtemp(dir));
    return dir;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    ck_assert(status && place);
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

void directory_remove(char *dir)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

uint64_t record_hash(const Wafer__Record *record)
{
    size_t length = wafer__record__get_packed_size(record);
    owned(free) uint8_t *bytes = memory_new(length);

    wafer__record__pack(record, bytes);
    return hash64(bytes, length);
}

static void on_reset(void *userdata)
{
    struct shadow *shadow = userdata;

    shadow->count = shadow->items = 0;
    shadow->resets++;
    buffer_format(&shadow->log, "reset\n");
}

static int on_item(void *userdata, const Wafer__SnapshotItem *item, struct diag *diag)
{
    struct shadow *shadow = userdata;

    shadow->items++;
    if (item->header)
        buffer_format(&shadow->log, "header %llu\n", (unsigned long long)item->header->sequence);
    return shadow->refuse_items ? diag_fail(diag, -EBADMSG, "refused by the test") : 0;
}

static int on_items_end(void *userdata, struct diag *diag)
{
    struct shadow *shadow = userdata;

    ck_assert_ptr_nonnull(diag);
    buffer_format(&shadow->log, "items end\n");
    return 0;
}

static int on_record(void *userdata, const Wafer__Record *record, struct diag *diag)
{
    struct shadow *shadow = userdata;

    if (record->sequence == shadow->refuse_sequence)
        return diag_fail(diag, -EINVAL, "refused by the test");
    if (shadow->count == shadow->capacity) {
        shadow->capacity = shadow->capacity ? 2 * shadow->capacity : 64;
        shadow->digests = memory_resize(shadow->digests, shadow->capacity, sizeof(uint64_t));
        shadow->sequences = memory_resize(shadow->sequences, shadow->capacity, sizeof(uint64_t));
    }
    shadow->digests[shadow->count] = record_hash(record);
    shadow->sequences[shadow->count++] = record->sequence;
    return 0;
}

static void on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why)
{
    struct shadow *shadow = userdata;

    shadow->unreadable++;
    buffer_format(&shadow->log, "unreadable job %llu record %llu: %s\n", (unsigned long long)job,
                  (unsigned long long)sequence, why);
}

static void on_note(void *userdata, const char *text)
{
    struct shadow *shadow = userdata;

    shadow->notes++;
    buffer_format(&shadow->log, "note %s\n", text);
}

const struct store_load_ops shadow_ops = {
    .reset = on_reset,
    .item = on_item,
    .items_end = on_items_end,
    .record = on_record,
    .unreadable = on_unreadable,
    .note = on_note,
};

void shadow_done(struct shadow *shadow)
{
    buffer_done(&shadow->log);
    free(shadow->digests);
    free(shadow->sequences);
}

struct store *open_loaded(const char *dir, struct shadow *shadow)
{
    struct store *store;
    struct diag diag = { "" };

    ck_assert_msg(store_open(dir, &store, &diag) == 0, "%s", diag.text);
    ck_assert_msg(store_load(store, &shadow_ops, shadow, &diag) == 0, "%s", diag.text);
    return store;
}

int shadow_save(const void *core, store_emit_fn emit, void *userdata)
{
    Wafer__SnapshotItem item = WAFER__SNAPSHOT_ITEM__INIT;
    Wafer__SnapshotHeader header = WAFER__SNAPSHOT_HEADER__INIT;
    struct digest digest = { { 0 } };

    header.format = 1;
    header.sequence = *(const uint64_t *)core;
    header.state_hash.data = digest.bytes;
    header.state_hash.len = sizeof(digest.bytes);
    item.header = &header;
    int r = emit(userdata, &item);
    for (uint64_t job = 1; job <= 10 && r >= 0; job++) {
        Wafer__SnapshotItem next = WAFER__SNAPSHOT_ITEM__INIT;
        next.job = job_state_new(job, 1000, WAFER__JOB__STATE__PENDING);
        r = emit(userdata, &next);
        wafer__job_state__free_unpacked(next.job, NULL);
    }
    return r;
}
