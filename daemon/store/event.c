#include <assert.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/inside.h"
#include "store/row.h"

/* NULL: nobody's business. Two kinds say more by the state they carry. */
static const char *const kinds[] = {
    [WAFER__RECORD_KIND__TERM_OPENED] = "CONTROLLER_STARTED",
    [WAFER__RECORD_KIND__REFUSED] = "REFUSED",
    [WAFER__RECORD_KIND__JOB_SUBMITTED] = "JOB_SUBMITTED",
    [WAFER__RECORD_KIND__JOB_HELD] = "JOB_HELD",
    [WAFER__RECORD_KIND__JOB_RELEASED] = "JOB_RELEASED",
    [WAFER__RECORD_KIND__JOB_GRANTED] = "JOB_GRANTED",
    [WAFER__RECORD_KIND__JOB_STARTED] = "JOB_STARTED",
    [WAFER__RECORD_KIND__JOB_STOPPING] = "JOB_STOPPING",
    [WAFER__RECORD_KIND__JOB_SUSPENDED] = "JOB_SUSPENDED",
    [WAFER__RECORD_KIND__JOB_CONTINUED] = "JOB_CONTINUED",
    [WAFER__RECORD_KIND__ATTEMPT_ENDED] = "ATTEMPT_ENDED",
    [WAFER__RECORD_KIND__JOB_ENDED] = "JOB_ENDED",
    [WAFER__RECORD_KIND__JOB_ISOLATED] = "JOB_ISOLATED",
    [WAFER__RECORD_KIND__HOST_CHANGED] = "HOST_CHANGED",
    [WAFER__RECORD_KIND__STATE_RESTORED] = "STATE_RESTORED",
    [WAFER__RECORD_KIND__QUOTA_CHANGED] = "QUOTA_CHANGED",
    [WAFER__RECORD_KIND__JOB_UPDATED] = "JOB_UPDATED",
    [WAFER__RECORD_KIND__JOB_MOVED] = "JOB_MOVED",
    [WAFER__RECORD_KIND__DEPENDENCY_SETTLED] = "DEPENDENCY_SETTLED",
    [WAFER__RECORD_KIND__RESERVATION_CHANGED] = "RESERVATION_CHANGED",
    [WAFER__RECORD_KIND__RESERVATION_REMOVED] = "RESERVATION_REMOVED",
    [WAFER__RECORD_KIND__SETTINGS_CHANGED] = "SETTINGS_CHANGED",
    [WAFER__RECORD_KIND__NOTIFY_FAILED] = "NOTIFY_FAILED",
    [WAFER__RECORD_KIND__NOTIFY_DELIVERED] = "NOTIFY_DELIVERED",
    [WAFER__RECORD_KIND__NOTIFY_DROPPED] = "NOTIFY_DROPPED",
};

static const char *const checkpoint_kinds[] = {
    [WAFER__CHECKPOINT__STATE__WRITING] = "CHECKPOINT_WRITING",
    [WAFER__CHECKPOINT__STATE__INCOMPLETE] = "CHECKPOINT_INCOMPLETE",
    [WAFER__CHECKPOINT__STATE__WRITTEN] = "CHECKPOINT_WRITTEN",
    [WAFER__CHECKPOINT__STATE__COMMITTED] = "CHECKPOINT_COMMITTED",
    [WAFER__CHECKPOINT__STATE__VERIFIED] = "CHECKPOINT_VERIFIED",
    [WAFER__CHECKPOINT__STATE__CORRUPT] = "CHECKPOINT_CORRUPT",
    [WAFER__CHECKPOINT__STATE__DELETING] = "CHECKPOINT_DELETING",
    [WAFER__CHECKPOINT__STATE__DELETED] = "CHECKPOINT_DELETED",
};

static const char *const system_kinds[] = {
    [WAFER__SYSTEM__STATE__UP] = "SYSTEM_UP",
    [WAFER__SYSTEM__STATE__DOWN] = "SYSTEM_DOWN",
    [WAFER__SYSTEM__STATE__LOST] = "SYSTEM_LOST",
};

/* A later version may have written a state that is not in the table. */
#define NAME_IN(table, index) ((size_t)(index) < ELEMENTS(table) ? (table)[index] : NULL)

static const char *kind_of(const Wafer__Record *record)
{
    if (record->kind == WAFER__RECORD_KIND__CHECKPOINT_CHANGED && record->checkpoint)
        return NAME_IN(checkpoint_kinds, record->checkpoint->state);
    if (record->kind == WAFER__RECORD_KIND__SYSTEM_CHANGED && record->system)
        return record->system->drained ? "SYSTEM_DRAINED"
                                       : NAME_IN(system_kinds, record->system->state);
    if (record->kind == WAFER__RECORD_KIND__QUEUE_CHANGED && record->queue)
        return record->queue->stopped ? "QUEUE_STOPPED" : "QUEUE_STARTED";
    return NAME_IN(kinds, record->kind);
}

static const char *text_of(const Wafer__Record *record)
{
    if (record->text)
        return record->text;
    if (record->checkpoint)
        return record->checkpoint->detail;
    if (record->system)
        return record->system->reason;
    if (record->queue)
        return record->queue->name;
    if (record->host)
        return record->host->name;
    return record->job_state ? record->job_state->detail : NULL;
}

bool store_event_of(const Wafer__Record *record, Wafer__Event *ret, Wafer__Time *ret_at)
{
    const char *kind = kind_of(record);

    if (!kind)
        return false;
    wafer__time__init(ret_at);
    ret_at->us = record->time_us;
    wafer__event__init(ret);
    ret->sequence = record->sequence;
    ret->at = ret_at;
    ret->kind = (char *)kind;
    ret->has_job = record->job != 0;
    ret->job = record->job;
    ret->system = record->system ? record->system->name : NULL;
    ret->has_uid = record->has_uid;
    ret->uid = record->uid;
    ret->role = record->role;
    ret->has_cause = record->has_cause;
    ret->cause = record->cause;
    ret->text = (char *)text_of(record);
    return true;
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
    event.role = (char *)sqlite3_column_text(statement, 7);
    each(userdata, &event);
}

/* The submission of a job, or of the array that it is an element of, comes first. */
static int job_events(struct store *store, uint64_t job, size_t limit, event_fn each,
                      void *userdata, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = database_prepare(
        store->reader,
        "WITH origin AS (SELECT * FROM submission WHERE job <= ?1"
        " ORDER BY job DESC LIMIT 1)"
        "SELECT * FROM ("
        " SELECT sequence, time_us, kind, system, uid, cause, text, role FROM event"
        " WHERE job = ?1"
        " UNION ALL"
        " SELECT sequence, time_us, 'JOB_SUBMITTED', NULL, uid, cause, text, role FROM origin"
        " WHERE ?1 < job + count"
        " ORDER BY sequence DESC LIMIT ?2) ORDER BY sequence",
        &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, job);
    database_bind(statement, 2, limit);
    while ((r = database_next(store->reader, statement, diag)) > 0)
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
    int r = database_prepare(store->reader,
                             "SELECT first_sequence, count, records FROM journal"
                             " ORDER BY first_sequence DESC",
                             &statement, diag);

    if (r < 0)
        return r;
    while (tail->count < tail->limit && (r = database_next(store->reader, statement, diag)) > 0) {
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
