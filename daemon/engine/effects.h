/* effects — making what an agent asks of its shell. */
#ifndef WAFERD_ENGINE_EFFECTS_H
#define WAFERD_ENGINE_EFFECTS_H

#include "engine/agent.h"
#include "model/message.h"

/* One more effect at the end. The pointer is valid until the next one is added. */
struct agent_effect *effects_add(struct agent_effects *effects, enum agent_effect_type type);

/* One more AGENT_SEND of an empty message, which the caller fills. */
Wafer__ToController *effects_send(struct agent_effects *effects);

Wafer__Fence *fence_new(uint64_t term, uint64_t epoch);

/* A new message of a generated type. */
#define MESSAGE_NEW(type, name)                                                                    \
    ({                                                                                             \
        type *message_ = NEW(type);                                                                \
        wafer__##name##__init(message_);                                                           \
        message_;                                                                                  \
    })

#endif
