#include <stdlib.h>
#include <string.h>

#include "model/bind.h"
#include "model/bind_tree.h"

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
        if (node) /* of what fills lines of its own, the key is the better place */
            at = node->kind != NODE_SCALAR && node->key_at.line ? node->key_at : node->at;
    }
    *ret_line = at.line;
    *ret_column = at.column;
}
