#include <string.h>

#include "base/duration.h"
#include "model/job.h"
#include "model/priority.h"

#define SEQ_DEFAULT   2048
#define VOCAB_DEFAULT 50257

/* Sums and products of what users write stop at the largest number that every form can hold. */
static uint64_t saturate(unsigned __int128 value)
{
    return value > INT64_MAX ? INT64_MAX : (uint64_t)value;
}

static uint32_t sequence_length(const Wafer__ModelSpec *model)
{
    return model->has_seq ? model->seq : SEQ_DEFAULT;
}

uint64_t job_parameters(const Wafer__ModelSpec *model)
{
    uint64_t vocab = model->has_vocab ? model->vocab : VOCAB_DEFAULT;
    uint64_t hidden = model->hidden;

    if (model->params)
        return model->params->value;
    unsigned __int128 layers = (unsigned __int128)12 * model->layers * hidden * hidden;
    return saturate(layers + (vocab + sequence_length(model)) * (unsigned __int128)hidden);
}

static uint64_t max_steps(const Wafer__JobSpec *spec)
{
    const Wafer__Workload *workload = spec->workload;
    uint64_t steps = workload && workload->steps ? workload->steps->value : 0;

    if (workload && workload->tokens) {
        uint64_t step_tokens = (uint64_t)workload->batch * sequence_length(workload->model);
        uint64_t tokens = workload->tokens->value;
        if (step_tokens)
            steps = tokens / step_tokens + (tokens % step_tokens != 0);
    }
    if (spec->stop && spec->stop->max_steps && spec->stop->max_steps->value < steps)
        steps = spec->stop->max_steps->value;
    return steps;
}

static int64_t duration_or(const Wafer__Duration *duration, int64_t otherwise_us)
{
    return duration ? duration->us : otherwise_us;
}

static void checkpoint_terms(const Wafer__CheckpointSpec *spec, struct job_terms *ret)
{
    const Wafer__KeepSpec *keep = spec ? spec->keep : NULL;

    ret->save_on_stop = spec && spec->has_on_stop ? spec->on_stop : true;
    ret->grace_us = duration_or(spec ? spec->grace : NULL, 10 * MINUTE_US);
    ret->on_error =
        spec && spec->has_on_error ? spec->on_error : WAFER__CHECKPOINT_SPEC__ON_ERROR__pause;
    ret->keep_last = keep && keep->has_last ? keep->last : 3;
    if (keep && keep->best) {
        ret->keep_best = keep->best->n;
        ret->best_is_max = keep->best->has_mode && keep->best->mode == WAFER__KEEP_BEST__MODE__max;
    }
    if (keep && keep->every_steps)
        ret->keep_every_steps = keep->every_steps->value;
}

static void retry_terms(const Wafer__RetrySpec *spec, struct job_terms *ret)
{
    const Wafer__Backoff *backoff = spec ? spec->backoff : NULL;

    ret->retry_max = spec && spec->has_max ? spec->max : 3;
    ret->retry_counts_all =
        spec && spec->has_count && spec->count == WAFER__RETRY_SPEC__COUNTING__all;
    for (size_t i = 0; spec && i < spec->n_never; i++)
        ret->retry_never |= 1u << spec->never[i];
    /* What cannot come out differently the next time. */
    if (!ret->retry_never)
        ret->retry_never = 1u << WAFER__CAUSE__CONFIG | 1u << WAFER__CAUSE__COMPILE |
                           1u << WAFER__CAUSE__UNSUPPORTED_OPERATOR;
    ret->backoff_first_us = duration_or(backoff ? backoff->first : NULL, 10 * SECOND_US);
    ret->backoff_max_us = duration_or(backoff ? backoff->max : NULL, 10 * MINUTE_US);
}

static void resume_terms(const Wafer__ResumeSpec *spec, struct job_terms *ret)
{
    if (!spec)
        return;
    if (spec->from && strcmp(spec->from, "auto"))
        ret->resume_from = spec->from;
    ret->init_from = spec->init_from;
}

void job_terms(const Wafer__JobSpec *spec, struct job_terms *ret)
{
    const Wafer__Workload *workload = spec->workload;

    *ret = (struct job_terms){
        .systems_count = spec->systems ? spec->systems->count : 1,
        .limit_us = duration_or(spec->limit, 0),
        .begin_us = spec->begin ? spec->begin->us : INT64_MIN,
        .deadline_us = spec->deadline ? spec->deadline->us : INT64_MAX,
        .priority = spec->priority ? spec->priority->value : PRIORITY_DEFAULT,
        .max_steps = max_steps(spec),
        .batch = workload ? workload->batch : 0,
        .seq = workload ? sequence_length(workload->model) : 0,
        .max_cost_micro = spec->stop && spec->stop->max_cost ? spec->stop->max_cost->micro : 0,
        .level = spec->data && spec->data->has_class_ ? spec->data->class_
                                                      : WAFER__LABEL__LEVEL__internal,
        .array_first = 1, /* after the last: no array */
        .name = spec->name,
        .queue = spec->queue,
        .reservation = spec->reservation,
    };
    ret->systems_min =
        spec->systems && spec->systems->has_min ? spec->systems->min : ret->systems_count;
    checkpoint_terms(spec->checkpoint, ret);
    retry_terms(spec->retry, ret);
    resume_terms(spec->resume, ret);
    if (spec->array)
        job_array_parse(spec->array, &ret->array_first, &ret->array_last, &ret->array_parallel);
}
