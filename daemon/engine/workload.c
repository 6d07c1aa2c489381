#include "engine/workload.h"

#include <errno.h>
#include <math.h>

#include "engine/training.h"
#include "model/job.h"
#include "model/limits.h"

#define LOG_LINES_MAX 200

/* 1, 2, 5, 10, 20, 50 ...: the first that keeps a run at LOG_LINES_MAX lines. */
static uint64_t log_steps_of(uint64_t max_steps)
{
    static const uint64_t series[] = { 1, 2, 5 };

    for (uint64_t decade = 1;; decade *= 10)
        for (int i = 0; i < 3; i++)
            if (max_steps / (decade * series[i]) <= LOG_LINES_MAX)
                return decade * series[i];
}

/* Published models of this family are about 100 times as wide as deep. */
static void guess_shape(struct workload *workload)
{
    double layers = cbrt((double)workload->parameters / (12.0 * 100 * 100));

    workload->layers = layers < 1 ? 1 : (uint32_t)lround(fmin(layers, 1000));
    workload->hidden = 100 * workload->layers;
}

static void read_model(const Wafer__ModelSpec *model, struct workload *ret)
{
    ret->parameters = job_parameters(model);
    ret->vocab = model->has_vocab ? model->vocab : 50257;
    ret->seq = model->has_seq ? model->seq : 2048;
    if (model->has_layers && model->has_hidden && model->layers > 0 && model->hidden > 0) {
        ret->layers = model->layers;
        ret->hidden = model->hidden;
    } else {
        guess_shape(ret);
    }
}

static void read_input(const Wafer__InputSpec *input, struct workload *ret)
{
    ret->workers = input && input->has_workers && input->workers > 0 ? input->workers : 1;
    if (input && input->sequences_per_s && input->sequences_per_s->micro > 0)
        ret->feed_per_s = ret->workers * ((double)input->sequences_per_s->micro / 1e6);
}

int workload_read(const Wafer__JobSpec *spec, struct workload *ret, struct diag *diag)
{
    const Wafer__Workload *workload = spec->workload;
    struct workload result = { 0 };
    struct job_terms terms;

    if (!workload)
        return diag_fail(diag, -EINVAL, "the job has no workload: only workloads run here");
    if (workload->batch == 0)
        return diag_fail(diag, -EINVAL, "workload.batch: 0 sequences a step; 1 or more");
    if (workload->model->has_seq && workload->model->seq == 0)
        return diag_fail(diag, -EINVAL, "workload.model.seq: 0 tokens a sequence; 1 or more");
    read_input(workload->input, &result);
    if (result.workers > TRAINING_WORKERS_MAX)
        return diag_fail(diag, -EINVAL, "workload.input.workers: %u; at most %u", result.workers,
                         TRAINING_WORKERS_MAX);

    job_terms(spec, &terms);
    if (terms.max_steps == 0)
        return diag_fail(diag, -EINVAL, "workload: 0 steps; 1 or more");
    read_model(workload->model, &result);
    result.batch = workload->batch;
    result.precision =
        workload->has_precision ? workload->precision : WAFER__WORKLOAD__PRECISION__cb16;
    result.recompute =
        workload->has_recompute ? workload->recompute : WAFER__WORKLOAD__RECOMPUTE__none;
    result.max_steps = terms.max_steps;
    result.log_steps = log_steps_of(terms.max_steps);
    if (spec->quality && spec->quality->every)
        result.evaluate_steps = spec->quality->every->steps->value;
    result.on_error = terms.on_error;
    *ret = result;
    return 0;
}

Wafer__Workload__Precision workload_precision(const struct workload *workload,
                                              const Wafer__Platform *platform)
{
    if (workload->precision == WAFER__WORKLOAD__PRECISION__cb16 &&
        platform->target != WAFER__PLATFORM__TARGET__wafer)
        return WAFER__WORKLOAD__PRECISION__bf16;
    return workload->precision;
}

const char *precision_name(Wafer__Workload__Precision precision)
{
    switch (precision) {
    case WAFER__WORKLOAD__PRECISION__cb16: return "cb16";
    case WAFER__WORKLOAD__PRECISION__bf16: return "bf16";
    case WAFER__WORKLOAD__PRECISION__fp16: return "fp16";
    case WAFER__WORKLOAD__PRECISION__fp32: return "fp32";
    default: return "unknown"; /* an enum from the wire may be anything */
    }
}
