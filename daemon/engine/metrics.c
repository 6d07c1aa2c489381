#include "engine/metrics.h"

#include <string.h>

void metrics_see(struct metrics *metrics, enum metric metric, uint64_t step, int64_t micro)
{
    struct metric_seen *seen = &metrics->seen[metric];

    seen->known = true;
    seen->micro = micro;
    seen->step = step;
    if (!seen->has_best || micro < seen->best_micro) {
        seen->has_best = true;
        seen->best_micro = micro;
        seen->best_step = step;
    }
}

static bool metric_parse(const char *name, enum metric *ret)
{
    if (strcmp(name, "loss") == 0)
        *ret = METRIC_LOSS;
    else if (strcmp(name, "eval_loss") == 0)
        *ret = METRIC_EVAL_LOSS;
    else
        return false;
    return true;
}

Wafer__Cause metrics_stop(const struct metrics *metrics, const Wafer__StopSpec *stop, uint64_t step)
{
    enum metric metric;

    for (size_t i = 0; stop && i < stop->n_when; i++) {
        const Wafer__StopWhen *when = stop->when[i];
        if (!metric_parse(when->metric, &metric))
            continue;
        const struct metric_seen *seen = &metrics->seen[metric];
        if (!seen->known || seen->step != step)
            continue;
        if (when->below && seen->micro < when->below->micro)
            return WAFER__CAUSE__STOP_METRIC;
        if (when->stalled_for && step - seen->best_step >= when->stalled_for->steps->value)
            return WAFER__CAUSE__STOP_STALLED;
    }
    return WAFER__CAUSE__NO_CAUSE;
}

bool metrics_newest(const struct metrics *metrics, int64_t *ret_micro)
{
    const struct metric_seen *seen = &metrics->seen[METRIC_EVAL_LOSS];

    if (!seen->known)
        seen = &metrics->seen[METRIC_LOSS];
    if (seen->known)
        *ret_micro = seen->micro;
    return seen->known;
}

void metrics_save(const struct metrics *metrics, Wafer__ResumeState *ret)
{
    const struct metric_seen *loss = &metrics->seen[METRIC_LOSS];
    const struct metric_seen *eval = &metrics->seen[METRIC_EVAL_LOSS];

    ret->has_best_micro = ret->has_best_step = loss->has_best;
    ret->best_micro = loss->best_micro;
    ret->best_step = loss->best_step;
    ret->has_best_eval_micro = ret->has_best_eval_step = eval->has_best;
    ret->best_eval_micro = eval->best_micro;
    ret->best_eval_step = eval->best_step;
}

void metrics_load(struct metrics *metrics, const Wafer__ResumeState *resume)
{
    struct metric_seen *loss = &metrics->seen[METRIC_LOSS];
    struct metric_seen *eval = &metrics->seen[METRIC_EVAL_LOSS];

    loss->has_best = resume->has_best_micro && resume->has_best_step;
    loss->best_micro = resume->best_micro;
    loss->best_step = resume->best_step;
    eval->has_best = resume->has_best_eval_micro && resume->has_best_eval_step;
    eval->best_micro = resume->best_eval_micro;
    eval->best_step = resume->best_eval_step;
}
