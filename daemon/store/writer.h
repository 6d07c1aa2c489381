/* writer — the thread that makes batches durable, many to a commit.
 *
 * It owns the connection that writes. Everybody else talks to it under its mutex, through the
 * functions below. */
#ifndef WAFERD_STORE_WRITER_H
#define WAFERD_STORE_WRITER_H

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/reserve.h"
#include "store/store.h"

struct writer;

/* Takes the connection over, also when it fails. */
int writer_new(sqlite3 *database, struct reserve *reserve, struct writer **ret, struct diag *diag);
/* Waits for what is queued, but not for room on a full disk. Always NULL. */
struct writer *writer_free(struct writer *writer);
OWNED_DEFINE(writer_free, struct writer *);

/* Start the thread; the next record has the sequence `next`, and the row before it this chain. */
void writer_start(struct writer *writer, uint64_t next_sequence, const struct digest *chain);

void writer_queue(struct writer *writer, struct store_batch *batch);
struct store_batch *writer_take(struct writer *writer);
int writer_fd(const struct writer *writer);
enum store_state writer_state(struct writer *writer, struct diag *diag);
uint64_t writer_durable_sequence(struct writer *writer);

#endif
