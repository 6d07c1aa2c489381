/* world — what an agent needs around it: a shell that moves messages and keeps checkpoints, a
 * controller that may acknowledge, and jobs to run. */
#ifndef WAFERD_TESTS_ENGINE_WORLD_H
#define WAFERD_TESTS_ENGINE_WORLD_H

#include <stdarg.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "engine/agent.h"
#include "job.pb-c.h"

#define SECOND_US 1000000ll
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)
#define START_US  (1769932800ll * SECOND_US) /* 2026-02-01 08:00 UTC */

struct file { /* a checkpoint in the vault */
    uint64_t job, step, epoch;
    struct agent_shard *shards;
    size_t count;
};

struct world {
    Wafer__Platform *wafer, *gpu;
    struct agent *agent;
    int64_t now_us;
    struct agent_effects effects; /* not carried out yet */
    Wafer__ToController **seen;   /* every message sent, in order */
    size_t seen_count, seen_capacity;
    struct file *files;
    size_t file_count, file_capacity;
    struct buffer log; /* of all jobs */
    uint64_t log_length;
    int write_error, read_error; /* negative errno: each write or read fails so */
    bool hold_io;                /* writes and reads are not answered */
    bool acks;                   /* ends and checkpoints are acknowledged at once */
    bool settling;
    struct agent_effect held; /* numbers of the newest that was held */
};

/* Pools "wafer" (s1 ... s8) of a small wafer platform and "gpu" (g1, g2). */
void world_init(struct world *world);
void world_done(struct world *world);
/* Another process of the same host: it knows nothing. Checkpoints and log stay. */
void world_restart_agent(struct world *world);

void world_settle(struct world *world); /* carry out what is asked */
/* Time passes, in steps of what the agent asks for ... */
void world_run(struct world *world, int64_t span_us);
/* ... or at once. */
void world_jump(struct world *world, int64_t span_us);
/* Until nothing is running. */
void world_finish(struct world *world);

void world_tell(struct world *world, const Wafer__ToAgent *message);
/* Systems are named in one text: "s1 s2". */
void world_start(struct world *world, uint64_t job, uint64_t epoch, const Wafer__JobSpec *spec,
                 const char *systems);
void world_resume(struct world *world, uint64_t job, uint64_t epoch, const Wafer__JobSpec *spec,
                  const char *systems, const Wafer__CheckpointState *from, bool weights_only);
void world_stop(struct world *world, uint64_t job, uint64_t epoch, bool save, bool now,
                Wafer__Cause cause);
void world_fault(struct world *world, const char *system, Wafer__InjectFault__Kind kind,
                 int64_t span_us);
void world_ack_end(struct world *world, uint64_t job, uint64_t epoch);
void world_ack_checkpoint(struct world *world, uint64_t job, uint64_t epoch, uint64_t step);
/* A heartbeat; the report that it gives. */
const Wafer__Report *world_report(struct world *world);

/* Of everything seen; NULL where there was none. */
const Wafer__AttemptEnd *world_end(const struct world *world, uint64_t job);
const Wafer__CheckpointReport *world_checkpoint(const struct world *world, uint64_t job,
                                                Wafer__CheckpointReport__Kind kind, uint64_t step);
const Wafer__CheckpointReport *world_newest_checkpoint(const struct world *world, uint64_t job);
size_t world_count_started(const struct world *world, uint64_t job);
size_t world_count_ends(const struct world *world, uint64_t job);
size_t world_count_suspensions(const struct world *world, bool suspended);

/* A written checkpoint as a start names it. The caller frees. */
Wafer__CheckpointState *world_checkpoint_state(const Wafer__CheckpointReport *report);

/* ---- jobs; the caller frees with wafer__job_spec__free_unpacked() ---- */

/* A 111M model on batches of 120, for so many steps. */
Wafer__JobSpec *spec_new(uint64_t steps);
Wafer__Count *count_new(uint64_t value);
Wafer__Decimal *decimal_new(int64_t micro);
Wafer__Duration *duration_new(int64_t us);
Wafer__StepCount *step_count_new(uint64_t steps);
void spec_evaluate(Wafer__JobSpec *spec, uint64_t every);
void spec_checkpoint(Wafer__JobSpec *spec, uint64_t steps, int64_t time_us); /* 0, 0: auto */
void spec_on_error(Wafer__JobSpec *spec, Wafer__CheckpointSpec__OnError on_error);
void spec_stop_below(Wafer__JobSpec *spec, const char *metric, int64_t micro);
void spec_stop_stalled(Wafer__JobSpec *spec, const char *metric, uint64_t steps);
void spec_operator(Wafer__JobSpec *spec, const char *name);

/* A platform with the figures of a CS-2, in round numbers; the caller frees. */
Wafer__Platform *platform_new(const char *name, Wafer__Platform__Target target);

#endif
