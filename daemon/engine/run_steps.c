/* Steps, evaluations, and what follows a step. */
#include "engine/run_parts.h"

static int64_t time_of_step(const struct run *run, uint64_t step)
{
    return later(run->anchor_us, rate_time_us(&run->rate, step - run->anchor_step));
}

void run_catch_up(struct run *run, int64_t now_us)
{
    if (run->state != RUN_TRAIN)
        return;
    uint64_t step = run->anchor_step + rate_steps(&run->rate, now_us - run->anchor_us);
    if (step > run->target_step)
        step = run->target_step;
    if (step > run->training.step)
        training_run(&run->training, step - run->training.step);
}

static uint64_t next_multiple(uint64_t step, uint64_t every)
{
    return every && step <= UINT64_MAX - every ? step - step % every + every : UINT64_MAX;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first step that ends at `due_us` or later. */
static uint64_t step_at(const struct run *run, int64_t due_us)
{
    uint64_t step = run->anchor_step + rate_steps(&run->rate, due_us - run->anchor_us);

    if (time_of_step(run, step) < due_us)
        step++;
    return step > run->training.step ? step : run->training.step + 1;
}

/* On to the next step at which something happens. */
static void aim(struct run *run)
{
    uint64_t step = run->training.step;
    uint64_t target = run->workload.max_steps;

    target = smaller(target, next_multiple(step, run->workload.log_steps));
    target = smaller(target, next_multiple(step, run->workload.evaluate_steps));
    target = smaller(target, next_multiple(step, run->cadence.steps));
    if (run->cadence.time_us)
        target = smaller(target, step_at(run, later(run->last_save_us, run->cadence.time_us)));
    if (run->ordered)
        target = smaller(target, run->order_step);
    run->target_step = target;
    run->due_us = time_of_step(run, target);
}

void run_begin_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run->anchor_us = now_us;
    run->anchor_step = run->training.step;
    run_enter(run, RUN_TRAIN, WAFER__JOB__PHASE__EXECUTE, now_us, 0, effects);
    aim(run);
}

void run_begin_cleanup(struct run *run, int64_t now_us, Wafer__Cause ending,
                       struct agent_effects *effects)
{
    run->ending = ending;
    run_enter(run, RUN_CLEANUP, WAFER__JOB__PHASE__CLEANUP, now_us, run->phases.cleanup_us,
              effects);
}

Wafer__Cause run_ending(const struct run *run)
{
    if (run->training.step >= run->workload.max_steps)
        return WAFER__CAUSE__FINISHED;
    Wafer__Cause cause = metrics_stop(&run->metrics, run->spec->stop, run->training.step);
    if (cause == WAFER__CAUSE__NO_CAUSE && run->ordered)
        cause = run->order_cause;
    return cause;
}

static bool checkpoint_is_due(const struct run *run, int64_t now_us)
{
    uint64_t step = run->training.step;

    if (run->cadence.steps && step % run->cadence.steps == 0)
        return true;
    return run->cadence.time_us && now_us - run->last_save_us >= run->cadence.time_us;
}

void run_after_step(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    Wafer__Cause ending = run_ending(run);
    bool by_order = ending != WAFER__CAUSE__NO_CAUSE && run->ordered && ending == run->order_cause;
    bool is_saved = run->training.step == run->saved_step || run->training.step == 0;

    if (ending != WAFER__CAUSE__NO_CAUSE) {
        run->ending = ending;
        if (is_saved || (by_order && !run->order_save))
            run_begin_cleanup(run, now_us, ending, effects);
        else
            run_begin_save(run, now_us, effects);
    } else if (!is_saved && checkpoint_is_due(run, now_us)) {
        run_begin_save(run, now_us, effects);
    } else {
        aim(run);
    }
}

static bool evaluation_is_due(const struct run *run)
{
    const struct metric_seen *eval = &run->metrics.seen[METRIC_EVAL_LOSS];
    uint64_t step = run->training.step, every = run->workload.evaluate_steps;

    if (!every || (eval->known && eval->step == step))
        return false;
    if (run->ordered && !run->order_save && step < run->workload.max_steps)
        return false; /* nobody will see it */
    return step % every == 0 || step == run->workload.max_steps;
}

int64_t run_evaluate_us(const struct run *run)
{
    double part = (double)run->platform->phases->evaluate_fraction->micro / 1e6;
    double us = part * (double)rate_time_us(&run->rate, run->workload.evaluate_steps);

    return us > 0 ? (int64_t)(us < 3.6e12 ? us : 3.6e12) : 0;
}

void run_on_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run_catch_up(run, now_us);
    uint64_t step = run->training.step;
    if (step % run->workload.log_steps == 0 || step == run->workload.max_steps) {
        metrics_see(&run->metrics, METRIC_LOSS, step, loss_micro(&run->loss, step));
        run_log_step(run, now_us);
    }
    if (evaluation_is_due(run))
        run_enter(run, RUN_EVALUATE, WAFER__JOB__PHASE__EXECUTE, now_us, run_evaluate_us(run),
                  effects);
    else
        run_after_step(run, now_us, effects);
}

void run_on_evaluated(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    uint64_t step = run->training.step;

    metrics_see(&run->metrics, METRIC_EVAL_LOSS, step, loss_eval_micro(&run->loss, step));
    trainer_log_line(&run->log, now_us, "| Eval Step=%llu, eval_loss=%.5f",
                     (unsigned long long)step,
                     (double)run->metrics.seen[METRIC_EVAL_LOSS].micro / 1e6);
    run->state = RUN_TRAIN;
    run->anchor_us = now_us;
    run->anchor_step = run->target_step = step;
    run_after_step(run, now_us, effects);
}

void run_stop_steps(struct run *run, int64_t now_us, struct agent_effects *effects)
{
    run_catch_up(run, now_us);
    run->order_step = run->training.step;
    if (time_of_step(run, run->training.step) < now_us)
        run->order_step++;
    if (run->order_step == run->training.step)
        run_after_step(run, now_us, effects);
    else
        aim(run);
}
