/* store — the journal, snapshots and history (SQLite).
 *
 * A journal row is one commit: the first sequence, the number of records, the framed records, and
 * the hash of the row chained to the row before. A writer thread groups whatever is queued into one
 * commit; WAL, synchronous=FULL. The loop learns through a file descriptor what has become durable,
 * and releases effects only then. History tables (ended jobs, checkpoints, events) are written in
 * the transaction of their record.
 *
 * Threads    all calls come from one thread, but for the writer inside
 * Errors     0 or a negative errno with a sentence in `diag`
 * Ownership  a queued batch belongs to the store until store_take() hands it back; one that was not
 *            handed back is the caller's again after store_close()
 *
 * In the directory: state.db and its log, lock (the pid of who has it), reserve (room for a full
 * disk), snapshots/. Nothing else in the process may open lock: closing it would give it up.
 */
#ifndef WAFERD_STORE_STORE_H
#define WAFERD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "record.pb-c.h"

struct store;

#define STORE_RESERVE_BYTES (8 << 20) /* given up when the disk is full */

/* Open or create DIR/state.db; lock the directory; upgrade an older schema.
 * -EBUSY     another process has it
 * -EBADMSG   the database is corrupt, or of a newer version
 * -EACCES, -EROFS, -ENOSPC ... the directory cannot be used */
int store_open(const char *dir, struct store **ret, struct diag *diag);
/* Waits for what is queued, but not for room on a full disk. Always NULL. */
struct store *store_close(struct store *store);

/* ---- start-up ---- */

struct store_load_ops {
    /* Begin with an empty core: called first, and again when a snapshot turns out to be bad. */
    void (*reset)(void *userdata);
    int (*item)(void *userdata, const Wafer__SnapshotItem *item, struct diag *diag);
    int (*items_end)(void *userdata, struct diag *diag);
    int (*record)(void *userdata, const Wafer__Record *record, struct diag *diag);
    /* A record that cannot be read or applied, of a known job: replay goes on without it. */
    void (*unreadable)(void *userdata, uint64_t job, uint64_t sequence, const char *why);
    /* Damage that lost nothing, such as a bad snapshot that was passed over; NULL: not told. */
    void (*note)(void *userdata, const char *text);
};

/* The newest good snapshot, then the journal rows after it; all of history only when no snapshot
 * is there that can be read. Once, before the first store_queue(). A row whose hash
 * does not fit is searched frame by frame: records that are whole are replayed, others reported as
 * unreadable. The ops return 0, or a negative errno for what does not fit.
 * -EBADMSG  what cannot be tied to one job is damaged, or the chain has a gap */
int store_load(struct store *store, const struct store_load_ops *ops, void *userdata,
               struct diag *diag);

/* This is a copy, made by store_backup(), that nobody has run yet: what was given out since is in
 * no journal. It is so until a STATE_RESTORED record is durable. */
int store_is_copy(struct store *store, bool *ret, struct diag *diag);

/* ---- a directory that another process may have open ---- */

struct store_check {
    pid_t holder;    /* who has it; 0: nobody */
    int64_t version; /* of the schema, and what this program reads: */
    int64_t version_known;
    uint64_t rows, records, last_sequence;
    uint64_t damaged; /* rows whose hash does not fit, or with records that cannot be read */
    struct diag first_damage;
    bool is_copy;
    int64_t newest_us;    /* of a record */
    uint32_t speed;       /* of the cluster clock; 0: not known */
    uint64_t checkpoints; /* that can be resumed from */
};
/* Read everything and change nothing. `checkpoint` is told of each checkpoint that the state points
 * at; it may be NULL. What is damaged is counted, not an error.
 * -ENOENT  there is no state here */
int store_check(const char *dir,
                void (*checkpoint)(void *userdata, const Wafer__CheckpointState *checkpoint),
                void *userdata, struct store_check *ret, struct diag *diag);

/* Copy the state as it is at one moment, of a running daemon too, to `to`, a new directory:
 * state.db marked as a copy, its chain read back, all of it synced. `to` is no state before it is
 * whole. -EEXIST  `to` is there already; -EBADMSG  what was copied is damaged */
int store_backup(const char *dir, const char *to, int64_t time_us, struct store_check *ret,
                 struct diag *diag);

/* ---- writing ---- */

struct store_batch {
    Wafer__Record **records; /* consecutive sequences; owned by whoever made the batch */
    size_t count;
    void *userdata;
    struct store_batch *next; /* the store's */
};

void store_queue(struct store *store, struct store_batch *batch);

/* Readable when something is durable, or when the state of the store changed. */
int store_fd(const struct store *store);

enum store_state {
    STORE_GOOD,
    STORE_FULL,   /* the disk is full: the reserve was released, room is wanted */
    STORE_FAILED, /* a sync failed: nothing more is acknowledged; end the process */
};

/* Batches that have become durable, in order, chained by `next`; NULL when there is none. */
struct store_batch *store_take(struct store *store);
/* Why, in `diag`, when it is not good. */
enum store_state store_state(struct store *store, struct diag *diag);

/* ---- snapshots ---- */

typedef int (*store_emit_fn)(void *userdata, const Wafer__SnapshotItem *item);
typedef int (*store_save_fn)(const void *core, store_emit_fn emit, void *userdata);

/* Fork a child that writes the state as of `sequence`, which need not be durable yet: the snapshot
 * counts once it is. One at a time: -EBUSY. `save` runs in the child, which has no open file. */
int store_snapshot_start(struct store *store, uint64_t sequence, store_save_fn save,
                         const void *core, pid_t *ret_pid, struct diag *diag);
/* The child has ended with `status` of waitpid(). Older snapshots but one are removed. A failure
 * costs nothing but the snapshot. */
int store_snapshot_end(struct store *store, int status, struct diag *diag);
uint64_t store_snapshot_sequence(const struct store *store); /* of the newest good one */

/* ---- history ---- */

struct store_job {
    Wafer__Job *view;
    Wafer__JobState *state;
    ProtobufCBinaryData spec; /* packed JobSpec */
};
void store_job_done(struct store_job *job);
static inline void store_job_donep(struct store_job *job)
{
    store_job_done(job);
}

/* As it was at its end, but for view->checkpoint, which is what has become of its checkpoints.
 * -ENOENT  never ended here */
int store_history_job(struct store *store, uint64_t id, struct store_job *ret, struct diag *diag);

/* How many elements the array has whose first has this id; 1: it is no array. */
int store_history_submission(struct store *store, uint64_t id, uint64_t *ret_count);

/* Those of `count` jobs from `first` on that have ended, rising ids. `each` borrows; the views are
 * as of their ends. */
int store_history_range(struct store *store, uint64_t first, uint64_t count,
                        void (*each)(void *userdata, const Wafer__Job *view,
                                     const Wafer__JobState *state),
                        void *userdata, struct diag *diag);

/* Newest ended job of that name and user. */
int store_history_name(struct store *store, uid_t uid, const char *name, uint64_t *ret_id);

/* Ended jobs, newest first, at most `limit`; of everybody when `all` is set. `each` borrows. */
int store_history_jobs(struct store *store, bool all, uid_t uid, size_t limit,
                       void (*each)(void *userdata, const Wafer__Job *view), void *userdata,
                       uint64_t *ret_total, struct diag *diag);

/* Checkpoints of a job by rising step, also of a live one. */
int store_history_checkpoints(struct store *store, uint64_t job, Wafer__CheckpointState ***ret,
                              size_t *ret_count, struct diag *diag);
void store_checkpoints_free(Wafer__CheckpointState **checkpoints, size_t count);

/* The newest `limit` events, oldest of them first; of all jobs when `job` is 0. An event is the
 * part of a record that people read. */
int store_history_events(struct store *store, uint64_t job, size_t limit,
                         void (*each)(void *userdata, const Wafer__Event *event), void *userdata,
                         struct diag *diag);

/* What a job has been through, in order: its attempts that are over, and when it began (`held`) and
 * ceased to be held by somebody. What one version did not keep yet is left out. */
struct store_past_ops {
    void (*attempt)(void *userdata, const Wafer__AttemptState *attempt); /* borrowed */
    void (*hold)(void *userdata, int64_t time_us, bool held);
};
int store_history_past(struct store *store, uint64_t job, const struct store_past_ops *ops,
                       void *userdata, struct diag *diag);

/* What people read of a record; false when it is nobody's business. Strings are borrowed. */
bool store_event_of(const Wafer__Record *record, Wafer__Event *ret, Wafer__Time *ret_at);

#endif
