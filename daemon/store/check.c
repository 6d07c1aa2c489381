/* Reading a whole state directory without changing it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/lock.h"
#include "store/row.h"
#include "store/schema.h"
#include "store/store.h"

struct checking {
    sqlite3 *database;
    struct store_check *ret;
    struct digest chain; /* of the row before */
    uint64_t next_sequence;
};

static void damage(struct checking *checking, const char *text)
{
    if (checking->ret->damaged++ == 0)
        diag_fail(&checking->ret->first_damage, 0, "%s", text);
}

/* One that nobody has open and that was closed in order is read without leaving a trace; else the
 * log has to be read too, as a running daemon's neighbour would. */
static int open_state(const char *path, bool held, sqlite3 **ret, struct diag *diag)
{
    owned(free) char *log = text_format("%s-wal", path);

    if (access(path, F_OK) < 0)
        return diag_fail(diag, -errno, "there is no state at %s: %s", path, strerror(errno));
    return !held && access(log, F_OK) < 0 ? database_open_unused(path, ret, diag)
                                          : database_open_reader(path, ret, diag);
}

/* ---- the journal ---- */

static int on_record(void *userdata, Wafer__Record *record, struct diag *diag)
{
    struct store_check *ret = ((struct checking *)userdata)->ret;

    if (record->time_us > ret->newest_us)
        ret->newest_us = record->time_us;
    if (record->clock)
        ret->speed = record->clock->speed;
    ret->records++;
    wafer__record__free_unpacked(record, NULL);
    return 0;
}

static int on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                         struct diag *diag)
{
    struct diag text;

    diag_fail(&text, 0, "record %" PRIu64 " of job %" PRIu64 " cannot be read: %s", sequence, job,
              why);
    damage(userdata, text.text);
    return 0;
}

static void check_row(struct checking *checking, const struct row *row)
{
    static const struct row_ops ops = { .record = on_record, .unreadable = on_unreadable };
    struct digest chain;
    struct diag why;
    uint64_t held = 0;

    row_chain(row, &checking->chain, &chain);
    if (row->first_sequence != checking->next_sequence)
        diag_fail(&why, 0, "after record %" PRIu64 " comes row %" PRIu64 ": some are missing",
                  checking->next_sequence - 1, row->first_sequence);
    else if (!digest_is_equal(&chain, &row->chain))
        diag_fail(&why, 0, "row %" PRIu64 ": its hash does not fit", row->first_sequence);
    else if (row_read(row, row->first_sequence, UINT64_MAX, &ops, checking, &held, &why) < 0)
        ; /* `why` has it */
    else if (held != row->count)
        diag_fail(&why, 0, "row %" PRIu64 " has %" PRIu64 " records, not %" PRIu64,
                  row->first_sequence, held, row->count);
    else
        why.text[0] = '\0';
    if (why.text[0])
        damage(checking, why.text);
    checking->ret->rows++;
    checking->chain = row->chain;
    checking->next_sequence = row->first_sequence + row->count;
    checking->ret->last_sequence = checking->next_sequence - 1;
}

static int check_journal(struct checking *checking, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = database_prepare(checking->database,
                             "SELECT first_sequence, count, chain, records FROM journal"
                             " ORDER BY first_sequence",
                             &statement, diag);

    checking->next_sequence = 1;
    while (r >= 0 && (r = database_next(checking->database, statement, diag)) > 0) {
        struct row row = {
            .first_sequence = (uint64_t)sqlite3_column_int64(statement, 0),
            .count = (uint64_t)sqlite3_column_int64(statement, 1),
            .records = sqlite3_column_blob(statement, 3),
            .length = (size_t)sqlite3_column_bytes(statement, 3),
        };
        if (sqlite3_column_bytes(statement, 2) == DIGEST_BYTES)
            memcpy(row.chain.bytes, sqlite3_column_blob(statement, 2), DIGEST_BYTES);
        check_row(checking, &row);
    }
    return r;
}

/* ---- the rest ---- */

static int check_checkpoints(struct checking *checking,
                             void (*each)(void *userdata, const Wafer__CheckpointState *checkpoint),
                             void *userdata, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = database_prepare(checking->database, "SELECT body FROM checkpoint ORDER BY job, step",
                             &statement, diag);

    while (r >= 0 && (r = database_next(checking->database, statement, diag)) > 0) {
        Wafer__CheckpointState *checkpoint = wafer__checkpoint_state__unpack(
            NULL, (size_t)sqlite3_column_bytes(statement, 0), sqlite3_column_blob(statement, 0));
        if (!checkpoint) {
            damage(checking, "a checkpoint in history is malformed");
            continue;
        }
        if (checkpoint->state == WAFER__CHECKPOINT__STATE__COMMITTED ||
            checkpoint->state == WAFER__CHECKPOINT__STATE__VERIFIED) {
            checking->ret->checkpoints++;
            if (each)
                each(userdata, checkpoint);
        }
        wafer__checkpoint_state__free_unpacked(checkpoint, NULL);
    }
    return r;
}

static int check_version(struct checking *checking, struct diag *diag)
{
    struct store_check *ret = checking->ret;
    int64_t copies = 0;

    ret->version_known = schema_version();
    int r = database_integer(checking->database, "PRAGMA user_version", 0, &ret->version, diag);
    if (r < 0 || ret->version < 2 || ret->version > ret->version_known)
        return r;
    r = database_integer(checking->database, "SELECT count(*) FROM copy", 0, &copies, diag);
    ret->is_copy = copies > 0;
    return r;
}

int store_check(const char *dir,
                void (*checkpoint)(void *userdata, const Wafer__CheckpointState *checkpoint),
                void *userdata, struct store_check *ret, struct diag *diag)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    owned(database_close) sqlite3 *database = NULL;
    struct checking checking = { .ret = ret };

    *ret = (struct store_check){ .holder = lock_holder(dir) };
    int r = open_state(path, ret->holder > 0, &database, diag);
    if (r < 0)
        return r;
    /* One moment for all of it. */
    checking.database = database;
    r = database_run(database, "BEGIN", diag);
    if (r >= 0)
        r = check_version(&checking, diag);
    if (r < 0 || ret->version < 1 || ret->version > ret->version_known)
        return r;
    r = check_journal(&checking, diag);
    return r < 0 ? r : check_checkpoints(&checking, checkpoint, userdata, diag);
}
