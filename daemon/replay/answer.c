#include "replay/answer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "replay/drive.h"
#include "replay/failures.h"
#include "replay/measure.h"
#include "replay/options.h"
#include "replay/trace.h"

static uint64_t rounded(double value, double scale)
{
    return (uint64_t)llround(value * scale);
}

static Wafer__ReplayMeasures *measures_new(const struct measures *measures)
{
    Wafer__ReplayMeasures *ret = NEW(Wafer__ReplayMeasures);

    wafer__replay_measures__init(ret);
    ret->jobs = measures->jobs;
    ret->mean_wait_ms = rounded(measures->mean_wait_s, 1e3);
    ret->median_wait_s = (uint64_t)measures->median_wait_s;
    ret->wait_90_s = (uint64_t)measures->wait_90_s;
    ret->wait_99_s = (uint64_t)measures->wait_99_s;
    ret->longest_wait_s = (uint64_t)measures->longest_wait_s;
    ret->mean_slowdown_milli = rounded(measures->mean_slowdown, 1e3);
    ret->makespan_s = (uint64_t)measures->makespan_s;
    ret->system_s = rounded(measures->system_seconds, 1);
    return ret;
}

static Wafer__ReplayOmission *omission_new(const char *cause, const struct trace_omission *omission)
{
    Wafer__ReplayOmission *item = NEW(Wafer__ReplayOmission);

    wafer__replay_omission__init(item);
    item->cause = text_copy(cause);
    item->jobs = omission->count;
    item->line = omission->line;
    item->text = utf8_repair(omission->text, strlen(omission->text));
    return item;
}

static void add_omissions(Wafer__Replay *answer, const struct trace *trace)
{
    answer->omissions = memory_new(TRACE_CAUSES * sizeof(*answer->omissions));
    for (int cause = 0; cause < TRACE_CAUSES; cause++) {
        const struct trace_omission *omission = &trace->omissions[cause];
        if (omission->count)
            answer->omissions[answer->n_omissions++] =
                omission_new(trace_cause_text((enum trace_cause)cause), omission);
    }
}

static void add_failures(Wafer__Replay *answer, const struct options *options,
                         const struct failures *record)
{
    answer->failures = utf8_repair(options->failures, strlen(options->failures));
    answer->has_checkpoint_s = true;
    answer->checkpoint_s = (uint64_t)options->checkpoint_s;
    answer->has_seed = options->has_rate;
    answer->seed = options->seed;
    if (record->malformed.count)
        answer->failure_omission = omission_new(FAILURES_MALFORMED, &record->malformed);
}

Wafer__Replay *answer_new(const struct options *options, const struct trace *trace,
                          const struct failures *record)
{
    size_t runs = options->backfill_count * options->order_count *
                  (options->systems_count ? options->systems_count : 1);
    Wafer__Replay *answer = NEW(Wafer__Replay);

    wafer__replay__init(answer);
    answer->schema = text_copy("wafer.replay/v1");
    answer->trace = utf8_repair(options->trace, strlen(options->trace));
    answer->jobs = trace->count;
    answer->estimates = options->actual_estimates ? WAFER__REPLAY__ESTIMATES__actual
                                                  : WAFER__REPLAY__ESTIMATES__requested;
    answer->ties = (Wafer__Replay__Ties)options->ties;
    add_omissions(answer, trace);
    if (options->failures)
        add_failures(answer, options, record);
    answer->items = memory_new(runs * sizeof(*answer->items));
    return answer;
}

static char *queue_name(const struct trace *trace, uint32_t queue)
{
    if (!queue)
        return text_copy("-");
    if (queue <= trace->queue_count)
        return utf8_repair(trace->queues[queue - 1], strlen(trace->queues[queue - 1]));
    return text_format("%u", queue);
}

static void add_queues(Wafer__ReplayRun *run, const struct trace *trace,
                       const struct measured *measured)
{
    run->queues = memory_new((measured->queue_count + 1) * sizeof(*run->queues));
    for (size_t i = 0; i < measured->queue_count; i++) {
        Wafer__ReplayQueue *item = NEW(Wafer__ReplayQueue);
        wafer__replay_queue__init(item);
        item->queue = queue_name(trace, measured->queues[i].queue);
        item->measures = measures_new(&measured->queues[i].measures);
        run->queues[run->n_queues++] = item;
    }
}

void answer_add(Wafer__Replay *answer, const struct trace *trace,
                const struct replay_options *options, const struct replay_result *result,
                const struct measured *measured)
{
    Wafer__ReplayRun *run = NEW(Wafer__ReplayRun);

    wafer__replay_run__init(run);
    run->systems = options->systems;
    run->backfill = (Wafer__Scheduling__Backfill)options->rules.backfill;
    run->order = (Wafer__Scheduling__Order)options->rules.order;
    run->measures = measures_new(&measured->all);
    run->utilisation_ppm = (uint32_t)rounded(measured->utilisation, 1e6);
    run->too_wide = result->too_wide;
    run->users = measured->users;
    if (measured->users) {
        run->has_fairness_ppm = run->has_worst_slowdown_milli = true;
        run->fairness_ppm = (uint32_t)rounded(measured->fairness, 1e6);
        run->worst_user = text_format("%u", measured->worst_user);
        run->worst_slowdown_milli = rounded(measured->worst_slowdown, 1e3);
    }
    if (options->failures) {
        run->has_failures = run->has_restarts = run->has_lost_system_s = true;
        run->failures = result->failures;
        run->restarts = result->restarts;
        run->lost_system_s = result->lost_system_s;
    }
    add_queues(run, trace, measured);
    answer->items[answer->n_items++] = run;
}
