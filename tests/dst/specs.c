/* Jobs and platforms, small and quick: a step takes about a millisecond, a phase a second. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "model/job.h"
#include "world.h"

static Wafer__Duration *duration(int64_t us)
{
    Wafer__Duration *duration = MESSAGE_NEW(Wafer__Duration, duration);

    duration->us = us;
    return duration;
}

static Wafer__Decimal *decimal(double value)
{
    Wafer__Decimal *decimal = MESSAGE_NEW(Wafer__Decimal, decimal);

    decimal->micro = (int64_t)(value * 1e6);
    return decimal;
}

static Wafer__Count *count(uint64_t value)
{
    Wafer__Count *count = MESSAGE_NEW(Wafer__Count, count);

    count->value = value;
    return count;
}

static Wafer__PhaseRange *range(int64_t min_us, int64_t max_us)
{
    Wafer__PhaseRange *range = MESSAGE_NEW(Wafer__PhaseRange, phase_range);

    range->min = duration(min_us);
    range->max = duration(max_us);
    return range;
}

static void add_text(char ***list, size_t *count, const char *text)
{
    *list = memory_resize(*list, *count + 1, sizeof(**list));
    (*list)[(*count)++] = text_copy(text);
}

Wafer__Platform *platform_make(const char *name, Wafer__Platform__Target target)
{
    Wafer__Platform *platform = MESSAGE_NEW(Wafer__Platform, platform);
    Wafer__PlatformRate *rate = MESSAGE_NEW(Wafer__PlatformRate, platform_rate);
    Wafer__PlatformPhases *phases = MESSAGE_NEW(Wafer__PlatformPhases, platform_phases);
    bool is_wafer = target == WAFER__PLATFORM__TARGET__wafer;

    platform->apiversion = text_copy("wafer/v1");
    platform->kind = text_copy("Platform");
    platform->name = text_copy(name);
    platform->target = target;
    rate->peak_pflops = decimal(7.5);
    rate->realised_fraction = decimal(0.25);
    rate->realised_fraction_small = decimal(0.25);
    rate->per_layer_ms = decimal(is_wafer ? 1 : 3);
    rate->weights_gb_per_s = decimal(150);
    rate->scaling_efficiency = decimal(0.95);
    platform->rate = rate;
    phases->compile = range(200 * MS_US, 2 * SECOND_US);
    phases->compile_cached = range(50 * MS_US, 200 * MS_US);
    phases->start = range(50 * MS_US, 300 * MS_US);
    phases->program = range(50 * MS_US, 300 * MS_US);
    phases->weights_floor = duration(50 * MS_US);
    phases->weights_s_per_1e9 = decimal(10);
    phases->save_s_per_1e9 = decimal(100);
    phases->evaluate_fraction = decimal(0.02);
    phases->cleanup = duration(50 * MS_US);
    platform->phases = phases;
    platform->faults = MESSAGE_NEW(Wafer__PlatformFaults, platform_faults);
    platform->faults->mtbf = duration(20 * SECOND_US);
    platform->price_per_hour = MESSAGE_NEW(Wafer__Money, money);
    platform->price_per_hour->currency = text_copy("EUR");
    add_text(&platform->operators, &platform->n_operators, "attention");
    add_text(&platform->precisions, &platform->n_precisions, is_wafer ? "cb16" : "bf16");
    return platform;
}

/* ---- the parts of a job ---- */

static uint64_t some_steps(struct world *world)
{
    /* Log-uniform, from 1 to 5000. */
    uint64_t most = 1ull << world_below(world, 13);

    return 1 + world_below(world, most < 5000 ? most : 5000);
}

static void make_workload(struct world *world, Wafer__JobSpec *spec)
{
    Wafer__Workload *workload = MESSAGE_NEW(Wafer__Workload, workload);

    workload->model = MESSAGE_NEW(Wafer__ModelSpec, model_spec);
    workload->model->params = count(1000000);
    workload->batch = 8;
    workload->steps = count(world_one_in(world, 8) ? ENDLESS_STEPS : some_steps(world));
    SET_FIELD(workload, seed, world_below(world, 5));
    if (world_one_in(world, 3)) {
        workload->input = MESSAGE_NEW(Wafer__InputSpec, input_spec);
        SET_FIELD(workload->input, workers, (uint32_t)world_between(world, 1, 5));
    }
    if (world_one_in(world, 30))
        add_text(&workload->operators, &workload->n_operators, "convolution"); /* on no platform */
    spec->workload = workload;
}

static void make_systems(struct world *world, Wafer__JobSpec *spec)
{
    spec->systems = MESSAGE_NEW(Wafer__SystemsSpec, systems_spec);
    spec->systems->count = (uint32_t)world_between(world, 1, world_one_in(world, 8) ? 5 : 2);
    if (world_one_in(world, 3))
        SET_FIELD(spec->systems, min, (uint32_t)world_between(world, 1, spec->systems->count));
}

static void make_checkpoint(struct world *world, Wafer__JobSpec *spec)
{
    Wafer__CheckpointSpec *checkpoint = MESSAGE_NEW(Wafer__CheckpointSpec, checkpoint_spec);

    if (!world_one_in(world, 5)) {
        checkpoint->every = MESSAGE_NEW(Wafer__Cadence, cadence);
        bool steps = world_one_in(world, 2);
        if (steps)
            checkpoint->every->steps =
                count(1 + spec->workload->steps->value / (1 + world_below(world, 8)));
        if (!steps || world_one_in(world, 4))
            checkpoint->every->time = duration(world_between(world, 200 * MS_US, 3 * SECOND_US));
    }
    SET_FIELD(checkpoint, on_stop, !world_one_in(world, 3));
    checkpoint->grace = duration(world_between(world, 1, 3 * SECOND_US));
    SET_FIELD(checkpoint, on_error, (Wafer__CheckpointSpec__OnError)world_below(world, 3));
    if (world_one_in(world, 2)) {
        checkpoint->keep = MESSAGE_NEW(Wafer__KeepSpec, keep_spec);
        SET_FIELD(checkpoint->keep, last, (uint32_t)world_between(world, 1, 3));
        if (world_one_in(world, 3))
            checkpoint->keep->every_steps = count(some_steps(world));
        if (spec->quality && world_one_in(world, 2)) {
            checkpoint->keep->best = MESSAGE_NEW(Wafer__KeepBest, keep_best);
            checkpoint->keep->best->n = (uint32_t)world_between(world, 1, 2);
            checkpoint->keep->best->metric = text_copy("eval_loss");
        }
    }
    spec->checkpoint = checkpoint;
}

static void make_quality(Wafer__JobSpec *spec)
{
    spec->quality = MESSAGE_NEW(Wafer__QualitySpec, quality_spec);
    spec->quality->metric = text_copy("eval_loss");
    spec->quality->every = MESSAGE_NEW(Wafer__StepCount, step_count);
    spec->quality->every->steps = count(1 + spec->workload->steps->value / 5);
}

/* One that ends when its loss gets no better, which takes it long, through many attempts: what it
 * has seen before each must count. */
static void make_stalling(struct world *world, Wafer__JobSpec *spec)
{
    Wafer__StopWhen *when = MESSAGE_NEW(Wafer__StopWhen, stop_when);
    uint64_t steps = 2000 + world_below(world, 3000);

    spec->workload->steps->value = steps;
    spec->workload->batch = 512; /* so much a step that noise soon hides what is learnt */
    spec->checkpoint = MESSAGE_NEW(Wafer__CheckpointSpec, checkpoint_spec);
    spec->checkpoint->every = MESSAGE_NEW(Wafer__Cadence, cadence);
    spec->checkpoint->every->steps = count(steps / (10 + world_below(world, 20)));
    spec->retry = MESSAGE_NEW(Wafer__RetrySpec, retry_spec);
    SET_FIELD(spec->retry, max, 1000);
    spec->retry->backoff = MESSAGE_NEW(Wafer__Backoff, backoff);
    spec->retry->backoff->first = duration(MS_US);
    spec->stop = MESSAGE_NEW(Wafer__StopSpec, stop_spec);
    when->metric = text_copy("loss");
    when->stalled_for = MESSAGE_NEW(Wafer__StepCount, step_count);
    when->stalled_for->steps = count(steps / (6 + world_below(world, 24)));
    spec->stop->when = memory_new(sizeof(Wafer__StopWhen *));
    spec->stop->when[spec->stop->n_when++] = when;
}

static void make_stop(struct world *world, Wafer__JobSpec *spec)
{
    Wafer__StopSpec *stop = MESSAGE_NEW(Wafer__StopSpec, stop_spec);

    if (world_one_in(world, 3))
        stop->max_steps = count(some_steps(world));
    if (world_one_in(world, 3)) {
        stop->max_cost = MESSAGE_NEW(Wafer__Money, money);
        stop->max_cost->micro = world_between(world, 1, 20) * 1000000;
        stop->max_cost->currency = text_copy("EUR");
    }
    if (world_one_in(world, 2)) {
        Wafer__StopWhen *when = MESSAGE_NEW(Wafer__StopWhen, stop_when);
        when->metric = text_copy(spec->quality ? "eval_loss" : "loss");
        if (world_one_in(world, 2)) {
            when->below = decimal(7.5 + (double)world_below(world, 30) / 10);
        } else {
            when->stalled_for = MESSAGE_NEW(Wafer__StepCount, step_count);
            when->stalled_for->steps =
                count(1 + world_below(world, 1 + spec->workload->steps->value / 4));
        }
        stop->when = memory_new(sizeof(Wafer__StopWhen *));
        stop->when[stop->n_when++] = when;
    }
    spec->stop = stop;
}

static void make_retry(struct world *world, Wafer__JobSpec *spec)
{
    Wafer__RetrySpec *retry = MESSAGE_NEW(Wafer__RetrySpec, retry_spec);

    SET_FIELD(retry, max, world_one_in(world, 2) ? 1000 : (uint32_t)world_below(world, 4));
    if (world_one_in(world, 4))
        SET_FIELD(retry, count, WAFER__RETRY_SPEC__COUNTING__all);
    retry->backoff = MESSAGE_NEW(Wafer__Backoff, backoff);
    retry->backoff->first = duration(world_between(world, 1, SECOND_US));
    retry->backoff->max = duration(world_between(world, SECOND_US, 5 * SECOND_US));
    spec->retry = retry;
}

/* Told to stop, and soon after to stop at once: both orders may be lost in one bad moment. */
static void make_brief(struct world *world, Wafer__JobSpec *spec)
{
    wafer__duration__free_unpacked(spec->limit, NULL);
    spec->limit = duration(world_between(world, SECOND_US, 6 * SECOND_US));
    if (spec->checkpoint)
        spec->checkpoint->grace->us = world_between(world, 1, 200 * MS_US);
}

static void make_terms(struct world *world, Wafer__JobSpec *spec)
{
    if (world_one_in(world, 3))
        make_quality(spec);
    if (!world_one_in(world, 8))
        make_checkpoint(world, spec);
    if (world_one_in(world, 2))
        make_stop(world, spec);
    if (!world_one_in(world, 8))
        make_retry(world, spec);
    if (world_one_in(world, 5))
        spec->limit = duration(world_between(world, SECOND_US, 30 * SECOND_US));
    if (spec->workload->steps->value == ENDLESS_STEPS && world_one_in(world, 2))
        make_brief(world, spec);
}

/* From a checkpoint of a job that there is. */
static void make_resume(struct world *world, Wafer__JobSpec *spec)
{
    const struct ledger *ledger = &world->controller.history;
    if (!ledger->last_job)
        return;
    const struct ledger_job *job = ledger_job(ledger, 1 + world_below(world, ledger->last_job));
    if (!job || !job->checkpoint_count)
        return;
    uint64_t step = job->checkpoints[world_below(world, job->checkpoint_count)]->step;
    char *text = text_format("%llu@%llu", (unsigned long long)job->id, (unsigned long long)step);
    spec->resume = MESSAGE_NEW(Wafer__ResumeSpec, resume_spec);
    if (world_one_in(world, 2))
        spec->resume->init_from = text;
    else
        spec->resume->from = text;
}

/* After others, whatever has become of them. */
static void make_after(struct world *world, Wafer__JobSpec *spec)
{
    const struct ledger *ledger = &world->controller.history;

    if (!ledger->last_job)
        return;
    spec->after = memory_new(2 * sizeof(*spec->after));
    for (uint64_t left = 1 + world_below(world, 2); left > 0; left--) {
        const struct ledger_job *other =
            ledger_job(ledger, 1 + world_below(world, ledger->last_job));
        if (!other)
            continue;
        Wafer__Dependency *after = MESSAGE_NEW(Wafer__Dependency, dependency);
        char **kinds[] = { &after->afterok, &after->afterany, &after->afternotok,
                           &after->afterstart };
        char **kind = kinds[world_below(world, ELEMENTS(kinds))];
        uint64_t array = other->state->has_array_id ? other->state->array_id : 0;
        if (array && world_one_in(world, 2))
            *kind = text_format("%llu_%u", (unsigned long long)array, other->index);
        else
            *kind = text_format("%llu", (unsigned long long)(array ? array : other->id));
        spec->after[spec->n_after++] = after;
    }
}

static void make_times(struct world *world, Wafer__JobSpec *spec)
{
    int64_t begin_us = world->now_us + world_between(world, 0, 5 * SECOND_US);

    if (world_one_in(world, 2)) {
        spec->begin = MESSAGE_NEW(Wafer__Time, time);
        spec->begin->us = begin_us;
    }
    if (world_one_in(world, 2)) {
        spec->deadline = MESSAGE_NEW(Wafer__Time, time);
        spec->deadline->us = begin_us + world_between(world, SECOND_US, 60 * SECOND_US);
    }
}

Wafer__JobSpec *spec_make(struct world *world)
{
    Wafer__JobSpec *spec = MESSAGE_NEW(Wafer__JobSpec, job_spec);

    spec->apiversion = text_copy("wafer/v1");
    spec->kind = text_copy("Job");
    spec->name = text_format("j%llu", (unsigned long long)world_below(world, 10));
    make_workload(world, spec);
    make_systems(world, spec);
    if (world_one_in(world, 4))
        spec->queue = text_copy(world_one_in(world, 2) ? "gpu" : "wafer");
    if (world_one_in(world, 3)) {
        spec->priority = MESSAGE_NEW(Wafer__Priority, priority);
        spec->priority->value = (uint32_t)world_between(world, 1, 3) * 100 + 99;
    }
    if (world_one_in(world, 16))
        make_stalling(world, spec);
    else
        make_terms(world, spec);
    if (world_one_in(world, 6))
        spec->array = text_copy(world_one_in(world, 2) ? "1-3" : "0-3%2");
    else if (world_one_in(world, 6))
        make_resume(world, spec);
    if (world_one_in(world, 6))
        make_after(world, spec);
    if (world_one_in(world, 8))
        make_times(world, spec);
    return spec;
}
