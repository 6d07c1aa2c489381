/* job — the words of a job: its states, what a spec must satisfy, and what decisions need of it. */
#ifndef WAFERD_MODEL_JOB_H
#define WAFERD_MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "job.pb-c.h"
#include "model/bind.h"
#include "record.pb-c.h"
#include "view.pb-c.h"

#define JOB_STATES (WAFER__JOB__STATE__LOST + 1)

const char *job_state_name(Wafer__Job__State state);    /* "PENDING" */
const char *job_phase_name(Wafer__Job__Phase phase);    /* "EXECUTE" */
const char *job_reason_name(Wafer__Job__Reason reason); /* "Resources" */
const char *cause_name(Wafer__Cause cause);             /* "TIME_LIMIT" */
const char *record_kind_name(Wafer__RecordKind kind);   /* "JOB_STARTED" */
/* -EINVAL; any case */
int job_state_parse(const char *name, Wafer__Job__State *ret);

/* The chart of states: one table. A state may always stay what it is, but a terminal one. */
bool job_may_become(Wafer__Job__State from, Wafer__Job__State to);
bool job_state_is_terminal(Wafer__Job__State state);
bool job_state_has_systems(Wafer__Job__State state); /* STARTING, RUNNING, STOPPING, SUSPENDED */

/* Exit code of the command line for an outcome: 0, 1, 3, 4, 5; -1 while it is not terminal. */
int job_state_exit(Wafer__Job__State state);

/* Check what the descriptors cannot say: names, ranges, one-of, and keys that this version does not
 * act on ("not supported in this version"). Both ends call it: the client with places, the daemon
 * on what it was sent. -EINVAL with errors. */
int job_spec_check(const Wafer__JobSpec *spec, const struct bind_places *places,
                   struct bind_errors *errors);

/* Read a job file: bind_yaml(), then bind_set() of each `sets` (NULL ends them), then the check. */
int job_spec_read(const char *text, size_t length, const char *const *sets, Wafer__JobSpec **ret,
                  struct bind_errors *errors);

/* "A-B" or "A-B%N". -EINVAL; at most LIMIT_ARRAY_ELEMENTS. parallel 0: no limit */
int job_array_parse(const char *text, uint32_t *ret_first, uint32_t *ret_last,
                    uint32_t *ret_parallel);

/* "7", "7_3", "7.2", "7_3.2", or a job name. -EINVAL. The target's name borrows `text`. */
int job_target_parse(const char *text, Wafer__Target *ret);
/* "JOB@STEP" or "JOB@STEP.EPOCH"; -EINVAL */
int checkpoint_target_parse(const char *text, uint64_t *ret_job, uint64_t *ret_step,
                            uint64_t *ret_epoch /* 0: any */);

/* What decisions need of a spec, with every default filled in. No pointers into the spec but name
 * and queue. */
struct job_terms {
    uint32_t systems_count, systems_min;
    int64_t limit_us;              /* 0: none */
    int64_t begin_us, deadline_us; /* INT64_MIN and INT64_MAX: none */
    uint32_t priority;
    uint64_t max_steps; /* the smaller of workload and stop.max_steps */
    uint32_t batch, seq;
    int64_t max_cost_micro; /* 0: none */
    bool save_on_stop;
    int64_t grace_us;
    Wafer__CheckpointSpec__OnError on_error;
    uint32_t keep_last, keep_best;
    bool best_is_max;
    uint64_t keep_every_steps; /* 0: none */
    Wafer__Label__Level level; /* of its data, so of all that it makes */
    uint32_t retry_max;
    bool retry_counts_all;
    uint32_t retry_never; /* bit 1 << cause */
    int64_t backoff_first_us, backoff_max_us;
    uint32_t array_first, array_last, array_parallel; /* last < first: no array */
    const char *name, *queue /* NULL: default */;     /* borrowed, as the next three */
    const char *reservation;                          /* NULL: none */
    const char *resume_from, *init_from;              /* NULL: none, or auto */
};
void job_terms(const Wafer__JobSpec *spec, struct job_terms *ret);

const char *level_name(Wafer__Label__Level level); /* "internal" */

/* Parameters of the model: as given, or 12 L h^2 + V h + s h (embeddings included). */
uint64_t job_parameters(const Wafer__ModelSpec *model);

#endif
