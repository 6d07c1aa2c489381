#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/frame.h"
#include "store/inside.h"
#include "store/row.h"

static int prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct diag *diag)
{
    return database_prepare(store->reader, sql, ret, diag);
}

static int next(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    return database_next(store->reader, statement, diag);
}

/* A packed message in a column; NULL when it is malformed. */
static ProtobufCMessage *unpack(sqlite3_stmt *statement, int column,
                                const ProtobufCMessageDescriptor *descriptor)
{
    struct frame frame = {
        .body = sqlite3_column_blob(statement, column),
        .length = (size_t)sqlite3_column_bytes(statement, column),
    };

    return frame_unpack(descriptor, &frame);
}

static int fail_malformed(const char *what, uint64_t id, struct diag *diag)
{
    return diag_fail(diag, -EBADMSG, "state.db: %s %" PRIu64 " in history is malformed", what, id);
}

/* ---- checkpoints ---- */

void store_checkpoints_free(Wafer__CheckpointState **checkpoints, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wafer__checkpoint_state__free_unpacked(checkpoints[i], NULL);
    free(checkpoints);
}

static int read_checkpoints(struct store *store, sqlite3_stmt *statement, uint64_t job,
                            Wafer__CheckpointState ***checkpoints, size_t *count, struct diag *diag)
{
    size_t capacity = 0;
    int r;

    while ((r = next(store, statement, diag)) > 0) {
        Wafer__CheckpointState *checkpoint =
            (Wafer__CheckpointState *)unpack(statement, 0, &wafer__checkpoint_state__descriptor);
        if (!checkpoint)
            return fail_malformed("a checkpoint of job", job, diag);
        ARRAY_RESERVE(*checkpoints, *count, capacity);
        (*checkpoints)[(*count)++] = checkpoint;
    }
    return r;
}

int store_history_checkpoints(struct store *store, uint64_t job, Wafer__CheckpointState ***ret,
                              size_t *ret_count, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    Wafer__CheckpointState **checkpoints = NULL;
    size_t count = 0;
    int r = prepare(store, "SELECT body FROM checkpoint WHERE job = ?1 ORDER BY step, number",
                    &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, job);
    r = read_checkpoints(store, statement, job, &checkpoints, &count, diag);
    if (r < 0) {
        store_checkpoints_free(checkpoints, count);
        return r;
    }
    *ret = checkpoints;
    *ret_count = count;
    return 0;
}

/* ---- ended jobs ---- */

void store_job_done(struct store_job *job)
{
    wafer__job__free_unpacked(job->view, NULL);
    wafer__job_state__free_unpacked(job->state, NULL);
    free(job->spec.data);
    *job = (struct store_job){ .view = NULL };
}

static inline void store_job_donep(struct store_job *job)
{
    store_job_done(job);
}

static int read_job(struct store *store, uint64_t id, struct store_job *job, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store, "SELECT view, state FROM job WHERE id = ?1", &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, id);
    r = next(store, statement, diag);
    if (r < 0)
        return r;
    if (r == 0)
        return diag_fail(diag, -ENOENT, "no ended job %" PRIu64, id);
    job->view = (Wafer__Job *)unpack(statement, 0, &wafer__job__descriptor);
    job->state = (Wafer__JobState *)unpack(statement, 1, &wafer__job_state__descriptor);
    return job->view && job->state ? 0 : fail_malformed("job", id, diag);
}

/* The submission that made the job: of its own, or of the array that it is an element of. */
static int read_spec(struct store *store, uint64_t id, ProtobufCBinaryData *spec, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store,
                    "SELECT body FROM spec WHERE number = (SELECT CASE WHEN ?1 < job + count"
                    " THEN spec END FROM submission WHERE job <= ?1 ORDER BY job DESC LIMIT 1)",
                    &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, id);
    r = next(store, statement, diag);
    if (r <= 0)
        return r;
    spec->len = (size_t)sqlite3_column_bytes(statement, 0);
    spec->data = memory_copy(sqlite3_column_blob(statement, 0), spec->len);
    return 0;
}

int store_history_job(struct store *store, uint64_t id, struct store_job *ret, struct diag *diag)
{
    owned(store_job_done) struct store_job job = { .view = NULL };
    int r = read_job(store, id, &job, diag);

    if (r >= 0)
        r = read_spec(store, id, &job.spec, diag);
    if (r < 0)
        return r;
    *ret = job;
    job = (struct store_job){ .view = NULL };
    return 0;
}

int store_history_name(struct store *store, uid_t uid, const char *name, uint64_t *ret_id)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r =
        prepare(store, "SELECT id FROM job WHERE uid = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1",
                &statement, NULL);

    if (r < 0)
        return r;
    database_bind(statement, 1, uid);
    database_bind_text(statement, 2, name);
    r = next(store, statement, NULL);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    *ret_id = (uint64_t)sqlite3_column_int64(statement, 0);
    return 0;
}

static int count_jobs(struct store *store, bool all, uid_t uid, uint64_t *ret, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store, "SELECT total(count) FROM ended WHERE ?1 OR uid = ?2", &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, all);
    database_bind(statement, 2, uid);
    r = next(store, statement, diag);
    if (r < 0)
        return r;
    *ret = (uint64_t)sqlite3_column_int64(statement, 0);
    return 0;
}

int store_history_jobs(struct store *store, bool all, uid_t uid, size_t limit,
                       void (*each)(void *userdata, const Wafer__Job *view), void *userdata,
                       uint64_t *ret_total, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store,
                    all ? "SELECT view, id FROM job ORDER BY id DESC LIMIT ?1"
                        : "SELECT view, id FROM job WHERE uid = ?2 ORDER BY id DESC LIMIT ?1",
                    &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, limit);
    if (!all)
        database_bind(statement, 2, uid);
    while ((r = next(store, statement, diag)) > 0) {
        Wafer__Job *view = (Wafer__Job *)unpack(statement, 0, &wafer__job__descriptor);
        if (!view)
            return fail_malformed("job", (uint64_t)sqlite3_column_int64(statement, 1), diag);
        each(userdata, view);
        wafer__job__free_unpacked(view, NULL);
    }
    return r < 0 ? r : count_jobs(store, all, uid, ret_total, diag);
}

/* ---- events of one job ---- */

typedef void (*event_fn)(void *userdata, const Wafer__Event *event);

static void emit_row(sqlite3_stmt *statement, uint64_t job, event_fn each, void *userdata)
{
    Wafer__Event event = WAFER__EVENT__INIT;
    Wafer__Time at = WAFER__TIME__INIT;

    event.job = job;
    event.has_job = true;
    event.sequence = (uint64_t)sqlite3_column_int64(statement, 0);
    at.us = sqlite3_column_int64(statement, 1);
    event.at = &at;
    event.kind = (char *)sqlite3_column_text(statement, 2);
    event.system = (char *)sqlite3_column_text(statement, 3);
    event.has_uid = sqlite3_column_type(statement, 4) != SQLITE_NULL;
    event.uid = (uint32_t)sqlite3_column_int64(statement, 4);
    event.has_cause = sqlite3_column_type(statement, 5) != SQLITE_NULL;
    event.cause = (Wafer__Cause)sqlite3_column_int64(statement, 5);
    event.text = (char *)sqlite3_column_text(statement, 6);
    each(userdata, &event);
}

/* An element of an array was submitted with the array. */
static int job_events(struct store *store, uint64_t job, size_t limit, event_fn each,
                      void *userdata, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(
        store,
        "WITH origin AS (SELECT job, count, sequence FROM submission WHERE job <= ?1"
        " ORDER BY job DESC LIMIT 1)"
        "SELECT * FROM ("
        " SELECT sequence, time_us, kind, system, uid, cause, text FROM event WHERE job = ?1"
        " UNION ALL"
        " SELECT event.sequence, time_us, kind, system, uid, cause, text FROM origin JOIN event"
        " ON event.job = origin.job AND event.sequence = origin.sequence"
        " WHERE origin.job <> ?1 AND ?1 < origin.job + origin.count"
        " ORDER BY sequence DESC LIMIT ?2) ORDER BY sequence",
        &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, job);
    database_bind(statement, 2, limit);
    while ((r = next(store, statement, diag)) > 0)
        emit_row(statement, job, each, userdata);
    return r;
}

/* ---- events of all jobs, from the end of the journal ---- */

struct tail {
    Wafer__Record **records; /* the newest first */
    size_t count, capacity, limit;
    Wafer__Record **part; /* what is being read, the oldest first */
    size_t part_count, part_capacity;
};

static void tail_done(struct tail *tail)
{
    for (size_t i = 0; i < tail->count; i++)
        wafer__record__free_unpacked(tail->records[i], NULL);
    for (size_t i = 0; i < tail->part_count; i++)
        wafer__record__free_unpacked(tail->part[i], NULL);
    free(tail->records);
    free(tail->part);
}

static inline void tail_donep(struct tail *tail)
{
    tail_done(tail);
}

static int on_tail_record(void *userdata, Wafer__Record *record, struct diag *diag)
{
    struct tail *tail = userdata;
    Wafer__Event event;
    Wafer__Time at;

    assert(diag);
    if (!store_event_of(record, &event, &at)) {
        wafer__record__free_unpacked(record, NULL);
        return 0;
    }
    ARRAY_RESERVE(tail->part, tail->part_count, tail->part_capacity);
    tail->part[tail->part_count++] = record;
    return 0;
}

/* A record that cannot be read is never passed over in silence. */
static int on_tail_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                              struct diag *diag)
{
    Wafer__Record *record = NEW(Wafer__Record);
    struct tail *tail = userdata;

    wafer__record__init(record);
    record->sequence = sequence;
    record->kind = WAFER__RECORD_KIND__JOB_ISOLATED;
    record->has_job = true;
    record->job = job;
    if (tail->part_count)
        record->time_us = tail->part[tail->part_count - 1]->time_us;
    record->text = text_format("record %" PRIu64 " cannot be read: %s", sequence, why);
    return on_tail_record(tail, record, diag);
}

static const struct row_ops tail_ops = {
    .record = on_tail_record,
    .unreadable = on_tail_unreadable,
};

/* From the end of the row backwards, only as much as is still wanted. */
static int read_tail_row(struct tail *tail, const struct row *row, struct diag *diag)
{
    uint64_t to = row->first_sequence + row->count, held;

    while (to > row->first_sequence && tail->count < tail->limit) {
        uint64_t want = tail->limit - tail->count;
        uint64_t from = to - row->first_sequence > want ? to - want : row->first_sequence;
        int r = row_read(row, from, to, &tail_ops, tail, &held, diag);
        if (r < 0)
            return r;
        while (tail->part_count) {
            ARRAY_RESERVE(tail->records, tail->count, tail->capacity);
            tail->records[tail->count++] = tail->part[--tail->part_count];
        }
        to = from;
    }
    return 0;
}

static int read_tail(struct store *store, struct tail *tail, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store,
                    "SELECT first_sequence, count, records FROM journal"
                    " ORDER BY first_sequence DESC",
                    &statement, diag);

    if (r < 0)
        return r;
    while (tail->count < tail->limit && (r = next(store, statement, diag)) > 0) {
        struct row row = {
            .first_sequence = (uint64_t)sqlite3_column_int64(statement, 0),
            .count = (uint64_t)sqlite3_column_int64(statement, 1),
            .records = sqlite3_column_blob(statement, 2),
            .length = (size_t)sqlite3_column_bytes(statement, 2),
        };
        r = read_tail_row(tail, &row, diag);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : 0;
}

static int all_events(struct store *store, size_t limit, event_fn each, void *userdata,
                      struct diag *diag)
{
    owned(tail_done) struct tail tail = { .limit = limit };
    int r = read_tail(store, &tail, diag);

    if (r < 0)
        return r;
    for (size_t i = tail.count; i-- > 0;) {
        Wafer__Event event;
        Wafer__Time at;
        if (store_event_of(tail.records[i], &event, &at))
            each(userdata, &event);
    }
    return 0;
}

int store_history_events(struct store *store, uint64_t job, size_t limit, event_fn each,
                         void *userdata, struct diag *diag)
{
    return job ? job_events(store, job, limit, each, userdata, diag)
               : all_events(store, limit, each, userdata, diag);
}
