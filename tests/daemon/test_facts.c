#include "facts.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/synthetic.h"
#include "tap.h"

static char *dir;
static struct shadow shadow;
static struct store *store;
static uint64_t sequence;

static void end_job(uint64_t job, uint32_t uid, const char *name, uint64_t array, uint32_t index)
{
    Wafer__Record *record = record_ended(++sequence, job, uid, name);

    record->job_state->has_array_id = record->job_state->has_array_index = array > 0;
    record->job_state->array_id = array;
    record->job_state->array_index = index;
    store_queue(store, batch_of(record));
    take_until(store, sequence);
}

static void setup(void)
{
    dir = directory_new();
    sequence = 0;
    store = open_loaded(dir, &shadow);
}

static void teardown(void)
{
    store_close(store);
    shadow_done(&shadow);
    directory_remove(dir);
}

static int find(uint64_t job, const char *name, bool has_index, uint32_t index, uint64_t *ret)
{
    struct facts_wish wish = { .has_target = true, .target = WAFER__TARGET__INIT, .uid = 1000 };
    struct facts_held held;
    struct diag diag;

    wish.target.has_job = !name;
    wish.target.job = job;
    wish.target.name = (char *)name;
    wish.target.has_index = has_index;
    wish.target.index = index;
    ck_assert_int_eq(facts_find(store, &wish, &held, &diag), 0);
    bool found = held.facts.state;
    if (found)
        *ret = held.facts.state->id;
    facts_done(&held);
    return found ? 0 : -ENOENT;
}

START_TEST(an_element_of_an_array_is_found_by_its_index)
{
    uint64_t job;

    for (uint32_t i = 0; i < 3; i++)
        end_job(7 + i, 1000, "a", 7, 10 + i); /* 10-12: the first one tells where they begin */
    end_job(21, 1000, "b", 20, 1);            /* 0-: the first one still runs */
    end_job(31, 1000, "c", 30, 2);            /* 1-: as well */
    ck_assert_int_eq(find(7, NULL, true, 12, &job), 0);
    ck_assert_uint_eq(job, 9);
    ck_assert_int_eq(find(20, NULL, true, 1, &job), 0);
    ck_assert_uint_eq(job, 21);
    ck_assert_int_eq(find(30, NULL, true, 2, &job), 0);
    ck_assert_uint_eq(job, 31);
}
END_TEST

START_TEST(a_job_of_no_array_has_no_elements)
{
    uint64_t job;

    end_job(7, 1000, "a", 0, 0);
    end_job(8, 1000, "b", 0, 0);
    ck_assert_int_eq(find(7, NULL, true, 1, &job), -ENOENT);
    ck_assert_int_eq(find(7, NULL, true, 0, &job), -ENOENT);
}
END_TEST

START_TEST(a_name_means_the_newest_job_of_the_caller)
{
    uint64_t job;

    end_job(7, 1000, "a", 0, 0);
    end_job(8, 1000, "a", 0, 0);
    end_job(9, 2000, "a", 0, 0);
    ck_assert_int_eq(find(0, "a", false, 0, &job), 0);
    ck_assert_uint_eq(job, 8);
    ck_assert_int_eq(find(0, "b", false, 0, &job), -ENOENT);
}
END_TEST

START_TEST(the_facts_of_a_job_are_its_state_its_view_and_its_checkpoints)
{
    struct facts_wish wish = { .has_target = true, .target = WAFER__TARGET__INIT, .uid = 1000 };
    struct facts_held held;
    struct diag diag;

    end_job(7, 1000, "a", 0, 0);
    store_queue(store, batch_of(record_checkpoint(++sequence, 7, 1, 300,
                                                  WAFER__CHECKPOINT__STATE__VERIFIED)));
    take_until(store, sequence);
    wish.target.has_job = true;
    wish.target.job = 7;
    ck_assert_int_eq(facts_find(store, &wish, &held, &diag), 0);
    ck_assert_uint_eq(held.facts.state->id, 7);
    ck_assert_str_eq(held.facts.view->name, "a");
    ck_assert_uint_eq(held.facts.checkpoint_count, 1);
    ck_assert_uint_eq(held.facts.checkpoints[0]->step, 300);
    facts_done(&held);

    uint64_t job;
    ck_assert_int_eq(find(8, NULL, false, 0, &job), -ENOENT);
    ck_assert_int_eq(find(UINT64_MAX, NULL, false, 0, &job), -ENOENT);
}
END_TEST

static void put_checkpoint(uint64_t number, Wafer__Checkpoint__State state)
{
    store_queue(store, batch_of(record_checkpoint(++sequence, 6, number, 100 * number, state)));
    take_until(store, sequence);
}

/* A job of which nothing but an older origin is good: the newest is damaged, one is gone. */
START_TEST(what_a_job_began_from_is_as_it_is_by_now)
{
    struct facts_wish wish = { .has_target = true, .target = WAFER__TARGET__INIT, .uid = 1000 };
    struct facts_held held;
    struct diag diag;

    for (uint64_t number = 1; number <= 3; number++)
        put_checkpoint(number, WAFER__CHECKPOINT__STATE__VERIFIED);
    Wafer__Record *record = record_ended(++sequence, 7, 1000, "a");
    Wafer__Record *from[3];
    for (uint64_t i = 0; i < 3; i++)
        from[i] = record_checkpoint(1, 6, 3 - i, 300 - 100 * i, WAFER__CHECKPOINT__STATE__VERIFIED);
    record->job_state->origin = TAKE(from[0]->checkpoint);
    record->job_state->n_older_origins = 2;
    record->job_state->older_origins = memory_new(2 * sizeof(Wafer__CheckpointState *));
    record->job_state->older_origins[0] = TAKE(from[1]->checkpoint);
    record->job_state->older_origins[1] = TAKE(from[2]->checkpoint);
    for (int i = 0; i < 3; i++)
        wafer__record__free_unpacked(from[i], NULL);
    store_queue(store, batch_of(record));
    take_until(store, sequence);
    put_checkpoint(3, WAFER__CHECKPOINT__STATE__CORRUPT);
    put_checkpoint(2, WAFER__CHECKPOINT__STATE__DELETED);

    wish.target.has_job = true;
    wish.target.job = 7;
    ck_assert_int_eq(facts_find(store, &wish, &held, &diag), 0);
    const Wafer__JobState *state = held.facts.state;
    ck_assert_int_eq(state->origin->state, WAFER__CHECKPOINT__STATE__CORRUPT);
    ck_assert_int_eq(state->older_origins[0]->state, WAFER__CHECKPOINT__STATE__DELETED);
    ck_assert_int_eq(state->older_origins[1]->state, WAFER__CHECKPOINT__STATE__VERIFIED);
    facts_done(&held);
}
END_TEST

/* Of one job, of those elements of an array that have ended, of one element, and of nobody. */
START_TEST(what_became_of_those_that_a_job_waits_for)
{
    Wafer__Dependency after[4];
    Wafer__Dependency *all[] = { &after[0], &after[1], &after[2], &after[3] };
    Wafer__JobSpec spec = WAFER__JOB_SPEC__INIT;
    struct facts_wish wish = { .after = &spec };
    struct facts_held held;
    struct diag diag;

    for (size_t i = 0; i < 4; i++)
        wafer__dependency__init(&after[i]);
    after[0].afterok = (char *)"3";
    after[1].afternotok = (char *)"7";
    after[2].afterany = (char *)"7_2";
    after[3].afterok = (char *)"99";
    spec.after = all;
    spec.n_after = 4;
    end_job(3, 1000, "one", 0, 0);
    Wafer__Record *record = record_submitted(++sequence, 7, "array");
    record->has_array_count = true;
    record->array_count = 3;
    store_queue(store, batch_of(record));
    take_until(store, sequence);
    end_job(7, 1000, "array", 7, 0);
    end_job(9, 1000, "array", 7, 2);

    ck_assert_int_eq(facts_find(store, &wish, &held, &diag), 0);
    static const struct {
        size_t dependency;
        uint64_t job;
        bool of_array;
    } want[] = { { 0, 3, false }, { 1, 7, true }, { 1, 9, true }, { 2, 9, false } };
    ck_assert_uint_eq(held.facts.after_count, ELEMENTS(want));
    for (size_t i = 0; i < ELEMENTS(want); i++) {
        ck_assert_uint_eq(held.facts.after[i].dependency, want[i].dependency);
        ck_assert_uint_eq(held.facts.after[i].job, want[i].job);
        ck_assert_int_eq(held.facts.after[i].of_array, want[i].of_array);
        ck_assert_uint_eq(held.facts.after[i].object.owner, 1000);
    }
    facts_done(&held);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("facts");
    TCase *tcase = tcase_create("facts");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_element_of_an_array_is_found_by_its_index);
    tcase_add_test(tcase, a_job_of_no_array_has_no_elements);
    tcase_add_test(tcase, a_name_means_the_newest_job_of_the_caller);
    tcase_add_test(tcase, the_facts_of_a_job_are_its_state_its_view_and_its_checkpoints);
    tcase_add_test(tcase, what_a_job_began_from_is_as_it_is_by_now);
    tcase_add_test(tcase, what_became_of_those_that_a_job_waits_for);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
