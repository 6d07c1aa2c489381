/* bind_scalar — one value of a field from the text that somebody wrote for it. */
#ifndef WAFERD_MODEL_BIND_SCALAR_H
#define WAFERD_MODEL_BIND_SCALAR_H

#include <protobuf-c/protobuf-c.h>

#include "base/diag.h"

/* Into the memory of one element; a text, bytes or message is allocated. -EINVAL, -ERANGE */
int scalar_read(const char *text, const ProtobufCFieldDescriptor *field, void *slot,
                struct diag *diag);

/* What would be right under this key, for the end of a sentence: "a whole number". The caller
 * frees. */
char *scalar_wanted(const ProtobufCFieldDescriptor *field);

#endif
