#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_print.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

struct writer {
    struct buffer *buffer;
    bool pretty;
    unsigned depth;
};

static void write_message(struct writer *writer, const ProtobufCMessage *message);

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

/* Readers of JSON keep 64 bits with a sign at best: what is larger goes as a text. */
static bool is_too_wide(const char *number)
{
    uint64_t value;

    return number_parse_whole(number, INT64_MAX, &value) == -ERANGE;
}

static void write_text_message(struct writer *writer, const struct bind_text *type,
                               const ProtobufCMessage *message)
{
    owned(buffer_done) struct buffer formatted = BUFFER_EMPTY;

    if (!type->format(message, &formatted)) {
        write_message(writer, message);
        return;
    }
    buffer_append(&formatted, "", 1);
    const char *text = (const char *)buffer_data(&formatted);
    if (type->is_number && !is_too_wide(text))
        buffer_append_text(writer->buffer, text);
    else
        print_quoted(writer->buffer, text, strlen(text));
}

static void write_value(struct writer *writer, const ProtobufCFieldDescriptor *field,
                        const void *value)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        print_value(writer->buffer, field, value);
        return;
    }
    const ProtobufCMessage *message = *(const ProtobufCMessage *const *)value;
    const struct bind_text *text = bind_text_find(field->descriptor);
    if (text)
        write_text_message(writer, text, message);
    else
        write_message(writer, message);
}

static void write_pairs(struct writer *writer, const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field)
{
    size_t count = field_count(message, field);

    open_bracket(writer, "{");
    for (size_t i = 0; i < count; i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);

        write_separator(writer, i == 0);
        print_quoted(writer->buffer, pair->key, strlen(pair->key));
        buffer_append_text(writer->buffer, writer->pretty ? ": " : ":");
        print_quoted(writer->buffer, pair->value, strlen(pair->value));
    }
    close_bracket(writer, "}", count == 0);
}

static void write_list(struct writer *writer, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field)
{
    size_t count = field_count(message, field);

    open_bracket(writer, "[");
    for (size_t i = 0; i < count; i++) {
        write_separator(writer, i == 0);
        write_value(writer, field, field_element(message, field, i));
    }
    close_bracket(writer, "]", count == 0);
}

static void write_message(struct writer *writer, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    open_bracket(writer, "{");
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        write_separator(writer, i == 0);
        write_key(writer, field->name);
        if (field_is_pairs(field))
            write_pairs(writer, message, field);
        else if (field->label == PROTOBUF_C_LABEL_REPEATED)
            write_list(writer, message, field);
        else if (field_is_set(message, field))
            write_value(writer, field, field_element(message, field, 0));
        else
            buffer_append_text(writer->buffer, "null");
    }
    close_bracket(writer, "}", type->n_fields == 0);
}

char *bind_json_text(const ProtobufCMessage *message, bool pretty)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    struct writer writer = { .buffer = &buffer, .pretty = pretty };

    write_message(&writer, message);
    return buffer_text(&buffer);
}

json_t *bind_json(const ProtobufCMessage *message)
{
    owned(free) char *text = bind_json_text(message, false);
    json_t *json = json_loads(text, 0, NULL);

    assert(json);
    return json;
}
