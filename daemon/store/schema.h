/* schema — the tables of state.db, and how an older version becomes the current one. */
#ifndef WAFERD_STORE_SCHEMA_H
#define WAFERD_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/diag.h"

/* Create or upgrade, each step in a transaction of its own.
 * -EBADMSG  written by a newer version, or no database of ours */
int schema_upgrade(sqlite3 *database, struct diag *diag);

/* What this program reads and writes. */
int64_t schema_version(void);

#endif
