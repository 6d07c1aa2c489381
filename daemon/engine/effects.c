#include "engine/effects.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

static void effect_done(struct agent_effect *effect)
{
    if (effect->message)
        wafer__to_controller__free_unpacked(effect->message, NULL);
    for (size_t i = 0; i < effect->shard_count; i++)
        free(effect->shards[i].bytes);
    free(effect->shards);
    if (effect->resume)
        wafer__checkpoint_state__free_unpacked(effect->resume, NULL);
    free(effect->text);
}

void agent_effects_clear(struct agent_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++)
        effect_done(&effects->items[i]);
    free(effects->items);
    *effects = (struct agent_effects){ .items = NULL };
}

struct agent_effect *effects_add(struct agent_effects *effects, enum agent_effect_type type)
{
    ARRAY_RESERVE(effects->items, effects->count, effects->capacity);
    struct agent_effect *effect = &effects->items[effects->count++];
    *effect = (struct agent_effect){ .type = type };
    return effect;
}

Wafer__ToController *effects_send(struct agent_effects *effects)
{
    struct agent_effect *effect = effects_add(effects, AGENT_SEND);

    effect->message = MESSAGE_NEW(Wafer__ToController, to_controller);
    return effect->message;
}

Wafer__Fence *fence_new(uint64_t term, uint64_t epoch)
{
    Wafer__Fence *fence = MESSAGE_NEW(Wafer__Fence, fence);

    fence->term = term;
    fence->epoch = epoch;
    return fence;
}
