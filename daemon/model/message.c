#include "model/message.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

/* By hand and not by packing and unpacking, which costs five times as much: each decision of the
 * core is copied, and each order to an agent. */

static size_t size_of(ProtobufCType type)
{
    switch (type) { /* no default: a new type makes the compiler point here */
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return 4;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_ENUM: return sizeof(int);
    case PROTOBUF_C_TYPE_STRING: return sizeof(char *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(ProtobufCMessage *);
    }
    assert(false);
    return 0;
}

/* What `value` points to becomes its own. A default is of the descriptor, and stays. */
static void own_value(const ProtobufCFieldDescriptor *field, void *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING: {
        char **text = value;
        if (!*text && field->label == PROTOBUF_C_LABEL_REQUIRED)
            *text = text_copy("");
        else if (*text != field->default_value)
            *text = text_copy(*text);
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *bytes = value;
        const ProtobufCBinaryData *otherwise = field->default_value;
        if (!otherwise || bytes->data != otherwise->data)
            bytes->data = bytes->len ? memory_copy(bytes->data, bytes->len) : NULL;
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE: {
        ProtobufCMessage **message = value;
        if (*message)
            *message = message_copy(*message);
        break;
    }
    default: break;
    }
}

static void own_list(const ProtobufCFieldDescriptor *field, uint8_t *message)
{
    size_t count, size = size_of(field->type);
    uint8_t *items;

    memcpy(&count, message + field->quantifier_offset, sizeof(count));
    memcpy(&items, message + field->offset, sizeof(items));
    items = count ? memory_copy(items, count * size) : NULL;
    memcpy(message + field->offset, &items, sizeof(items));
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES ||
        field->type == PROTOBUF_C_TYPE_MESSAGE)
        for (size_t i = 0; i < count; i++)
            own_value(field, items + i * size);
}

/* Whether an optional field has a value. What has none may hold anything, and the copy nothing. */
static bool is_set(const ProtobufCFieldDescriptor *field, const uint8_t *message)
{
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t chosen;
        memcpy(&chosen, message + field->quantifier_offset, sizeof(chosen));
        return chosen == field->id;
    }
    if (field->label != PROTOBUF_C_LABEL_OPTIONAL || field->type == PROTOBUF_C_TYPE_STRING ||
        field->type == PROTOBUF_C_TYPE_MESSAGE)
        return true;
    protobuf_c_boolean has;
    memcpy(&has, message + field->quantifier_offset, sizeof(has));
    return has;
}

static void own_field(const ProtobufCFieldDescriptor *field, uint8_t *message)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        own_list(field, message);
    else if (is_set(field, message))
        own_value(field, message + field->offset);
    else if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && !field->default_value)
        memset(message + field->offset, 0, size_of(field->type));
}

static void own_unknown_fields(ProtobufCMessage *message)
{
    size_t count = message->n_unknown_fields;

    message->unknown_fields =
        count ? memory_copy(message->unknown_fields, count * sizeof(*message->unknown_fields))
              : NULL;
    for (size_t i = 0; i < count; i++)
        message->unknown_fields[i].data =
            memory_copy(message->unknown_fields[i].data, message->unknown_fields[i].len);
}

ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    ProtobufCMessage *copy = memory_copy(message, descriptor->sizeof_message);

    for (unsigned i = 0; i < descriptor->n_fields; i++)
        own_field(&descriptor->fields[i], (uint8_t *)copy);
    own_unknown_fields(copy);
    return copy;
}

bool message_is_equal(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t length = protobuf_c_message_get_packed_size(a);

    if (a->descriptor != b->descriptor || protobuf_c_message_get_packed_size(b) != length)
        return false;
    owned(free) uint8_t *packed = memory_new(2 * length);
    protobuf_c_message_pack(a, packed);
    protobuf_c_message_pack(b, packed + length);
    return memcmp(packed, packed + length, length) == 0;
}
