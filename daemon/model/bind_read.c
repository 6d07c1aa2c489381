#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind_field.h"
#include "model/bind_scalar.h"
#include "model/bind_text.h"
#include "model/bind_tree.h"
#include "model/limits.h"
#include "value.pb-c.h"

struct reading {
    const ProtobufCMessageDescriptor *root;
    struct bind_errors *errors;
};

static int read_message(const struct reading *reading, const struct node *node,
                        const struct path *path, ProtobufCMessage *message);

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
        owned(free) char *wants = scalar_wanted(field);
        return refuse(reading, path, node->at, "%s where %s is wanted", kind_name(node), wants);
    }
    int r = check_scalar(reading, node, path, limit);
    if (r < 0)
        return r;
    if (scalar_read(node->text, field, slot, &diag) < 0)
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

/* Path of a key with this name, `depth` levels below `type`; NULL if there is none. */
static char *find_key(const ProtobufCMessageDescriptor *type, const char *key, unsigned depth)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        if (depth == 0 && strcmp(field->name, key) == 0)
            return text_copy(key);
        if (depth == 0 || field->type != PROTOBUF_C_TYPE_MESSAGE || field_is_pairs(field) ||
            bind_text_find(field->descriptor))
            continue;
        owned(free) char *below = find_key(field->descriptor, key, depth - 1);
        if (below)
            return text_format("%s.%s", field->name, below);
    }
    return NULL;
}

/* Where a key of just this name belongs, or the nearest key of the same mapping. */
static void refuse_unknown(const struct reading *reading, const ProtobufCMessageDescriptor *type,
                           const struct node *node, const struct path *path)
{
    owned(free) const char **names = memory_new((type->n_fields + 1) * sizeof(*names));
    owned(free) char *elsewhere = NULL;

    for (unsigned i = 0; i < type->n_fields; i++)
        names[i] = type->fields[i].name;
    const char *nearest = bind_nearest(node->key, names);
    for (unsigned depth = 0; !elsewhere && depth < 4; depth++)
        elsewhere = find_key(reading->root, node->key, depth);
    if (elsewhere)
        refuse(reading, path, node->key_at, "unknown key here (did you mean %s?)", elsewhere);
    else if (nearest)
        refuse(reading, path, node->key_at, "unknown key (did you mean %s?)", nearest);
    else
        refuse(reading, path, node->key_at, "unknown key");
}

static void refuse_missing(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                           const struct node *parent, const struct path *path)
{
    const struct path missing = { .parent = path, .name = field->name };
    owned(free) char *wants = scalar_wanted(field);

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
    const struct reading reading = { .root = type, .errors = errors };
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
