#include "base/digest.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

static_assert(sizeof(crypto_generichash_state) <= sizeof(struct digest_stream), "too small");

static crypto_generichash_state *state_of(struct digest_stream *stream)
{
    return (crypto_generichash_state *)stream->state;
}

void digest_of(const void *bytes, size_t length, struct digest *ret)
{
    crypto_generichash(ret->bytes, DIGEST_BYTES, bytes, length, NULL, 0);
}

void digest_begin(struct digest_stream *stream)
{
    crypto_generichash_init(state_of(stream), NULL, 0, DIGEST_BYTES);
}

void digest_add(struct digest_stream *stream, const void *bytes, size_t length)
{
    crypto_generichash_update(state_of(stream), bytes, length);
}

void digest_end(struct digest_stream *stream, struct digest *ret)
{
    crypto_generichash_final(state_of(stream), ret->bytes, DIGEST_BYTES);
}

bool digest_is_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

void digest_hex(const struct digest *digest, char ret[static DIGEST_HEX_SIZE])
{
    sodium_bin2hex(ret, DIGEST_HEX_SIZE, digest->bytes, DIGEST_BYTES);
}

int digest_parse(const char *hex, struct digest *ret)
{
    struct digest digest;
    size_t length;
    const char *end;

    if (sodium_hex2bin(digest.bytes, DIGEST_BYTES, hex, strlen(hex), NULL, &length, &end) != 0 ||
        length != DIGEST_BYTES || *end)
        return -EINVAL;
    *ret = digest;
    return 0;
}

uint64_t hash64(const void *bytes, size_t length)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "waferd hash64 v";
    uint64_t hash;

    crypto_shorthash((uint8_t *)&hash, bytes, length, key);
    return le64toh(hash);
}
