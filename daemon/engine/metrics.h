/* metrics — what a run has seen of its loss, and whether that ends it.
 *
 * The loss is seen on logged steps, the loss of held-out data at evaluations; `stop.when` looks at
 * what was seen at the very step, so it ends every attempt of a run at the same one. */
#ifndef WAFERD_ENGINE_METRICS_H
#define WAFERD_ENGINE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "job.pb-c.h"
#include "record.pb-c.h"

enum metric { METRIC_LOSS, METRIC_EVAL_LOSS };

#define METRICS (METRIC_EVAL_LOSS + 1)

struct metrics {
    struct metric_seen {
        bool known; /* seen at all; the newest: */
        int64_t micro;
        uint64_t step;
        bool has_best;
        int64_t best_micro;
        uint64_t best_step;
    } seen[METRICS];
};

void metrics_see(struct metrics *metrics, enum metric metric, uint64_t step, int64_t micro);

/* WAFER__CAUSE__STOP_METRIC, __STOP_STALLED, or __NO_CAUSE: by what was seen at `step`. */
Wafer__Cause metrics_stop(const struct metrics *metrics, const Wafer__StopSpec *stop,
                          uint64_t step);

/* Evaluations count more than the loss of one batch; false: nothing seen. */
bool metrics_newest(const struct metrics *metrics, int64_t *ret_micro);

void metrics_save(const struct metrics *metrics, Wafer__ResumeState *ret);
void metrics_load(struct metrics *metrics, const Wafer__ResumeState *resume);

#endif
