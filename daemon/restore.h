/* restore — no id or term is given twice, also when the state is put back from an older copy.
 *
 * A copy has forgotten what was given out after it was made, and no journal has it any more. So the
 * vault, which is not the state's and is not put back with it, holds a floor: no job id at or above
 * it, and no term above its own, was ever given. It is raised by a block before the first id of
 * that block can leave, since answers leave only after their records, and it is raised before those
 * are queued. A copy knows that it is one (store_is_copy()) until the first record of its new life:
 *
 *   - it gives ids from the floor on, so that an id names one job for ever
 *   - it opens a term above the floor's, so that every fence of before is a stranger's: agents are
 *     told to kill what they run under one, and what they write is not taken
 *   - it waits first until the lease of every agent has run out, as nobody renews it: then nothing
 *     runs any more, and what the copy takes for running can begin anew
 *
 * Killed at any moment before that record is durable, the next start does the same again. */
#ifndef WAFERD_RESTORE_H
#define WAFERD_RESTORE_H

#include <stdbool.h>

#include "base/diag.h"

struct daemon;

/* After the state was loaded: is it a copy that nobody has run yet? Then wait as said. */
int restore_prepare(struct daemon *daemon, bool *ret_is_copy, struct diag *diag);

/* Its first records, before core_recover(). */
int restore_begin(struct daemon *daemon, struct diag *diag);

/* Before records are queued: the floor is above every id that they give. */
void restore_keep_floor(struct daemon *daemon);

#endif
