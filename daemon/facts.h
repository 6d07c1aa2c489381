/* facts — what history knows of a job that a request names and the core has no more in memory. */
#ifndef WAFERD_FACTS_H
#define WAFERD_FACTS_H

#include <stdbool.h>

#include "core/core.h"
#include "pipeline.h"
#include "store/store.h"

/* What a request names and the core does not know. Borrows from the request. */
struct facts_wish {
    bool has_target;
    Wafer__Target target;        /* a job */
    const Wafer__JobSpec *after; /* NULL, or all that this spec waits for */
    uid_t uid;                   /* who asks: a name is one of his */
};

struct facts_held {
    struct facts facts; /* of what is below */
    struct store_job job;
    Wafer__CheckpointState **checkpoints;
    size_t checkpoint_count;
    struct fact_outcome *after;
    char **projects; /* of these */
    size_t after_count;
};

/* False: it names nothing that the core does not know. */
bool facts_wanted(const struct core *core, const Wafer__Request *request, uid_t uid,
                  struct facts_wish *ret);

/* Which element of the pipeline must be released before history knows all of it; 0: it does. */
uint64_t facts_mark(struct store *store, const struct pipeline *pipeline,
                    const struct facts_wish *wish);

/* What history does not know either is left out. Free with facts_done(), unless it failed. */
int facts_find(struct store *store, const struct facts_wish *wish, struct facts_held *ret,
               struct diag *diag);
void facts_done(struct facts_held *held);

#endif
