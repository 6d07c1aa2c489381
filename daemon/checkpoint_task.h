/* checkpoint_task — what the core wants done to a checkpoint, on a worker thread. */
#ifndef WAFERD_CHECKPOINT_TASK_H
#define WAFERD_CHECKPOINT_TASK_H

#include "core/core.h"

struct daemon;

/* Carry out EFFECT_COMMIT_MANIFEST, EFFECT_VERIFY or EFFECT_DELETE; the verdict comes back to the
 * core as an input. */
void checkpoint_task_start(struct daemon *daemon, const struct effect *effect);

#endif
