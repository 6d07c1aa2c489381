#include "startup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "daemon.h"
#include "dev.h"
#include "log/log.h"
#include "net/hello.h"
#include "restore.h"

#define SECOND        1000000
#define LOCK_WAIT_MS  2000
#define LOCK_PAUSE_MS 50

struct unreadable {
    uint64_t job, sequence;
};

struct loading {
    struct daemon *daemon;
    int64_t newest_us; /* of a record */
    uint64_t record_count;
    struct unreadable *unreadable;
    size_t unreadable_count, unreadable_capacity;
};

static struct core *new_core(const struct settings *settings)
{
    struct core_config core = {
        .pools = settings->pools,
        .pool_count = settings->pool_count,
        .lease_us = settings->lease_us,
        /* An agent counts its lease from before we heard from it, so that it has always run out
         * first; this is for clocks that run at unlike speeds, and for stopping. */
        .lease_margin_us = settings->lease_us / 2,
        .operator_uid = geteuid(),
        .version = PACKAGE_VERSION,
        .protocol = NET_MAJOR,
        .schedule = settings->schedule,
        .preempt = settings->preempt,
        .webhooks = settings->webhooks,
        .webhook_count = settings->webhook_count,
        .notify_allow = settings->notify_allow,
        .notify_allow_count = settings->notify_allow_count,
    };

    return core_new(&core);
}

static void on_reset(void *userdata)
{
    struct loading *loading = userdata;

    core_free(loading->daemon->core);
    loading->daemon->core = new_core(loading->daemon->settings);
    loading->newest_us = 0;
    loading->unreadable_count = 0;
}

static int on_item(void *userdata, const Wafer__SnapshotItem *item, struct diag *diag)
{
    struct loading *loading = userdata;

    return core_load(loading->daemon->core, item, diag);
}

static int on_items_end(void *userdata, struct diag *diag)
{
    struct loading *loading = userdata;

    return core_load_end(loading->daemon->core, diag);
}

/* Of those for which an earlier start has set the job aside. */
static void forget_unreadable(struct loading *loading, const Wafer__Record *isolation)
{
    size_t kept = 0;

    for (size_t i = 0; i < loading->unreadable_count; i++) {
        const struct unreadable *unreadable = &loading->unreadable[i];
        if (!core_isolation_covers(isolation, unreadable->job, unreadable->sequence))
            loading->unreadable[kept++] = *unreadable;
    }
    loading->unreadable_count = kept;
}

static int on_record(void *userdata, const Wafer__Record *record, struct diag *diag)
{
    struct loading *loading = userdata;

    if (record->time_us > loading->newest_us)
        loading->newest_us = record->time_us;
    loading->record_count++;
    int r = core_apply(loading->daemon->core, record, diag);
    if (r == 0 && record->kind == WAFER__RECORD_KIND__JOB_ISOLATED)
        forget_unreadable(loading, record);
    return r;
}

static void on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why)
{
    struct loading *loading = userdata;

    core_skip(loading->daemon->core, sequence, job);
    log_write(LOG_ERR, &(struct log_about){ .job = job },
              "job %" PRIu64 " is set aside: record %" PRIu64 " of the journal cannot be read: %s",
              job, sequence, why);
    ARRAY_RESERVE(loading->unreadable, loading->unreadable_count, loading->unreadable_capacity);
    loading->unreadable[loading->unreadable_count++] = (struct unreadable){ job, sequence };
}

static void on_note(void *userdata, const char *text)
{
    log_warning("%s", text);
}

static int load(struct loading *loading, struct diag *diag)
{
    static const struct store_load_ops ops = { .reset = on_reset,
                                               .item = on_item,
                                               .items_end = on_items_end,
                                               .record = on_record,
                                               .unreadable = on_unreadable,
                                               .note = on_note };
    struct daemon *daemon = loading->daemon;
    int64_t began_us = daemon_mono_us();
    int r = store_load(daemon->store, &ops, loading, diag);

    if (r >= 0)
        log_info("%zu jobs, from %" PRIu64 " records after the snapshot, in %" PRId64 " ms",
                 core_live_jobs(daemon->core), loading->record_count,
                 (daemon_mono_us() - began_us) / 1000);
    return r;
}

/* ---- the clock ---- */

static int read_boot_id(char ret[static 64], struct diag *diag)
{
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    owned(fclose) FILE *file = fopen(path, "re");

    if (!file || !fgets(ret, 64, file))
        return diag_fail(diag, -EIO, "%s cannot be read: %s", path, strerror(errno));
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}

static void format_time(int64_t us, char ret[static 32])
{
    time_t seconds = us / SECOND;
    struct tm tm;

    strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &tm));
}

static int set_clock(struct daemon *daemon, int64_t newest_us, struct diag *diag)
{
    const struct settings *settings = daemon->settings;
    struct timespec wall;
    char boot_id[64], text[32];
    int r = read_boot_id(boot_id, diag);

    if (r < 0)
        return r;
    clock_gettime(CLOCK_REALTIME, &wall);
    struct clock_start start = {
        .boot_id = boot_id,
        .boottime_us = daemon_boottime_us(),
        .wall_us = wall.tv_sec * (int64_t)SECOND + wall.tv_nsec / 1000,
        .speed = settings->speed,
        .journaled = core_clock(daemon->core),
        .newest_us = newest_us,
        .may_freeze = settings->dev,
        .stood_still = settings->dev && !dev_systems_are_alive(settings->state_dir),
    };
    int64_t behind_us = clock_begin(&daemon->clock, &start);
    format_time(daemon->clock.cluster_us, text);
    if (behind_us > SECOND && settings->speed == 1)
        log_warning("the clock of this machine was set back: it is %" PRId64
                    " s behind what the journal has seen; cluster time goes on from %s",
                    behind_us / SECOND, text);
    daemon_clock_changed(daemon);
    return 0;
}

/* ---- all of it ---- */

static void recover(struct daemon *daemon, const struct loading *loading)
{
    core_recover(daemon->core, daemon_time_us(daemon), daemon_mono_us(),
                 pipeline_records(&daemon->pipeline), pipeline_effects(&daemon->pipeline));
    for (size_t i = 0; i < loading->unreadable_count; i++) {
        struct input input = { .type = INPUT_UNREADABLE,
                               .unreadable = { .job = loading->unreadable[i].job,
                                               .sequence = loading->unreadable[i].sequence } };
        daemon_step(daemon, &input);
    }
}

/* A predecessor that was killed holds its lock until the system has taken it apart, which takes a
 * moment: whoever starts the next one right after must not be told to stop a dead process. */
static int open_store(struct daemon *daemon, struct diag *diag)
{
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000 };
    int r;

    for (int waited_ms = 0;; waited_ms += LOCK_PAUSE_MS) {
        r = store_open(daemon->settings->state_dir, &daemon->store, diag);
        if (r != -EBUSY || waited_ms >= LOCK_WAIT_MS)
            return r;
        nanosleep(&pause, NULL);
    }
}

int startup(struct daemon *daemon, struct diag *diag)
{
    struct loading loading = { .daemon = daemon };
    bool is_copy = false;
    int r = vault_open(daemon->settings->vault_dir, &daemon->vault, diag);

    if (r >= 0)
        r = open_store(daemon, diag);
    if (r >= 0)
        r = load(&loading, diag);
    if (r >= 0)
        daemon_set_policies(daemon);
    if (r >= 0)
        r = restore_prepare(daemon, &is_copy, diag);
    if (r >= 0)
        r = set_clock(daemon, loading.newest_us, diag);
    if (r >= 0 && is_copy)
        r = restore_begin(daemon, diag);
    else if (r >= 0 && vault_floor_read(daemon->vault, &daemon->floor, diag) < 0)
        daemon->floor.next_job = 0; /* written with the first records */
    if (r >= 0)
        recover(daemon, &loading);
    free(loading.unreadable);
    return r;
}
