#include "notify/secret.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define PREFIX      "whsec_"
#define BYTES_LEAST 24
#define BYTES_MOST  64

struct secret {
    unsigned char bytes[BYTES_MOST];
    size_t length;
};

struct secret *secret_free(struct secret *secret)
{
    if (!secret)
        return NULL;
    sodium_memzero(secret, sizeof(*secret));
    free(secret);
    return NULL;
}

int secret_parse(const char *text, struct secret **ret, struct diag *diag)
{
    static const char white[] = " \t\r\n";
    owned(secret_free) struct secret *secret = NEW(struct secret);

    text += strspn(text, white);
    size_t length = strcspn(text, white);
    if (text[length + strspn(text + length, white)] || strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return diag_fail(diag, -EINVAL, "it is not one line that begins with " PREFIX);
    text += strlen(PREFIX);
    length -= strlen(PREFIX);
    if (sodium_base642bin(secret->bytes, sizeof(secret->bytes), text, length, NULL, &secret->length,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        secret->length < BYTES_LEAST)
        return diag_fail(diag, -EINVAL, "what follows " PREFIX " is not base64 of %d to %d bytes",
                         BYTES_LEAST, BYTES_MOST);
    *ret = TAKE(secret);
    return 0;
}

void secret_sign(const struct secret *secret, const char *id, int64_t timestamp_s, const char *body,
                 char ret[static SECRET_SIGNATURE_SIZE])
{
    crypto_auth_hmacsha256_state state;
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    char time[32];
    int length = snprintf(time, sizeof(time), ".%" PRId64 ".", timestamp_s);

    crypto_auth_hmacsha256_init(&state, secret->bytes, secret->length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)time, (size_t)length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, strlen(body));
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_memzero(&state, sizeof(state));
    memcpy(ret, "v1,", 3);
    sodium_bin2base64(ret + 3, SECRET_SIGNATURE_SIZE - 3, mac, sizeof(mac),
                      sodium_base64_VARIANT_ORIGINAL);
}
