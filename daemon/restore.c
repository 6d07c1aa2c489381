#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "daemon.h"
#include "log/log.h"

#define BLOCK    100000 /* ids that the floor is ahead */
#define SECOND   INT64_C(1000000)
#define START_US (90 * SECOND) /* for the rest of the start: what systemd allows by itself */

/* ---- the floor ---- */

static bool floor_is_low(const struct daemon *daemon)
{
    return core_next_job(daemon->core) + BLOCK / 2 > daemon->floor.next_job ||
           core_term(daemon->core) > daemon->floor.term;
}

void restore_keep_floor(struct daemon *daemon)
{
    struct vault_floor next = { .term = core_term(daemon->core),
                                .next_job = core_next_job(daemon->core) + BLOCK };
    struct diag diag;

    if (!floor_is_low(daemon) || core_next_job(daemon->core) < daemon->floor_try_at)
        return;
    if (next.term < daemon->floor.term)
        next.term = daemon->floor.term;
    if (vault_floor_write(daemon->vault, &next, &diag) == 0) {
        daemon->floor = next;
        daemon->floor_try_at = 0;
        return;
    }
    /* Work goes on: the floor matters only to a restore, and half a block is left. */
    log_error("%s: ids could be given twice after a restore from a copy", diag.text);
    daemon->floor_try_at = core_next_job(daemon->core) + BLOCK / 100;
}

/* Without a floor the vault's contents are the next best: who was started left something there. */
static int find_floor(struct daemon *daemon, struct vault_floor *ret, struct diag *diag)
{
    uint64_t last_job;
    int r = vault_floor_read(daemon->vault, ret, diag);

    if (r == 0)
        return 0;
    log_warning("%s: going by the jobs that the vault has", diag->text);
    r = vault_last_job(daemon->vault, &last_job, diag);
    if (r < 0)
        return r;
    *ret = (struct vault_floor){ core_term(daemon->core), last_job + 1 + BLOCK };
    return 0;
}

/* ---- a copy ---- */

int restore_prepare(struct daemon *daemon, bool *ret_is_copy, struct diag *diag)
{
    int64_t wait_us = daemon->settings->lease_us + daemon->settings->lease_us / 2;
    int r = store_is_copy(daemon->store, ret_is_copy, diag);

    if (r < 0 || !*ret_is_copy)
        return r;
    log_notice("this state is a copy: waiting %" PRId64 " s, until nothing runs any more that it "
               "does not know",
               (wait_us + SECOND - 1) / SECOND);
    /* However long the service manager lets a start take otherwise. */
    sd_notifyf(
        0, "EXTEND_TIMEOUT_USEC=%" PRId64 "\nSTATUS=a copy of the state waits for leases to end",
        wait_us + START_US);
    struct timespec wait = { .tv_sec = wait_us / SECOND, .tv_nsec = wait_us % SECOND * 1000 };
    while (nanosleep(&wait, &wait) < 0 && errno == EINTR)
        ;
    return 0;
}

static uint32_t last_attempt(void *userdata, uint64_t job)
{
    return vault_log_last_attempt(userdata, job);
}

int restore_begin(struct daemon *daemon, struct diag *diag)
{
    struct core_restoration restoration = { .last_attempt = last_attempt,
                                            .userdata = daemon->vault };
    struct vault_floor floor;
    int r = find_floor(daemon, &floor, diag);

    if (r < 0)
        return r;
    uint64_t term = core_term(daemon->core), next_job = core_next_job(daemon->core);
    restoration.term = (term > floor.term ? term : floor.term) + 1;
    restoration.next_job = next_job > floor.next_job ? next_job : floor.next_job;
    /* Before anything can leave: were this copy put back once more, it must not use them again. */
    daemon->floor = (struct vault_floor){ restoration.term, restoration.next_job + BLOCK };
    r = vault_floor_write(daemon->vault, &daemon->floor, diag);
    if (r < 0)
        return r;
    log_notice("the state was put back from a copy: job ids go on from %" PRIu64 ", term %" PRIu64,
               restoration.next_job, restoration.term);
    core_restore(daemon->core, daemon_time_us(daemon), daemon_mono_us(), &restoration,
                 pipeline_records(&daemon->pipeline), pipeline_effects(&daemon->pipeline));
    return 0;
}
