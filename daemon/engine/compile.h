/* compile — what a compiler of a platform accepts, and which programs it has built already. */
#ifndef WAFERD_ENGINE_COMPILE_H
#define WAFERD_ENGINE_COMPILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/map.h"
#include "engine/workload.h"
#include "job.pb-c.h"
#include "platform.pb-c.h"

/* WAFER__CAUSE__NO_CAUSE if it compiles; else why not, with a sentence in `diag`. */
Wafer__Cause compile_check(const Wafer__JobSpec *spec, const struct workload *workload,
                           const Wafer__Platform *platform, uint32_t systems, struct diag *diag);

/* Identifies what is compiled: the graph, its batch and formats, the platform, how many systems. */
uint64_t compile_key(const Wafer__JobSpec *spec, const struct workload *workload,
                     const Wafer__Platform *platform, uint32_t systems);

struct compile_cache {
    struct map programs;
};

void compile_cache_done(struct compile_cache *cache);
bool compile_cache_has(const struct compile_cache *cache, uint64_t key);
void compile_cache_put(struct compile_cache *cache, uint64_t key);

#endif
