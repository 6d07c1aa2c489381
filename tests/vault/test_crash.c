/* A writer is killed at any moment: what it leaves behind is a whole checkpoint or none. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "place.h"

enum { KILLS = 40 };

struct found {
    int whole, without_manifest;
};

/* Writes, rewrites and deletes for ever: each moment of each is a moment to die at. A byte goes to
 * `rounds` after each round. */
static void write_for_ever(int rounds)
{
    struct digest digest;

    for (uint64_t step = 1;; step++) {
        struct vault_place place = { .job = 1, .step = step % 8, .term = 1, .epoch = 1 };
        if (checkpoint_write(vault, &place, &digest) < 0)
            _exit(1);
        place.step = (step + 3) % 8;
        if (vault_delete(vault, &place, &diag) < 0)
            _exit(1);
        if (write(rounds, "", 1) != 1)
            _exit(1);
    }
}

static int check_place(void *userdata, const struct vault_place *place)
{
    struct found *found = userdata;
    int r = vault_verify(vault, place, NULL, &diag);

    if (r == -ENOENT)
        found->without_manifest++;
    else
        found->whole++;
    ck_assert_msg(r == 0 || r == -ENOENT, "%s", diag.text);
    return 0;
}

START_TEST(a_writer_killed_at_any_moment_leaves_a_whole_checkpoint_or_none)
{
    struct found found = { 0, 0 };
    struct random random;

    random_init(&random, 1);
    for (int i = 0; i < KILLS; i++) {
        int status, rounds[2];
        char byte;
        ck_assert_int_eq(pipe(rounds), 0);
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
            write_for_ever(rounds[1]);
        close(rounds[1]);
        /* By its progress, not by the clock alone: a busy machine may give it no time at all. */
        for (uint64_t round = random_below(&random, 8); round > 0; round--)
            ck_assert_int_eq(read(rounds[0], &byte, 1), 1);
        struct timespec moment = { 0, (long)random_below(&random, 4 * 1000 * 1000) };
        nanosleep(&moment, NULL);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        close(rounds[0]);
        ck_assert_msg(WIFSIGNALED(status), "the writer failed by itself");
        ck_assert_int_eq(vault_walk(vault, check_place, &found, &diag), 0);
    }
    ck_assert_int_gt(found.whole, 0); /* else the test has seen nothing */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash");
    TCase *tcase = tcase_create("crash");

    tcase_add_checked_fixture(tcase, vault_make, vault_remove);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_writer_killed_at_any_moment_leaves_a_whole_checkpoint_or_none);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
