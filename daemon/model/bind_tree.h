/* bind_tree — one YAML document as a tree of nodes that know where they were written. */
#ifndef WAFERD_MODEL_BIND_TREE_H
#define WAFERD_MODEL_BIND_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "model/bind.h"

struct mark {
    unsigned line, column; /* from 1; 0, 0: not from the file */
};

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING, NODE_REFUSED };

struct node {
    enum node_kind kind;
    struct mark at;
    char *key; /* in a mapping: its key, and where that is */
    struct mark key_at;
    char *text; /* scalar: ends in NUL, may hold further ones */
    size_t length;
    bool quoted;
    struct node **items; /* of a sequence or mapping */
    size_t count, capacity;
};

/* The tree of a message that was read, kept for its places. */
struct bind_places {
    struct node *root;
};

struct node *node_new(enum node_kind kind, struct mark at);
struct node *node_free(struct node *node); /* always NULL */
OWNED_DEFINE(node_free, struct node *);

void node_add(struct node *parent, struct node *child); /* takes it */
struct node *node_find(const struct node *mapping, const char *key);
bool node_is_null(const struct node *node);

/* Read `text`; -EINVAL with errors when there is nothing to go on with. Even with 0 there may be
 * errors: what they are about is left out of the tree or is NODE_REFUSED. */
int tree_parse(const char *text, size_t length, size_t limit, struct node **ret,
               struct bind_errors *errors);

/* What the reader of libyaml would refuse, said in words that help: bytes that are not UTF-8, and
 * control characters. -EINVAL with an error */
int tree_check_bytes(const char *text, size_t length, struct bind_errors *errors);

/* Put the value of "a.b.c=value", itself YAML, in its place in the tree. */
int tree_set(struct node *root, const char *assignment, struct bind_errors *errors);

/* The tree was made up: nothing in it has a place in a file. */
void tree_forget_places(struct node *node);

#endif
