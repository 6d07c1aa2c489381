#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/inside.h"

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
    return protobuf_c_message_unpack(descriptor, NULL,
                                     (size_t)sqlite3_column_bytes(statement, column),
                                     sqlite3_column_blob(statement, column));
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

static bool is_good(const Wafer__CheckpointState *checkpoint)
{
    return checkpoint->state == WAFER__CHECKPOINT__STATE__COMMITTED ||
           checkpoint->state == WAFER__CHECKPOINT__STATE__VERIFIED;
}

static Wafer__Job__LastCheckpoint *last_checkpoint_new(const Wafer__CheckpointState *checkpoint)
{
    Wafer__Job__LastCheckpoint *last = NEW(Wafer__Job__LastCheckpoint);

    wafer__job__last_checkpoint__init(last);
    last->last_good_id = text_format("%" PRIu64 "@%" PRIu64 ".%" PRIu64, checkpoint->job,
                                     checkpoint->step, checkpoint->fence->epoch);
    last->has_last_good_step = true;
    last->last_good_step = checkpoint->step;
    last->at = NEW(Wafer__Time);
    wafer__time__init(last->at);
    last->at->us = checkpoint->created_us;
    last->has_bytes = true;
    for (size_t i = 0; i < checkpoint->n_shards; i++)
        last->bytes += checkpoint->shards[i]->bytes;
    last->has_verified = true;
    last->verified = checkpoint->state == WAFER__CHECKPOINT__STATE__VERIFIED;
    return last;
}

/* A job has ended for good, its checkpoints have not: they are verified, found corrupt or removed
 * later. So the view as it was at the end is brought up to date here. */
static int refresh(struct store *store, Wafer__Job *view, struct diag *diag)
{
    Wafer__CheckpointState **checkpoints;
    size_t count;
    int r = store_history_checkpoints(store, view->id, &checkpoints, &count, diag);

    if (r < 0)
        return r;
    if (view->checkpoint)
        protobuf_c_message_free_unpacked(&view->checkpoint->base, NULL);
    view->checkpoint = NULL;
    for (size_t i = count; i-- > 0 && !view->checkpoint;)
        if (is_good(checkpoints[i]))
            view->checkpoint = last_checkpoint_new(checkpoints[i]);
    store_checkpoints_free(checkpoints, count);
    return 0;
}

void store_job_done(struct store_job *job)
{
    wafer__job__free_unpacked(job->view, NULL);
    wafer__job_state__free_unpacked(job->state, NULL);
    free(job->spec.data);
    *job = (struct store_job){ .view = NULL };
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
    if (!job->view || !job->state)
        return fail_malformed("job", id, diag);
    return refresh(store, job->view, diag);
}

/* What it was updated to, or what the submission had: its own, or of the array that it is an
 * element of. */
static int read_spec(struct store *store, uint64_t id, ProtobufCBinaryData *spec, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store,
                    "SELECT body FROM spec WHERE number = coalesce("
                    "(SELECT spec FROM updated WHERE job = ?1),"
                    " (SELECT CASE WHEN ?1 < job + count"
                    " THEN spec END FROM submission WHERE job <= ?1 ORDER BY job DESC LIMIT 1))",
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

int store_history_submission(struct store *store, uint64_t id, uint64_t *ret_count)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store, "SELECT count FROM submission WHERE job = ?1", &statement, NULL);

    if (r < 0)
        return r;
    database_bind(statement, 1, id);
    r = next(store, statement, NULL);
    if (r < 0)
        return r;
    *ret_count = r > 0 ? (uint64_t)sqlite3_column_int64(statement, 0) : 1;
    return 0;
}

int store_history_range(struct store *store, uint64_t first, uint64_t count,
                        void (*each)(void *userdata, const Wafer__Job *view,
                                     const Wafer__JobState *state),
                        void *userdata, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = prepare(store, "SELECT view, state, id FROM job WHERE id >= ?1 AND id < ?1 + ?2",
                    &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, first);
    database_bind(statement, 2, count);
    while ((r = next(store, statement, diag)) > 0) {
        owned(store_job_done) struct store_job job = { .view = NULL };
        job.view = (Wafer__Job *)unpack(statement, 0, &wafer__job__descriptor);
        job.state = (Wafer__JobState *)unpack(statement, 1, &wafer__job_state__descriptor);
        if (!job.view || !job.state)
            return fail_malformed("job", (uint64_t)sqlite3_column_int64(statement, 2), diag);
        each(userdata, job.view, job.state);
    }
    return r;
}

/* ---- what a job has been through ---- */

static int emit_past(sqlite3_stmt *statement, uint64_t job, const struct store_past_ops *ops,
                     void *userdata, struct diag *diag)
{
    const char *kind = (const char *)sqlite3_column_text(statement, 1);

    if (sqlite3_column_type(statement, 2) != SQLITE_NULL) {
        Wafer__AttemptState *attempt =
            (Wafer__AttemptState *)unpack(statement, 2, &wafer__attempt_state__descriptor);
        if (!attempt)
            return fail_malformed("an attempt of job", job, diag);
        ops->attempt(userdata, attempt);
        wafer__attempt_state__free_unpacked(attempt, NULL);
    } else {
        ops->hold(userdata, sqlite3_column_int64(statement, 0), strcmp(kind, "JOB_HELD") == 0);
    }
    return 0;
}

int store_history_past(struct store *store, uint64_t job, const struct store_past_ops *ops,
                       void *userdata, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r =
        prepare(store,
                "WITH origin AS (SELECT * FROM submission WHERE job <= ?1"
                " ORDER BY job DESC LIMIT 1)"
                " SELECT time_us, 'JOB_HELD', NULL, sequence FROM origin"
                " WHERE ?1 < job + count AND text = 'held'"
                " UNION ALL SELECT time_us, kind, attempt, sequence FROM event WHERE job = ?1"
                " AND (attempt IS NOT NULL OR kind IN ('JOB_HELD', 'JOB_RELEASED', 'JOB_MOVED'))"
                " ORDER BY 4",
                &statement, diag);

    if (r < 0)
        return r;
    database_bind(statement, 1, job);
    while ((r = next(store, statement, diag)) > 0) {
        r = emit_past(statement, job, ops, userdata, diag);
        if (r < 0)
            return r;
    }
    return r;
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
        r = refresh(store, view, diag);
        if (r >= 0)
            each(userdata, view);
        wafer__job__free_unpacked(view, NULL);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : count_jobs(store, all, uid, ret_total, diag);
}
