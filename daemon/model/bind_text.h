/* bind_text — the message types that people write as one text: the only table of types that bind
 * has. */
#ifndef WAFERD_MODEL_BIND_TEXT_H
#define WAFERD_MODEL_BIND_TEXT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/diag.h"

struct bind_text {
    const ProtobufCMessageDescriptor *type;
    const char *wants; /* "a duration like 90m" */
    bool or_mapping;   /* may also be written as a mapping of its keys */
    bool is_number;    /* in JSON too, so without quotes there */
    /* Into a message that is initialised and empty. */
    int (*parse)(const char *text, ProtobufCMessage *ret, struct diag *diag);
    /* false, and nothing written: this value has no text form, only that of a mapping. */
    bool (*format)(const ProtobufCMessage *message, struct buffer *ret);
};

/* NULL: a type like any other */
const struct bind_text *bind_text_find(const ProtobufCMessageDescriptor *type);

/* Bytes that a text under this key may have. */
size_t bind_text_limit(const ProtobufCMessageDescriptor *type, const char *key);

#endif
