/* places — which systems each running job of a replay holds.
 *
 * A schedule counts systems and does not say which. These are some that are free, so that a system
 * that fails knows whose job it stops, and a bad one stops one job after the other. */
#ifndef WAFERD_REPLAY_PLACES_H
#define WAFERD_REPLAY_PLACES_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/list.h"

struct places;

struct places *places_new(uint32_t count);
struct places *places_free(struct places *places); /* always NULL */
OWNED_DEFINE(places_free, struct places *);

/* The holder gets `count` of those that are free; `held` is where they are kept until they are
 * given back. There must be enough. */
void places_take(struct places *places, struct list *held, uint32_t count, void *holder);
void places_give(struct places *places, struct list *held);

void *places_holder(const struct places *places, uint32_t system); /* NULL: nobody */
/* A system that nobody holds cannot be taken until it comes back. */
void places_close(struct places *places, uint32_t system);
void places_open(struct places *places, uint32_t system);

#endif
