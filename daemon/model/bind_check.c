#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_text.h"
#include "model/limits.h"
#include "value.pb-c.h"

static void check_message(const struct bind_report *report, const ProtobufCMessage *message,
                          const struct path *path);

__attribute__((format(printf, 3, 4))) static void
refuse(const struct bind_report *report, const struct path *path, const char *format, ...)
{
    owned(free) char *field = path_format(path);
    va_list arguments;

    va_start(arguments, format);
    bind_vrefuse(report, field, format, arguments);
    va_end(arguments);
}

static void check_text(const struct bind_report *report, const char *text, size_t limit,
                       const struct path *path)
{
    size_t length = strlen(text), valid = utf8_valid_length(text, length);

    if (length > limit)
        refuse(report, path, "%zu bytes: more than the %zu that a text may have", length, limit);
    else if (valid < length)
        refuse(report, path, "not UTF-8: byte 0x%02x at offset %zu",
               (unsigned)(unsigned char)text[valid], valid);
}

/* The text form is the rule: what it would not read back is not a value of its type. */
static void check_text_message(const struct bind_report *report, const struct bind_text *type,
                               const ProtobufCMessage *message, const struct path *path)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    struct diag diag;

    if (!type->format(message, &buffer)) {
        check_message(report, message, path);
        return;
    }
    owned(free) char *text = buffer_text(&buffer);
    ProtobufCMessage *read = message_new(type->type);
    if (type->parse(text, read, &diag) < 0)
        refuse(report, path, "%s", diag.text);
    protobuf_c_message_free_unpacked(read, NULL);
}

static void check_value(const struct bind_report *report, const ProtobufCFieldDescriptor *field,
                        const void *value, size_t limit, const struct path *path)
{
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        check_text(report, *(const char *const *)value, limit, path);
    } else if (field->type == PROTOBUF_C_TYPE_ENUM) {
        int number = *(const int *)value;
        if (!protobuf_c_enum_descriptor_get_value(field->descriptor, number))
            refuse(report, path, "%d is a word that this version does not know", number);
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const struct bind_text *type = bind_text_find(field->descriptor);
        if (type)
            check_text_message(report, type, *(const ProtobufCMessage *const *)value, path);
        else
            check_message(report, *(const ProtobufCMessage *const *)value, path);
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_pairs(const struct bind_report *report, const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, size_t limit,
                        const struct path *path)
{
    size_t count = field_count(message, field);
    owned(free) const char **keys = memory_new((count + 1) * sizeof(*keys));

    for (size_t i = 0; i < count; i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);
        const struct path item = { .parent = path, .name = pair->key };

        keys[i] = pair->key;
        check_text(report, pair->key, LIMIT_KEY_BYTES, path);
        check_text(report, pair->value, limit, &item);
    }
    qsort(keys, count, sizeof(*keys), compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            refuse(report, path, "duplicate key \"%.80s\"", keys[i]);
}

static void check_field(const struct bind_report *report, const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, const struct path *path)
{
    size_t limit = bind_text_limit(message->descriptor, field->name);
    size_t count = field_count(message, field);

    if (count > LIMIT_LIST_LENGTH) {
        refuse(report, path, "%zu elements: more than %d", count, LIMIT_LIST_LENGTH);
        return;
    }
    if (field_is_pairs(field)) {
        check_pairs(report, message, field, limit, path);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct path item = { .parent = path, .index = i };
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;

        check_value(report, field, field_element(message, field, i), limit,
                    repeated ? &item : path);
    }
}

static void check_message(const struct bind_report *report, const ProtobufCMessage *message,
                          const struct path *path)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        refuse(report, path, "holds key number %u, which this version does not know",
               (unsigned)message->unknown_fields[i].tag);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct path item = { .parent = path, .name = type->fields[i].name };

        if (field_is_set(message, &type->fields[i]))
            check_field(report, message, &type->fields[i], &item);
        else if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED)
            refuse(report, &item, "missing, and it must be there");
    }
}

int bind_check(const ProtobufCMessage *message, const struct bind_places *places,
               struct bind_errors *errors)
{
    const struct bind_report report = { .places = places, .errors = errors };
    size_t before = errors->count;

    check_message(&report, message, NULL);
    return errors->count > before || errors->cut ? -EINVAL : 0;
}
