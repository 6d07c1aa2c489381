/* workload — what a run needs of a job's spec, with every default filled in. */
#ifndef WAFERD_ENGINE_WORKLOAD_H
#define WAFERD_ENGINE_WORKLOAD_H

#include <stdint.h>

#include "base/diag.h"
#include "job.pb-c.h"
#include "platform.pb-c.h"

struct workload {
    uint64_t parameters;
    uint32_t layers, hidden, vocab, seq, batch, workers;
    double feed_per_s; /* sequences of all workers; 0: enough */
    Wafer__Workload__Precision precision;
    Wafer__Workload__Recompute recompute;
    uint64_t max_steps;
    uint64_t log_steps;      /* a line each; about 200 in a run */
    uint64_t evaluate_steps; /* 0: never */
    Wafer__CheckpointSpec__OnError on_error;
};

/* -EINVAL: this cannot be run; the spec may come from anywhere */
int workload_read(const Wafer__JobSpec *spec, struct workload *ret, struct diag *diag);

/* cb16 exists on wafers alone; elsewhere such a job runs in bf16, as published runs did. */
Wafer__Workload__Precision workload_precision(const struct workload *workload,
                                              const Wafer__Platform *platform);

const char *precision_name(Wafer__Workload__Precision precision);

#endif
