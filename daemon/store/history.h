/* history — the tables that answer questions about what has been, filled in the transaction of the
 * records they come from. */
#ifndef WAFERD_STORE_HISTORY_H
#define WAFERD_STORE_HISTORY_H

#include <sqlite3.h>

#include "base/diag.h"
#include "record.pb-c.h"

struct history;

int history_new(sqlite3 *database, struct history **ret, struct diag *diag);
struct history *history_free(struct history *history); /* always NULL */

/* Within the transaction that journals the record. */
int history_add(struct history *history, const Wafer__Record *record, struct diag *diag);

/* The transaction was rolled back: what it added is not there. */
void history_rolled_back(struct history *history);

#endif
