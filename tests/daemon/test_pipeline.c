#include "pipeline.h"

#include "base/memory.h"
#include "tap.h"

/* A journal that makes nothing durable before it is told to, and effects that note themselves: an
 * effect's `client` is its name here. */
static struct pipeline pipeline;
static struct store_batch *queued[16];
static size_t queued_count;
static uint64_t carried_out[64];
static size_t carried_out_count;
static uint64_t next_sequence;
static void (*while_releasing)(void);

static void on_queue(void *userdata, struct store_batch *batch)
{
    queued[queued_count++] = batch;
}

static void on_release(void *userdata, const struct records *records, const struct effects *effects)
{
    for (size_t i = 0; i < effects->count; i++)
        carried_out[carried_out_count++] = effects->items[i].client;
    if (while_releasing) {
        void (*once)(void) = while_releasing;
        while_releasing = NULL;
        once();
    }
}

static const struct pipeline_ops ops = { .queue = on_queue, .release = on_release };

static void setup(void)
{
    pipeline_init(&pipeline, &ops, NULL);
    queued_count = carried_out_count = 0;
    next_sequence = 1;
    while_releasing = NULL;
}

static void teardown(void)
{
    pipeline_done(&pipeline);
}

/* What a step of the core does. */
static void step(size_t record_count, uint64_t effect)
{
    struct records *records = pipeline_records(&pipeline);
    struct effects *effects = pipeline_effects(&pipeline);

    for (size_t i = 0; i < record_count; i++) {
        Wafer__Record *record = NEW(Wafer__Record);
        wafer__record__init(record);
        record->sequence = next_sequence++;
        ARRAY_RESERVE(records->items, records->count, records->capacity);
        records->items[records->count++] = record;
    }
    if (effect) {
        ARRAY_RESERVE(effects->items, effects->count, effects->capacity);
        effects->items[effects->count++] = (struct effect){ .client = effect };
    }
}

/* The journal syncs batches `first` to `last`. */
static void make_durable(size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++)
        queued[i]->next = i < last ? queued[i + 1] : NULL;
    pipeline_durable(&pipeline, queued[first]);
}

#define assert_carried_out(...)                                                                    \
    do {                                                                                           \
        const uint64_t expected_[] = { __VA_ARGS__ };                                              \
        ck_assert_uint_eq(carried_out_count, ELEMENTS(expected_));                                 \
        ck_assert_mem_eq(carried_out, expected_, sizeof(expected_));                               \
    } while (0)

START_TEST(effects_wait_until_their_records_are_durable)
{
    step(1, 10);
    pipeline_seal(&pipeline);
    ck_assert_uint_eq(carried_out_count, 0);
    make_durable(0, 0);
    assert_carried_out(10);
}
END_TEST

START_TEST(steps_before_a_seal_are_one_batch_in_their_order)
{
    step(2, 10);
    step(0, 11);
    step(1, 12);
    pipeline_seal(&pipeline);
    ck_assert_uint_eq(queued_count, 1);
    ck_assert_uint_eq(queued[0]->count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(queued[0]->records[i]->sequence, i + 1);
    make_durable(0, 0);
    assert_carried_out(10, 11, 12);
}
END_TEST

START_TEST(an_answer_without_records_leaves_at_once_when_nothing_is_in_front)
{
    step(0, 10);
    pipeline_seal(&pipeline);
    assert_carried_out(10);
    ck_assert_uint_eq(queued_count, 0);
}
END_TEST

START_TEST(an_answer_without_records_waits_for_what_it_has_seen)
{
    step(1, 10);
    pipeline_seal(&pipeline);
    step(0, 11);
    pipeline_seal(&pipeline);
    step(1, 12);
    pipeline_seal(&pipeline);
    ck_assert_uint_eq(carried_out_count, 0);
    make_durable(0, 0);
    assert_carried_out(10, 11);
    make_durable(1, 1);
    assert_carried_out(10, 11, 12);
}
END_TEST

START_TEST(several_batches_may_become_durable_together)
{
    for (uint64_t i = 0; i < 4; i++) {
        step(1, 10 + i);
        pipeline_seal(&pipeline);
    }
    make_durable(0, 3);
    assert_carried_out(10, 11, 12, 13);
}
END_TEST

static void decide_more(void)
{
    step(0, 20);
    pipeline_seal(&pipeline);
}

START_TEST(what_is_decided_while_effects_are_carried_out_comes_after_them)
{
    while_releasing = decide_more;
    step(1, 10);
    pipeline_seal(&pipeline);
    step(1, 11);
    pipeline_seal(&pipeline);
    make_durable(0, 1);
    assert_carried_out(10, 11, 20);
}
END_TEST

START_TEST(a_mark_is_reached_when_all_that_was_decided_before_it_is_durable)
{
    ck_assert(pipeline_is_empty(&pipeline));
    step(1, 0);
    uint64_t mark = pipeline_mark(&pipeline); /* also what is not sealed yet */
    pipeline_seal(&pipeline);
    step(1, 0);
    pipeline_seal(&pipeline);
    ck_assert(!pipeline_is_released(&pipeline, mark));
    make_durable(0, 0);
    ck_assert(pipeline_is_released(&pipeline, mark));
    ck_assert(!pipeline_is_empty(&pipeline));
    make_durable(1, 1);
    ck_assert(pipeline_is_empty(&pipeline));
}
END_TEST

START_TEST(records_in_flight_are_counted)
{
    step(3, 0);
    pipeline_seal(&pipeline);
    step(2, 0);
    pipeline_seal(&pipeline);
    ck_assert_uint_eq(pipeline.record_count, 5);
    make_durable(0, 0);
    ck_assert_uint_eq(pipeline.record_count, 2);
    make_durable(1, 1);
    ck_assert_uint_eq(pipeline.record_count, 0);
}
END_TEST

/* Seal a batch of one record about `job`. */
static void decide_about(uint64_t job)
{
    step(1, 0);
    Wafer__Record *record = pipeline_records(&pipeline)->items[0];
    record->has_job = true;
    record->job = job;
    pipeline_seal(&pipeline);
}

START_TEST(what_is_decided_about_a_job_is_durable_with_the_last_that_is_about_it)
{
    decide_about(7);
    decide_about(8);
    decide_about(7);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 7), 3);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 8), 2);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 9), 0);
    make_durable(0, 1);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 7), 3);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 8), 0);
    make_durable(2, 2);
    ck_assert_uint_eq(pipeline_mark_of(&pipeline, 7), 0);
    ck_assert_uint_eq(map_count(&pipeline.jobs), 0);
}
END_TEST

START_TEST(nothing_leaves_that_never_became_durable)
{
    step(1, 10);
    pipeline_seal(&pipeline);
    step(0, 11);
    pipeline_seal(&pipeline);
    pipeline_done(&pipeline);
    ck_assert_uint_eq(carried_out_count, 0);
    pipeline_init(&pipeline, &ops, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *tcase = tcase_create("pipeline");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, effects_wait_until_their_records_are_durable);
    tcase_add_test(tcase, steps_before_a_seal_are_one_batch_in_their_order);
    tcase_add_test(tcase, an_answer_without_records_leaves_at_once_when_nothing_is_in_front);
    tcase_add_test(tcase, an_answer_without_records_waits_for_what_it_has_seen);
    tcase_add_test(tcase, several_batches_may_become_durable_together);
    tcase_add_test(tcase, what_is_decided_while_effects_are_carried_out_comes_after_them);
    tcase_add_test(tcase, a_mark_is_reached_when_all_that_was_decided_before_it_is_durable);
    tcase_add_test(tcase, records_in_flight_are_counted);
    tcase_add_test(tcase, what_is_decided_about_a_job_is_durable_with_the_last_that_is_about_it);
    tcase_add_test(tcase, nothing_leaves_that_never_became_durable);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
