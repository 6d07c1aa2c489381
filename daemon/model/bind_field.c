#include "model/bind_field.h"

#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "value.pb-c.h"

static void path_append(const struct path *path, struct buffer *buffer)
{
    if (!path)
        return;
    path_append(path->parent, buffer);
    if (path->name)
        buffer_format(buffer, "%s%.80s", path->parent ? "." : "", path->name);
    else
        buffer_format(buffer, "[%zu]", path->index);
}

char *path_format(const struct path *path)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    if (!path)
        return NULL;
    path_append(path, &buffer);
    return buffer_text(&buffer);
}

ProtobufCMessage *message_new(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = memory_new(type->sizeof_message);

    protobuf_c_message_init(type, message);
    return message;
}

size_t field_size(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: return sizeof(uint32_t);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_FLOAT: return sizeof(float);
    case PROTOBUF_C_TYPE_DOUBLE: return sizeof(double);
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_ENUM: return sizeof(int);
    case PROTOBUF_C_TYPE_STRING: return sizeof(char *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(ProtobufCMessage *);
    }
    return 0;
}

void *field_slot(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return (char *)message + field->offset;
}

static const void *member(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

bool field_is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)member(message, field->quantifier_offset) > 0;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
        *(const uint32_t *)member(message, field->quantifier_offset) != field->id)
        return false;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
        return *(void *const *)member(message, field->offset) != NULL;
    if (field->label == PROTOBUF_C_LABEL_REQUIRED || (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return true;
    return *(const protobuf_c_boolean *)member(message, field->quantifier_offset);
}

size_t field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)member(message, field->quantifier_offset);
    return field_is_set(message, field);
}

const void *field_element(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                          size_t index)
{
    const void *value = member(message, field->offset);

    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return value;
    return *(const char *const *)value + index * field_size(field);
}

bool field_is_pairs(const ProtobufCFieldDescriptor *field)
{
    return field->label == PROTOBUF_C_LABEL_REPEATED && field->type == PROTOBUF_C_TYPE_MESSAGE &&
           field->descriptor == &wafer__key_value__descriptor;
}
