/* usage — what the users of a trace have used of the pool, for the order by policy.
 *
 * The log names users by numbers; all are of one project, that of jobs without one. Usage decays
 * with time as it does for a controller, which reckons by the day where this reckons by the second.
 *
 * Units  seconds of the trace (`_s`) */
#ifndef WAFERD_REPLAY_USAGE_H
#define WAFERD_REPLAY_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/score.h"

struct usage;

/* What a site's policy says; borrowed. */
struct usage_rules {
    struct score_rules score;
    const struct score_share *shares;
    size_t share_count;
};

struct usage *usage_new(const struct usage_rules *rules);
struct usage *usage_free(struct usage *usage); /* always NULL */

/* So many systems more are the user's, or fewer. */
void usage_change(struct usage *usage, uint32_t user, int64_t systems, int64_t now_s);

/* Compute the factors of all anew, if they are old enough. False: they are not. */
bool usage_compute(struct usage *usage, int64_t now_s);
/* Of the user, as last computed. */
int64_t usage_factor(struct usage *usage, uint32_t user);

#endif
