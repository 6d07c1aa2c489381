/* list — a doubly linked ring whose links live in the objects it holds. */
#ifndef WAFERD_BASE_LIST_H
#define WAFERD_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *previous, *next;
};

#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *list)
{
    list->previous = list->next = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_insert_after(struct list *place, struct list *link)
{
    link->previous = place;
    link->next = place->next;
    place->next->previous = link;
    place->next = link;
}

static inline void list_push_tail(struct list *list, struct list *link)
{
    list_insert_after(list->previous, link);
}

static inline void list_push_head(struct list *list, struct list *link)
{
    list_insert_after(list, link);
}

/* A removed link is a ring of its own: removing it again does no harm. */
static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

#define list_foreach(ring, link)                                                                   \
    for (struct list *link = (ring)->next; link != (ring); link = link->next)

/* As list_foreach, but the current link may be removed. */
#define list_foreach_safe(ring, link)                                                              \
    for (struct list *link = (ring)->next, *link##_next = link->next; link != (ring);              \
         link = link##_next, link##_next = link->next)

#endif
