#include "model/bind_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/limits.h"

struct node *node_new(enum node_kind kind, struct mark at)
{
    struct node *node = NEW(struct node);

    node->kind = kind;
    node->at = at;
    return node;
}

struct node *node_free(struct node *node)
{
    if (!node)
        return NULL;
    for (size_t i = 0; i < node->count; i++)
        node_free(node->items[i]);
    free(node->items);
    free(node->key);
    free(node->text);
    free(node);
    return NULL;
}

void node_add(struct node *parent, struct node *child)
{
    ARRAY_RESERVE(parent->items, parent->count, parent->capacity);
    parent->items[parent->count++] = child;
}

struct node *node_find(const struct node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->items[i]->key, key) == 0)
            return mapping->items[i];
    return NULL;
}

bool node_is_null(const struct node *node)
{
    return node->kind == NODE_SCALAR && !node->quoted &&
           (strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

void tree_forget_places(struct node *node)
{
    node->at = node->key_at = (struct mark){ 0 };
    for (size_t i = 0; i < node->count; i++)
        tree_forget_places(node->items[i]);
}

/* Lists, mappings and quoted texts are YAML; anything else is one text as it stands, so that
 * title=a: b needs no second quoting. */
static int parse_value(const char *path, const char *value, struct node **ret,
                       struct bind_errors *errors)
{
    struct bind_errors own = { 0 };
    struct node *node = NULL;
    int r = 0;

    if (*value && strchr("[{\"'", *value)) {
        r = tree_parse(value, strlen(value), LIMIT_JOB_FILE_BYTES, &node, &own);
    } else if (tree_check_bytes(value, strlen(value), &own) == 0) {
        node = node_new(NODE_SCALAR, (struct mark){ 0 });
        node->text = text_copy(value);
        node->length = strlen(value);
    }
    for (size_t i = 0; i < own.count; i++)
        bind_errors_add(errors, 0, 0, path, "%s", own.items[i].text);
    r = own.count ? -EINVAL : r;
    bind_errors_done(&own);
    if (r < 0)
        node_free(node);
    else
        *ret = node;
    return r;
}

/* The mapping that is to hold the last key of `path`; what is no mapping on the way gives way to
 * one. `ret_key` points into path. */
static struct node *walk(struct node *root, char *path, const char **ret_key)
{
    struct node *node = root;
    char *segment = path;

    for (char *dot; (dot = strchr(segment, '.')); segment = dot + 1) {
        *dot = '\0';
        struct node *child = node_find(node, segment);
        if (!child) {
            child = node_new(NODE_MAPPING, (struct mark){ 0 });
            child->key = text_copy(segment);
            node_add(node, child);
        } else if (child->kind != NODE_MAPPING) {
            for (size_t i = 0; i < child->count; i++)
                node_free(child->items[i]);
            child->count = 0;
            child->kind = NODE_MAPPING;
        }
        node = child;
    }
    *ret_key = segment;
    return node;
}

int tree_set(struct node *root, const char *assignment, struct bind_errors *errors)
{
    const char *equals = strchr(assignment, '=');
    size_t length = equals ? (size_t)(equals - assignment) : 0;
    struct node *value = NULL;

    assert(root->kind == NODE_MAPPING);
    if (!length || assignment[0] == '.' || equals[-1] == '.' ||
        memmem(assignment, length, "..", 2)) {
        bind_errors_add(errors, 0, 0, NULL,
                        "\"%.80s\" sets nothing: write a key, = and its value, like "
                        "systems.count=2",
                        assignment);
        return -EINVAL;
    }
    owned(free) char *path = text_copy_length(assignment, length);
    int r = parse_value(path, equals + 1, &value, errors);
    if (r < 0)
        return r;

    const char *key;
    struct node *parent = walk(root, path, &key);
    struct node *old = node_find(parent, key);
    tree_forget_places(value);
    value->key = text_copy(key);
    if (!old) {
        node_add(parent, value);
        return 0;
    }
    for (size_t i = 0; i < parent->count; i++)
        if (parent->items[i] == old)
            parent->items[i] = value;
    node_free(old);
    return 0;
}
