/* effects — carrying out what the core decided, once it is durable. */
#ifndef WAFERD_EFFECTS_H
#define WAFERD_EFFECTS_H

#include "core/core.h"

struct daemon;

void effects_carry_out(struct daemon *daemon, const struct records *records,
                       const struct effects *effects);

#endif
