/* answer — the runs of a replay, as the message that wafer(1) prints. */
#ifndef WAFERD_REPLAY_ANSWER_H
#define WAFERD_REPLAY_ANSWER_H

#include "view.pb-c.h"

struct failures;
struct measured;
struct options;
struct replay_options;
struct replay_result;
struct trace;

/* `record`: of failures, if one was given. */
Wafer__Replay *answer_new(const struct options *options, const struct trace *trace,
                          const struct failures *record);
void answer_add(Wafer__Replay *answer, const struct trace *trace,
                const struct replay_options *options, const struct replay_result *result,
                const struct measured *measured);

#endif
