/* size — amounts of memory and storage as people write them, in whole MiB.
 *
 * K M G T and KiB MiB GiB TiB are powers of 1024; KB MB GB TB are powers of 1000. A part of a MiB
 * counts as a whole one; a bare number is refused. */
#ifndef WAFERD_BASE_SIZE_H
#define WAFERD_BASE_SIZE_H

#include <stdint.h>

#include "base/diag.h"

#define SIZE_TEXT_SIZE 24

/* -EINVAL: not a size; -ERANGE: 0, negative, or beyond int64 */
int size_parse(const char *text, int64_t *ret_bytes, struct diag *diag);

/* As size_parse() reads it: the largest unit that leaves a whole number. */
void size_format(int64_t bytes, char ret[static SIZE_TEXT_SIZE]);

#endif
