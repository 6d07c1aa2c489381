/* trace — jobs of a replay: the scheduler's only, without a state of their own. */
#ifndef WAFERD_CORE_TRACE_H
#define WAFERD_CORE_TRACE_H

#include "core/core.h"

struct pool;

void trace_event(struct core *core, const struct input *input);
/* The pass of a pool that replays: whoever starts is an effect. */
void trace_pass(struct core *core, struct pool *pool);

#endif
