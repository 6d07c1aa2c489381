/* run — one attempt of a job on its systems, from compile to clean-up.
 *
 * A run sleeps until run_next_us(); what happens then depends on the times of its own events alone,
 * never on how often it is woken. Nothing here knows other runs or who hosts them: the agent gives
 * the orders and collects what came of them. */
#ifndef WAFERD_ENGINE_RUN_H
#define WAFERD_ENGINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "engine/agent.h"
#include "engine/cadence.h"
#include "engine/compile.h"
#include "engine/heap.h"
#include "engine/loss.h"
#include "engine/metrics.h"
#include "engine/phases.h"
#include "engine/rate.h"
#include "engine/trainer_log.h"
#include "engine/training.h"
#include "engine/workload.h"

enum run_state {
    RUN_COMPILE,
    RUN_START,    /* processes come up */
    RUN_PROGRAM,  /* the systems are programmed */
    RUN_WEIGHTS,  /* weights come in, from shards if it resumes */
    RUN_TRAIN,    /* steps, until `target_step` */
    RUN_EVALUATE, /* at a step */
    RUN_SAVE,     /* until both the time of a save and the write have passed */
    RUN_RETRY,    /* a save failed: suspended until the next try */
    RUN_CLEANUP,
    RUN_ENDED,
};

struct run_config { /* outlives the run */
    uint64_t seed;
    int64_t filler_bytes, progress_us;
    struct compile_cache *cache;
};

struct run {
    struct timer timer; /* the agent's */
    const struct run_config *config;
    uint64_t job, term, epoch;
    uint32_t attempt;
    Wafer__JobSpec *spec;
    const Wafer__Platform *platform;
    char *systems; /* "s3 s4", for people */
    uint32_t system_count;
    Wafer__CheckpointState *resume; /* or NULL */
    Wafer__ResumeState *resume_state;
    bool weights_only;

    struct workload workload;
    struct rate rate;
    struct phases phases;
    struct cadence cadence;
    struct loss loss;
    struct metrics metrics;
    struct training training;
    bool loaded; /* the training state is what it should be */

    enum run_state state;
    Wafer__Job__Phase phase;
    int64_t due_us, progress_due_us; /* INT64_MAX: waits for an answer */
    uint64_t compile_key;
    Wafer__Cause compile_cause;
    char *compile_detail;

    int64_t anchor_us; /* steps are counted from here: */
    uint64_t anchor_step, target_step;
    int64_t loaded_us, last_save_us, phase_began_us;
    int64_t spent_us[WAFER__JOB__PHASE__CLEANUP + 1]; /* before `phase_began_us` */
    uint64_t loaded_step, saved_step;                 /* UINT64_MAX: none */
    bool io_done, suspended;

    double rate_smoothed; /* of the log's Rate */
    int64_t rate_us;
    uint64_t rate_step;

    bool ordered, order_save; /* to stop */
    Wafer__Cause order_cause;
    uint64_t order_step; /* the step to finish first */
    Wafer__Cause ending; /* what the end will be, once saved and cleaned up */

    Wafer__CheckpointReport *writing; /* written, while the time of a save runs */
    Wafer__CheckpointReport *written; /* for the agent to take */
    char *detail, *failed_system;     /* of the end */
    struct trainer_log log;
};

/* `spec` and `systems` are taken, also on failure.
 * -EINVAL   a spec that cannot be run
 * -EBADMSG  what it is to resume from cannot be read */
int run_new(const struct run_config *config, const Wafer__StartJob *start, Wafer__JobSpec *spec,
            const Wafer__Platform *platform, char *systems, struct run **ret, struct diag *diag);
struct run *run_free(struct run *run); /* always NULL */
OWNED_DEFINE(run_free, struct run *);

void run_begin(struct run *run, int64_t now_us, struct agent_effects *effects);

int64_t run_next_us(const struct run *run);
/* `now_us` is run_next_us(): what is due. Time goes on to `until_us` at least: of progress that
 * falls due before that, or before the next event, only the last is said. */
void run_on_time(struct run *run, int64_t now_us, int64_t until_us, struct agent_effects *effects);
void run_on_written(struct run *run, int64_t now_us, uint64_t step, int error, const char *why,
                    Wafer__ShardState **shards, size_t shard_count, struct agent_effects *effects);
void run_on_read(struct run *run, int64_t now_us, int error, const char *why,
                 const struct agent_shard *shards, size_t shard_count,
                 struct agent_effects *effects);
void run_on_stop(struct run *run, int64_t now_us, const Wafer__StopJob *stop,
                 struct agent_effects *effects);

/* It ends here and now, unsaved. `system`: which one failed, or NULL */
void run_end(struct run *run, int64_t now_us, Wafer__Cause cause, const char *detail,
             const char *system);

/* Steps are executed in bulk: bring the training state to `now_us`. */
void run_catch_up(struct run *run, int64_t now_us);
uint64_t run_step(const struct run *run);

/* How long it has been in each phase. */
Wafer__PhaseTimes *run_phase_times(const struct run *run, int64_t now_us);

/* For the agent to send and to keep. */
void run_send_started(const struct run *run, struct agent_effects *effects);
Wafer__AttemptEnd *run_attempt_end(const struct run *run, int64_t now_us);
void run_flush_log(struct run *run, struct agent_effects *effects);

#endif
