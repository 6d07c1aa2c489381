/* digest — BLAKE2b-256 of bytes (libsodium), and a keyed 128-bit hash for what is not stored. */
#ifndef WAFERD_BASE_DIGEST_H
#define WAFERD_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES    32
#define DIGEST_HEX_SIZE (2 * DIGEST_BYTES + 1)

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

struct digest_stream {
    _Alignas(64) uint8_t state[384]; /* crypto_generichash_state */
};

void digest_of(const void *bytes, size_t length, struct digest *ret);
void digest_begin(struct digest_stream *stream);
void digest_add(struct digest_stream *stream, const void *bytes, size_t length);
void digest_end(struct digest_stream *stream, struct digest *ret);

bool digest_is_equal(const struct digest *a, const struct digest *b);
void digest_hex(const struct digest *digest, char ret[static DIGEST_HEX_SIZE]);
int digest_parse(const char *hex, struct digest *ret); /* -EINVAL */

/* 64 bits of SipHash under a fixed key: quick, the same on every machine, no defence against an
 * enemy who may choose both texts. */
uint64_t hash64(const void *bytes, size_t length);

#endif
