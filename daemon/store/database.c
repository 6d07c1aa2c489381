#include "store/database.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"

#define BUSY_MS 10000 /* somebody may look into the file with a shell */

/* What the system said. SQLite forgets it when a COMMIT fails, errno does not. */
static int system_error(sqlite3 *database)
{
    int error = sqlite3_system_errno(database);

    return error ? error : errno;
}

/* A write that found no room may be tried again. A failed sync may not, whatever its errno: what it
 * was to sync may be lost though a second one would succeed. */
static int error_of_io(int result, int error)
{
    bool wrote = result == SQLITE_IOERR_WRITE || result == SQLITE_IOERR_SHMSIZE;

    return wrote && (error == ENOSPC || error == EDQUOT || error == EFBIG) ? -ENOSPC : -EIO;
}

static int error_of(int result, int error)
{
    switch (result & 0xff) {
    case SQLITE_FULL: return -ENOSPC;
    case SQLITE_IOERR: return error_of_io(result, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return -EBADMSG;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return -EBUSY;
    case SQLITE_READONLY: return -EROFS;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: return error ? -error : -EACCES;
    default: return -EIO;
    }
}

int database_fail(sqlite3 *database, int result, struct diag *diag)
{
    int cause = system_error(database);

    /* Memory that cannot be had ends the process, and a misuse is our own bug. */
    assert(result != SQLITE_NOMEM && result != SQLITE_MISUSE && result != SQLITE_RANGE);

    const char *path = sqlite3_db_filename(database, "main");
    const char *name = path ? path : "state.db";
    int error = error_of(result, cause);

    if (error == -EBADMSG)
        return diag_fail(diag, error,
                         "%s is damaged (%s): move it and its -wal file aside and put a copy of "
                         "the whole directory in its place",
                         name, sqlite3_errmsg(database));
    if (error == -ENOSPC)
        return diag_fail(diag, error, "%s cannot grow: no space left on its file system or quota",
                         name);
    return diag_fail(diag, error, "%s: %s%s%s", name, sqlite3_errmsg(database), cause ? ": " : "",
                     cause ? strerror(cause) : "");
}

int database_run(sqlite3 *database, const char *sql, struct diag *diag)
{
    errno = 0;
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : database_fail(database, result, diag);
}

int database_prepare(sqlite3 *database, const char *sql, sqlite3_stmt **ret, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);

    if (result != SQLITE_OK)
        return database_fail(database, result, diag);
    *ret = statement;
    return 0;
}

int database_step(sqlite3 *database, sqlite3_stmt *statement, struct diag *diag)
{
    int r = 0;

    errno = 0;
    int result = sqlite3_step(statement);

    /* The sentence before the reset: it may overwrite what SQLite remembers. */
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        r = database_fail(database, result, diag);
    sqlite3_reset(statement);
    return r;
}

int database_next(sqlite3 *database, sqlite3_stmt *statement, struct diag *diag)
{
    errno = 0;
    int result = sqlite3_step(statement);

    if (result == SQLITE_ROW)
        return 1;
    if (result == SQLITE_DONE)
        return 0;
    return database_fail(database, result, diag);
}

int database_integer(sqlite3 *database, const char *sql, int64_t none, int64_t *ret,
                     struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = database_prepare(database, sql, &statement, diag);

    if (r < 0)
        return r;
    r = database_next(database, statement, diag);
    if (r < 0)
        return r;
    *ret = r ? sqlite3_column_int64(statement, 0) : none;
    return 0;
}

static int open_connection(const char *path, int flags, sqlite3 **ret, struct diag *diag)
{
    owned(database_close) sqlite3 *database = NULL;

    errno = 0;
    int result =
        sqlite3_open_v2(path, &database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    assert(database);
    if (result != SQLITE_OK)
        return database_fail(database, result, diag);
    sqlite3_busy_timeout(database, BUSY_MS);
    *ret = TAKE(database);
    return 0;
}

static int want_wal(sqlite3 *database, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    int r = database_prepare(database, "PRAGMA journal_mode=WAL", &statement, diag);

    if (r < 0)
        return r;
    r = database_next(database, statement, diag);
    if (r < 0)
        return r;
    const char *mode = (const char *)sqlite3_column_text(statement, 0);
    if (!mode || strcmp(mode, "wal"))
        return diag_fail(diag, -EOPNOTSUPP,
                         "%s: its file system has no shared memory maps, which the journal needs: "
                         "choose a directory on a local file system",
                         sqlite3_db_filename(database, "main"));
    return 0;
}

int database_open(const char *path, sqlite3 **ret, struct diag *diag)
{
    owned(database_close) sqlite3 *database = NULL;
    int r = open_connection(path, SQLITE_OPEN_READWRITE, &database, diag);

    if (r < 0)
        return r;
    r = want_wal(database, diag);
    if (r < 0)
        return r;
    /* Checkpoints by hand: SQLite would ignore a failure of its own. */
    r = database_run(database,
                     "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY;"
                     "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=67108864;"
                     "PRAGMA cache_size=-32768",
                     diag);
    if (r < 0)
        return r;
    *ret = TAKE(database);
    return 0;
}

int database_open_reader(const char *path, sqlite3 **ret, struct diag *diag)
{
    return open_connection(path, SQLITE_OPEN_READONLY, ret, diag);
}

int database_open_unused(const char *path, sqlite3 **ret, struct diag *diag)
{
    owned(buffer_done) struct buffer uri = BUFFER_EMPTY;

    buffer_append_text(&uri, "file:");
    for (const char *c = path; *c; c++)
        buffer_format(&uri, strchr("?#%", *c) ? "%%%02x" : "%c", (unsigned char)*c);
    buffer_append_text(&uri, "?immutable=1");
    owned(free) char *text = buffer_text(&uri);
    return open_connection(text, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret, diag);
}

sqlite3 *database_close(sqlite3 *database)
{
    int result = sqlite3_close(database);

    assert(result == SQLITE_OK); /* else a statement was forgotten */
    return NULL;
}

sqlite3 *database_abandon(sqlite3 *database)
{
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return database_close(database);
}

void database_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    int result = sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);

    assert(result == SQLITE_OK);
}

void database_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t length)
{
    /* SQLite takes a NULL pointer for NULL, also when the length is 0. */
    int result = sqlite3_bind_blob64(statement, index, length ? bytes : "", length, SQLITE_STATIC);

    assert(result == SQLITE_OK);
}

void database_bind(sqlite3_stmt *statement, int index, uint64_t number)
{
    int result = sqlite3_bind_int64(statement, index, (sqlite3_int64)number);

    assert(result == SQLITE_OK);
}
