/* lease — how long jobs may run on what the controller last heard.
 *
 * The controller gives the jobs of a silent host away some time after it last heard from it. So our
 * lease counts from when we said what it answers: each report carries our clock, each Welcome and
 * Beat brings the newest one back that arrived. However long either was on its way, and whoever
 * slept meanwhile, our lease has ended before the controller's has.
 *
 * Pure: the shell gives the time and acts at lease_due_us().
 *
 * Units  `_us` microseconds of one clock that counts the time asleep and never goes back
 */
#ifndef WAFERD_ENGINE_LEASE_H
#define WAFERD_ENGINE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

struct lease {       /* zeroed: none runs */
    int64_t span_us; /* as the newest Welcome says */
    int64_t sent_us; /* the newest report left */
    int64_t from_us; /* the newest report left that is answered */
    bool runs;
};

/* A report leaves: what it carries. */
int64_t lease_stamp(struct lease *lease, int64_t now_us);
/* A Welcome came. One of no length ends at once. */
void lease_grant(struct lease *lease, int64_t span_us);
/* A Welcome or a Beat came, and brings back `echo_us`. Nothing that we did not say renews, and
 * nothing older than what did. NULL: the controller is of a version that brings nothing back; then
 * its word counts from now, as that version means it. */
void lease_renew(struct lease *lease, const int64_t *echo_us, int64_t now_us);
/* It was acted on its end: none runs until the next renewal. */
void lease_end(struct lease *lease);
/* When it ends; INT64_MAX: none runs. */
int64_t lease_due_us(const struct lease *lease);

#endif
