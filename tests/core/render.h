/* render — records and effects as one line of text each, as scenarios show them. */
#ifndef WAFERD_TESTS_CORE_RENDER_H
#define WAFERD_TESTS_CORE_RENDER_H

#include "base/buffer.h"
#include "core/core.h"

void render_record(struct buffer *text, const Wafer__Record *record);
void render_effect(struct buffer *text, const struct effect *effect);

#endif
