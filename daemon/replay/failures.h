/* failures — which systems of a replay fail, and for how long.
 *
 * Sources
 *   a record  the CSV of the Los Alamos failures of 1996-2005 (LA-UR-05-7318), plain or gzip, its
 *             columns found by their names: System, nodenumz, Prob Started, Prob Fixed. One node is
 *             one system, in the order of the record; nodes beyond the last system are left out.
 *             The years of the record are not those of the trace: what is taken is moved, as a
 *             whole, so that its first failure is when the trace begins
 *   a rate    each system fails on its own, at exponential intervals of working time, and is
 *             repaired in a fixed time. A system fails at the same times however many others there
 *             are, so that two sizes of a pool can be compared
 *
 * A system that fails while it is down stays down until the last of its repairs.
 *
 * Units      whole seconds of the trace (`_s`)
 * Errors     0, or a negative errno with the reason in `diag`
 * Ownership  failures are the caller's: failures_done() */
#ifndef WAFERD_REPLAY_FAILURES_H
#define WAFERD_REPLAY_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "replay/trace.h"

/* What a list may hold, and how large a pool may be whose systems fail. */
#define FAILURES_MAX         4000000
#define FAILURES_SYSTEMS_MAX (UINT32_C(1) << 24)

#define FAILURES_MALFORMED "is not a failure in the format of the record"

struct failure {
    int64_t time_s, down_s; /* down_s > 0 */
    uint32_t system;        /* from 0 */
};

struct failures {
    struct failure *items; /* by time, then system; none while its system is down */
    size_t count, capacity;
    uint32_t systems;                /* a record: of how many it tells */
    struct trace_omission malformed; /* a record: lines that are no failure */
};

struct failure_rate {
    int64_t mtbf_s, repair_s; /* of a system */
};

/* "mtbf=30d" or "mtbf=30d,repair=4h", which is the repair unless said; or failures of a system in a
 * year of 365 days, "2.5". -ENOENT: not written like a rate; so it may be a file */
int failure_rate_parse(const char *text, struct failure_rate *ret, struct diag *diag);

/* Of systems 0 to `systems` - 1, from `begin_s` to before `end_s`. The same seed, the same
 * failures. -E2BIG  more than FAILURES_MAX, or systems than FAILURES_SYSTEMS_MAX */
int failures_draw(const struct failure_rate *rate, uint64_t seed, uint32_t systems, int64_t begin_s,
                  int64_t end_s, struct failures *ret, struct diag *diag);

/* All of a record, at its own times; `name` is for messages. Takes `fd`, also when it fails.
 * -EBADMSG  it is damaged, or no such record
 * -E2BIG    it has more than FAILURES_MAX */
int failures_read(int fd, const char *name, struct failures *ret, struct diag *diag);
/* What of a record befalls so many systems from `begin_s` on. -E2BIG: more than
 * FAILURES_SYSTEMS_MAX */
int failures_take(const struct failures *record, uint32_t systems, int64_t begin_s,
                  struct failures *ret, struct diag *diag);

void failures_done(struct failures *failures);
static inline void failures_donep(struct failures *failures)
{
    failures_done(failures);
}

#endif
