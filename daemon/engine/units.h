/* units — the simulated systems of one host. */
#ifndef WAFERD_ENGINE_UNITS_H
#define WAFERD_ENGINE_UNITS_H

#include <stdbool.h>

#include "base/map.h"
#include "engine/agent.h"
#include "engine/heap.h"

struct unit {
    struct timer heal;
    const Wafer__Platform *platform;
    char *name, *pool;
    bool down, changed; /* since the registration */
    struct job *job;    /* whose run holds it, or NULL */
};

struct units {
    struct unit *items;
    size_t count;
    struct map by_name;
    struct heap heals; /* when which one comes up again */
};

void units_init(struct units *units, const struct agent_pool *pools, size_t pool_count);
void units_done(struct units *units);
struct unit *units_find(const struct units *units, const char *name); /* or NULL */

/* Into a report. */
Wafer__HostedSystem *unit_hosted_system(const struct unit *unit);

#endif
