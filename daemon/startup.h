/* startup — from the journal to a core that knows what it knew. */
#ifndef WAFERD_STARTUP_H
#define WAFERD_STARTUP_H

#include "base/diag.h"

struct daemon;

/* Open vault and store, load, set the clock, recover; the first records are in the pipeline then.
 * Errors of vault_open(), store_open() and store_load(). */
int startup(struct daemon *daemon, struct diag *diag);

#endif
