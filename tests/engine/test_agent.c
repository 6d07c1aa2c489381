/* What an agent obeys, and what it reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/effects.h"
#include "tap.h"
#include "world.h"

static struct world world;
static Wafer__JobSpec *spec;

static void set_up(void)
{
    world_init(&world);
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

/* ---- fences ---- */

START_TEST(a_start_is_obeyed_once_and_answered_each_time)
{
    world_start(&world, 7, 3, spec, "s1");
    world_run(&world, MINUTE_US);
    world_start(&world, 7, 3, spec, "s1");
    world_start(&world, 7, 3, spec, "s1 s2");
    ck_assert_uint_eq(world_count_started(&world, 7), 3);
    ck_assert_uint_eq(agent_running(world.agent), 1);
    world_start(&world, 8, 1, spec, "s2"); /* free: the repeat took nothing */
    ck_assert_uint_eq(world_count_started(&world, 8), 1);
}
END_TEST

START_TEST(lower_fences_do_nothing)
{
    world_start(&world, 7, 3, spec, "s1");
    size_t seen = world.seen_count;
    world_start(&world, 7, 2, spec, "s2");
    world_stop(&world, 7, 2, false, true, WAFER__CAUSE__CANCELLED);
    world_ack_end(&world, 7, 2);
    world_ack_checkpoint(&world, 7, 2, 100);
    ck_assert_uint_eq(world.seen_count, seen);
    ck_assert_uint_eq(agent_running(world.agent), 1);
}
END_TEST

START_TEST(a_repeated_start_of_what_has_ended_gives_its_end_until_acknowledged)
{
    world_start(&world, 7, 3, spec, "s1");
    world_finish(&world);
    ck_assert_uint_eq(world_count_ends(&world, 7), 1);
    world_start(&world, 7, 3, spec, "s1");
    ck_assert_uint_eq(world_count_ends(&world, 7), 2);
    ck_assert_uint_eq(world_count_started(&world, 7), 1);
    ck_assert_uint_eq(agent_running(world.agent), 0);
    ck_assert_uint_eq(world_report(&world)->n_ended, 1);

    world_ack_end(&world, 7, 3);
    ck_assert_uint_eq(world_report(&world)->n_ended, 0);
    size_t seen = world.seen_count;
    world_start(&world, 7, 3, spec, "s1");
    world_stop(&world, 7, 3, true, true, WAFER__CAUSE__CANCELLED);
    ck_assert_uint_eq(world.seen_count, seen);
}
END_TEST

START_TEST(a_stop_that_overtakes_its_start_wins)
{
    world_stop(&world, 7, 3, true, false, WAFER__CAUSE__CANCELLED);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__CANCELLED);
    ck_assert(!end_of(7)->started);
    world_start(&world, 7, 3, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 0);
    ck_assert_uint_eq(world_count_started(&world, 7), 0);
    ck_assert_uint_eq(world_count_ends(&world, 7), 2);
    world_ack_end(&world, 7, 3);
    world_start(&world, 7, 3, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 0);
    world_start(&world, 7, 4, spec, "s1"); /* the next epoch is another matter */
    ck_assert_uint_eq(agent_running(world.agent), 1);
}
END_TEST

START_TEST(a_higher_fence_ends_the_run_of_a_lower_one)
{
    spec_checkpoint(spec, 100, 0);
    world_start(&world, 7, 3, spec, "s1 s2");
    while (!world_newest_checkpoint(&world, 7))
        world_run(&world, MINUTE_US);
    if (_i == 0)
        world_start(&world, 7, 4, spec, "s2 s3");
    else
        world_stop(&world, 7, 4, false, false, WAFER__CAUSE__CANCELLED);
    const Wafer__Report *report = world_report(&world);
    ck_assert_uint_eq(report->n_running, _i == 0);
    ck_assert_uint_eq(report->n_checkpoints, 0); /* of the old epoch: void */
    world_start(&world, 8, 1, spec, "s1");       /* its systems are free */
    ck_assert_uint_eq(world_count_started(&world, 8), 1);
}
END_TEST

START_TEST(a_higher_term_counts_before_the_epoch)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StopJob stop = WAFER__STOP_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;

    world_start(&world, 7, 3, spec, "s1"); /* term 1 */
    fence.term = 2;
    fence.epoch = 1;
    stop.job = 7;
    stop.fence = &fence;
    stop.cause = WAFER__CAUSE__REQUEUED;
    message.stop = &stop;
    world_tell(&world, &message);
    ck_assert_uint_eq(agent_running(world.agent), 0);
    world_start(&world, 7, 4, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 0);
}
END_TEST

/* ---- systems ---- */

static const struct {
    const char *systems, *detail;
} refusals[] = {
    { "", "0 systems" },        { "s9", "s9 is not hosted" },
    { "x", "x is not hosted" }, { "s01", "s01 is not hosted" },
    { "s2 s2", "s2 is taken" }, { "s2 s1", "s1 is taken by job 1" },
    { "s2 s8", "s8 is down" },  { "s2 g1", "two platforms" },
};

START_TEST(a_start_takes_all_its_systems_or_none)
{
    world_start(&world, 1, 1, spec, "s1");
    world_fault(&world, "s8", WAFER__INJECT_FAULT__KIND__CRASH, 0);
    world_start(&world, 7, 1, spec, refusals[_i].systems);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__LAUNCH_REFUSED);
    ck_assert(!end_of(7)->started);
    ck_assert_msg(strstr(end_of(7)->detail, refusals[_i].detail), "'%s'", end_of(7)->detail);
    ck_assert_uint_eq(world_report(&world)->n_ended, 1);

    world_start(&world, 8, 1, spec, "s2"); /* not kept by the refused one */
    ck_assert_uint_eq(world_count_started(&world, 8), 1);
}
END_TEST

START_TEST(systems_are_free_once_the_job_has_ended)
{
    for (uint64_t job = 1; job <= 5; job++) {
        world_start(&world, job, 1, spec, "s1 s2 s3 s4 s5 s6 s7 s8");
        ck_assert_uint_eq(world_count_started(&world, job), 1);
        world_finish(&world);
    }
}
END_TEST

START_TEST(a_crash_ends_the_job_and_names_the_system)
{
    world_start(&world, 7, 1, spec, "s1 s2");
    world_start(&world, 8, 1, spec, "s3");
    world_run(&world, MINUTE_US);
    world_fault(&world, "s2", WAFER__INJECT_FAULT__KIND__CRASH, 0);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__SYSTEM_FAILED);
    ck_assert_str_eq(end_of(7)->system, "s2");
    ck_assert_ptr_null(world_end(&world, 8));
    const Wafer__Report *report = world_report(&world);
    ck_assert_uint_eq(report->n_systems, 1);
    ck_assert_str_eq(report->systems[0]->name, "s2");
    ck_assert_int_eq(report->systems[0]->state, WAFER__SYSTEM__STATE__DOWN);

    world_start(&world, 9, 1, spec, "s1");
    ck_assert_uint_eq(world_count_started(&world, 9), 1);
    world_fault(&world, "s2", WAFER__INJECT_FAULT__KIND__HEAL, 0);
    ck_assert_int_eq(world_report(&world)->systems[0]->state, WAFER__SYSTEM__STATE__UP);
    world_start(&world, 7, 2, spec, "s2");
    ck_assert_uint_eq(world_count_started(&world, 7), 2);
}
END_TEST

START_TEST(a_crash_heals_after_its_time)
{
    world_fault(&world, "s2", WAFER__INJECT_FAULT__KIND__CRASH, 10 * MINUTE_US);
    ck_assert_int_eq(agent_next_us(world.agent), START_US + 10 * MINUTE_US);
    world_run(&world, 9 * MINUTE_US);
    ck_assert_int_eq(world_report(&world)->systems[0]->state, WAFER__SYSTEM__STATE__DOWN);
    size_t seen = world.seen_count;
    world_run(&world, MINUTE_US);
    ck_assert_uint_eq(world.seen_count, seen + 1); /* it says so */
    ck_assert_int_eq(world.seen[seen]->report->systems[0]->state, WAFER__SYSTEM__STATE__UP);
    ck_assert_int_eq(agent_next_us(world.agent), INT64_MAX);
}
END_TEST

START_TEST(faults_of_other_kinds_or_systems_do_nothing)
{
    size_t seen = world.seen_count;

    world_fault(&world, "s9", WAFER__INJECT_FAULT__KIND__CRASH, 0);
    world_fault(&world, "", WAFER__INJECT_FAULT__KIND__HEAL, 0);
    world_fault(&world, "s1", WAFER__INJECT_FAULT__KIND__HEAL, 0);
    world_fault(&world, "s1", (Wafer__InjectFault__Kind)77, 0);
    ck_assert_uint_eq(world.seen_count, seen);
}
END_TEST

/* ---- reports ---- */

START_TEST(a_registration_says_everything)
{
    spec_checkpoint(spec, 700, 0);
    world_start(&world, 7, 3, spec, "s1 s2");
    world_start(&world, 8, 1, spec, "s2"); /* refused */
    world_fault(&world, "s5", WAFER__INJECT_FAULT__KIND__CRASH, 0);
    while (!world_newest_checkpoint(&world, 7))
        world_run(&world, MINUTE_US);
    agent_set_speed(world.agent, 599.5);
    agent_on_link(world.agent, world.now_us, &world.effects);
    ck_assert_int_eq(world.effects.items[0].type, AGENT_SEND);
    const Wafer__Report *report = world.effects.items[0].message->report;
    ck_assert(report->registration);
    ck_assert_str_eq(report->host, "host");
    ck_assert_str_eq(report->boot_id, "boot-1");
    ck_assert_int_eq(report->time_us, world.now_us);
    ck_assert_double_eq(report->speed, 599.5);
    ck_assert_uint_eq(report->n_systems, 10);
    ck_assert_str_eq(report->systems[0]->name, "s1");
    ck_assert_str_eq(report->systems[0]->pool, "wafer");
    ck_assert_str_eq(report->systems[0]->platform, "wafer-test");
    ck_assert_str_eq(report->systems[9]->name, "g2");
    ck_assert_str_eq(report->systems[9]->pool, "gpu");
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(report->systems[i]->state,
                         i == 4 ? WAFER__SYSTEM__STATE__DOWN : WAFER__SYSTEM__STATE__UP);
    ck_assert_uint_eq(report->n_running, 1);
    ck_assert_uint_eq(report->running[0]->job, 7);
    ck_assert_uint_eq(report->running[0]->fence->term, 1);
    ck_assert_uint_eq(report->running[0]->fence->epoch, 3);
    ck_assert_uint_ge(report->running[0]->step, 700);
    ck_assert_uint_eq(report->n_ended, 1);
    ck_assert_uint_eq(report->ended[0]->job, 8);
    ck_assert_uint_eq(report->n_checkpoints, 1);
    ck_assert_uint_eq(report->checkpoints[0]->step, 700);
    ck_assert_uint_eq(report->checkpoints[0]->n_shards, 4);
    ck_assert_uint_eq(report->checkpoints[0]->resume->cursors[0], 700);
    world_settle(&world);
    ck_assert_uint_eq(world_report(&world)->n_systems, 0); /* no change since */
}
END_TEST

START_TEST(a_checkpoint_is_repeated_until_it_is_acknowledged_also_after_the_end)
{
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    world_ack_end(&world, 7, 1);
    ck_assert_uint_eq(world_report(&world)->n_checkpoints, 1);
    world_ack_checkpoint(&world, 7, 1, 999); /* none such */
    ck_assert_uint_eq(world_report(&world)->n_checkpoints, 1);
    world_ack_checkpoint(&world, 7, 1, 1000);
    ck_assert_uint_eq(world_report(&world)->n_checkpoints, 0);
}
END_TEST

START_TEST(of_many_unacknowledged_checkpoints_the_newest_are_kept)
{
    spec_checkpoint(spec, 10, 0);
    world_start(&world, 7, 1, spec, "s1");
    world_finish(&world);
    const Wafer__Report *report = world_report(&world);
    ck_assert_uint_eq(report->n_checkpoints, 16);
    ck_assert_uint_eq(report->checkpoints[0]->step, 1000);
    ck_assert_uint_eq(report->checkpoints[15]->step, 850);
}
END_TEST

START_TEST(the_end_of_the_lease_ends_every_job)
{
    world_start(&world, 7, 1, spec, "s1");
    world_start(&world, 8, 1, spec, "s2");
    world_run(&world, MINUTE_US);
    agent_on_lease_end(world.agent, world.now_us, &world.effects);
    world_settle(&world);
    ck_assert_uint_eq(agent_running(world.agent), 0);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__SYSTEM_LOST);
    ck_assert_uint_eq(world_report(&world)->n_ended, 2);
    ck_assert_int_eq(agent_next_us(world.agent), INT64_MAX);
    world_start(&world, 7, 2, spec, "s1");
    ck_assert_uint_eq(world_report(&world)->n_ended, 1); /* the first of 7 is known to be dead */
}
END_TEST

START_TEST(it_asks_for_time_only_when_it_needs_it)
{
    ck_assert_int_eq(agent_next_us(world.agent), INT64_MAX);
    world_start(&world, 7, 1, spec, "s1");
    ck_assert_int_gt(agent_next_us(world.agent), world.now_us);
    world_finish(&world);
    ck_assert_int_eq(agent_next_us(world.agent), INT64_MAX);
}
END_TEST

START_TEST(time_that_runs_backwards_stands_still)
{
    world_start(&world, 7, 1, spec, "s1");
    world_run(&world, MINUTE_US);
    world.now_us = START_US;
    ck_assert_int_eq(world_report(&world)->time_us, START_US + MINUTE_US);
    world_stop(&world, 7, 1, false, true, WAFER__CAUSE__CANCELLED);
    ck_assert_int_eq(end_of(7)->time_us, START_US + MINUTE_US);
}
END_TEST

/* ---- robustness ---- */

/* A start with bytes that are no spec, numbers that no job has, messages without content. */
START_TEST(nonsense_is_refused_or_ignored)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StartJob start = WAFER__START_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    Wafer__CheckpointState from = WAFER__CHECKPOINT_STATE__INIT;
    char *systems[] = { (char *)"s1" };
    uint8_t rubbish[] = { 0xff, 0xff, 0xff, 0xff, 0x01, 0x02 };

    world_tell(&world, &message);
    fence.term = fence.epoch = 1;
    start.job = 7;
    start.fence = &fence;
    start.spec = (ProtobufCBinaryData){ sizeof(rubbish), rubbish };
    start.systems = systems;
    start.n_systems = 1;
    message.start = &start;
    world_tell(&world, &message);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__LAUNCH_REFUSED);

    start.spec.len = wafer__job_spec__get_packed_size(spec);
    start.spec.data = memory_new(start.spec.len);
    wafer__job_spec__pack(spec, start.spec.data);
    start.job = 8;
    start.resume = &from;
    from.fence = &fence;
    from.job = 8;
    from.has_resume = true;
    from.resume = (ProtobufCBinaryData){ sizeof(rubbish), rubbish };
    world_tell(&world, &message);
    ck_assert_int_eq(end_of(8)->cause, WAFER__CAUSE__CHECKPOINT_UNREADABLE);
    ck_assert(!end_of(8)->started);

    size_t seen = world.seen_count;
    for (uint64_t job = UINT64_MAX - 1; job != 0; job++) {
        start.job = job;
        world_tell(&world, &message);
        world_stop(&world, job, 1, true, true, WAFER__CAUSE__CANCELLED);
        world_ack_end(&world, job, 1);
        world_ack_checkpoint(&world, job, 1, 1);
        agent_on_written(world.agent, world.now_us, job, 1, 1, 1, 0, NULL, NULL, 0, &world.effects);
        agent_on_read(world.agent, world.now_us, job, 1, 1, 0, NULL, NULL, 0, &world.effects);
    }
    world_settle(&world);
    ck_assert_uint_eq(world.seen_count, seen);
    free(start.spec.data);
}
END_TEST

START_TEST(a_checkpoint_without_shards_or_resume_state_is_another_state)
{
    Wafer__CheckpointState *from = MESSAGE_NEW(Wafer__CheckpointState, checkpoint_state);

    from->fence = fence_new(1, 1);
    from->job = from->lineage = 7;
    from->step = 10;
    world.hold_io = true;
    world_resume(&world, 7, 2, spec, "s1", from, false);
    world_run(&world, 1000 * HOUR_US);
    ck_assert_uint_eq(world.held.step, 10);
    world.hold_io = false;
    agent_on_read(world.agent, world.now_us, 7, 1, 2, 0, NULL, NULL, 0, &world.effects);
    agent_on_read(world.agent, world.now_us, 7, 1, 2, 0, NULL, NULL, 0, &world.effects);
    world_finish(&world);
    ck_assert_int_eq(end_of(7)->cause, WAFER__CAUSE__FINISHED);
    wafer__checkpoint_state__free_unpacked(from, NULL);
}
END_TEST

/* What a network and a careless controller may do, in any order, many times. Nothing asserts; one
 * epoch of a job at a time; an epoch never runs twice; systems never leak. */
struct chaos {
    struct random random;
    uint64_t epochs[8]; /* the newest that was sent to each job */
    Wafer__CheckpointState *from[8];
};

static const char *const places[] = { "s1", "s2", "s1 s2", "s3 s4 s5", "g1", "s2 g1", "s9", "" };

static void chaotic_order(struct chaos *chaos)
{
    uint64_t job = random_below(&chaos->random, ELEMENTS(chaos->epochs));
    uint64_t *newest = &chaos->epochs[job];
    uint64_t epoch = 1 + random_below(&chaos->random, *newest + 1);
    const char *place = places[random_below(&chaos->random, ELEMENTS(places))];

    *newest = epoch > *newest ? epoch : *newest;
    switch (random_below(&chaos->random, 12)) {
    case 0:
    case 1:
    case 2: world_start(&world, job, *newest, spec, place); break;
    case 3: world_start(&world, job, epoch, spec, place); break;
    case 4:
        world_resume(&world, job, ++*newest, spec, place, chaos->from[job],
                     random_below(&chaos->random, 4) == 0);
        break;
    case 5:
        world_stop(&world, job, epoch, random_below(&chaos->random, 2),
                   random_below(&chaos->random, 3) == 0, WAFER__CAUSE__CANCELLED);
        break;
    case 6: world_ack_end(&world, job, epoch); break;
    case 7: world_ack_checkpoint(&world, job, epoch, random_below(&chaos->random, 101)); break;
    case 8:
        world_fault(&world, place,
                    random_below(&chaos->random, 3) ? WAFER__INJECT_FAULT__KIND__HEAL
                                                    : WAFER__INJECT_FAULT__KIND__CRASH,
                    (int64_t)random_below(&chaos->random, 2) * HOUR_US);
        break;
    case 9:
        world.write_error = random_below(&chaos->random, 2) ? 0 : -28;
        world.read_error = random_below(&chaos->random, 2) ? 0 : -5;
        world.hold_io = random_below(&chaos->random, 4) == 0;
        break;
    case 10:
        agent_on_written(world.agent, world.now_us, job, 1, epoch,
                         random_below(&chaos->random, 101),
                         random_below(&chaos->random, 2) ? 0 : -5, NULL, NULL, 0, &world.effects);
        world_settle(&world);
        break;
    case 11:
        agent_on_read(world.agent, world.now_us, job, 1, epoch,
                      random_below(&chaos->random, 2) ? 0 : -5, NULL, NULL, 0, &world.effects);
        world_settle(&world);
        break;
    }
}

/* The log tells each attempt that began; here the attempt is the epoch. How many there were. */
static size_t check_epochs(void)
{
    uint64_t last[8] = { 0 };
    size_t attempts = 0;
    char *text = text_copy_length((const char *)buffer_data(&world.log), world.log.length);

    for (const char *p = text; (p = strstr(p, "INFO Attempt ")); p++) {
        unsigned attempt;
        unsigned long long job;
        ck_assert_int_eq(sscanf(p, "INFO Attempt %u of job %llu,", &attempt, &job), 2);
        ck_assert_uint_lt(job, ELEMENTS(last));
        ck_assert_uint_gt(attempt, last[job]); /* never twice, never backwards */
        last[job] = attempt;
        attempts++;
    }
    free(text);
    return attempts;
}

START_TEST(any_message_at_any_time_does_no_harm)
{
    struct chaos chaos = { .epochs = { 0 } };

    random_init(&chaos.random, 1000 + (uint64_t)_i);
    spec->workload->steps->value = 100;
    spec_checkpoint(spec, 20, 0);
    spec_evaluate(spec, 30);
    for (int i = 0; i < 3000; i++) {
        chaotic_order(&chaos);
        if (random_below(&chaos.random, 500) == 0)
            agent_on_lease_end(world.agent, world.now_us, &world.effects);
        if (random_below(&chaos.random, 50) == 0)
            agent_on_link(world.agent, world.now_us, &world.effects);
        world_settle(&world);
        if (random_below(&chaos.random, 2))
            world_run(&world, (int64_t)random_below(&chaos.random, 10 * MINUTE_US));
        else
            world_jump(&world, (int64_t)random_below(&chaos.random, 30 * MINUTE_US));
        uint64_t job = random_below(&chaos.random, ELEMENTS(chaos.from));
        if (!chaos.from[job] && world_newest_checkpoint(&world, job))
            chaos.from[job] = world_checkpoint_state(world_newest_checkpoint(&world, job));
    }

    ck_assert_uint_gt(check_epochs(), 50);

    /* All quiet again: everything can be had. */
    world.hold_io = false;
    world.write_error = world.read_error = 0;
    agent_on_lease_end(world.agent, world.now_us, &world.effects);
    world_settle(&world);
    for (int i = 1; i <= 8; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        world_fault(&world, name, WAFER__INJECT_FAULT__KIND__HEAL, 0);
    }
    world_start(&world, 99, 1, spec, "s1 s2 s3 s4 s5 s6 s7 s8");
    world_finish(&world);
    ck_assert_int_eq(end_of(99)->cause, WAFER__CAUSE__FINISHED);
    for (size_t i = 0; i < ELEMENTS(chaos.from); i++)
        if (chaos.from[i])
            wafer__checkpoint_state__free_unpacked(chaos.from[i], NULL);
}
END_TEST

/* Fences are remembered, but not for ever: 100,000 jobs later the first is forgotten only if an
 * hour has passed. */
START_TEST(old_fences_are_remembered_for_an_hour)
{
    for (uint64_t job = 1; job <= 70000; job++) {
        Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
        Wafer__StopJob stop = WAFER__STOP_JOB__INIT;
        Wafer__JobFence ack = WAFER__JOB_FENCE__INIT;
        Wafer__Fence fence = WAFER__FENCE__INIT;
        fence.term = fence.epoch = 1;
        stop.job = ack.job = job;
        stop.fence = ack.fence = &fence;
        message.stop = &stop;
        agent_on_message(world.agent, world.now_us, &message, &world.effects);
        message.stop = NULL;
        message.ended_ack = &ack;
        agent_on_message(world.agent, world.now_us, &message, &world.effects);
        agent_effects_clear(&world.effects);
    }
    world_start(&world, 1, 1, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 0);
    world_run(&world, 2 * HOUR_US);
    world_stop(&world, 70001, 1, false, true, WAFER__CAUSE__CANCELLED);
    world_ack_end(&world, 70001, 1);
    world_start(&world, 70000, 1, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 0);
    world_start(&world, 1, 1, spec, "s1");
    ck_assert_uint_eq(agent_running(world.agent), 1);
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
    Suite *suite = suite_create("agent");
    TCase *tcase = add_case(suite, "fences");

    tcase_add_test(tcase, a_start_is_obeyed_once_and_answered_each_time);
    tcase_add_test(tcase, lower_fences_do_nothing);
    tcase_add_test(tcase, a_repeated_start_of_what_has_ended_gives_its_end_until_acknowledged);
    tcase_add_test(tcase, a_stop_that_overtakes_its_start_wins);
    tcase_add_loop_test(tcase, a_higher_fence_ends_the_run_of_a_lower_one, 0, 2);
    tcase_add_test(tcase, a_higher_term_counts_before_the_epoch);
    tcase_add_test(tcase, old_fences_are_remembered_for_an_hour);

    tcase = add_case(suite, "systems");
    tcase_add_loop_test(tcase, a_start_takes_all_its_systems_or_none, 0, ELEMENTS(refusals));
    tcase_add_test(tcase, systems_are_free_once_the_job_has_ended);
    tcase_add_test(tcase, a_crash_ends_the_job_and_names_the_system);
    tcase_add_test(tcase, a_crash_heals_after_its_time);
    tcase_add_test(tcase, faults_of_other_kinds_or_systems_do_nothing);

    tcase = add_case(suite, "reports");
    tcase_add_test(tcase, a_registration_says_everything);
    tcase_add_test(tcase, a_checkpoint_is_repeated_until_it_is_acknowledged_also_after_the_end);
    tcase_add_test(tcase, of_many_unacknowledged_checkpoints_the_newest_are_kept);
    tcase_add_test(tcase, the_end_of_the_lease_ends_every_job);
    tcase_add_test(tcase, it_asks_for_time_only_when_it_needs_it);
    tcase_add_test(tcase, time_that_runs_backwards_stands_still);

    tcase = add_case(suite, "robustness");
    tcase_add_test(tcase, nonsense_is_refused_or_ignored);
    tcase_add_test(tcase, a_checkpoint_without_shards_or_resume_state_is_another_state);
    tcase_add_loop_test(tcase, any_message_at_any_time_does_no_harm, 0, 10);
    return tap_run(suite);
}
