/* daemon — the shell around the core: it feeds inputs and carries out effects.
 *
 * One thread, the loop's, runs all of it but what the workers and the store do behind their faces.
 * The core decides; here is only when and how. */
#ifndef WAFERD_DAEMON_H
#define WAFERD_DAEMON_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "clock.h"
#include "config.h"
#include "core/core.h"
#include "pipeline.h"
#include "settings.h"
#include "store/store.h"
#include "vault/vault.h"

#define DAEMON_PROGRAM "waferd " PACKAGE_VERSION

struct agents;
struct dev;
struct logs;
struct sessions;
struct snapshot_policy;
struct streams;
struct webhooks;
struct workers;

struct daemon {
    struct settings *settings; /* reload() alone changes them */
    sd_event *event;
    struct core *core;
    struct store *store;
    struct vault *vault;
    struct workers *workers;
    struct clock clock;
    struct pipeline pipeline;
    struct sessions *sessions;
    struct streams *streams;
    struct logs *logs;
    struct webhooks *webhooks;
    struct agents *agents;
    struct snapshot_policy *snapshots;
    struct dev *dev; /* NULL without --dev */

    struct vault_floor floor; /* as the vault has it */
    uint64_t floor_try_at;    /* after a failure: the next job at which it is tried again */

    bool journal_full; /* the core was told so */
    int64_t
        waiting_us; /* since when nothing became durable though something waits; 0: it does not */
    uint64_t waiting_mark;
    bool watched; /* and that somebody watches jobs */
    bool stopping;
    sd_event_source *journal, *turn, *cluster_timer, *lease_timer, *stop_timer;
};

/* Start up in order, run until a signal ends it, shut down. Returns the exit status. */
int daemon_run(struct settings *settings, const struct options *options);

/* ---- for the parts of the shell ---- */

/* Now, in the units of an input. */
int64_t daemon_boottime_us(void);
int64_t daemon_mono_us(void);
int64_t daemon_time_us(const struct daemon *daemon);

/* Hand an input to the core; its times are filled in here. What it decides leaves by itself once it
 * is durable. */
void daemon_step(struct daemon *daemon, struct input *input);

/* Hand the core what the settings say of policy. */
void daemon_set_policies(struct daemon *daemon);

/* The disk is so full that not even the reserve helped: no answer can leave until there is room. */
bool daemon_is_stuck(const struct daemon *daemon);

void daemon_set_watched(struct daemon *daemon, bool watched);

/* The cluster clock was changed: journal it and tell everybody. */
void daemon_clock_changed(struct daemon *daemon);

/* In --dev, cluster time stands still while nobody hosts systems. An agent that comes back may have
 * run on meanwhile, until `seen_us`. */
void daemon_agents_gone(struct daemon *daemon);
void daemon_agent_came(struct daemon *daemon, int64_t seen_us);

#endif
