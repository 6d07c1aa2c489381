#include "snapshot_policy.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"

struct snapshot_policy {
    struct daemon *daemon;
    pid_t child; /* 0: none */
    sd_event_source *source;
    uint64_t not_before; /* after a failure: not before this record */
};

struct snapshot_policy *snapshot_policy_new(struct daemon *daemon)
{
    struct snapshot_policy *policy = NEW(struct snapshot_policy);

    policy->daemon = daemon;
    return policy;
}

static void child_ended(struct snapshot_policy *policy, int status)
{
    struct daemon *daemon = policy->daemon;
    struct diag diag;

    policy->child = 0;
    policy->source = sd_event_source_disable_unref(policy->source);
    if (store_snapshot_end(daemon->store, status, &diag) >= 0)
        return;
    log_error("snapshot: %s", diag.text);
    policy->not_before = core_sequence(daemon->core) + daemon->settings->snapshot_every / 10;
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
    /* As waitpid() would tell it; sd-event has reaped it already. */
    child_ended(userdata, info->si_code == CLD_EXITED ? W_EXITCODE(info->si_status, 0)
                                                      : W_EXITCODE(0, info->si_status));
    return 0;
}

struct snapshot_policy *snapshot_policy_free(struct snapshot_policy *policy)
{
    int status;

    if (!policy)
        return NULL;
    if (policy->child > 0) {
        sd_event_source_disable_unref(policy->source);
        policy->source = NULL;
        kill(policy->child, SIGKILL);
        if (waitpid(policy->child, &status, 0) == policy->child)
            store_snapshot_end(policy->daemon->store, status, NULL);
    }
    free(policy);
    return NULL;
}

/* As store_save_fn wants it. */
static int save(const void *core, store_emit_fn emit, void *userdata)
{
    return core_save(core, emit, userdata);
}

static void start(struct snapshot_policy *policy)
{
    struct daemon *daemon = policy->daemon;
    struct diag diag;

    /* A snapshot tells no time but that of the clock's anchor: without the records before it, a
     * restart would not know how far cluster time had come. */
    clock_anchor(&daemon->clock, daemon_boottime_us());
    daemon_clock_changed(daemon);
    uint64_t sequence = core_sequence(daemon->core);
    policy->not_before = sequence + daemon->settings->snapshot_every;
    int r =
        store_snapshot_start(daemon->store, sequence, save, daemon->core, &policy->child, &diag);
    if (r >= 0) {
        r = sd_event_add_child(daemon->event, &policy->source, policy->child, WEXITED, on_child,
                               policy);
        if (r < 0)
            diag_fail(&diag, r, "cannot watch its process: %s", strerror(-r));
    }
    if (r < 0) {
        log_error("snapshot of record %" PRIu64 ": %s", sequence, diag.text);
        policy->not_before = sequence + daemon->settings->snapshot_every / 10;
    }
}

void snapshot_policy_turn(struct snapshot_policy *policy)
{
    const struct daemon *daemon = policy->daemon;
    uint64_t sequence = core_sequence(daemon->core);

    if (policy->child > 0 || sequence < policy->not_before || daemon->journal_full ||
        sequence - store_snapshot_sequence(daemon->store) < daemon->settings->snapshot_every)
        return;
    start(policy);
}
