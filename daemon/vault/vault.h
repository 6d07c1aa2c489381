/* vault — checkpoints and logs in a directory.
 *
 * A checkpoint is committed in five steps: its shards are written under the fence, each with length
 * and digest; the manifest, which names them, is written to a temporary name, synced, renamed, and
 * its directory synced; only then does the journal point at it. So a directory without a manifest
 * is nothing, and a manifest that the journal does not name is nothing either.
 *
 *     ckpt/<job>/<step, 12 digits>.<term>.<epoch>/shard-000 ... manifest
 *     logs/<job>/<attempt>/<first offset, 12 digits>.log
 *     logs/brief/<job / 1000>/<number, 6 digits>.log        of many attempts that said little yet
 *     floor
 *
 * The job is the one that wrote it: epochs count for each job, so two jobs of one lineage would
 * meet at one place if it were named by the lineage.
 *
 * Threads    synchronous, without state of its own but the directory: call it from any thread; one
 *            writer a place and one a log
 * Errors     0 or a negative errno with a sentence in `diag`; a file size limit counts as -ENOSPC;
 *            a link or anything else that is not the vault's in a place of its is -EBADMSG
 */
#ifndef WAFERD_VAULT_VAULT_H
#define WAFERD_VAULT_VAULT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "base/digest.h"
#include "record.pb-c.h"

#define VAULT_SHARDS_MAX         1000
#define VAULT_SHARD_BYTES_MAX    ((int64_t)1 << 32)
#define VAULT_MANIFEST_BYTES_MAX (2 << 20)
#define VAULT_LOG_SEGMENT_BYTES  (1 << 20)
#define VAULT_LOG_BRIEF_BYTES    4096 /* a log of more has segments of its own */

struct vault;

/* Open or create (its parent must exist); files 0600, directories 0700; nothing below is reached
 * through a link. */
int vault_open(const char *dir, struct vault **ret, struct diag *diag);
struct vault *vault_close(struct vault *vault); /* always NULL */
OWNED_DEFINE(vault_close, struct vault *);

struct vault_place { /* where one checkpoint is */
    uint64_t job, step, term, epoch;
};

/* Write one shard and sync its bytes; the manifest makes its name durable. Writing it again
 * replaces it.
 * -ENOSPC, -EDQUOT, -EIO; -EFBIG: more than the vault takes */
int vault_shard_write(struct vault *vault, const struct vault_place *place, uint32_t index,
                      const void *bytes, size_t length, struct digest *ret_digest,
                      struct diag *diag);

/* Read one shard that must have this length and digest (NULL: whatever is there). Adds to `ret`.
 * -ENOENT, -EBADMSG */
int vault_shard_read(struct vault *vault, const struct vault_place *place, uint32_t index,
                     int64_t bytes, const struct digest *digest, struct buffer *ret,
                     struct diag *diag);

/* Write the manifest and sync file and directories. The same manifest again gives the same result;
 * another one for a place that has one is -EEXIST, one that belongs elsewhere -EINVAL. */
int vault_manifest_write(struct vault *vault, const struct vault_place *place,
                         const Wafer__Manifest *manifest, struct digest *ret_digest,
                         struct diag *diag);

/* -ENOENT, -EBADMSG; the manifest must have this digest (NULL: whatever is there). Free with
 * wafer__manifest__free_unpacked(). */
int vault_manifest_read(struct vault *vault, const struct vault_place *place,
                        const struct digest *digest, Wafer__Manifest **ret, struct diag *diag);

/* Read everything back, past the page cache where the system allows, and compare it with the
 * manifest. -ENOENT: no manifest; -EBADMSG names the shard, also one that is missing. */
int vault_verify(struct vault *vault, const struct vault_place *place, const struct digest *digest,
                 struct diag *diag);

/* The manifest first, so that a half deleted checkpoint is none; what is not there is deleted. */
int vault_delete(struct vault *vault, const struct vault_place *place, struct diag *diag);

/* Each place below the vault, committed or not, in no order. For clean-up and doctors: `each` may
 * delete the place it is told of. Anything but 0 from it ends the walk and is returned. */
int vault_walk(struct vault *vault, int (*each)(void *userdata, const struct vault_place *place),
               void *userdata, struct diag *diag);

/* What was given out, kept where the state is not: a state that is put back from a copy has
 * forgotten it. No job id at or above `next_job`, and no term above `term`, was ever given. */
struct vault_floor {
    uint64_t term, next_job;
};
/* -ENOENT: none was written yet; -EBADMSG */
int vault_floor_read(struct vault *vault, struct vault_floor *ret, struct diag *diag);
/* Durable when it returns; the old one stays when it fails. */
int vault_floor_write(struct vault *vault, const struct vault_floor *floor, struct diag *diag);
/* The highest job that has anything here, for a vault without a floor; 0: none. */
int vault_last_job(struct vault *vault, uint64_t *ret, struct diag *diag);
/* The highest attempt of the job that has a log; 0: none. */
uint32_t vault_log_last_attempt(struct vault *vault, uint64_t job);

/* Append whole lines to the log of an attempt at `offset`, which must be its length; a repeat of
 * what is there already does nothing. Segments of at most 1 MiB end at a line's end, except that a
 * longer line is split over as many as it needs. Not synced line by line.
 * -ERANGE: a gap; -EEXIST: other bytes are there */
int vault_log_append(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t offset,
                     const void *bytes, size_t length, struct diag *diag);
/* The logs of many attempts as one agent writes them. The first bytes of each are brief: a piece in
 * a file that it shares with others, where a directory of its own would cost far more. One thread
 * at a time. */
struct vault_log_writer;
struct vault_log_writer *vault_log_writer_new(struct vault *vault);
struct vault_log_writer *vault_log_writer_free(struct vault_log_writer *writer); /* always NULL */
OWNED_DEFINE(vault_log_writer_free, struct vault_log_writer *);

struct vault_log_text {
    uint64_t job, epoch;
    uint32_t attempt;
    uint64_t offset;
    const void *bytes;
    size_t length;
};
/* As vault_log_append(), of an attempt that nobody else writes; but text at offset 0 replaces what
 * an earlier epoch left, and brief text is not compared with what is there. */
int vault_log_write(struct vault_log_writer *writer, const struct vault_log_text *text,
                    struct diag *diag);
/* -ENOENT: no such attempt, here and below */
int vault_log_length(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t *ret,
                     struct diag *diag);
/* Adds at most `length` bytes from `offset` to `ret`; none at the end. -EBADMSG: a segment before
 * the end is gone or too short */
int vault_log_read(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t offset,
                   size_t length, struct buffer *ret, struct diag *diag);
/* The offset where the last `lines` lines begin. */
int vault_log_tail(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t lines,
                   uint64_t *ret_offset, struct diag *diag);
/* The newest lines first; what is not there is deleted. */
int vault_log_delete(struct vault *vault, uint64_t job, uint32_t attempt, struct diag *diag);

#endif
