/* One attempt, from compile to clean-up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "tap.h"
#include "world.h"

static struct world world;
static Wafer__JobSpec *spec; /* of job 7 */

static void set_up(void)
{
    world_init(&world);
    world.acks = true;
    spec = spec_new(1000);
}

static void tear_down(void)
{
    wafer__job_spec__free_unpacked(spec, NULL);
    world_done(&world);
}

static const Wafer__AttemptEnd *end_of(uint64_t job)
{
    const Wafer__AttemptEnd *end = world_end(&world, job);

    ck_assert_ptr_nonnull(end);
    return end;
}

static void ck_same_digest(const Wafer__AttemptEnd *end, const struct digest *digest)
{
    ck_assert_uint_eq(end->digest.len, DIGEST_BYTES);
    ck_assert_mem_eq(end->digest.data, digest->bytes, DIGEST_BYTES);
}

/* The digest of job 7 when nothing happens to it. */
static struct digest undisturbed(void)
{
    struct world other;
    struct digest digest;

    world_init(&other);
    other.acks = true;
    world_start(&other, 7, 1, spec, "s1");
    world_finish(&other);
    const Wafer__AttemptEnd *end = world_end(&other, 7);
    ck_assert_uint_eq(end->digest.len, DIGEST_BYTES);
    memcpy(digest.bytes, end->digest.data, DIGEST_BYTES);
    world_done(&other);
    return digest;
}

static char *log_text(void)
{
    return text_copy_length((const char *)buffer_data(&world.log), world.log.length);
}

static size_t count_in_log(const char *words)
{
    char *text = log_text();
    size_t count = 0;

    for (const char *p = text; (p = strstr(p, words)); p += strlen(words))
        count++;
    free(text);
    return count;
}

/* Of each "Step=N, Loss=X" line, in order: what does not depend on time. */
static char *loss_lines(void)
{
    char *text = log_text(), *save = NULL;
    owned(buffer_done) struct buffer lines = BUFFER_EMPTY;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *step = strstr(line, "Step="), *end = strstr(line, ", Rate");
        if (step && end)
            buffer_format(&lines, "%.*s\n", (int)(end - step), step);
        else if (step && strstr(line, "eval_loss"))
            buffer_format(&lines, "%s\n", step);
    }
    free(text);
    return buffer_text(&lines);
}

/* ---- phases ---- */

START_TEST(phases_follow_one_another)
{
    static const Wafer__Job__Phase phases[] = {
        WAFER__JOB__PHASE__COMPILE,    WAFER__JOB__PHASE__LOAD,    WAFER__JOB__PHASE__EXECUTE,
        WAFER__JOB__PHASE__CHECKPOINT, WAFER__JOB__PHASE__CLEANUP,
    };
    size_t phase = 0;
    int64_t began_us = world.now_us;

    world_start(&world, 7, 1, spec, "s1");
    ck_assert_uint_eq(world_count_started(&world, 7), 1);
    world_finish(&world);
    for (size_t i = 0; i < world.seen_count; i++) {
        const Wafer__Progress *progress = world.seen[i]->progress;
        if (!progress || (phase > 0 && progress->phase == phases[phase - 1]))
            continue;
        ck_assert_uint_lt(phase, ELEMENTS(phases));
        ck_assert_int_eq(progress->phase, phases[phase]);
        phase++;
    }
    ck_assert_uint_eq(phase, ELEMENTS(phases));
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end_of(7)->step, 1000);
    ck_assert(end_of(7)->started);
    const Wafer__PhaseTimes *times = end_of(7)->times;
    ck_assert(times->compile_us > 0 && times->load_us > 0 && times->execute_us > 0);
    ck_assert(times->checkpoint_us > 0 && times->cleanup_us > 0);
    ck_assert_int_eq(times->compile_us + times->load_us + times->execute_us + times->checkpoint_us +
                         times->cleanup_us,
                     end_of(7)->time_us - began_us);
    ck_assert_uint_eq(end_of(7)->digest.len, DIGEST_BYTES);
}
END_TEST

START_TEST(the_last_step_is_saved_and_evaluated)
{
    spec_evaluate(spec, 300);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    const Wafer__CheckpointReport *last = world_newest_checkpoint(&world, 7);
    ck_assert_uint_eq(last->step, 1000);
    ck_assert(last->has_metric_micro);
    ck_assert_int_eq(last->metric_micro, end_of(7)->metric_micro);
    ck_assert_uint_eq(count_in_log("| Eval Step="), 4); /* 300, 600, 900, 1000 */
    ck_assert_uint_eq(last->resume->samples, 120000);
    ck_assert_str_eq(last->resume->number_format, "cb16");
}
END_TEST

START_TEST(a_second_run_of_a_program_finds_it_compiled)
{
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    int64_t first_us = world.seen[world.seen_count - 1]->ended->time_us - START_US;
    int64_t from_us = world.now_us;
    spec->workload->steps->value++; /* the same program */
    world_start(&world, 8, 1, spec, "s2");
    world_finish(&world);
    ck_assert_int_lt(end_of(8)->time_us - from_us, first_us);
    ck_assert_uint_eq(count_in_log(": not in the cache"), 1);
    ck_assert_uint_eq(count_in_log(": in the cache"), 1);

    world_start(&world, 9, 1, spec, "s2 s3"); /* for two systems it is another */
    world_finish(&world);
    ck_assert_uint_eq(count_in_log(": not in the cache"), 2);
}
END_TEST

START_TEST(an_attempt_logs_about_200_steps)
{
    static const uint64_t steps[] = { 1, 7, 200, 201, 1000, 9037, 174335 };

    spec->workload->steps->value = steps[_i];
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    size_t lines = count_in_log("| Train ");
    ck_assert_uint_le(lines, 201);
    ck_assert_uint_ge(lines, steps[_i] < 80 ? steps[_i] : 80);
    ck_assert_uint_eq(count_in_log("Ended at step"), 1);
}
END_TEST

START_TEST(log_offsets_join_up)
{
    uint64_t offset = 0;
    struct buffer lines = BUFFER_EMPTY;

    spec_evaluate(spec, 100);
    world_start(&world, 7, 1, spec, "s1 s2");
    world_finish(&world);
    for (size_t i = 0; i < world.seen_count; i++) {
        const Wafer__LogLines *log = world.seen[i]->log;
        if (!log)
            continue;
        ck_assert_uint_eq(log->offset, offset);
        ck_assert_uint_le(log->text.len, 16 << 10);
        buffer_append(&lines, log->text.data, log->text.len);
        offset += log->text.len;
    }
    ck_assert_uint_eq(lines.length, world.log.length);
    ck_assert_mem_eq(buffer_data(&lines), buffer_data(&world.log), lines.length);
    buffer_done(&lines);
}
END_TEST

START_TEST(progress_comes_as_often_as_was_asked_for)
{
    size_t from, count = 0;

    spec->workload->steps->value = 100000;
    world_start(&world, 7, 1, spec, "s1");
    world_run(&world, 70 * MINUTE_US); /* it trains by now */
    agent_set_progress(world.agent, MINUTE_US);
    world_run(&world, 20 * MINUTE_US); /* the last of the old ones may still be due */
    from = world.seen_count;
    world_run(&world, 30 * MINUTE_US);
    for (size_t i = from; i < world.seen_count; i++) {
        const Wafer__Progress *progress = world.seen[i]->progress;
        if (!progress)
            continue;
        count++;
        ck_assert_int_eq(progress->phase, WAFER__JOB__PHASE__EXECUTE);
        ck_assert(progress->has_loss_micro && progress->has_samples_per_s_micro);
        ck_assert_int_gt(progress->eta_us, 0);
    }
    ck_assert_uint_eq(count, 30);
}
END_TEST

/* ---- the result depends on nothing but the job ---- */

START_TEST(big_jumps_and_small_steps_of_time_give_the_same_run)
{
    spec_evaluate(spec, 90);
    spec_checkpoint(spec, 70, 0);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    owned(free) char *lines = loss_lines();
    struct digest digest;
    memcpy(digest.bytes, end_of(7)->digest.data, DIGEST_BYTES);
    tear_down();

    struct random random;
    random_init(&random, (uint64_t)_i);
    int64_t span_us[] = { 3 * SECOND_US, 1000 * HOUR_US, 0 };
    world_init(&world);
    spec = spec_new(1000);
    spec_evaluate(spec, 90);
    spec_checkpoint(spec, 70, 0);
    world_start(&world, 7, 1, spec, "s1");
    while (agent_running(world.agent) > 0)
        world_jump(&world,
                   span_us[_i] ? span_us[_i] : (int64_t)random_below(&random, 900 * SECOND_US));
    owned(free) char *other_lines = loss_lines();
    ck_assert_str_eq(lines, other_lines);
    ck_same_digest(end_of(7), &digest);
}
END_TEST

START_TEST(systems_platform_and_format_stay_out_of_the_digest)
{
    static const char *const systems[] = { "s1 s2 s3", "g1", "g1 g2" };
    struct digest digest = undisturbed();

    world_start(&world, 7, 1, spec, systems[_i]);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_same_digest(end_of(7), &digest);
}
END_TEST

/* Kill the agent at random moments, start the next one from the newest checkpoint, here and there;
 * the end is that of a run to which nothing happened. */
START_TEST(a_run_that_was_killed_again_and_again_ends_like_an_undisturbed_one)
{
    static const char *const places[] = { "s1", "g1", "s2 s3", "s1 s2 s3 s4" };
    struct random random;
    uint64_t epoch = 1;

    random_init(&random, (uint64_t)_i);
    spec->workload->steps->value = 20000;
    spec_evaluate(spec, 1300);
    spec_checkpoint(spec, 500, 0);
    spec->workload->input = memory_new(sizeof(Wafer__InputSpec));
    wafer__input_spec__init(spec->workload->input);
    spec->workload->input->has_workers = true;
    spec->workload->input->workers = 4;
    struct digest digest = undisturbed();
    world_start(&world, 7, epoch, spec, "s1");
    for (;;) {
        world_run(&world, (int64_t)random_below(&random, 45 * MINUTE_US));
        if (agent_running(world.agent) == 0)
            break;
        world_restart_agent(&world);
        const Wafer__CheckpointReport *newest = world_newest_checkpoint(&world, 7);
        Wafer__CheckpointState *from = newest ? world_checkpoint_state(newest) : NULL;
        world_resume(&world, 7, ++epoch, spec, places[random_below(&random, ELEMENTS(places))],
                     from, false);
        if (from)
            wafer__checkpoint_state__free_unpacked(from, NULL);
    }
    ck_assert_uint_gt(epoch, 1);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end_of(7)->step, 20000);
    ck_same_digest(end_of(7), &digest);
}
END_TEST

START_TEST(a_damaged_shard_that_is_loaded_shows_in_the_digest)
{
    spec_checkpoint(spec, 500, 0);
    struct digest digest = undisturbed();
    world_start(&world, 7, 1, spec, "s1");
    while (!world_newest_checkpoint(&world, 7))
        world_run(&world, MINUTE_US);
    Wafer__CheckpointState *from = world_checkpoint_state(world_newest_checkpoint(&world, 7));
    world.files[0].shards[2].bytes[50] ^= 4;
    world_restart_agent(&world);
    world_resume(&world, 7, 2, spec, "s1", from, false);
    wafer__checkpoint_state__free_unpacked(from, NULL);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_mem_ne(end_of(7)->digest.data, digest.bytes, DIGEST_BYTES);
}
END_TEST

/* ---- starting points ---- */

static Wafer__CheckpointState *finished_job_7(void)
{
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    return world_checkpoint_state(world_newest_checkpoint(&world, 7));
}

START_TEST(its_own_last_checkpoint_is_the_result)
{
    Wafer__CheckpointState *from = finished_job_7();
    struct digest digest = undisturbed();

    world_restart_agent(&world); /* killed between the save and the end */
    world_resume(&world, 7, 2, spec, "s1", from, false);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end_of(7)->fence->epoch, 2);
    ck_same_digest(end_of(7), &digest);
    ck_assert_uint_eq(world_newest_checkpoint(&world, 7)->fence->epoch, 1); /* not saved again */
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

START_TEST(another_jobs_last_checkpoint_leaves_nothing_to_do)
{
    Wafer__CheckpointState *from = finished_job_7();

    spec->workload->steps->value = _i ? 1000 : 5;
    world_resume(&world, 8, 1, spec, "s1", from, false);
    world_finish(&world);
    ck_assert_int_eq(end_of(8)->cause, WAFER__CAUSE__NOTHING_TO_DO);
    ck_assert_uint_eq(end_of(8)->step, 1000);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

START_TEST(weights_of_another_job_begin_at_step_0)
{
    Wafer__CheckpointState *from = finished_job_7();

    spec->workload->steps->value = 5;
    world_resume(&world, 8, 1, spec, "s1", from, true);
    world_finish(&world);
    ck_assert_int_eq(end_of(8)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end_of(8)->step, 5);
    ck_assert_uint_eq(world_newest_checkpoint(&world, 8)->resume->cursors[0], 5);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

START_TEST(a_longer_job_goes_on_from_the_last_step_of_a_shorter_one)
{
    Wafer__CheckpointState *from = finished_job_7();

    spec->workload->steps->value = 1500;
    world_resume(&world, 8, 1, spec, "s1", from, false);
    world_finish(&world);
    ck_assert_uint_eq(end_of(8)->step, 1500);
    struct digest digest = undisturbed();
    ck_same_digest(end_of(8), &digest);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

/* ---- ends ---- */

/* The step, worked out from the losses in the log of a run without the condition. */
static double loss_at(uint64_t step, const char *what)
{
    char *text = log_text(), words[64];

    snprintf(words, sizeof(words), "Step=%llu, %s=", (unsigned long long)step, what);
    const char *place = strstr(text, words);
    double loss = place ? strtod(place + strlen(words), NULL) : -1;
    free(text);
    return loss;
}

/* First step on a grid whose loss is below, in the log of an undisturbed run. */
static uint64_t first_below(double bound, const char *what, uint64_t grid)
{
    for (uint64_t step = grid; step <= 1000; step += grid)
        if (loss_at(step, what) < bound)
            return step;
    return 0;
}

START_TEST(it_stops_at_the_very_step_at_which_a_metric_is_below)
{
    static const struct {
        const char *metric, *word;
        uint64_t grid;
    } rows[] = { { "loss", "Loss", 5 }, { "eval_loss", "eval_loss", 40 } };
    const double bound = 4.6;

    spec_evaluate(spec, 40);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    uint64_t step = first_below(bound, rows[_i].word, rows[_i].grid);
    ck_assert_uint_gt(step, 100);
    ck_assert_uint_lt(step, 1000);

    spec_stop_below(spec, rows[_i].metric, (int64_t)(bound * 1e6));
    world_start(&world, 8, 1, spec, "s1");
    world_finish(&world);
    ck_assert_int_eq(end_of(8)->cause, WAFER__CAUSE__STOP_METRIC);
    ck_assert_uint_eq(end_of(8)->step, step);
    ck_assert_uint_eq(world_newest_checkpoint(&world, 8)->step, step); /* the result is kept */
}
END_TEST

START_TEST(it_stops_when_a_metric_no_longer_improves)
{
    spec->workload->steps->value = 200000; /* logged every 1000 */
    spec_stop_stalled(spec, "loss", 3000);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    uint64_t step = end_of(7)->step;
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__STOP_STALLED);
    ck_assert_uint_eq(step % 1000, 0);
    double best = loss_at(step - 3000, "Loss");
    for (uint64_t s = 1000; s <= step; s += 1000)
        ck_assert_double_ge(loss_at(s, "Loss"), best);
}
END_TEST

/* The best value and its step come back with the checkpoint. */
START_TEST(a_stall_is_counted_over_a_restart)
{
    spec->workload->steps->value = 200000;
    spec_stop_stalled(spec, "loss", 3000);
    spec_checkpoint(spec, 500, 0);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    uint64_t step = end_of(7)->step;
    for (uint64_t back = 0; back <= 3000; back += 500) {
        const Wafer__CheckpointReport *report =
            world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__WRITTEN, step - back);
        Wafer__CheckpointState *from = world_checkpoint_state(report);
        world_resume(&world, 7, 2 + back, spec, "s1", from, false);
        world_finish(&world);
        ck_assert_uint_eq(end_of(7)->fence->epoch, 2 + back);
        ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__STOP_STALLED);
        ck_assert_uint_eq(end_of(7)->step, step);
        wafer__checkpoint_state__free_unpacked(from, NULL);
    }
}
END_TEST

START_TEST(max_steps_ends_it_before_the_workload_does)
{
    spec->stop = memory_new(sizeof(Wafer__StopSpec));
    wafer__stop_spec__init(spec->stop);
    spec->stop->max_steps = count_new(123);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(end_of(7)->step, 123);
}
END_TEST

static void compile_an_unknown_operator(void)
{
    spec_operator(spec, "attention");
    spec_operator(spec, "fancy_sort");
}
static void ask_for_fp32(void)
{
    spec->workload->has_precision = true;
    spec->workload->precision = WAFER__WORKLOAD__PRECISION__fp32;
}
static void ask_for_half_a_sequence_each(void)
{
    spec->workload->batch = 1;
}

static const struct {
    void (*ask)(void);
    Wafer__Cause cause;
    const char *detail;
} compile_errors[] = {
    { compile_an_unknown_operator, WAFER__CAUSE__UNSUPPORTED_OPERATOR, "fancy_sort" },
    { ask_for_fp32, WAFER__CAUSE__CONFIG, "fp32" },
    { ask_for_half_a_sequence_each, WAFER__CAUSE__CONFIG, "batch" },
};

START_TEST(what_the_platform_cannot_do_fails_at_compile)
{
    compile_errors[_i].ask();
    world_start(&world, 7, 1, spec, "s1 s2");
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, compile_errors[_i].cause);
    ck_assert_ptr_nonnull(strstr(end_of(7)->detail, compile_errors[_i].detail));
    ck_assert(end_of(7)->started);
    ck_assert_uint_eq(end_of(7)->step, 0);
    ck_assert_int_le(end_of(7)->time_us,
                     START_US + 80 * SECOND_US); /* long before a compile ends */
}
END_TEST

static void no_workload(void)
{
    wafer__workload__free_unpacked(spec->workload, NULL);
    spec->workload = NULL;
}
static void no_batch(void)
{
    spec->workload->batch = 0;
}
static void no_steps(void)
{
    spec->workload->steps->value = 0;
}
static void no_sequence(void)
{
    spec->workload->model->has_seq = true;
    spec->workload->model->seq = 0;
}
static void a_million_workers(void)
{
    spec->workload->input = memory_new(sizeof(Wafer__InputSpec));
    wafer__input_spec__init(spec->workload->input);
    spec->workload->input->has_workers = true;
    spec->workload->input->workers = 1000000;
}

static void (*const nonsense[])(void) = { no_workload, no_batch, no_steps, no_sequence,
                                          a_million_workers };

START_TEST(a_spec_that_cannot_be_run_never_begins)
{
    nonsense[_i]();
    world_start(&world, 7, 1, spec, "s1");
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CONFIG);
    ck_assert(!end_of(7)->started);
    ck_assert_uint_eq(world_count_started(&world, 7), 0);
    wafer__job_spec__free_unpacked(spec, NULL);
    spec = spec_new(10);
    world_start(&world, 8, 1, spec, "s1"); /* the system is free */
    ck_assert_uint_eq(world_count_started(&world, 8), 1);
}
END_TEST

START_TEST(numbers_without_sense_do_no_harm)
{
    spec->workload->steps->value = UINT64_MAX;
    spec->workload->batch = UINT32_MAX;
    spec->workload->model->layers = UINT32_MAX;
    spec->workload->model->hidden = UINT32_MAX;
    spec_evaluate(spec, UINT64_MAX - 1);
    spec_checkpoint(spec, UINT64_MAX - 1, INT64_MAX);
    spec_stop_stalled(spec, "loss", UINT64_MAX);
    world_start(&world, 7, 1, spec, "s1 s2");
    world_run(&world, 24 * 365 * HOUR_US);
    ck_assert_uint_eq(agent_running(world.agent), 1);
    world_stop(&world, 7, 1, true, false, WAFER__CAUSE__CANCELLED);
    world_jump(&world, 1000000 * HOUR_US);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CANCELLED);
}
END_TEST

START_TEST(a_checkpoint_that_cannot_be_read_ends_it)
{
    Wafer__CheckpointState *from = finished_job_7();

    spec->workload->steps->value = 2000;
    world.read_error = -EBADMSG;
    world_resume(&world, 7, 2, spec, "s1", from, false);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CHECKPOINT_UNREADABLE);
    ck_assert_str_eq(end_of(7)->detail, "shard 2 has another digest");
    ck_assert_uint_eq(end_of(7)->step, 1000);
    ck_assert(!end_of(7)->has_digest);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

START_TEST(a_checkpoint_that_cannot_be_read_for_now_is_not_called_damaged)
{
    Wafer__CheckpointState *from = finished_job_7();

    spec->workload->steps->value = 2000;
    world.read_error = -EMFILE;
    world_resume(&world, 7, 2, spec, "s1", from, false);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CHECKPOINT_UNREACHABLE);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

/* ---- checkpoints ---- */

START_TEST(checkpoints_come_every_so_many_steps)
{
    spec_checkpoint(spec, 300, 0);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    for (uint64_t step = 1; step <= 1000; step++) {
        bool due = step % 300 == 0 || step == 1000;
        ck_assert_int_eq(!!world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__BEGUN, step),
                         due);
        ck_assert_int_eq(
            !!world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__WRITTEN, step), due);
    }
    ck_assert_uint_eq(count_in_log(" committed"), 4);
}
END_TEST

START_TEST(checkpoints_come_at_the_first_step_after_a_time)
{
    spec->workload->steps->value = 20000;
    spec_checkpoint(spec, 0, 10 * MINUTE_US);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    int64_t last_us = 0;
    size_t count = 0;
    for (size_t i = 0; i < world.seen_count; i++) {
        const Wafer__Progress *progress = world.seen[i]->progress;
        if (progress && progress->phase == WAFER__JOB__PHASE__EXECUTE && last_us == 0)
            last_us = progress->time_us; /* steps begin */
        if (!progress || progress->phase != WAFER__JOB__PHASE__CHECKPOINT ||
            progress->step == 20000)
            continue;
        ck_assert_int_ge(progress->time_us - last_us, 10 * MINUTE_US);
        ck_assert_int_lt(progress->time_us - last_us, 10 * MINUTE_US + SECOND_US);
        last_us = 0;
        count++;
    }
    ck_assert_uint_ge(count, 4);
}
END_TEST

START_TEST(steps_wait_for_the_write_of_a_checkpoint)
{
    spec_checkpoint(spec, 300, 0);
    world.hold_io = true;
    world_start(&world, 7, 1, spec, "s1");
    world_run(&world, 1000 * HOUR_US);
    ck_assert_uint_eq(world.held.step, 300);
    ck_assert_uint_eq(world_report(&world)->running[0]->step, 300);
    ck_assert_int_eq(world_report(&world)->running[0]->phase, WAFER__JOB__PHASE__CHECKPOINT);
    ck_assert_ptr_null(world_newest_checkpoint(&world, 7));

    world.hold_io = false;
    agent_on_written(world.agent, world.now_us, 7, 1, 1, 299, 0, NULL, NULL, 0, &world.effects);
    agent_on_written(world.agent, world.now_us, 7, 1, 2, 300, 0, NULL, NULL, 0, &world.effects);
    world_settle(&world);
    ck_assert_ptr_null(world_newest_checkpoint(&world, 7)); /* of another step, another fence */
    agent_on_written(world.agent, world.now_us, 7, 1, 1, 300, 0, NULL, NULL, 0, &world.effects);
    world_settle(&world);
    ck_assert_uint_eq(world_newest_checkpoint(&world, 7)->step, 300);
    world_finish(&world);
    ck_assert_uint_eq(end_of(7)->step, 1000);
}
END_TEST

START_TEST(a_save_takes_the_platforms_time_however_quick_the_write)
{
    spec_checkpoint(spec, 300, 0);
    world_start(&world, 7, 1, spec, "s1");
    while (!world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__BEGUN, 300))
        world_run(&world, SECOND_US);
    ck_assert_ptr_null(world_newest_checkpoint(&world, 7));
    world_run(&world, 5 * SECOND_US); /* 65 s for 1e9 parameters, 7 s for this model */
    ck_assert_ptr_null(world_newest_checkpoint(&world, 7));
    world_run(&world, 5 * SECOND_US);
    ck_assert_ptr_nonnull(world_newest_checkpoint(&world, 7));
}
END_TEST

START_TEST(it_waits_with_its_systems_until_a_save_works)
{
    struct digest digest = undisturbed();

    spec_checkpoint(spec, 300, 0); /* on_error: pause is the default */
    world.write_error = -ENOSPC;
    world_start(&world, 7, 1, spec, "s1");
    world_run(&world, 100 * HOUR_US);
    ck_assert_uint_eq(world_count_suspensions(&world, true), 1);
    ck_assert(world_report(&world)->running[0]->suspended);
    ck_assert_uint_eq(world_report(&world)->running[0]->step, 300);
    ck_assert_uint_ge(count_in_log("not written: the vault is full"), 9000);

    world.write_error = 0;
    world_run(&world, MINUTE_US); /* a try every 30 s */
    ck_assert_uint_eq(world_count_suspensions(&world, false), 1);
    ck_assert_ptr_nonnull(
        world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__WRITTEN, 300));
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_same_digest(end_of(7), &digest);
}
END_TEST

START_TEST(it_goes_on_without_a_checkpoint)
{
    spec_checkpoint(spec, 300, 0);
    spec_on_error(spec, WAFER__CHECKPOINT_SPEC__ON_ERROR__continue);
    world.write_error = -ENOSPC;
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    for (uint64_t step = 300; step <= 900; step += 300) {
        const Wafer__CheckpointReport *failed =
            world_checkpoint(&world, 7, WAFER__CHECKPOINT_REPORT__KIND__FAILED, step);
        ck_assert_ptr_nonnull(failed);
        ck_assert_str_eq(failed->detail, "the vault is full");
    }
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_uint_eq(world_count_suspensions(&world, true), 0);
}
END_TEST

START_TEST(it_fails_with_its_first_checkpoint)
{
    spec_checkpoint(spec, 300, 0);
    spec_on_error(spec, WAFER__CHECKPOINT_SPEC__ON_ERROR__fail);
    world.write_error = -ENOSPC;
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CHECKPOINT_UNWRITABLE);
    ck_assert_uint_eq(end_of(7)->step, 300);
}
END_TEST

/* ---- stopping ---- */

static void until_step(uint64_t step)
{
    for (;;) {
        const Wafer__Report *report = world_report(&world);
        ck_assert_uint_eq(report->n_running, 1);
        if (report->running[0]->step >= step)
            return;
        world_run(&world, SECOND_US / 4);
    }
}

START_TEST(a_stop_finishes_the_step_and_saves_it)
{
    world_start(&world, 7, 1, spec, "s1");
    until_step(10);
    uint64_t before = world_report(&world)->running[0]->step;
    world_stop(&world, 7, 1, true, false, WAFER__CAUSE__REQUEUED);
    world_stop(&world, 7, 1, true, false, WAFER__CAUSE__REQUEUED); /* again: no other effect */
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__REQUEUED);
    ck_assert_uint_le(end_of(7)->step - before, 1);
    ck_assert_uint_eq(world_newest_checkpoint(&world, 7)->step, end_of(7)->step);
    ck_assert_uint_eq(world_count_ends(&world, 7), 1);
}
END_TEST

START_TEST(a_stop_may_leave_it_unsaved)
{
    world_start(&world, 7, 1, spec, "s1");
    until_step(10);
    world_stop(&world, 7, 1, false, false, WAFER__CAUSE__CANCELLED);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CANCELLED);
    ck_assert_ptr_null(world_newest_checkpoint(&world, 7));
}
END_TEST

START_TEST(a_stop_may_give_no_grace)
{
    world_start(&world, 7, 1, spec, "s1");
    until_step(10);
    world_stop(&world, 7, 1, true, false, WAFER__CAUSE__TIME_LIMIT);
    world_stop(&world, 7, 1, false, true, WAFER__CAUSE__TIME_LIMIT);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__TIME_LIMIT);
    ck_assert_int_eq(end_of(7)->time_us, world.now_us);
    ck_assert_uint_eq(agent_running(world.agent), 0);
}
END_TEST

START_TEST(what_has_finished_stays_finished)
{
    world_start(&world, 7, 1, spec, "s1");
    while (!world_newest_checkpoint(&world, 7))
        world_run(&world, SECOND_US);
    ck_assert_int_eq(world_report(&world)->running[0]->phase, WAFER__JOB__PHASE__CLEANUP);
    world_stop(&world, 7, 1, true, false, WAFER__CAUSE__CANCELLED);
    ck_assert_uint_eq(agent_running(world.agent), 1);
    world_stop(&world, 7, 1, false, true, WAFER__CAUSE__CANCELLED);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    ck_assert_int_eq(end_of(7)->time_us, world.now_us);
}
END_TEST

/* At any moment, whatever the job does just then. */
START_TEST(a_stop_at_any_moment_ends_it_once)
{
    struct random random;

    random_init(&random, (uint64_t)_i);
    spec->workload->steps->value = 100;
    spec_evaluate(spec, 20);
    spec_checkpoint(spec, 30, 0);
    for (uint64_t job = 1; job <= 60; job++) {
        world_start(&world, job, 1, spec, "s1");
        world_run(&world, (int64_t)random_below(&random, 400 * SECOND_US));
        bool save = random_below(&random, 2), now = random_below(&random, 4) == 0;
        world.write_error = random_below(&random, 4) ? 0 : -EIO;
        world_stop(&world, job, 1, save, now, WAFER__CAUSE__CANCELLED);
        world_run(&world, HOUR_US);
        world_stop(&world, job, 1, false, true, WAFER__CAUSE__CANCELLED);
        ck_assert_uint_eq(agent_running(world.agent), 0);
        ck_assert_uint_eq(world_count_ends(&world, job), 1);
        ck_assert(end_of(job)->cause == WAFER__CAUSE__CANCELLED ||
                  end_of(job)->cause == WAFER__CAUSE__FINISHED);
        ck_assert(save || end_of(job)->step == 100 || !world_newest_checkpoint(&world, job) ||
                  world_newest_checkpoint(&world, job)->step % 30 == 0);
    }
}
END_TEST

/* ---- the log ---- */

START_TEST(the_log_reads_like_a_trainers)
{
    static const char *const lines[] = {
        "2026-02-01T08:00:00.000Z INFO Attempt 1 of job 7, gpt-111m: 2 wafer-test: s1 s2\n",
        "Compile: done in ",
        "Load: processes up in ",
        "Load: systems programmed in ",
        "Load: weights in after ",
        "| Train Device=CSX, Step=5, Loss=",
        " samples/sec, GlobalRate=",
        "| GradNorm Step=50, by rank: ",
        "| Eval Step=100, eval_loss=",
        "Checkpoint: saving step 400\n",
        "Checkpoint: step 400 written in ",
        "Checkpoint: step 400 committed\n",
        "Ended at step 1000: FINISHED\n",
    };

    spec_evaluate(spec, 100);
    spec_checkpoint(spec, 400, 0);
    world_start(&world, 7, 1, spec, "s1 s2");
    world_finish(&world);
    const char *place = (const char *)buffer_data(&world.log);
    for (size_t i = 0; i < ELEMENTS(lines); i++)
        ck_assert_msg(count_in_log(lines[i]) > 0, "no '%s' in\n%.3000s", lines[i], place);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tcase = add_case(suite, "phases");

    tcase_add_test(tcase, phases_follow_one_another);
    tcase_add_test(tcase, the_last_step_is_saved_and_evaluated);
    tcase_add_test(tcase, a_second_run_of_a_program_finds_it_compiled);
    tcase_add_loop_test(tcase, an_attempt_logs_about_200_steps, 0, 7);
    tcase_add_test(tcase, log_offsets_join_up);
    tcase_add_test(tcase, progress_comes_as_often_as_was_asked_for);
    tcase_add_test(tcase, the_log_reads_like_a_trainers);

    tcase = add_case(suite, "result");
    tcase_add_loop_test(tcase, big_jumps_and_small_steps_of_time_give_the_same_run, 0, 3);
    tcase_add_loop_test(tcase, systems_platform_and_format_stay_out_of_the_digest, 0, 3);
    tcase_add_loop_test(tcase, a_run_that_was_killed_again_and_again_ends_like_an_undisturbed_one,
                        0, 10);
    tcase_add_test(tcase, a_damaged_shard_that_is_loaded_shows_in_the_digest);

    tcase = add_case(suite, "starts");
    tcase_add_test(tcase, its_own_last_checkpoint_is_the_result);
    tcase_add_loop_test(tcase, another_jobs_last_checkpoint_leaves_nothing_to_do, 0, 2);
    tcase_add_test(tcase, weights_of_another_job_begin_at_step_0);
    tcase_add_test(tcase, a_longer_job_goes_on_from_the_last_step_of_a_shorter_one);

    tcase = add_case(suite, "ends");
    tcase_add_loop_test(tcase, it_stops_at_the_very_step_at_which_a_metric_is_below, 0, 2);
    tcase_add_test(tcase, it_stops_when_a_metric_no_longer_improves);
    tcase_add_test(tcase, a_stall_is_counted_over_a_restart);
    tcase_add_test(tcase, max_steps_ends_it_before_the_workload_does);
    tcase_add_loop_test(tcase, what_the_platform_cannot_do_fails_at_compile, 0,
                        ELEMENTS(compile_errors));
    tcase_add_loop_test(tcase, a_spec_that_cannot_be_run_never_begins, 0, ELEMENTS(nonsense));
    tcase_add_test(tcase, numbers_without_sense_do_no_harm);
    tcase_add_test(tcase, a_checkpoint_that_cannot_be_read_ends_it);
    tcase_add_test(tcase, a_checkpoint_that_cannot_be_read_for_now_is_not_called_damaged);

    tcase = add_case(suite, "checkpoints");
    tcase_add_test(tcase, checkpoints_come_every_so_many_steps);
    tcase_add_test(tcase, checkpoints_come_at_the_first_step_after_a_time);
    tcase_add_test(tcase, steps_wait_for_the_write_of_a_checkpoint);
    tcase_add_test(tcase, a_save_takes_the_platforms_time_however_quick_the_write);
    tcase_add_test(tcase, it_waits_with_its_systems_until_a_save_works);
    tcase_add_test(tcase, it_goes_on_without_a_checkpoint);
    tcase_add_test(tcase, it_fails_with_its_first_checkpoint);

    tcase = add_case(suite, "stops");
    tcase_add_test(tcase, a_stop_finishes_the_step_and_saves_it);
    tcase_add_test(tcase, a_stop_may_leave_it_unsaved);
    tcase_add_test(tcase, a_stop_may_give_no_grace);
    tcase_add_test(tcase, what_has_finished_stays_finished);
    tcase_add_loop_test(tcase, a_stop_at_any_moment_ends_it_once, 0, 4);
    return tap_run(suite);
}
