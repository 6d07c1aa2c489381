#include "replay/places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

struct place {
    struct list link; /* among those that are free or that are held together; alone: closed */
    void *holder;
};

struct places {
    struct list free;
    struct place items[];
};

struct places *places_new(uint32_t count)
{
    struct places *places = memory_new(sizeof(*places) + count * sizeof(places->items[0]));

    list_init(&places->free);
    for (uint32_t i = 0; i < count; i++)
        list_push_tail(&places->free, &places->items[i].link);
    return places;
}

struct places *places_free(struct places *places)
{
    free(places);
    return NULL;
}

static void move(struct place *place, struct list *to, void *holder)
{
    list_remove(&place->link);
    list_push_tail(to, &place->link);
    place->holder = holder;
}

void places_take(struct places *places, struct list *held, uint32_t count, void *holder)
{
    list_init(held);
    while (count-- > 0) {
        assert(!list_is_empty(&places->free));
        move(CONTAINER_OF(places->free.next, struct place, link), held, holder);
    }
}

void places_give(struct places *places, struct list *held)
{
    while (!list_is_empty(held))
        move(CONTAINER_OF(held->next, struct place, link), &places->free, NULL);
}

void *places_holder(const struct places *places, uint32_t system)
{
    return places->items[system].holder;
}

void places_close(struct places *places, uint32_t system)
{
    assert(!places->items[system].holder);
    list_remove(&places->items[system].link);
}

void places_open(struct places *places, uint32_t system)
{
    move(&places->items[system], &places->free, NULL);
}
