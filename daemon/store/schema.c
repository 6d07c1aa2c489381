#include "store/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/memory.h"
#include "store/database.h"

#define APPLICATION_ID 0x57464452 /* "WFDR" */

/* steps[n] makes version n + 1 from version n. A step is never changed once it is released: a new
 * version adds one, and the directory of each older version stays in tests/store/. */
static const char *const steps[] = {
    /* journal   the chain before the records, so that reading it follows no overflow pages
     * event     what people read, by job; events of nobody's job are read from the journal
     * spec      appended, found by number: keyed by digest each submission would dirty a page of
     *           its own, which costs more than the rest of its commit
     * submission  by the first job of an array: a job's spec and its first event, which has no
     *           row in `event` because submissions come in thousands a second
     * ended     how many jobs of a user are in `job`, since counting would read them all */
    "CREATE TABLE journal (first_sequence INTEGER PRIMARY KEY, count INTEGER NOT NULL,"
    " chain BLOB NOT NULL, records BLOB NOT NULL) STRICT;"
    "CREATE TABLE event (job INTEGER NOT NULL, sequence INTEGER NOT NULL,"
    " time_us INTEGER NOT NULL, kind TEXT NOT NULL, system TEXT, uid INTEGER, cause INTEGER,"
    " text TEXT, PRIMARY KEY (job, sequence)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE spec (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;"
    "CREATE TABLE submission (job INTEGER PRIMARY KEY, count INTEGER NOT NULL,"
    " spec INTEGER NOT NULL, sequence INTEGER NOT NULL, time_us INTEGER NOT NULL, uid INTEGER,"
    " cause INTEGER, text TEXT) STRICT;"
    "CREATE TABLE job (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, name TEXT,"
    " view BLOB NOT NULL, state BLOB NOT NULL) STRICT;"
    "CREATE INDEX job_by_name ON job (uid, name);"
    "CREATE INDEX job_by_uid ON job (uid);"
    "CREATE TABLE ended (uid INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;"
    "CREATE TABLE checkpoint (number INTEGER PRIMARY KEY, job INTEGER NOT NULL,"
    " step INTEGER NOT NULL, body BLOB NOT NULL) STRICT;"
    "CREATE INDEX checkpoint_by_job ON checkpoint (job, step);",
    /* updated   the newest spec of a job that no longer has that of its submission
     * attempt   what the event ended, if it ended one; in its row, since jobs end by the thousand
     */
    "CREATE TABLE updated (job INTEGER PRIMARY KEY, spec INTEGER NOT NULL) STRICT;"
    "ALTER TABLE event ADD COLUMN attempt BLOB;"
    /* copy      a row in it, in a copy that was made by store_backup() and that nobody has run yet
     */
    "CREATE TABLE copy (made_us INTEGER NOT NULL) STRICT;",
    /* role      the one that somebody chose to act with */
    "ALTER TABLE event ADD COLUMN role TEXT; ALTER TABLE submission ADD COLUMN role TEXT;",
};

#define VERSION ((int64_t)ELEMENTS(steps))

static int run_step(sqlite3 *database, int64_t version, struct diag *diag)
{
    char stamp[96];

    snprintf(stamp, sizeof(stamp), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             APPLICATION_ID, (int)version + 1);
    int r = database_run(database, "BEGIN IMMEDIATE", diag);
    if (r < 0)
        return r;
    r = database_run(database, steps[version], diag);
    if (r >= 0)
        r = database_run(database, stamp, diag);
    if (r >= 0)
        r = database_run(database, "COMMIT", diag);
    if (r < 0 && !sqlite3_get_autocommit(database))
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one told */
    return r;
}

static int check_owner(sqlite3 *database, int64_t version, struct diag *diag)
{
    int64_t application, objects;
    int r = database_integer(database, "PRAGMA application_id", 0, &application, diag);

    if (r >= 0)
        r = database_integer(database, "SELECT count(*) FROM sqlite_schema", 0, &objects, diag);
    if (r < 0)
        return r;
    if (application != APPLICATION_ID && (version || objects))
        return diag_fail(diag, -EBADMSG,
                         "%s is a database of another program: choose another directory",
                         sqlite3_db_filename(database, "main"));
    return 0;
}

int schema_upgrade(sqlite3 *database, struct diag *diag)
{
    int64_t version;
    int r = database_integer(database, "PRAGMA user_version", 0, &version, diag);

    if (r < 0)
        return r;
    r = check_owner(database, version, diag);
    if (r < 0)
        return r;
    if (version < 0 || version > VERSION)
        return diag_fail(diag, -EBADMSG,
                         "%s has format %lld, written by a newer version; this one reads up to "
                         "%lld: install the newer version again",
                         sqlite3_db_filename(database, "main"), (long long)version,
                         (long long)VERSION);
    for (; version < VERSION; version++) {
        r = run_step(database, version, diag);
        if (r < 0)
            return r;
    }
    return 0;
}

int64_t schema_version(void)
{
    return VERSION;
}
