/* The process is killed, or the power fails, at any moment: what was acknowledged is there, whole
 * and in order, and nothing else but what was queued. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "fault_vfs.h"
#include "synthetic.h"
#include "tap.h"

#define LIVES 10

static char *dir;

static void make_directory(void)
{
    dir = directory_new();
    fault_vfs_install();
}

static void remove_directory(void)
{
    directory_remove(dir);
}

static Wafer__Record *record_of(uint64_t sequence)
{
    struct random random;

    random_init(&random, sequence);
    return record_random(sequence, &random);
}

struct life {
    struct store *store;
    struct random random;
    uint64_t sequence, durable;
    int out; /* each acknowledged sequence is told here */
};

static void begin(struct life *life)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    life->store = open_loaded(dir, &shadow);
    life->sequence = life->durable = store_snapshot_sequence(life->store) + shadow.count;
}

static void write_some(struct life *life)
{
    Wafer__Record *records[5];
    size_t count = random_below(&life->random, ELEMENTS(records) + 1);

    for (size_t i = 0; i < count; i++)
        records[i] = record_of(++life->sequence);
    store_queue(life->store, batch_new(records, count));
}

static void take_some(struct life *life, uint64_t at_least)
{
    do {
        struct pollfd wait = { .fd = store_fd(life->store), .events = POLLIN };
        poll(&wait, 1, life->durable < at_least ? -1 : 0);
        for (struct store_batch *batch = store_take(life->store), *next; batch; batch = next) {
            next = batch->next;
            if (batch->count)
                life->durable = batch->records[batch->count - 1]->sequence;
            batch_free(batch);
        }
        ck_assert_int_eq(write(life->out, &life->durable, sizeof(life->durable)),
                         sizeof(life->durable));
    } while (life->durable < at_least);
}

static void take_snapshot(struct life *life)
{
    struct diag diag;
    int status;
    pid_t pid;

    /* The allocator of a sanitizer, unlike that of libc, must not be in use when we fork. */
    take_some(life, life->sequence);
    if (store_snapshot_start(life->store, life->sequence, shadow_save, &life->sequence, &pid,
                             &diag) < 0)
        return; /* one still waits for the journal */
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(store_snapshot_end(life->store, status, &diag) == 0, "%s", diag.text);
}

/* Write for ever; a snapshot now and again, and a clean restart, which copies the log into the
 * database. */
static void live(int out, const struct fault_plan *plan) __attribute__((noreturn));
static void live(int out, const struct fault_plan *plan)
{
    struct life life = { .out = out };

    fault_vfs_plan(plan);
    random_init(&life.random, plan->seed);
    begin(&life);
    for (;;) {
        write_some(&life);
        take_some(&life, life.sequence > 50 ? life.sequence - 50 : 0);
        if (random_below(&life.random, 50) == 0)
            take_snapshot(&life);
        if (random_below(&life.random, 200) == 0) {
            take_some(&life, life.sequence);
            store_close(life.store);
            begin(&life);
        }
    }
}

/* The last sequence that the child told, when it has ended. */
static uint64_t listen_to(int in)
{
    uint64_t told = 0, next;

    while (read(in, &next, sizeof(next)) == sizeof(next))
        told = next;
    return told;
}

/* Everything from the newest snapshot on is what record_of() says; gives the last sequence. */
static uint64_t check_loaded(uint64_t at_least)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    uint64_t base = store_snapshot_sequence(store);

    ck_assert_uint_eq(shadow.unreadable + shadow.notes, 0);
    ck_assert_uint_ge(base + shadow.count, at_least);
    for (size_t i = 0; i < shadow.count; i++) {
        Wafer__Record *record = record_of(base + 1 + i);
        ck_assert_uint_eq(shadow.sequences[i], base + 1 + i);
        ck_assert_uint_eq(shadow.digests[i], record_hash(record));
        wafer__record__free_unpacked(record, NULL);
    }
    store_close(store);
    return base + shadow.count;
}

static int run_life(const struct fault_plan *plan, useconds_t kill_after_us, uint64_t *told)
{
    int ends[2], status;

    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(ends[0]);
        live(ends[1], plan);
    }
    close(ends[1]);
    if (kill_after_us) {
        usleep(kill_after_us);
        kill(pid, SIGKILL);
    }
    uint64_t last = listen_to(ends[0]);
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (last > *told)
        *told = last;
    return status;
}

START_TEST(kill_9_at_any_moment_loses_nothing_acknowledged)
{
    struct random random;
    uint64_t told = 0, before = 0;

    random_init(&random, 9);
    for (int life = 0; life < LIVES; life++) {
        struct fault_plan plan = { FAULT_NONE, .seed = (uint64_t)life };
        useconds_t after_us = 1 + (useconds_t)random_below(&random, life % 2 ? 60000 : 15000);
        ck_assert(WIFSIGNALED(run_life(&plan, after_us, &told)));
        uint64_t last = check_loaded(told);
        ck_assert_uint_ge(last, before);
        before = last;
    }
    ck_assert_uint_gt(told, 0);
}
END_TEST

START_TEST(a_power_loss_at_any_write_or_sync_loses_nothing_acknowledged)
{
    struct random random;
    uint64_t told = 0;

    random_init(&random, (uint64_t)_i + 100);
    for (int life = 0; life < LIVES; life++) {
        struct fault_plan plan = {
            FAULT_POWER_LOSS,
            .at = 1 + random_below(&random, life % 2 ? 40 : 1500),
            .count = 1,
            .seed = random_next(&random),
        };
        int status = run_life(&plan, 0, &told);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == FAULT_EXIT);
        check_loaded(told);
    }
    ck_assert_uint_gt(told, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash");
    TCase *tcase = tcase_create("crash");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_test(tcase, kill_9_at_any_moment_loses_nothing_acknowledged);
    tcase_add_loop_test(tcase, a_power_loss_at_any_write_or_sync_loses_nothing_acknowledged, 0, 3);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
