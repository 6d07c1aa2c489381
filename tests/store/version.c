#include "version.h"

#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"

#define SNAPSHOT_NAME "%s/snapshots/%020d.snap"
#define HEX_NAME      "snapshot.hex"

static void read_file(const char *path, struct buffer *ret)
{
    owned(fclose) FILE *file = fopen(path, "re");

    ck_assert_msg(file, "%s: %m", path);
    for (size_t got; (got = fread(buffer_reserve(ret, 65536), 1, 65536, file)) > 0;)
        buffer_grow(ret, got);
}

void version_write(const char *path, const void *bytes, size_t length)
{
    owned(fclose) FILE *file = fopen(path, "we");

    ck_assert_msg(file, "%s: %m", path);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
}

char *version_read(const char *kept, const char *name)
{
    owned(free) char *path = text_format("%s/%s", kept, name);
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    read_file(path, &text);
    return buffer_text(&text);
}

/* ---- the database ---- */

typedef void (*row_fn)(sqlite3_stmt *statement, FILE *out);

static void each_row(sqlite3 *database, const char *sql, row_fn say, FILE *out)
{
    sqlite3_stmt *statement;

    ck_assert_int_eq(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        say(statement, out);
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
}

static void say_line(sqlite3_stmt *statement, FILE *out)
{
    fprintf(out, "%s\n", sqlite3_column_text(statement, 0));
}

static void say_pragma(sqlite3_stmt *statement, FILE *out)
{
    fprintf(out, "PRAGMA %s=%s;\n", sqlite3_column_name(statement, 0),
            sqlite3_column_text(statement, 0));
}

/* A SELECT that makes an INSERT of each row. */
static char *inserts_of(sqlite3 *database, const char *table)
{
    owned(free) char *select = text_format("SELECT * FROM %s", table);
    owned(buffer_done) struct buffer sql = BUFFER_EMPTY;
    sqlite3_stmt *probe;

    ck_assert_int_eq(sqlite3_prepare_v2(database, select, -1, &probe, NULL), SQLITE_OK);
    buffer_format(&sql, "SELECT 'INSERT INTO %s VALUES (' ||", table);
    for (int i = 0; i < sqlite3_column_count(probe); i++)
        buffer_format(&sql, "%s quote(%s)", i ? " || ',' ||" : "", sqlite3_column_name(probe, i));
    buffer_format(&sql, " || ');' FROM %s", table);
    sqlite3_finalize(probe);
    return buffer_text(&sql);
}

static void say_object(sqlite3_stmt *statement, FILE *out)
{
    fprintf(out, "%s;\n", sqlite3_column_text(statement, 1));
    if (sqlite3_column_int(statement, 2)) {
        sqlite3 *database = sqlite3_db_handle(statement);
        owned(free) char *inserts =
            inserts_of(database, (const char *)sqlite3_column_text(statement, 0));
        each_row(database, inserts, say_line, out);
    }
}

static sqlite3 *open_state(const char *dir)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;

    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    return database;
}

static void keep_database(const char *dir, const char *kept)
{
    owned(free) char *path = text_format("%s/state.sql", kept);
    owned(fclose) FILE *out = fopen(path, "we");
    sqlite3 *database = open_state(dir);

    ck_assert_msg(out, "%s: %m", path);
    each_row(database, "PRAGMA application_id", say_pragma, out);
    each_row(database, "PRAGMA user_version", say_pragma, out);
    each_row(database, "SELECT name, sql, type = 'table' FROM sqlite_schema WHERE sql IS NOT NULL",
             say_object, out);
    sqlite3_close(database);
}

static void restore_database(const char *kept, const char *dir)
{
    owned(free) char *sql = version_read(kept, "state.sql");
    sqlite3 *database = open_state(dir);
    char *error = NULL;

    sqlite3_exec(database, sql, NULL, NULL, &error);
    ck_assert_msg(!error, "%s/state.sql: %s", kept, error);
    sqlite3_close(database);
}

/* ---- the snapshot ---- */

static void keep_snapshot(const char *dir, const char *kept)
{
    owned(free) char *from = text_format(SNAPSHOT_NAME, dir, VERSION_SNAPSHOT);
    owned(free) char *to = text_format("%s/" HEX_NAME, kept);
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
    owned(buffer_done) struct buffer hex = BUFFER_EMPTY;

    read_file(from, &bytes);
    for (size_t i = 0; i < bytes.length; i++)
        buffer_format(&hex, "%02x%s", buffer_data(&bytes)[i], i % 48 == 47 ? "\n" : "");
    buffer_append_text(&hex, "\n");
    version_write(to, buffer_data(&hex), hex.length);
}

static void restore_snapshot(const char *kept, const char *dir)
{
    owned(free) char *folder = text_format("%s/snapshots", dir);
    owned(free) char *path = text_format(SNAPSHOT_NAME, dir, VERSION_SNAPSHOT);
    owned(free) char *hex = version_read(kept, HEX_NAME);
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
    unsigned byte;

    for (const char *at = hex; sscanf(at, " %2x", &byte) == 1;) {
        uint8_t one = (uint8_t)byte;
        buffer_append(&bytes, &one, 1);
        at += strspn(at, "\n") + 2;
    }
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    version_write(path, buffer_data(&bytes), bytes.length);
}

void version_keep(const char *dir, const char *kept)
{
    keep_database(dir, kept);
    keep_snapshot(dir, kept);
}

void version_restore(const char *kept, const char *dir)
{
    restore_database(kept, dir);
    restore_snapshot(kept, dir);
}

/* ---- what a store tells ---- */

static void on_reset(void *userdata)
{
    buffer_format(userdata, "reset\n");
}

static int on_item(void *userdata, const Wafer__SnapshotItem *item, struct diag *diag)
{
    ck_assert_ptr_nonnull(diag);
    if (item->header)
        buffer_format(userdata, "snapshot of %llu\n", (unsigned long long)item->header->sequence);
    if (item->job)
        buffer_format(userdata, "job %llu state %d epoch %llu\n", (unsigned long long)item->job->id,
                      (int)item->job->state, (unsigned long long)item->job->epoch);
    return 0;
}

static int on_items_end(void *userdata, struct diag *diag)
{
    ck_assert_ptr_nonnull(diag);
    buffer_format(userdata, "items end\n");
    return 0;
}

static int on_record(void *userdata, const Wafer__Record *record, struct diag *diag)
{
    ck_assert_ptr_nonnull(diag);
    buffer_format(userdata, "record %llu at %lld kind %d job %llu",
                  (unsigned long long)record->sequence, (long long)record->time_us,
                  (int)record->kind, (unsigned long long)record->job);
    if (record->job_state)
        buffer_format(userdata, " state %d", (int)record->job_state->state);
    if (record->checkpoint)
        buffer_format(userdata, " checkpoint %llu shards %zu",
                      (unsigned long long)record->checkpoint->number, record->checkpoint->n_shards);
    if (record->system)
        buffer_format(userdata, " system %s", record->system->name);
    if (record->text)
        buffer_format(userdata, " '%s'", record->text);
    buffer_format(userdata, "\n");
    return 0;
}

static void on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why)
{
    buffer_format(userdata, "unreadable %llu of job %llu: %s\n", (unsigned long long)sequence,
                  (unsigned long long)job, why);
}

static void on_note(void *userdata, const char *text)
{
    buffer_format(userdata, "note %s\n", text);
}

static const struct store_load_ops ops = {
    .reset = on_reset,
    .item = on_item,
    .items_end = on_items_end,
    .record = on_record,
    .unreadable = on_unreadable,
    .note = on_note,
};

static void on_event(void *userdata, const Wafer__Event *event)
{
    buffer_format(userdata, "event %llu %s job %llu system %s cause %d '%s'\n",
                  (unsigned long long)event->sequence, event->kind, (unsigned long long)event->job,
                  event->system ? event->system : "-", event->has_cause ? (int)event->cause : -1,
                  event->text ? event->text : "");
}

static void say_checkpoints(struct store *store, uint64_t job, struct buffer *said)
{
    Wafer__CheckpointState **checkpoints;
    struct diag diag;
    size_t count;

    ck_assert_int_eq(store_history_checkpoints(store, job, &checkpoints, &count, &diag), 0);
    for (size_t i = 0; i < count; i++)
        buffer_format(said, "checkpoint %llu at step %llu state %d\n",
                      (unsigned long long)checkpoints[i]->number,
                      (unsigned long long)checkpoints[i]->step, (int)checkpoints[i]->state);
    store_checkpoints_free(checkpoints, count);
}

struct say_jobs {
    struct store *store;
    struct buffer *said;
};

static void on_job(void *userdata, const Wafer__Job *view)
{
    struct say_jobs *jobs = userdata;
    owned(store_job_done) struct store_job job = { .view = NULL };
    struct diag diag;

    ck_assert_msg(store_history_job(jobs->store, view->id, &job, &diag) == 0, "%s", diag.text);
    buffer_format(jobs->said, "ended %llu %s uid %u state %d last %s spec '%.*s'\n",
                  (unsigned long long)view->id, view->name, view->uid, (int)job.state->state,
                  view->checkpoint ? view->checkpoint->last_good_id : "-", (int)job.spec.len,
                  job.spec.data ? (const char *)job.spec.data : "");
    say_checkpoints(jobs->store, view->id, jobs->said);
    ck_assert_int_eq(store_history_events(jobs->store, view->id, 100, on_event, jobs->said, &diag),
                     0);
}

void version_say(const char *dir, struct buffer *said)
{
    struct store *store;
    struct diag diag = { "" };
    uint64_t total;

    ck_assert_msg(store_open(dir, &store, &diag) == 0, "%s", diag.text);
    ck_assert_msg(store_load(store, &ops, said, &diag) == 0, "%s", diag.text);
    struct say_jobs jobs = { .store = store, .said = said };
    ck_assert_msg(store_history_jobs(store, true, 0, 100, on_job, &jobs, &total, &diag) == 0, "%s",
                  diag.text);
    ck_assert_msg(store_history_events(store, 0, 100, on_event, said, &diag) == 0, "%s", diag.text);
    store_close(store);
}
