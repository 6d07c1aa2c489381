/* bind_print — single values as JSON has them, which YAML reads as well. */
#ifndef WAFERD_MODEL_BIND_PRINT_H
#define WAFERD_MODEL_BIND_PRINT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/buffer.h"

/* In double quotes; bytes that are not UTF-8 become U+FFFD, control characters are escaped. */
void print_quoted(struct buffer *buffer, const char *text, size_t length);

/* Its name, or its number where this version has no name for it. */
void print_enum(struct buffer *buffer, const ProtobufCEnumDescriptor *type, int value, bool quoted);

/* One element of a field that is no message. */
void print_value(struct buffer *buffer, const ProtobufCFieldDescriptor *field, const void *value);

#endif
