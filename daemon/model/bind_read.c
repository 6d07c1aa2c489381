#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/bind_field.h"
#include "model/bind_text.h"
#include "model/bind_tree.h"
#include "model/limits.h"
#include "value.pb-c.h"

struct bind_places {
    struct node *root;
};

struct reading {
    struct bind_errors *errors;
};

static int read_message(const struct reading *reading, const struct node *node,
                        const struct path *path, ProtobufCMessage *message);

static ProtobufCMessage *message_new(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = memory_new(type->sizeof_message);

    protobuf_c_message_init(type, message);
    return message;
}

__attribute__((format(printf, 4, 5))) static int refuse(const struct reading *reading,
                                                        const struct path *path, struct mark at,
                                                        const char *format, ...)
{
    owned(free) char *field = path_format(path);
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    bind_errors_add(reading->errors, at.line, at.column, field, "%s%s", text,
                    at.line ? "" : " (given on the command line)");
    return -EINVAL;
}

static const char *kind_name(const struct node *node)
{
    switch (node->kind) {
    case NODE_SCALAR: return "a single value";
    case NODE_SEQUENCE: return "a list";
    case NODE_MAPPING: return "a mapping";
    case NODE_REFUSED: return "nothing that can be read";
    }
    return NULL;
}

static char *enum_names(const ProtobufCEnumDescriptor *type)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    for (unsigned i = 0; i < type->n_values; i++)
        buffer_format(&buffer, "%s%s", i ? ", " : "", type->values[i].name);
    return buffer_text(&buffer);
}

/* What would have been right under this key, for the end of a sentence. */
static char *wanted(const ProtobufCFieldDescriptor *field)
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

/* ---- scalars ---- */

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

static int read_scalar(const char *text, const ProtobufCFieldDescriptor *field, void *slot,
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

/* A scalar with no NUL in it, no longer than what is allowed, and not left empty by mistake. */
static int check_scalar(const struct reading *reading, const struct node *node,
                        const struct path *path, size_t limit)
{
    if (node->length > limit)
        return refuse(reading, path, node->at, "%zu bytes: more than the %zu that a text may have",
                      node->length, limit);
    if (strlen(node->text) != node->length)
        return refuse(reading, path, node->at, "holds a NUL character, which no text may");
    if (!node->quoted && node->length == 0)
        return refuse(reading, path, node->at,
                      "has no value (null leaves it unset, \"\" is empty)");
    return 0;
}

/* ---- fields ---- */

static int read_value(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                      const struct node *node, const struct path *path, size_t limit, void *slot)
{
    bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
    const struct bind_text *text = is_message ? bind_text_find(field->descriptor) : NULL;
    struct diag diag;

    if (node->kind == NODE_REFUSED)
        return -EINVAL; /* reported already */
    if (is_message && (!text || (text->or_mapping && node->kind == NODE_MAPPING))) {
        ProtobufCMessage *message = message_new(field->descriptor);
        int r = read_message(reading, node, path, message);

        *(ProtobufCMessage **)slot = message; /* also a part of it: what refers to it goes on */
        return r;
    }
    if (node->kind != NODE_SCALAR) {
        owned(free) char *wants = wanted(field);
        return refuse(reading, path, node->at, "%s where %s is wanted", kind_name(node), wants);
    }
    int r = check_scalar(reading, node, path, limit);
    if (r < 0)
        return r;
    if (read_scalar(node->text, field, slot, &diag) < 0)
        return refuse(reading, path, node->at, "%s", diag.text);
    return 0;
}

static int read_pairs(const struct reading *reading, const struct node *node,
                      const struct path *path, size_t limit, ProtobufCMessage ***ret, size_t *count)
{
    if (node->kind != NODE_MAPPING)
        return refuse(reading, path, node->at, "%s where a mapping of texts is wanted",
                      kind_name(node));
    *ret = memory_new((node->count + 1) * sizeof(**ret));
    for (size_t i = 0; i < node->count; i++) {
        const struct node *item = node->items[i];
        const struct path item_path = { .parent = path, .name = item->key };

        if (item->kind == NODE_REFUSED)
            continue;
        if (item->kind != NODE_SCALAR || node_is_null(item)) {
            refuse(reading, &item_path, item->at, "%s where a text is wanted",
                   item->kind == NODE_SCALAR ? "null" : kind_name(item));
            continue;
        }
        if (strlen(item->key) > LIMIT_KEY_BYTES) {
            refuse(reading, &item_path, item->key_at, "a key of more than %d bytes",
                   LIMIT_KEY_BYTES);
            continue;
        }
        if (check_scalar(reading, item, &item_path, limit) < 0)
            continue;
        Wafer__KeyValue *pair = (Wafer__KeyValue *)message_new(&wafer__key_value__descriptor);
        pair->key = text_copy(item->key);
        pair->value = text_copy(item->text);
        (*ret)[(*count)++] = &pair->base;
    }
    return 0;
}

static int read_list(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                     const struct node *node, const struct path *path, size_t limit, char **ret,
                     size_t *count)
{
    size_t size = field_size(field);

    if (node->kind != NODE_SEQUENCE)
        return refuse(reading, path, node->at, "%s where a list is wanted (write [...])",
                      kind_name(node));
    *ret = memory_new((node->count + 1) * size);
    for (size_t i = 0; i < node->count; i++) {
        const struct path item_path = { .parent = path, .index = i };
        void *slot = *ret + *count * size;

        if (node_is_null(node->items[i]))
            refuse(reading, &item_path, node->items[i]->at, "null in a list: leave it out");
        else if (read_value(reading, field, node->items[i], &item_path, limit, slot) == 0 ||
                 (field->type == PROTOBUF_C_TYPE_MESSAGE && *(void **)slot))
            ++*count;
    }
    return 0;
}

static int read_field(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                      const struct node *node, const struct path *path, ProtobufCMessage *message)
{
    void *quantifier = (char *)message + field->quantifier_offset;
    size_t limit = bind_text_limit(message->descriptor, field->name);
    void *slot = field_slot(message, field);

    if (node->kind == NODE_REFUSED)
        return -EINVAL; /* reported already */
    if (field_is_pairs(field))
        return read_pairs(reading, node, path, limit, slot, quantifier);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return read_list(reading, field, node, path, limit, slot, quantifier);

    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        if (*(uint32_t *)quantifier)
            return refuse(reading, path, node->key_at, "only one of its group may be given");
        int r = read_value(reading, field, node, path, limit, slot);
        if (r == 0 || (field->type == PROTOBUF_C_TYPE_MESSAGE && *(void **)slot))
            *(uint32_t *)quantifier = field->id;
        return r;
    }
    int r = read_value(reading, field, node, path, limit, slot);
    if (r == 0 && field->label == PROTOBUF_C_LABEL_OPTIONAL &&
        field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING)
        *(protobuf_c_boolean *)quantifier = true;
    return r;
}

/* ---- messages ---- */

static void refuse_unknown(const struct reading *reading, const ProtobufCMessageDescriptor *type,
                           const struct node *node, const struct path *path)
{
    owned(free) const char **names = memory_new((type->n_fields + 1) * sizeof(*names));

    for (unsigned i = 0; i < type->n_fields; i++)
        names[i] = type->fields[i].name;
    const char *nearest = bind_nearest(node->key, names);
    if (nearest)
        refuse(reading, path, node->key_at, "unknown key (did you mean %s?)", nearest);
    else
        refuse(reading, path, node->key_at, "unknown key");
}

static void refuse_missing(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                           const struct node *parent, const struct path *path)
{
    const struct path missing = { .parent = path, .name = field->name };
    owned(free) char *wants = wanted(field);

    refuse(reading, &missing, parent->key_at.line ? parent->key_at : parent->at,
           "missing, and it must be there (%s)", wants);
}

static int read_message(const struct reading *reading, const struct node *node,
                        const struct path *path, ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    owned(free) bool *seen = memory_new(type->n_fields + 1);
    int result = 0;

    if (node->kind != NODE_MAPPING)
        return refuse(reading, path, node->at, "%s where a mapping of keys is wanted",
                      kind_name(node));
    for (size_t i = 0; i < node->count; i++) {
        const struct node *item = node->items[i];
        const struct path item_path = { .parent = path, .name = item->key };
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(type, item->key);

        if (!field) {
            refuse_unknown(reading, type, item, &item_path);
            result = -EINVAL;
            continue;
        }
        if (node_is_null(item) || seen[field - type->fields])
            continue; /* a duplicate has been reported */
        seen[field - type->fields] = true;
        if (read_field(reading, field, item, &item_path, message) < 0)
            result = -EINVAL;
    }
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED && !seen[i]) {
            refuse_missing(reading, &type->fields[i], node, path);
            result = -EINVAL;
        }
    return result;
}

/* A message of a whole tree, or errors. */
static int read_root(const ProtobufCMessageDescriptor *type, const struct node *root,
                     ProtobufCMessage **ret, struct bind_errors *errors)
{
    const struct reading reading = { .errors = errors };
    ProtobufCMessage *message = message_new(type);

    read_message(&reading, root, NULL, message);
    if (errors->count) {
        protobuf_c_message_free_unpacked(message, NULL);
        return -EINVAL;
    }
    *ret = message;
    return 0;
}

int bind_yaml_with(const ProtobufCMessageDescriptor *type, const char *text, size_t length,
                   size_t limit, const char *const *sets, ProtobufCMessage **ret,
                   struct bind_places **ret_places, struct bind_errors *errors)
{
    owned(node_free) struct node *root = NULL;
    int r = tree_parse(text, length, limit, &root, errors);

    if (r < 0)
        return r;
    for (; sets && *sets && root->kind == NODE_MAPPING; sets++)
        tree_set(root, *sets, errors);
    r = read_root(type, root, ret, errors);
    if (r < 0)
        return r;
    if (ret_places) {
        *ret_places = NEW(struct bind_places);
        (*ret_places)->root = TAKE(root);
    }
    return 0;
}

int bind_yaml(const ProtobufCMessageDescriptor *type, const char *text, size_t length, size_t limit,
              ProtobufCMessage **ret, struct bind_places **ret_places, struct bind_errors *errors)
{
    return bind_yaml_with(type, text, length, limit, NULL, ret, ret_places, errors);
}

/* By way of the text, so that a message and a file cannot come to differ in what a value means. */
int bind_set(ProtobufCMessage *message, const char *assignment, struct bind_errors *errors)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    owned(free) char *text = bind_yaml_text(message);
    owned(node_free) struct node *root = NULL;
    ProtobufCMessage *changed;
    int r = tree_parse(text, strlen(text), SIZE_MAX, &root, errors);

    if (r < 0)
        return r;
    r = tree_set(root, assignment, errors);
    if (r < 0)
        return r;
    tree_forget_places(root);
    r = read_root(type, root, &changed, errors);
    if (r < 0)
        return r;

    owned(free) void *old = memory_copy(message, type->sizeof_message);
    memcpy(message, changed, type->sizeof_message);
    memcpy(changed, old, type->sizeof_message);
    protobuf_c_message_free_unpacked(changed, NULL);
    return 0;
}

/* ---- places ---- */

struct bind_places *bind_places_free(struct bind_places *places)
{
    if (places)
        node_free(places->root);
    free(places);
    return NULL;
}

/* The child that `field` goes on with, and what is left of field. Keys may hold dots themselves. */
static const struct node *next_node(const struct node *node, const char **field)
{
    if (**field == '[' && node->kind == NODE_SEQUENCE) {
        char *end;
        size_t index = strtoul(*field + 1, &end, 10);

        *field = *end == ']' ? end + 1 : end;
        return index < node->count ? node->items[index] : NULL;
    }
    if (node->kind != NODE_MAPPING)
        return NULL;
    const char *rest = *field + (**field == '.');
    for (size_t i = 0; i < node->count; i++) {
        size_t length = strlen(node->items[i]->key);

        if (strncmp(node->items[i]->key, rest, length) == 0 &&
            (rest[length] == '\0' || rest[length] == '.' || rest[length] == '[')) {
            *field = rest + length;
            return node->items[i];
        }
    }
    return NULL;
}

void bind_place(const struct bind_places *places, const char *field, unsigned *ret_line,
                unsigned *ret_column)
{
    const struct node *node = places ? places->root : NULL;
    struct mark at = node ? node->at : (struct mark){ 0 };

    while (node && field && *field) {
        node = next_node(node, &field);
        if (node)
            at = node->at;
    }
    *ret_line = at.line;
    *ret_column = at.column;
}
