/* facts — what history knows of a job that a request names and the core has no more in memory. */
#ifndef WAFERD_FACTS_H
#define WAFERD_FACTS_H

#include <stdbool.h>

#include "core/core.h"
#include "store/store.h"

struct facts_held {
    struct facts facts; /* of what is below */
    struct store_job job;
    Wafer__CheckpointState **checkpoints;
    size_t checkpoint_count;
};

/* The job that the request names and the core does not know; false: there is none. The name in
 * `ret` is borrowed from the request. */
bool facts_wanted(const struct core *core, const Wafer__Request *request, uid_t uid,
                  Wafer__Target *ret);

/* The number of an ended job. -ENOENT */
int facts_job(struct store *store, const Wafer__Target *target, uid_t uid, uint64_t *ret);

/* -ENOENT: history does not know it either. Free with facts_done(). */
int facts_find(struct store *store, const Wafer__Target *target, uid_t uid, struct facts_held *ret,
               struct diag *diag);
void facts_done(struct facts_held *held);

#endif
