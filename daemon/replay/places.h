/* places — which systems each running job of a replay holds.
 *
 * A schedule counts systems and does not say which. These are some that are free, so that a system
 * that fails knows whose job it stops, and a bad one stops one job after the other. Jobs start more
 * often than systems fail: taking many is quick, finding one is a search. */
#ifndef WAFERD_REPLAY_PLACES_H
#define WAFERD_REPLAY_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct places; /* those that are free */

struct places *places_new(uint32_t count);
struct places *places_free(struct places *places); /* always NULL */
OWNED_DEFINE(places_free, struct places *);

struct held {
    uint32_t *systems;
    uint32_t count;
};

/* There must be enough. */
void places_take(struct places *places, uint32_t count, struct held *ret);
void places_give(struct places *places, struct held *held);
bool held_has(const struct held *held, uint32_t system);

/* A system that is free cannot be taken until it comes back. */
void places_close(struct places *places, uint32_t system);
void places_open(struct places *places, uint32_t system);

#endif
