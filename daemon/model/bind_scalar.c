#include "model/bind_scalar.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_text.h"

static char *enum_names(const ProtobufCEnumDescriptor *type)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    for (unsigned i = 0; i < type->n_values; i++)
        buffer_format(&buffer, "%s%s", i ? ", " : "", type->values[i].name);
    return buffer_text(&buffer);
}

char *scalar_wanted(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return text_copy("a whole number");
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return text_copy("a number");
    case PROTOBUF_C_TYPE_BOOL: return text_copy("true or false");
    case PROTOBUF_C_TYPE_STRING: return text_copy("a text");
    case PROTOBUF_C_TYPE_BYTES: return text_copy("bytes in hex");
    case PROTOBUF_C_TYPE_ENUM: break;
    case PROTOBUF_C_TYPE_MESSAGE: {
        const struct bind_text *text = bind_text_find(field->descriptor);
        return text_copy(text ? text->wants : "a mapping");
    }
    }
    owned(free) char *names = enum_names(field->descriptor);
    return text_format("one of %s", names);
}

static int read_unsigned(const char *text, uint64_t max, uint64_t *ret, struct diag *diag)
{
    int r = number_parse_whole(text, max, ret);

    if (r == -ERANGE)
        return diag_fail(diag, r, "%.80s is too large (at most %ju)", text, (uintmax_t)max);
    if (r < 0)
        return diag_fail(diag, r, "\"%.80s\" is not a whole number", text);
    return 0;
}

static int read_signed(const char *text, uint64_t max, int64_t *ret, struct diag *diag)
{
    bool negative = text[0] == '-';
    uint64_t value;
    int r = read_unsigned(text + negative, max + negative, &value, diag);

    if (r < 0)
        return r;
    *ret = negative ? (int64_t)-value : (int64_t)value;
    return 0;
}

/* jansson reads and writes numbers the same way in every locale. */
static int read_double(const char *text, double *ret, struct diag *diag)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    bool good = json_is_number(value);

    if (good)
        *ret = json_number_value(value);
    json_decref(value);
    return good ? 0 : diag_fail(diag, -EINVAL, "\"%.80s\" is not a number", text);
}

static int read_bool(const char *text, protobuf_c_boolean *ret, struct diag *diag)
{
    if (strcmp(text, "true") && strcmp(text, "false"))
        return diag_fail(diag, -EINVAL, "\"%.80s\" is neither true nor false", text);
    *ret = text[0] == 't';
    return 0;
}

static int read_enum(const char *text, const ProtobufCEnumDescriptor *type, int *ret,
                     struct diag *diag)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(type, text);

    if (value) {
        *ret = value->value;
        return 0;
    }
    owned(free) const char **names = memory_new((type->n_values + 1) * sizeof(*names));
    for (unsigned i = 0; i < type->n_values; i++)
        names[i] = type->values[i].name;
    const char *nearest = bind_nearest(text, names);
    if (nearest)
        return diag_fail(diag, -EINVAL, "\"%.80s\" is unknown (did you mean %s?)", text, nearest);
    owned(free) char *all = enum_names(type);
    return diag_fail(diag, -EINVAL, "\"%.80s\" is not one of %s", text, all);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_bytes(const char *text, ProtobufCBinaryData *ret, struct diag *diag)
{
    size_t length = strlen(text);

    if (length % 2 || text[strspn(text, "0123456789abcdef")])
        return diag_fail(diag, -EINVAL, "\"%.80s\" is not bytes in hex (two of 0-9a-f each)", text);
    ret->len = length / 2;
    ret->data = memory_new(ret->len ? ret->len : 1);
    for (size_t i = 0; i < ret->len; i++)
        ret->data[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    return 0;
}

static int read_text_message(const char *text, const struct bind_text *type, void *slot,
                             struct diag *diag)
{
    ProtobufCMessage *message = message_new(type->type);
    int r = type->parse(text, message, diag);

    if (r < 0)
        protobuf_c_message_free_unpacked(message, NULL);
    else
        *(ProtobufCMessage **)slot = message;
    return r;
}

int scalar_read(const char *text, const ProtobufCFieldDescriptor *field, void *slot,
                struct diag *diag)
{
    uint64_t u;
    int64_t i;
    double d;
    int r = 0;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        r = read_signed(text, INT32_MAX, &i, diag);
        if (r == 0)
            *(int32_t *)slot = (int32_t)i;
        return r;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: return read_signed(text, INT64_MAX, slot, diag);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        r = read_unsigned(text, UINT32_MAX, &u, diag);
        if (r == 0)
            *(uint32_t *)slot = (uint32_t)u;
        return r;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return read_unsigned(text, UINT64_MAX, slot, diag);
    case PROTOBUF_C_TYPE_FLOAT:
        r = read_double(text, &d, diag);
        if (r == 0)
            *(float *)slot = (float)d;
        return r;
    case PROTOBUF_C_TYPE_DOUBLE: return read_double(text, slot, diag);
    case PROTOBUF_C_TYPE_BOOL: return read_bool(text, slot, diag);
    case PROTOBUF_C_TYPE_ENUM: return read_enum(text, field->descriptor, slot, diag);
    case PROTOBUF_C_TYPE_STRING: *(char **)slot = text_copy(text); return 0;
    case PROTOBUF_C_TYPE_BYTES: return read_bytes(text, slot, diag);
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_text_message(text, bind_text_find(field->descriptor), slot, diag);
    }
    return r;
}
