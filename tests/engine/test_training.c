#include "engine/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define STEPS        1000
#define FILLER_BYTES 100

/* A spec with what the training state reads of it. */
struct words {
    Wafer__JobSpec spec;
    Wafer__Workload workload;
    Wafer__ModelSpec model;
    Wafer__InputSpec input;
    Wafer__DataSpec data;
    Wafer__DataInput corpus, *inputs[1];
};

static void words_init(struct words *words, uint32_t workers)
{
    wafer__job_spec__init(&words->spec);
    wafer__workload__init(&words->workload);
    wafer__model_spec__init(&words->model);
    wafer__input_spec__init(&words->input);
    words->spec.workload = &words->workload;
    words->workload.model = &words->model;
    words->workload.input = &words->input;
    words->workload.batch = 32;
    words->model.has_layers = words->model.has_hidden = true;
    words->model.layers = 12;
    words->model.hidden = 768;
    words->input.has_workers = true;
    words->input.workers = workers;
}

static void start(struct training *training, uint32_t workers)
{
    struct words words;

    words_init(&words, workers);
    training_init(training, &words.spec, 0);
}

static struct digest digest_now(const struct training *training)
{
    struct digest digest;

    training_digest(training, &digest);
    return digest;
}

/* Run to the end of STEPS. */
static struct digest finish(struct training *training)
{
    training_run(training, STEPS - training->step);
    struct digest digest = digest_now(training);
    training_done(training);
    return digest;
}

static struct digest undisturbed(uint32_t workers)
{
    struct training training;

    start(&training, workers);
    return finish(&training);
}

static void ck_digest(const struct digest *a, const struct digest *b, bool equal)
{
    ck_assert_int_eq(digest_is_equal(a, b), equal);
}

/* A checkpoint in memory. */
struct saved {
    uint8_t *shards[TRAINING_LANES];
    size_t lengths[TRAINING_LANES], count;
    uint64_t step;
    Wafer__ResumeState resume;
};

static void save(const struct training *training, struct saved *saved)
{
    wafer__resume_state__init(&saved->resume);
    training_save(training, &saved->resume);
    for (unsigned i = 0; i < TRAINING_LANES; i++)
        saved->shards[i] = training_shard(training, i, FILLER_BYTES, &saved->lengths[i]);
    saved->count = TRAINING_LANES;
    saved->step = training->step;
}

static void load(struct training *training, uint32_t workers, const struct saved *saved,
                 bool weights_only)
{
    start(training, workers);
    training_load(training, (const uint8_t *const *)saved->shards, saved->lengths, saved->count,
                  saved->step, &saved->resume, weights_only);
}

static void saved_done(struct saved *saved)
{
    for (unsigned i = 0; i < TRAINING_LANES; i++)
        free(saved->shards[i]);
    free(saved->resume.cursors);
    free(saved->resume.rng);
}

/* Saved half-way by a run of three workers. */
static struct saved half_way;

static void save_half_way(void)
{
    struct training training;

    start(&training, 3);
    training_run(&training, STEPS / 2);
    save(&training, &half_way);
    training_done(&training);
}

static void drop_half_way(void)
{
    saved_done(&half_way);
}

static struct digest resumed(const struct saved *saved)
{
    struct training training;

    load(&training, 3, saved, false);
    return finish(&training);
}

START_TEST(any_number_of_saves_and_loads_ends_at_the_undisturbed_digest)
{
    struct digest expected = undisturbed(3);
    struct random random;

    random_init(&random, (uint64_t)_i);
    for (int times = 0; times < 50; times++) {
        struct training training;
        start(&training, 3);
        while (training.step < STEPS) {
            training_run(&training, 1 + random_below(&random, STEPS - training.step));
            struct saved saved;
            save(&training, &saved);
            training_done(&training);
            load(&training, 3, &saved, false);
            saved_done(&saved);
        }
        struct digest digest = finish(&training);
        ck_digest(&digest, &expected, true);
    }
}
END_TEST

START_TEST(bulk_and_single_steps_are_the_same)
{
    struct training training;

    start(&training, 5);
    for (int i = 0; i < STEPS; i++)
        training_run(&training, 1);
    struct digest single = finish(&training), bulk = undisturbed(5);
    ck_digest(&single, &bulk, true);
}
END_TEST

START_TEST(the_number_of_input_workers_stays_out_of_the_result)
{
    struct digest one = undisturbed(1), many = undisturbed((uint32_t)_i);
    struct training training;

    ck_digest(&one, &many, true);
    load(&training, (uint32_t)_i, &half_way, false); /* three workers saved it */
    struct digest dealt = finish(&training);
    ck_digest(&one, &dealt, true);
}
END_TEST

START_TEST(every_flipped_byte_of_a_shard_changes_the_result)
{
    struct digest expected = resumed(&half_way);

    for (unsigned shard = 0; shard < TRAINING_LANES; shard++)
        for (size_t i = 0; i < half_way.lengths[shard]; i++) {
            uint8_t flip = (uint8_t)(1u << (i % 8));
            half_way.shards[shard][i] ^= flip;
            struct digest digest = resumed(&half_way);
            half_way.shards[shard][i] ^= flip;
            ck_digest(&digest, &expected, false);
        }
}
END_TEST

START_TEST(a_shard_cut_short_or_grown_changes_the_result)
{
    struct digest expected = resumed(&half_way);
    size_t whole = half_way.lengths[1];

    for (half_way.lengths[1] = 0; half_way.lengths[1] < whole; half_way.lengths[1]++) {
        struct digest digest = resumed(&half_way);
        ck_digest(&digest, &expected, false);
    }
}
END_TEST

static void shift_cursor_up(struct saved *saved)
{
    saved->resume.cursors[1]++;
}
static void shift_cursor_down(struct saved *saved)
{
    saved->resume.cursors[2]--;
}
static void swap_cursors(struct saved *saved)
{
    uint64_t first = saved->resume.cursors[0]; /* 167, 167, 166 */
    saved->resume.cursors[0] = saved->resume.cursors[2];
    saved->resume.cursors[2] = first;
}
static void drop_cursors(struct saved *saved)
{
    saved->resume.n_cursors = 0;
}
static void drop_last_shard(struct saved *saved)
{
    saved->count--;
}
static void drop_all_shards(struct saved *saved)
{
    saved->count = 0;
}
static void swap_shards(struct saved *saved)
{
    uint8_t *first = saved->shards[0]; /* all have one length */
    saved->shards[0] = saved->shards[1];
    saved->shards[1] = first;
}
static void duplicate_shard(struct saved *saved)
{
    memcpy(saved->shards[3], saved->shards[2], saved->lengths[2]);
}
static void step_up(struct saved *saved)
{
    saved->step++;
}
static void step_down(struct saved *saved)
{
    saved->step--;
}
static void shift_generator(struct saved *saved)
{
    saved->resume.rng[0]++;
}
static void drop_generator(struct saved *saved)
{
    saved->resume.n_rng = 0;
}

static const struct {
    const char *what;
    void (*damage)(struct saved *saved);
} damages[] = {
    { "a cursor one batch ahead", shift_cursor_up },
    { "a cursor one batch behind", shift_cursor_down },
    { "two cursors swapped", swap_cursors },
    { "no cursors", drop_cursors },
    { "the last shard missing", drop_last_shard },
    { "no shard at all", drop_all_shards },
    { "two shards swapped", swap_shards },
    { "a shard in the place of another", duplicate_shard },
    { "one step too many", step_up },
    { "one step too few", step_down },
    { "a generator one ahead", shift_generator },
    { "no generator", drop_generator },
};

START_TEST(what_was_not_saved_like_that_does_not_end_like_that)
{
    struct digest expected = resumed(&half_way);

    damages[_i].damage(&half_way);
    struct digest digest = resumed(&half_way);
    ck_assert_msg(!digest_is_equal(&digest, &expected), "%s ends at the same digest",
                  damages[_i].what);
    if (damages[_i].damage == drop_last_shard || damages[_i].damage == drop_all_shards)
        half_way.count = TRAINING_LANES;
}
END_TEST

START_TEST(weights_only_begins_at_step_0_with_fresh_cursors)
{
    struct training training, fresh;

    load(&training, 3, &half_way, true);
    start(&fresh, 3);
    ck_assert_uint_eq(training.step, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(training.cursors[i], 0);
    ck_assert_uint_eq(training.rng, fresh.rng);
    ck_assert_mem_ne(training.lanes, fresh.lanes, sizeof(fresh.lanes));
    struct digest from_weights = finish(&training), from_nothing = finish(&fresh);
    ck_digest(&from_weights, &from_nothing, false);
}
END_TEST

static void other_seed(struct words *words)
{
    words->workload.has_seed = true;
    words->workload.seed = 2;
}
static void other_batch(struct words *words)
{
    words->workload.batch++;
}
static void other_layers(struct words *words)
{
    words->model.layers++;
}
static void other_seq(struct words *words)
{
    words->model.has_seq = true;
    words->model.seq = 1024;
}
static void other_optimizer(struct words *words)
{
    words->workload.optimizer = (char *)"sgd";
}
static void other_corpus(struct words *words)
{
    wafer__data_spec__init(&words->data);
    wafer__data_input__init(&words->corpus);
    words->corpus.id = (char *)"pile-v1";
    words->inputs[0] = &words->corpus;
    words->data.inputs = words->inputs;
    words->data.n_inputs = 1;
    words->spec.data = &words->data;
}
static void seed_as_by_default(struct words *words)
{
    words->workload.has_seed = true;
    words->workload.seed = 1;
}
static void optimizer_as_by_default(struct words *words)
{
    words->workload.optimizer = (char *)"adamw";
}
static void other_precision(struct words *words)
{
    words->workload.has_precision = true;
    words->workload.precision = WAFER__WORKLOAD__PRECISION__fp32;
}
static void other_recompute(struct words *words)
{
    words->workload.has_recompute = true;
    words->workload.recompute = WAFER__WORKLOAD__RECOMPUTE__full;
}
static void other_name(struct words *words)
{
    words->spec.name = (char *)"another";
}

static const struct {
    void (*change)(struct words *words);
    bool same;
} changes[] = {
    { other_seed, false },        { other_batch, false },
    { other_layers, false },      { other_seq, false },
    { other_optimizer, false },   { other_corpus, false },
    { seed_as_by_default, true }, { optimizer_as_by_default, true },
    { other_precision, true }, /* all-reduce is exact */
    { other_recompute, true },    { other_name, true },
};

START_TEST(only_settings_that_change_results_change_the_digest)
{
    struct digest expected = undisturbed(3);
    struct words words;
    struct training training;

    words_init(&words, 3);
    changes[_i].change(&words);
    training_init(&training, &words.spec, 0);
    struct digest digest = finish(&training);
    ck_digest(&digest, &expected, changes[_i].same);
}
END_TEST

START_TEST(elements_of_an_array_differ)
{
    struct words words;
    struct training first, second;

    words_init(&words, 1);
    training_init(&first, &words.spec, 0);
    training_init(&second, &words.spec, 1);
    struct digest a = finish(&first), b = finish(&second);
    ck_digest(&a, &b, false);
}
END_TEST

/* The design asks for 10^7 a second; the margin is for sanitizers and busy machines. */
START_TEST(steps_are_cheap)
{
    struct training training;
    struct timespec from, to;
    const uint64_t count = 2000000;

    start(&training, 4);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    training_run(&training, count);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("# %.3g steps a second\n", (double)count / seconds);
    ck_assert_double_gt((double)count / seconds, 1e6);
    training_done(&training);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("training");
    TCase *tcase = tcase_create("training");

    tcase_add_checked_fixture(tcase, save_half_way, drop_half_way);
    tcase_add_loop_test(tcase, any_number_of_saves_and_loads_ends_at_the_undisturbed_digest, 0, 4);
    tcase_add_test(tcase, bulk_and_single_steps_are_the_same);
    tcase_add_loop_test(tcase, the_number_of_input_workers_stays_out_of_the_result, 1, 9);
    tcase_add_test(tcase, every_flipped_byte_of_a_shard_changes_the_result);
    tcase_add_test(tcase, a_shard_cut_short_or_grown_changes_the_result);
    tcase_add_loop_test(tcase, what_was_not_saved_like_that_does_not_end_like_that, 0,
                        ELEMENTS(damages));
    tcase_add_test(tcase, weights_only_begins_at_step_0_with_fresh_cursors);
    tcase_add_loop_test(tcase, only_settings_that_change_results_change_the_digest, 0,
                        ELEMENTS(changes));
    tcase_add_test(tcase, elements_of_an_array_differ);
    tcase_add_test(tcase, steps_are_cheap);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
