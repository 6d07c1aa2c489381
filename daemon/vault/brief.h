/* brief — the logs of attempts that have said little yet, many of them in one file.
 *
 * Most attempts of short jobs write a few lines, and a directory with a file for each of them costs
 * more than the lines. So the beginning of a log is a piece in a file of a thousand jobs:
 *
 *     logs/brief/<job / 1000>/<number, 6 digits>.log
 *     log <job> <epoch> <attempt> <offset> <length> newline, all of fixed width, then the text
 *
 * Each file has one writer, which begins a new one when it begins: a torn end is the last there is.
 * Of one attempt the pieces of the highest epoch are its log. inside.h's for the files of the
 * vault.
 */
#ifndef WAFERD_VAULT_BRIEF_H
#define WAFERD_VAULT_BRIEF_H

#include "base/buffer.h"
#include "vault/vault.h"

/* 0 or a negative errno, without a sentence; after a failure nothing of it is there. */
int brief_append(struct vault_log_writer *writer, const struct vault_log_text *text);

/* Adds what there is to `ret`. -ENOENT: nothing */
int brief_read(struct vault *vault, uint64_t job, uint32_t attempt, struct buffer *ret);
/* Overwrite it: what is there no more cannot be read by any other means. */
int brief_cut(struct vault *vault, uint64_t job, uint32_t attempt);

int brief_last_job(struct vault *vault, uint64_t *ret);                   /* raises it */
int brief_last_attempt(struct vault *vault, uint64_t job, uint64_t *ret); /* raises it */

struct vault *brief_vault(const struct vault_log_writer *writer);

#endif
