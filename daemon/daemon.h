/* daemon — the shell around the core: it feeds inputs and carries out effects.
 *
 * One thread, the loop's, runs everything here but what workers.h and the store do behind their
 * faces. The core decides; nothing here does but when and how. */
#ifndef WAFERD_DAEMON_H
#define WAFERD_DAEMON_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "clock.h"
#include "config.h"
#include "core/core.h"
#include "pipeline.h"
#include "store/store.h"
#include "vault/vault.h"

#define DAEMON_PROGRAM "waferd " PACKAGE_VERSION

struct agents;
struct dev;
struct logs;
struct sessions;
struct snapshots;
struct streams;
struct workers;

struct daemon {
    const struct config *config;
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
    struct agents *agents;
    struct snapshots *snapshots;
    struct dev *dev; /* NULL without --dev */

    bool journal_full; /* the core was told so */
    bool stopping;
    sd_event_source *journal, *turn, *cluster_timer, *lease_timer, *stop_timer;
};

/* Now, in the units of an input. */
int64_t daemon_boottime_us(void);
int64_t daemon_mono_us(void);
int64_t daemon_time_us(const struct daemon *daemon);

/* Hand an input to the core; the time is filled in here. What it decides leaves by itself once it
 * is durable. */
void daemon_step(struct daemon *daemon, struct input *input);

/* The cluster clock was changed: journal it and tell everybody. */
void daemon_clock_changed(struct daemon *daemon);

/* In --dev, cluster time stands still while nobody hosts systems. An agent that comes back may have
 * run on meanwhile, until `seen_us`. */
void daemon_agents_gone(struct daemon *daemon);
void daemon_agent_came(struct daemon *daemon, int64_t seen_us);

#endif
