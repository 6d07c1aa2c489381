/* agent — what the process that hosts simulated systems decides: which orders it obeys, what its
 * systems do next, what it reports.
 *
 * Pure: events and the cluster time go in, effects come out. The shell around it (sim/, or a test)
 * moves messages and shard bytes. It keeps, for each job, the highest fence it has seen: an order
 * with a lower one does nothing, and a start is obeyed once.
 *
 * Until the shell answers a write or a read, the training that asked for it stands still, whatever
 * the time: simulated time of a job never runs ahead of its real I/O.
 *
 * Units      `_us` microseconds of cluster time
 * Ownership  messages and bytes in are borrowed; effects belong to the caller, who empties them
 *            with agent_effects_clear()
 */
#ifndef WAFERD_ENGINE_AGENT_H
#define WAFERD_ENGINE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent.pb-c.h"
#include "base/diag.h"
#include "platform.pb-c.h"

struct agent;

struct agent_pool {
    const char *name;                /* wafer */
    const char *prefix;              /* s: its systems are s1, s2, ... */
    const Wafer__Platform *platform; /* outlives the agent */
    unsigned count;
};

struct agent_config {
    const char *host, *boot_id; /* copied */
    const struct agent_pool *pools;
    size_t pool_count;
    uint64_t seed;        /* of the times of compiles and other phases */
    int64_t filler_bytes; /* of each shard, beside the training state */
    int64_t progress_us;  /* cluster time between progress messages of a job */
};

struct agent *agent_new(const struct agent_config *config);
struct agent *agent_free(struct agent *agent); /* always NULL */

enum agent_effect_type {
    AGENT_SEND,  /* message -> controller; dropped when there is no link */
    AGENT_WRITE, /* `shards` of a checkpoint -> vault; then agent_on_written() */
    AGENT_READ,  /* the shards named in `resume` -> agent_on_read() */
    AGENT_LOG,   /* text -> the log of (job, attempt) at offset; no answer */
};

struct agent_shard {
    uint8_t *bytes;
    size_t length;
};

struct agent_effect {
    enum agent_effect_type type;
    Wafer__ToController *message; /* SEND */
    uint64_t job, step;           /* WRITE, READ, LOG */
    uint64_t term, epoch;
    uint32_t attempt;
    struct agent_shard *shards; /* WRITE */
    size_t shard_count;
    Wafer__CheckpointState *resume; /* READ: a copy of what the start named */
    uint64_t offset;                /* LOG */
    char *text;                     /* LOG: whole lines */
};

struct agent_effects {
    struct agent_effect *items;
    size_t count, capacity;
};

void agent_effects_clear(struct agent_effects *effects);

/* A link to the controller is up: the next effect is a registration. */
void agent_on_link(struct agent *agent, int64_t now_us, struct agent_effects *effects);
/* A heartbeat is due: send a report. How often is the shell's to say, by its real clock. */
void agent_on_heartbeat(struct agent *agent, int64_t now_us, struct agent_effects *effects);
void agent_on_message(struct agent *agent, int64_t now_us, const Wafer__ToAgent *message,
                      struct agent_effects *effects);
/* No beat within the lease: every job here stops at once, unsaved; its end is kept for the next
 * registration. */
void agent_on_lease_end(struct agent *agent, int64_t now_us, struct agent_effects *effects);
/* Advance everything to `now_us`. */
void agent_on_time(struct agent *agent, int64_t now_us, struct agent_effects *effects);
/* When agent_on_time() is due; INT64_MAX: never. */
int64_t agent_next_us(const struct agent *agent);

/* The write of (job, fence, step) ended: `shards` says length and digest of each; or `error` is a
 * negative errno and `why` a sentence. */
void agent_on_written(struct agent *agent, int64_t now_us, uint64_t job, uint64_t term,
                      uint64_t epoch, uint64_t step, int error, const char *why,
                      Wafer__ShardState **shards, size_t shard_count,
                      struct agent_effects *effects);
/* The shards that a start asked for were read back, in the order of the manifest; or not. */
void agent_on_read(struct agent *agent, int64_t now_us, uint64_t job, uint64_t term, uint64_t epoch,
                   int error, const char *why, const struct agent_shard *shards, size_t shard_count,
                   struct agent_effects *effects);

/* For the shell and tests. */
size_t agent_running(const struct agent *agent);
void agent_set_speed(struct agent *agent, double reached); /* goes into reports */
/* Another `progress_us`, once the speed is known; runs take it after their next progress. */
void agent_set_progress(struct agent *agent, int64_t progress_us);

#endif
