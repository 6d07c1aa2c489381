/* snapshot — the durable state as of one record, in a file of its own.
 *
 * DIR/snapshots/SEQUENCE.snap holds framed SnapshotItems and, at the end, the BLAKE2b of them all.
 * A forked child writes SEQUENCE.tmp. It gets its name once the journal holds that record too: a
 * snapshot must never know more than the journal. The two newest are kept. */
#ifndef WAFERD_STORE_SNAPSHOT_H
#define WAFERD_STORE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "store/store.h"

struct snapshots {
    char *dir;           /* DIR/snapshots */
    uint64_t *sequences; /* of the files, newest first */
    size_t count, capacity;
    uint64_t started; /* the child's; 0: none */
    uint64_t written; /* whole, but the journal does not hold it yet; 0: none */
};

/* Make the folder, look what is there, remove what a dead child left. */
int snapshots_open(struct snapshots *snapshots, const char *dir, struct diag *diag);
void snapshots_done(struct snapshots *snapshots);

/* Feed the items of one snapshot to `ops`.
 * -EBADMSG  it is damaged, or an op refused an item */
int snapshots_read(const struct snapshots *snapshots, uint64_t sequence,
                   const struct store_load_ops *ops, void *userdata, struct diag *diag);
/* Out of the way, but kept for whoever wants to know why. */
void snapshots_set_aside(struct snapshots *snapshots, uint64_t sequence);

int snapshots_start(struct snapshots *snapshots, uint64_t sequence, store_save_fn save,
                    const void *core, pid_t *ret_pid, struct diag *diag);
int snapshots_end(struct snapshots *snapshots, int status, struct diag *diag);
/* Give what was written its name if the journal holds that much. */
int snapshots_settle(struct snapshots *snapshots, uint64_t durable_sequence, struct diag *diag);

#endif
