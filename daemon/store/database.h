/* database — opening SQLite as the store wants it, and what its errors mean.
 *
 * Errors  SQLite's result codes become a negative errno with a sentence: -ENOSPC for a full disk or
 *         quota, -EBADMSG for a damaged file, -EBUSY for a lock, -EROFS or -EACCES for what may not
 *         be written, -EIO for everything that a disk can do wrong */
#ifndef WAFERD_STORE_DATABASE_H
#define WAFERD_STORE_DATABASE_H

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "base/digest.h"

/* For the one connection that writes: WAL, synchronous=FULL, secure_delete, checkpoints by hand. */
int database_open(const char *path, sqlite3 **ret, struct diag *diag);
/* For a second connection, which sees what has been committed. */
int database_open_reader(const char *path, sqlite3 **ret, struct diag *diag);
/* To look at a file that no process has open and that has no log: leaves no trace beside it. */
int database_open_unused(const char *path, sqlite3 **ret, struct diag *diag);
sqlite3 *database_close(sqlite3 *database); /* always NULL */
/* After a failed sync: leave the files exactly as they are. */
sqlite3 *database_abandon(sqlite3 *database);
OWNED_DEFINE(database_close, sqlite3 *);
OWNED_DEFINE(sqlite3_finalize, sqlite3_stmt *);

int database_run(sqlite3 *database, const char *sql, struct diag *diag);
int database_prepare(sqlite3 *database, const char *sql, sqlite3_stmt **ret, struct diag *diag);
/* The single integer that `sql` gives; `none` when it gives no row. */
int database_integer(sqlite3 *database, const char *sql, int64_t none, int64_t *ret,
                     struct diag *diag);

/* Run a statement that gives no rows and make it ready for the next time. */
int database_step(sqlite3 *database, sqlite3_stmt *statement, struct diag *diag);
/* 1 when there is a row, 0 at the end. */
int database_next(sqlite3 *database, sqlite3_stmt *statement, struct diag *diag);

/* The errno and the sentence of a call that just failed, with errno as it was left; set it to 0
 * before the call. */
int database_fail(sqlite3 *database, int result, struct diag *diag);

/* Text and bytes that stay valid until the statement is reset; NULL text binds NULL. */
void database_bind_text(sqlite3_stmt *statement, int index, const char *text);
void database_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t length);
void database_bind(sqlite3_stmt *statement, int index, uint64_t number);

#endif
