/* report — the picture of one run. */
#ifndef WAFERD_REPLAY_REPORT_H
#define WAFERD_REPLAY_REPORT_H

#include "base/buffer.h"

struct measured;
struct replay_options;
struct replay_result;
struct trace;

/* `name` is what the trace is called. */
void report_draw(const char *name, const struct trace *trace, const struct replay_options *options,
                 const struct replay_result *result, const struct measured *measured,
                 struct buffer *svg);

#endif
