#include "store/history.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/store.h"

/* Specs seen lately are shared. One that fell out of here is stored once more, which costs room
 * but no reading. */
#define SPEC_SLOTS 4096

struct spec_slot {
    struct digest digest;
    int64_t number; /* 0: empty */
};

enum statement {
    ADD_EVENT,
    ADD_SPEC,
    ADD_SUBMISSION,
    PUT_UPDATED,
    ADD_JOB,
    CHANGE_JOB,
    COUNT_JOB,
    PUT_CHECKPOINT,
    DELETE_CHECKPOINT,
    FORGET_COPY,
    STATEMENTS,
};

static const char *const sql[STATEMENTS] = {
    [ADD_EVENT] =
        "INSERT INTO event (job, kind, system, sequence, time_us, uid, cause, text, role, attempt)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [ADD_SPEC] = "INSERT INTO spec (body) VALUES (?1)",
    [ADD_SUBMISSION] = "INSERT INTO submission VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [PUT_UPDATED] = "INSERT OR REPLACE INTO updated VALUES (?1, ?2)",
    [CHANGE_JOB] = "UPDATE job SET view = ?4, state = ?5 WHERE id = ?1",
    [ADD_JOB] = "INSERT INTO job VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
    [COUNT_JOB] = "INSERT INTO ended VALUES (?1, 1) ON CONFLICT DO UPDATE SET count = count + 1",
    [PUT_CHECKPOINT] = "INSERT INTO checkpoint VALUES (?1, ?2, ?3, ?4)"
                       " ON CONFLICT DO UPDATE SET step = ?3, body = ?4",
    [FORGET_COPY] = "DELETE FROM copy",
    [DELETE_CHECKPOINT] = "DELETE FROM checkpoint WHERE number = ?1",
};

struct history {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    struct spec_slot *specs;
    struct buffer packed, packed_state;
};

OWNED_DEFINE(history_free, struct history *);

int history_new(sqlite3 *database, struct history **ret, struct diag *diag)
{
    owned(history_free) struct history *history = NEW(struct history);

    history->database = database;
    history->specs = memory_new(SPEC_SLOTS * sizeof(*history->specs));
    for (int i = 0; i < STATEMENTS; i++) {
        int r = database_prepare(database, sql[i], &history->statements[i], diag);
        if (r < 0)
            return r;
    }
    *ret = TAKE(history);
    return 0;
}

struct history *history_free(struct history *history)
{
    if (!history)
        return NULL;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(history->statements[i]);
    buffer_done(&history->packed);
    buffer_done(&history->packed_state);
    free(history->specs);
    free(history);
    return NULL;
}

void history_rolled_back(struct history *history)
{
    for (int i = 0; i < SPEC_SLOTS; i++)
        history->specs[i].number = 0;
}

static int step(struct history *history, enum statement which, struct diag *diag)
{
    return database_step(history->database, history->statements[which], diag);
}

static void pack(struct buffer *buffer, const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);

    buffer_clear(buffer);
    protobuf_c_message_pack(message, buffer_reserve(buffer, length));
    buffer_grow(buffer, length);
}

static void bind_optional(sqlite3_stmt *statement, int index, bool has, uint64_t number)
{
    if (has)
        database_bind(statement, index, number);
    else
        sqlite3_bind_null(statement, index);
}

/* The last columns of both tables that hold events. */
static void bind_event(sqlite3_stmt *statement, const Wafer__Event *event)
{
    database_bind(statement, 4, event->sequence);
    database_bind(statement, 5, (uint64_t)event->at->us);
    bind_optional(statement, 6, event->has_uid, event->uid);
    bind_optional(statement, 7, event->has_cause, event->cause);
    database_bind_text(statement, 8, event->text);
    database_bind_text(statement, 9, event->role);
}

static int add_event(struct history *history, const Wafer__Event *event,
                     const Wafer__AttemptState *attempt, struct diag *diag)
{
    sqlite3_stmt *statement = history->statements[ADD_EVENT];

    sqlite3_bind_null(statement, 10);
    if (attempt) {
        pack(&history->packed, &attempt->base);
        database_bind_bytes(statement, 10, buffer_data(&history->packed), history->packed.length);
    }

    database_bind(statement, 1, event->job);
    database_bind_text(statement, 2, event->kind);
    database_bind_text(statement, 3, event->system);
    bind_event(statement, event);
    return step(history, ADD_EVENT, diag);
}

static int add_spec(struct history *history, ProtobufCBinaryData spec, int64_t *ret_number,
                    struct diag *diag)
{
    struct digest digest;

    digest_of(spec.data, spec.len, &digest);
    size_t place = (digest.bytes[0] | (size_t)digest.bytes[1] << 8) % SPEC_SLOTS;
    struct spec_slot *slot = &history->specs[place];
    if (!slot->number || !digest_is_equal(&slot->digest, &digest)) {
        database_bind_bytes(history->statements[ADD_SPEC], 1, spec.data, spec.len);
        int r = step(history, ADD_SPEC, diag);
        if (r < 0)
            return r;
        slot->digest = digest;
        slot->number = sqlite3_last_insert_rowid(history->database);
    }
    *ret_number = slot->number;
    return 0;
}

static int add_submission(struct history *history, const Wafer__Record *record,
                          const Wafer__Event *event, struct diag *diag)
{
    sqlite3_stmt *statement = history->statements[ADD_SUBMISSION];
    int64_t spec = 0;
    int r = add_spec(history, record->spec, &spec, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, record->job);
    database_bind(statement, 2, record->array_count ? record->array_count : 1);
    database_bind(statement, 3, (uint64_t)spec);
    bind_event(statement, event);
    return step(history, ADD_SUBMISSION, diag);
}

static int put_updated(struct history *history, const Wafer__Record *record, struct diag *diag)
{
    sqlite3_stmt *statement = history->statements[PUT_UPDATED];
    int64_t spec = 0;
    int r = add_spec(history, record->spec, &spec, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, record->job);
    database_bind(statement, 2, (uint64_t)spec);
    return step(history, PUT_UPDATED, diag);
}

static int put_job(struct history *history, const Wafer__Record *record, enum statement which,
                   struct diag *diag)
{
    sqlite3_stmt *statement = history->statements[which];

    database_bind(statement, 1, record->job);
    if (which == ADD_JOB) {
        database_bind(statement, 2, record->job_state->uid);
        database_bind_text(statement, 3, record->view->name);
    }
    database_bind_bytes(statement, 4, buffer_data(&history->packed), history->packed.length);
    database_bind_bytes(statement, 5, buffer_data(&history->packed_state),
                        history->packed_state.length);
    return step(history, which, diag);
}

/* A job ends once, but a later record may bring a newer view of it. It is added first, because
 * most jobs bring no second view, and to look for a row that is not there costs a search. */
static int add_job(struct history *history, const Wafer__Record *record, struct diag *diag)
{
    pack(&history->packed, &record->view->base);
    pack(&history->packed_state, &record->job_state->base);
    int r = put_job(history, record, ADD_JOB, diag);
    if (r < 0)
        return r;
    if (!sqlite3_changes(history->database))
        return put_job(history, record, CHANGE_JOB, diag);
    database_bind(history->statements[COUNT_JOB], 1, record->job_state->uid);
    return step(history, COUNT_JOB, diag);
}

static int put_checkpoint(struct history *history, const Wafer__CheckpointState *checkpoint,
                          struct diag *diag)
{
    if (checkpoint->state == WAFER__CHECKPOINT__STATE__DELETED) {
        database_bind(history->statements[DELETE_CHECKPOINT], 1, checkpoint->number);
        return step(history, DELETE_CHECKPOINT, diag);
    }
    sqlite3_stmt *statement = history->statements[PUT_CHECKPOINT];
    pack(&history->packed, &checkpoint->base);
    database_bind(statement, 1, checkpoint->number);
    database_bind(statement, 2, checkpoint->job);
    database_bind(statement, 3, checkpoint->step);
    database_bind_bytes(statement, 4, buffer_data(&history->packed), history->packed.length);
    return step(history, PUT_CHECKPOINT, diag);
}

int history_add(struct history *history, const Wafer__Record *record, struct diag *diag)
{
    Wafer__Event event;
    Wafer__Time at;
    int r = 0;

    if (record->job && store_event_of(record, &event, &at))
        r = record->kind == WAFER__RECORD_KIND__JOB_SUBMITTED
                ? add_submission(history, record, &event, diag)
                : add_event(history, &event, record->attempt, diag);
    if (r >= 0 && record->kind == WAFER__RECORD_KIND__JOB_UPDATED && record->has_spec)
        r = put_updated(history, record, diag);
    if (r >= 0 && record->view && record->job_state)
        r = add_job(history, record, diag);
    if (r >= 0 && record->kind == WAFER__RECORD_KIND__STATE_RESTORED)
        r = step(history, FORGET_COPY, diag);
    if (r >= 0 && record->checkpoint)
        r = put_checkpoint(history, record->checkpoint, diag);
    return r;
}
