#include "any_message.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/duration.h"
#include "base/memory.h"
#include "job.pb-c.h"
#include "model/bind_field.h"
#include "value.pb-c.h"

static char *any_text(struct random *random)
{
    /* Each has a meaning of its own in YAML, in JSON, or on a terminal. */
    static const char *const parts[] = {
        "a",
        "Z",
        "7",
        " ",
        "\n",
        "\t",
        "\r",
        "\x1b",
        "\x7f",
        "\"",
        "'",
        "\\",
        ":",
        "#",
        ",",
        "[",
        "]",
        "{",
        "}",
        "-",
        "?",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "~",
        "null",
        "true",
        "=",
        "<<",
        ": ",
        " #",
        "\xc3\xbc",
        "\xc2\x85",
        "\xe2\x80\xa8",
        "\xef\xbb\xbf",
        "...",
        "---",
        "\x01",
        "\xc2\x9b",
        "0x1F",
        "\xef\xbf\xbe",
        "\xf0\x9f\x98\x80",
        "1e3",
    };
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    for (uint64_t count = random_below(random, 6); count > 0; count--)
        buffer_append_text(&buffer, parts[random_below(random, ELEMENTS(parts))]);
    return buffer_text(&buffer);
}

static uint64_t any_bits(struct random *random)
{
    return random_next(random) >> random_below(random, 64);
}

static uint64_t any_positive(struct random *random, uint64_t max)
{
    return 1 + any_bits(random) % max;
}

static void any_scalar(const ProtobufCFieldDescriptor *field, void *slot, struct random *random)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: *(uint32_t *)slot = (uint32_t)any_bits(random); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: *(uint64_t *)slot = any_bits(random); break;
    case PROTOBUF_C_TYPE_FLOAT: *(float *)slot = (float)random_unit(random); break;
    case PROTOBUF_C_TYPE_DOUBLE: *(double *)slot = random_unit(random) * 1e6 - 10; break;
    case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *)slot = random_below(random, 2); break;
    case PROTOBUF_C_TYPE_STRING: *(char **)slot = any_text(random); break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumDescriptor *type = field->descriptor;
        *(int *)slot = type->values[random_below(random, type->n_values)].value;
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *bytes = slot;
        bytes->len = random_below(random, 40);
        bytes->data = memory_new(bytes->len + 1);
        for (size_t i = 0; i < bytes->len; i++)
            bytes->data[i] = (uint8_t)random_next(random);
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)slot = any_message(field->descriptor, random);
        break;
    }
}

static void any_label(Wafer__Label *label, struct random *random)
{
    label->level = (Wafer__Label__Level)random_below(random, 4);
    label->categories = memory_new(6 * sizeof(*label->categories));
    for (unsigned i = 0; i < 6; i++)
        if (random_below(random, 2))
            label->categories[label->n_categories++] = (Wafer__Label__Category)i;
}

/* Whether the value of this type is more than its members: then it is made here. */
static bool any_value(ProtobufCMessage *message, struct random *random)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    if (type == &wafer__duration__descriptor) {
        ((Wafer__Duration *)message)->us = (int64_t)any_positive(random, (uint64_t)DURATION_MAX_US);
    } else if (type == &wafer__size__descriptor) {
        ((Wafer__Size *)message)->bytes = (int64_t)any_positive(random, 1u << 31) << 20;
    } else if (type == &wafer__time__descriptor) {
        ((Wafer__Time *)message)->us = (int64_t)(random_next(random) % 253402300799000000);
    } else if (type == &wafer__count__descriptor) {
        ((Wafer__Count *)message)->value = any_bits(random) >> 1;
    } else if (type == &wafer__decimal__descriptor) {
        ((Wafer__Decimal *)message)->micro = (int64_t)any_bits(random);
    } else if (type == &wafer__priority__descriptor) {
        ((Wafer__Priority *)message)->value = 99 + 100 * (uint32_t)random_below(random, 4);
    } else if (type == &wafer__money__descriptor) {
        ((Wafer__Money *)message)->micro = (int64_t)(any_bits(random) >> 1);
        ((Wafer__Money *)message)->currency = text_copy("EUR");
    } else if (type == &wafer__label__descriptor) {
        any_label((Wafer__Label *)message, random);
    } else {
        return false;
    }
    return true;
}

/* One key of each pair, so that no mapping has one twice. */
static void number_keys(ProtobufCMessage **pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Wafer__KeyValue *pair = (Wafer__KeyValue *)pairs[i];
        char *key = text_format("%s%zu", pair->key, i);

        free(pair->key);
        pair->key = key;
    }
}

static void any_list(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                     struct random *random)
{
    size_t count = random_below(random, 4), size = field_size(field);
    char *list;

    if (!count)
        return;
    list = memory_new(count * size);
    for (size_t i = 0; i < count; i++)
        any_scalar(field, list + i * size, random);
    if (field_is_pairs(field))
        number_keys((ProtobufCMessage **)(void *)list, count);
    *(size_t *)(void *)((char *)message + field->quantifier_offset) = count;
    *(char **)field_slot(message, field) = list;
}

static void any_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                      struct random *random)
{
    void *quantifier = (char *)message + field->quantifier_offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        any_list(message, field, random);
        return;
    }
    if (field->label == PROTOBUF_C_LABEL_OPTIONAL && random_below(random, 2))
        return;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        if (*(uint32_t *)quantifier)
            return;
        *(uint32_t *)quantifier = field->id;
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL &&
               field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING) {
        *(protobuf_c_boolean *)quantifier = true;
    }
    any_scalar(field, field_slot(message, field), random);
}

ProtobufCMessage *any_message(const ProtobufCMessageDescriptor *type, struct random *random)
{
    ProtobufCMessage *message = memory_new(type->sizeof_message);

    protobuf_c_message_init(type, message);
    if (any_value(message, random))
        return message;
    for (unsigned i = 0; i < type->n_fields; i++)
        any_field(message, &type->fields[i], random);
    return message;
}
