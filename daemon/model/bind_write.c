#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

/* ---- what both forms share ---- */

/* What may not stand as it is between quotes: the escapes of JSON, and what a terminal or a YAML
 * reader would take for more than a character. */
static bool wants_escape(uint32_t point)
{
    return point < 0x20 || point == '"' || point == '\\' || (point >= 0x7f && point < 0xa0) ||
           point == 0x2028 || point == 0x2029 || point == 0xfeff || point == 0xfffe ||
           point == 0xffff;
}

static void write_escape(struct buffer *buffer, uint32_t point)
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

/* In double quotes, readable as JSON and as YAML; bytes that are no UTF-8 become U+FFFD. */
static void write_quoted(struct buffer *buffer, const char *text, size_t length)
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
            write_escape(buffer, point);
        else
            buffer_append_text(buffer, UTF8_REPLACEMENT);
        at += size ? size : 1;
    }
    buffer_append(buffer, "\"", 1);
}

/* Most of what is printed is numbers: no allocation for them. */
static void write_signed(struct buffer *buffer, int64_t value)
{
    char text[24];

    buffer_append(buffer, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

static void write_unsigned(struct buffer *buffer, uint64_t value)
{
    char text[24];

    buffer_append(buffer, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

static void write_hex(struct buffer *buffer, const ProtobufCBinaryData *bytes)
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
static void write_double(struct buffer *buffer, double value)
{
    json_t *number = json_real(value);
    owned(free) char *text =
        number ? json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;

    json_decref(number);
    buffer_append_text(buffer, text ? text : "null");
}

static void write_enum(struct buffer *buffer, const ProtobufCEnumDescriptor *type, int value,
                       bool quoted)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

    if (quoted)
        buffer_append(buffer, "\"", 1);
    if (found)
        buffer_append_text(buffer, found->name);
    else
        write_signed(buffer, value); /* of a later version */
    if (quoted)
        buffer_append(buffer, "\"", 1);
}

/* A text that YAML reads back without quotes, and that no other reader takes for a number. */
static bool is_plain(const char *text)
{
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off" };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    size_t length = strlen(text);
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-/@") == length;
}

/* ---- JSON ---- */

struct writer {
    struct buffer *buffer;
    bool pretty;
    unsigned depth;
};

static void write_json_message(struct writer *writer, const ProtobufCMessage *message);

static void next_line(struct writer *writer)
{
    if (writer->pretty)
        buffer_format(writer->buffer, "\n%*s", (int)writer->depth * 2, "");
}

static void open_bracket(struct writer *writer, const char *bracket)
{
    buffer_append_text(writer->buffer, bracket);
    writer->depth++;
}

static void close_bracket(struct writer *writer, const char *bracket, bool is_empty)
{
    writer->depth--;
    if (!is_empty)
        next_line(writer);
    buffer_append_text(writer->buffer, bracket);
}

static void write_separator(struct writer *writer, bool is_first)
{
    if (!is_first)
        buffer_append(writer->buffer, ",", 1);
    next_line(writer);
}

/* A key of the schema: letters alone. */
static void write_key(struct writer *writer, const char *key)
{
    buffer_append(writer->buffer, "\"", 1);
    buffer_append_text(writer->buffer, key);
    buffer_append_text(writer->buffer, writer->pretty ? "\": " : "\":");
}

static void write_json_text_message(struct writer *writer, const struct bind_text *type,
                                    const ProtobufCMessage *message)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    if (!type->format(message, &text))
        write_json_message(writer, message);
    else if (type->is_number)
        buffer_append(writer->buffer, buffer_data(&text), text.length);
    else
        write_quoted(writer->buffer, (const char *)buffer_data(&text), text.length);
}

static void write_json_value(struct writer *writer, const ProtobufCFieldDescriptor *field,
                             const void *value)
{
    struct buffer *buffer = writer->buffer;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: write_signed(buffer, *(const int32_t *)value); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: write_signed(buffer, *(const int64_t *)value); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: write_unsigned(buffer, *(const uint32_t *)value); break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: {
        uint64_t number = *(const uint64_t *)value;
        /* Readers of JSON keep 64 bits with a sign at best. */
        const char *quote = number > INT64_MAX ? "\"" : "";
        buffer_append_text(buffer, quote);
        write_unsigned(buffer, number);
        buffer_append_text(buffer, quote);
        break;
    }
    case PROTOBUF_C_TYPE_FLOAT: write_double(buffer, *(const float *)value); break;
    case PROTOBUF_C_TYPE_DOUBLE: write_double(buffer, *(const double *)value); break;
    case PROTOBUF_C_TYPE_BOOL:
        buffer_append_text(buffer, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        write_enum(buffer, field->descriptor, *(const int *)value, true);
        break;
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = *(const char *const *)value;
        write_quoted(buffer, text, strlen(text));
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: write_hex(buffer, value); break;
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *message = *(const ProtobufCMessage *const *)value;
        const struct bind_text *text = bind_text_find(field->descriptor);
        if (text)
            write_json_text_message(writer, text, message);
        else
            write_json_message(writer, message);
        break;
    }
    }
}

static void write_json_pairs(struct writer *writer, const ProtobufCMessage *message,
                             const ProtobufCFieldDescriptor *field)
{
    size_t count = field_count(message, field);

    open_bracket(writer, "{");
    for (size_t i = 0; i < count; i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);

        write_separator(writer, i == 0);
        write_quoted(writer->buffer, pair->key, strlen(pair->key));
        buffer_append_text(writer->buffer, writer->pretty ? ": " : ":");
        write_quoted(writer->buffer, pair->value, strlen(pair->value));
    }
    close_bracket(writer, "}", count == 0);
}

static void write_json_list(struct writer *writer, const ProtobufCMessage *message,
                            const ProtobufCFieldDescriptor *field)
{
    size_t count = field_count(message, field);

    open_bracket(writer, "[");
    for (size_t i = 0; i < count; i++) {
        write_separator(writer, i == 0);
        write_json_value(writer, field, field_element(message, field, i));
    }
    close_bracket(writer, "]", count == 0);
}

static void write_json_message(struct writer *writer, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    open_bracket(writer, "{");
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        write_separator(writer, i == 0);
        write_key(writer, field->name);
        if (field_is_pairs(field))
            write_json_pairs(writer, message, field);
        else if (field->label == PROTOBUF_C_LABEL_REPEATED)
            write_json_list(writer, message, field);
        else if (field_is_set(message, field))
            write_json_value(writer, field, field_element(message, field, 0));
        else
            buffer_append_text(writer->buffer, "null");
    }
    close_bracket(writer, "}", type->n_fields == 0);
}

char *bind_json_text(const ProtobufCMessage *message, bool pretty)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    struct writer writer = { .buffer = &buffer, .pretty = pretty };

    write_json_message(&writer, message);
    return buffer_text(&buffer);
}

json_t *bind_json(const ProtobufCMessage *message)
{
    owned(free) char *text = bind_json_text(message, false);
    json_t *json = json_loads(text, 0, NULL);

    assert(json);
    return json;
}

/* ---- YAML ---- */

static void write_yaml_message(struct buffer *buffer, const ProtobufCMessage *message,
                               unsigned indent, bool in_line);

static void start_line(struct buffer *buffer, unsigned indent)
{
    buffer_format(buffer, "%*s", (int)indent, "");
}

static void write_yaml_text(struct buffer *buffer, const char *text)
{
    if (is_plain(text))
        buffer_append_text(buffer, text);
    else
        write_quoted(buffer, text, strlen(text));
}

/* A value that fits on its line; false: it is a mapping. */
static bool write_yaml_scalar(struct buffer *buffer, const ProtobufCFieldDescriptor *field,
                              const void *value)
{
    struct writer writer = { .buffer = buffer };
    owned(buffer_done) struct buffer formatted = BUFFER_EMPTY;

    if (field->type == PROTOBUF_C_TYPE_STRING) {
        write_yaml_text(buffer, *(const char *const *)value);
        return true;
    }
    if (field->type == PROTOBUF_C_TYPE_ENUM) {
        write_enum(buffer, field->descriptor, *(const int *)value, false);
        return true;
    }
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        write_json_value(&writer, field, value);
        return true;
    }
    const struct bind_text *type = bind_text_find(field->descriptor);
    if (!type || !type->format(*(const ProtobufCMessage *const *)value, &formatted))
        return false;
    owned(free) char *text = buffer_text(&formatted);
    /* Only what has a blank or colon in it could be read as anything but itself. */
    if (strpbrk(text, " :") && type->type != &wafer__duration__descriptor)
        write_quoted(buffer, text, strlen(text));
    else
        buffer_append_text(buffer, text);
    return true;
}

static void write_yaml_pairs(struct buffer *buffer, const ProtobufCMessage *message,
                             const ProtobufCFieldDescriptor *field, unsigned indent)
{
    size_t count = field_count(message, field);

    buffer_append_text(buffer, "\n");
    for (size_t i = 0; i < count; i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);

        start_line(buffer, indent);
        write_yaml_text(buffer, pair->key);
        buffer_append_text(buffer, ": ");
        write_yaml_text(buffer, pair->value);
        buffer_append_text(buffer, "\n");
    }
}

static void write_yaml_list(struct buffer *buffer, const ProtobufCMessage *message,
                            const ProtobufCFieldDescriptor *field, unsigned indent)
{
    size_t count = field_count(message, field);

    buffer_append_text(buffer, "\n");
    for (size_t i = 0; i < count; i++) {
        const void *value = field_element(message, field, i);

        start_line(buffer, indent);
        buffer_append_text(buffer, "- ");
        if (write_yaml_scalar(buffer, field, value))
            buffer_append_text(buffer, "\n");
        else
            write_yaml_message(buffer, *(const ProtobufCMessage *const *)value, indent + 2, true);
    }
}

static void write_yaml_field(struct buffer *buffer, const ProtobufCMessage *message,
                             const ProtobufCFieldDescriptor *field, unsigned indent)
{
    buffer_format(buffer, "%s:", field->name);
    if (field_is_pairs(field)) {
        write_yaml_pairs(buffer, message, field, indent + 2);
        return;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        write_yaml_list(buffer, message, field, indent + 2);
        return;
    }
    const void *value = field_element(message, field, 0);
    size_t length = buffer->length;
    buffer_append_text(buffer, " ");
    if (write_yaml_scalar(buffer, field, value)) {
        buffer_append_text(buffer, "\n");
        return;
    }
    buffer->length = length;
    write_yaml_message(buffer, *(const ProtobufCMessage *const *)value, indent + 2, false);
}

/* in_line: the line has begun ("- "), and the first key goes on it. */
static void write_yaml_message(struct buffer *buffer, const ProtobufCMessage *message,
                               unsigned indent, bool in_line)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    bool is_first = true;

    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        if (!field_is_set(message, field))
            continue;
        if (is_first && !in_line && indent)
            buffer_append_text(buffer, "\n");
        if (!is_first || !in_line)
            start_line(buffer, indent);
        write_yaml_field(buffer, message, field, indent);
        is_first = false;
    }
    if (is_first)
        buffer_append_text(buffer, in_line || !indent ? "{}\n" : " {}\n");
}

char *bind_yaml_text(const ProtobufCMessage *message)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    write_yaml_message(&buffer, message, 0, false);
    return buffer_text(&buffer);
}
