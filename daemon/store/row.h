/* row — one row of the journal: one commit, hash-chained to the row before.
 *
 * Pure: no database here. Start-up, history and the fuzzer read rows through row_read(). */
#ifndef WAFERD_STORE_ROW_H
#define WAFERD_STORE_ROW_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/diag.h"
#include "base/digest.h"
#include "record.pb-c.h"

struct row {
    uint64_t first_sequence, count;
    const uint8_t *records; /* frames */
    size_t length;
    struct digest chain; /* as it stands in the row */
};

/* BLAKE2b of (the chain of the row before, first sequence, count, records); all zero before the
 * first row. */
void row_chain(const struct row *row, const struct digest *previous, struct digest *ret);

/* Add one record to the frames of a row. */
void row_put(struct buffer *records, const Wafer__Record *record);

struct row_ops {
    int (*record)(void *userdata, Wafer__Record *record, struct diag *diag); /* owns it */
    int (*unreadable)(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                      struct diag *diag);
};

/* Walk the records with sequences from `from` up to but not `to`, and tell how many the row holds.
 * A negative return of an op ends the walk and is returned.
 * -EBADMSG  what is damaged cannot be tied to one job, or a record is in the wrong row */
int row_read(const struct row *row, uint64_t from, uint64_t to, const struct row_ops *ops,
             void *userdata, uint64_t *ret_count, struct diag *diag);

#endif
