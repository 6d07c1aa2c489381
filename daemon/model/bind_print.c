#include "model/bind_print.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* What may not stand as it is between quotes: the escapes of JSON, and what a terminal or a YAML
 * reader would take for more than a character. */
static bool wants_escape(uint32_t point)
{
    return point < 0x20 || point == '"' || point == '\\' || (point >= 0x7f && point < 0xa0) ||
           point == 0x2028 || point == 0x2029 || point == 0xfeff || point == 0xfffe ||
           point == 0xffff;
}

static void print_escape(struct buffer *buffer, uint32_t point)
{
    switch (point) {
    case '"': buffer_append_text(buffer, "\\\""); break;
    case '\\': buffer_append_text(buffer, "\\\\"); break;
    case '\n': buffer_append_text(buffer, "\\n"); break;
    case '\r': buffer_append_text(buffer, "\\r"); break;
    case '\t': buffer_append_text(buffer, "\\t"); break;
    default: buffer_format(buffer, "\\u%04x", (unsigned)point); break;
    }
}

/* Bytes at the start of `text` that may stand as they are. */
static size_t plain_length(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        uint32_t point = (unsigned char)text[at];
        size_t size = point < 0x80 ? 1 : utf8_next(text + at, length - at, &point);

        if (!size || wants_escape(point))
            break;
        at += size;
    }
    return at;
}

void print_quoted(struct buffer *buffer, const char *text, size_t length)
{
    buffer_append(buffer, "\"", 1);
    for (size_t at = 0; at < length;) {
        size_t plain = plain_length(text + at, length - at);
        uint32_t point;

        buffer_append(buffer, text + at, plain);
        at += plain;
        if (at == length)
            break;
        size_t size = utf8_next(text + at, length - at, &point);
        if (size)
            print_escape(buffer, point);
        else
            buffer_append_text(buffer, UTF8_REPLACEMENT);
        at += size ? size : 1;
    }
    buffer_append(buffer, "\"", 1);
}

/* Most of what is printed is numbers: no allocation for them. */
static void print_signed(struct buffer *buffer, int64_t value)
{
    char text[24];

    buffer_append(buffer, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

static void print_unsigned(struct buffer *buffer, uint64_t value)
{
    char text[24];

    buffer_append(buffer, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

static void print_hex(struct buffer *buffer, const ProtobufCBinaryData *bytes)
{
    buffer_append(buffer, "\"", 1);
    for (size_t i = 0; i < bytes->len; i++) {
        static const char digits[] = "0123456789abcdef";
        const char pair[2] = { digits[bytes->data[i] >> 4], digits[bytes->data[i] & 15] };
        buffer_append(buffer, pair, sizeof(pair));
    }
    buffer_append(buffer, "\"", 1);
}

/* jansson writes numbers the same way in every locale. */
static void print_double(struct buffer *buffer, double value)
{
    json_t *number = json_real(value);
    owned(free) char *text =
        number ? json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;

    json_decref(number);
    buffer_append_text(buffer, text ? text : "null");
}

void print_enum(struct buffer *buffer, const ProtobufCEnumDescriptor *type, int value, bool quoted)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

    if (quoted)
        buffer_append(buffer, "\"", 1);
    if (found)
        buffer_append_text(buffer, found->name);
    else
        print_signed(buffer, value); /* of a later version */
    if (quoted)
        buffer_append(buffer, "\"", 1);
}

void print_value(struct buffer *buffer, const ProtobufCFieldDescriptor *field, const void *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: print_signed(buffer, *(const int32_t *)value); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: print_signed(buffer, *(const int64_t *)value); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: print_unsigned(buffer, *(const uint32_t *)value); break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: {
        uint64_t number = *(const uint64_t *)value;
        /* Readers of JSON keep 64 bits with a sign at best. */
        const char *quote = number > INT64_MAX ? "\"" : "";
        buffer_append_text(buffer, quote);
        print_unsigned(buffer, number);
        buffer_append_text(buffer, quote);
        break;
    }
    case PROTOBUF_C_TYPE_FLOAT: print_double(buffer, *(const float *)value); break;
    case PROTOBUF_C_TYPE_DOUBLE: print_double(buffer, *(const double *)value); break;
    case PROTOBUF_C_TYPE_BOOL:
        buffer_append_text(buffer, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(buffer, field->descriptor, *(const int *)value, true);
        break;
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = *(const char *const *)value;
        print_quoted(buffer, text, strlen(text));
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: print_hex(buffer, value); break;
    case PROTOBUF_C_TYPE_MESSAGE: assert(!"a message is no single value");
    }
}
