#include "cli/item_key.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/units.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_print.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

/* ---- the path ------------------------------------------------------------------------------- */

/* A message that has keys of its own. */
static const ProtobufCMessageDescriptor *inner_type(const ProtobufCFieldDescriptor *field)
{
    bool is_one =
        field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED;

    return is_one && !bind_text_find(field->descriptor) ? field->descriptor : NULL;
}

static const char *nearest_key(const ProtobufCMessageDescriptor *type, const char *name)
{
    owned(free) const char **names = memory_new((type->n_fields + 1) * sizeof(*names));

    for (unsigned i = 0; i < type->n_fields; i++)
        names[i] = type->fields[i].name;
    return bind_nearest(name, names);
}

int item_key_parse(const ProtobufCMessageDescriptor *type, const char *path, struct item_key *ret,
                   const char **ret_nearest)
{
    *ret = (struct item_key){ .depth = 0 };
    *ret_nearest = NULL;
    for (const char *rest = path; type && ret->depth < ITEM_KEY_DEPTH;) {
        size_t length = strcspn(rest, ".");
        owned(free) char *name = text_copy_length(rest, length);
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(type, name);

        if (!field) {
            *ret_nearest = nearest_key(type, name);
            return -EINVAL;
        }
        ret->fields[ret->depth++] = field;
        if (!rest[length])
            return 0;
        rest += length + 1;
        if (field_is_pairs(field) && *rest) {
            ret->pair = text_copy(rest);
            return 0;
        }
        type = inner_type(field);
    }
    return -EINVAL;
}

void item_key_done(struct item_key *key)
{
    free(key->pair);
    key->pair = NULL;
}

static const ProtobufCFieldDescriptor *leaf(const struct item_key *key)
{
    return key->fields[key->depth - 1];
}

bool item_key_is_number(const struct item_key *key)
{
    const ProtobufCFieldDescriptor *field = leaf(key);

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return false;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const struct bind_text *text = bind_text_find(field->descriptor);
        return text && text->is_number;
    }
    return field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES &&
           field->type != PROTOBUF_C_TYPE_ENUM && field->type != PROTOBUF_C_TYPE_BOOL;
}

/* The message that holds the leaf, or NULL where the way to it ends. */
static const ProtobufCMessage *holder(const struct item_key *key, const ProtobufCMessage *item)
{
    for (unsigned i = 0; i + 1 < key->depth; i++) {
        if (!field_is_set(item, key->fields[i]))
            return NULL;
        item = *(const ProtobufCMessage *const *)field_element(item, key->fields[i], 0);
    }
    return field_count(item, leaf(key)) ? item : NULL;
}

/* ---- its value ------------------------------------------------------------------------------ */

static void add_message(struct buffer *text, const ProtobufCMessage *message, bool utc)
{
    const struct bind_text *type = bind_text_find(message->descriptor);

    if (message->descriptor == &wafer__time__descriptor) {
        buffer_append_text(text, units_time(((const Wafer__Time *)message)->us, utc).text);
    } else if (!type || !type->format(message, text)) {
        owned(free) char *json = bind_json_text(message, false);
        buffer_append_text(text, json);
    }
}

static void add_element(struct buffer *text, const ProtobufCFieldDescriptor *field,
                        const void *value, bool utc)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING: buffer_append_text(text, *(const char *const *)value); break;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(text, field->descriptor, *(const int *)value, false);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        add_message(text, *(const ProtobufCMessage *const *)value, utc);
        break;
    default: print_value(text, field, value);
    }
}

/* All pairs as key=value, or the value of one key. */
static char *pairs_text(const struct item_key *key, const ProtobufCMessage *message)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    const ProtobufCFieldDescriptor *field = leaf(key);

    for (size_t i = 0; i < field_count(message, field); i++) {
        const Wafer__KeyValue *pair =
            *(const Wafer__KeyValue *const *)field_element(message, field, i);

        if (key->pair && strcmp(pair->key, key->pair) == 0)
            return text_copy(pair->value);
        if (!key->pair)
            buffer_format(&text, "%s%s=%s", i ? "," : "", pair->key, pair->value);
    }
    return key->pair ? NULL : buffer_text(&text);
}

char *item_key_text(const struct item_key *key, const ProtobufCMessage *item, bool utc)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    const ProtobufCMessage *message = holder(key, item);
    const ProtobufCFieldDescriptor *field = leaf(key);

    if (!message)
        return NULL;
    if (field_is_pairs(field))
        return pairs_text(key, message);
    for (size_t i = 0; i < field_count(message, field); i++) {
        if (i)
            buffer_append_text(&text, ",");
        add_element(&text, field, field_element(message, field, i), utc);
    }
    return buffer_text(&text);
}

/* ---- order ---------------------------------------------------------------------------------- */

static int order(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_values(const ProtobufCFieldDescriptor *field, const void *a, const void *b)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_ENUM: return order(*(const int32_t *)a, *(const int32_t *)b);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: return order(*(const uint32_t *)a, *(const uint32_t *)b);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: {
        int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
        return one < other ? -1 : one > other;
    }
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: {
        uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
        return one < other ? -1 : one > other;
    }
    case PROTOBUF_C_TYPE_FLOAT: return order(*(const float *)a, *(const float *)b);
    case PROTOBUF_C_TYPE_DOUBLE: return order(*(const double *)a, *(const double *)b);
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)a - *(const protobuf_c_boolean *)b;
    case PROTOBUF_C_TYPE_STRING: return strcmp(*(const char *const *)a, *(const char *const *)b);
    case PROTOBUF_C_TYPE_MESSAGE: {
        /* Of those with a text form the first field is what is measured. */
        const ProtobufCMessage *one = *(const ProtobufCMessage *const *)a;
        const ProtobufCMessage *other = *(const ProtobufCMessage *const *)b;
        const ProtobufCFieldDescriptor *first = &one->descriptor->fields[0];
        return bind_text_find(one->descriptor) ? compare_values(first, field_element(one, first, 0),
                                                                field_element(other, first, 0))
                                               : 0;
    }
    default: return 0;
    }
}

int item_key_compare(const struct item_key *key, const ProtobufCMessage *a,
                     const ProtobufCMessage *b, int *ret_unset)
{
    const ProtobufCMessage *one = holder(key, a), *other = holder(key, b);
    const ProtobufCFieldDescriptor *field = leaf(key);

    *ret_unset = !one + !other;
    if (*ret_unset)
        return !one - !other;
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return compare_values(field, field_element(one, field, 0), field_element(other, field, 0));

    owned(free) char *one_text = item_key_text(key, a, true);
    owned(free) char *other_text = item_key_text(key, b, true);
    *ret_unset = !one_text + !other_text;
    return *ret_unset ? !one_text - !other_text : strcmp(one_text, other_text);
}
