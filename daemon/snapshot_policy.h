/* snapshot_policy — when the state is saved, so that a restart need not replay a long journal. */
#ifndef WAFERD_SNAPSHOT_POLICY_H
#define WAFERD_SNAPSHOT_POLICY_H

struct daemon;
struct snapshot_policy;

struct snapshot_policy *snapshot_policy_new(struct daemon *daemon);
/* A child that still writes is ended; the snapshot before serves. Always NULL. */
struct snapshot_policy *snapshot_policy_free(struct snapshot_policy *policy);

/* At the end of each turn of the loop: begin one when it is time. */
void snapshot_policy_turn(struct snapshot_policy *policy);

#endif
