/* secret — what a webhook and its receiver share, and the signature that it makes.
 *
 * As in the Standard Webhooks specification: the secret is "whsec_" and base64 of 24 to 64 random
 * bytes; what is signed is "ID.TIMESTAMP.BODY", with HMAC-SHA256; the signature is "v1," and its
 * base64. So receivers verify with a library that they have. */
#ifndef WAFERD_NOTIFY_SECRET_H
#define WAFERD_NOTIFY_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/diag.h"

struct secret;

/* White space around it is no part of it. -EINVAL; the diag never holds the text. */
int secret_parse(const char *text, struct secret **ret, struct diag *diag);
struct secret *secret_free(struct secret *secret); /* wiped; always NULL */
OWNED_DEFINE(secret_free, struct secret *);

#define SECRET_SIGNATURE_SIZE 48 /* "v1,", 44 characters, and the end */

void secret_sign(const struct secret *secret, const char *id, int64_t timestamp_s, const char *body,
                 char ret[static SECRET_SIGNATURE_SIZE]);

#endif
