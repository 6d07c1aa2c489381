/* bind_field — the members of a message by their descriptors, and the path that leads to one. */
#ifndef WAFERD_MODEL_BIND_FIELD_H
#define WAFERD_MODEL_BIND_FIELD_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a walk is: a.b[2].c, from the leaf up. */
struct path {
    const struct path *parent;
    const char *name; /* NULL: element `index` of what the parent names */
    size_t index;
};

char *path_format(const struct path *path); /* NULL for the root; the caller frees */

/* Initialised; free with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *message_new(const ProtobufCMessageDescriptor *type);

size_t field_size(const ProtobufCFieldDescriptor *field); /* of one element */
bool field_is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
size_t field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* Element `index` of a repeated field, or the one value of any other. */
const void *field_element(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                          size_t index);
void *field_slot(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);

bool field_is_pairs(const ProtobufCFieldDescriptor *field); /* repeated KeyValue: a mapping */

#endif
