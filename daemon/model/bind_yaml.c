#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_print.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

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

static void write_message(struct buffer *buffer, const ProtobufCMessage *message, unsigned indent,
                          bool in_line);

static void start_line(struct buffer *buffer, unsigned indent)
{
    buffer_format(buffer, "%*s", (int)indent, "");
}

static void write_text(struct buffer *buffer, const char *text)
{
    if (is_plain(text))
        buffer_append_text(buffer, text);
    else
        print_quoted(buffer, text, strlen(text));
}

/* A value that fits on its line; false: it is a mapping. */
static bool write_scalar(struct buffer *buffer, const ProtobufCFieldDescriptor *field,
                         const void *value)
{
    owned(buffer_done) struct buffer formatted = BUFFER_EMPTY;

    if (field->type == PROTOBUF_C_TYPE_STRING) {
        write_text(buffer, *(const char *const *)value);
        return true;
    }
    if (field->type == PROTOBUF_C_TYPE_ENUM) {
        print_enum(buffer, field->descriptor, *(const int *)value, false);
        return true;
    }
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        print_value(buffer, field, value);
        return true;
    }
    const struct bind_text *type = bind_text_find(field->descriptor);
    if (!type || !type->format(*(const ProtobufCMessage *const *)value, &formatted))
        return false;
    owned(free) char *text = buffer_text(&formatted);
    /* Only what has a blank or colon in it could be read as anything but itself. */
    if (strpbrk(text, " :") && type->type != &wafer__duration__descriptor)
        print_quoted(buffer, text, strlen(text));
    else
        buffer_append_text(buffer, text);
    return true;
}

static void write_pairs(struct buffer *buffer, const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, unsigned indent)
{
    size_t count = field_count(message, field);

    buffer_append_text(buffer, "\n");
    for (size_t i = 0; i < count; i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);

        start_line(buffer, indent);
        write_text(buffer, pair->key);
        buffer_append_text(buffer, ": ");
        write_text(buffer, pair->value);
        buffer_append_text(buffer, "\n");
    }
}

static void write_list(struct buffer *buffer, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field, unsigned indent)
{
    size_t count = field_count(message, field);

    buffer_append_text(buffer, "\n");
    for (size_t i = 0; i < count; i++) {
        const void *value = field_element(message, field, i);

        start_line(buffer, indent);
        buffer_append_text(buffer, "- ");
        if (write_scalar(buffer, field, value))
            buffer_append_text(buffer, "\n");
        else
            write_message(buffer, *(const ProtobufCMessage *const *)value, indent + 2, true);
    }
}

static void write_field(struct buffer *buffer, const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, unsigned indent)
{
    buffer_format(buffer, "%s:", field->name);
    if (field_is_pairs(field)) {
        write_pairs(buffer, message, field, indent + 2);
        return;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        write_list(buffer, message, field, indent + 2);
        return;
    }
    const void *value = field_element(message, field, 0);
    size_t length = buffer->length;
    buffer_append_text(buffer, " ");
    if (write_scalar(buffer, field, value)) {
        buffer_append_text(buffer, "\n");
        return;
    }
    buffer->length = length;
    write_message(buffer, *(const ProtobufCMessage *const *)value, indent + 2, false);
}

/* in_line: the line has begun ("- "), and the first key goes on it. */
static void write_message(struct buffer *buffer, const ProtobufCMessage *message, unsigned indent,
                          bool in_line)
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
        write_field(buffer, message, field, indent);
        is_first = false;
    }
    if (is_first)
        buffer_append_text(buffer, in_line || !indent ? "{}\n" : " {}\n");
}

char *bind_yaml_text(const ProtobufCMessage *message)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    write_message(&buffer, message, 0, false);
    return buffer_text(&buffer);
}
