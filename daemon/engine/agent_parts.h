/* agent_parts — what the files of an agent share; for nobody else. */
#ifndef WAFERD_ENGINE_AGENT_PARTS_H
#define WAFERD_ENGINE_AGENT_PARTS_H

#include "base/list.h"
#include "base/map.h"
#include "engine/agent.h"
#include "engine/run.h"
#include "engine/units.h"

struct job {
    struct list link; /* in `active` while something of it is open, else in `idle` */
    bool is_idle;
    int64_t idle_since_us;
    uint64_t id, term, epoch; /* the highest fence seen */
    struct run *run;
    struct unit **units; /* of the run */
    size_t unit_count;
    Wafer__AttemptEnd *ended;          /* not acknowledged */
    Wafer__CheckpointReport **written; /* the same, rising steps */
    size_t written_count, written_capacity;
};

struct agent {
    char *host, *boot_id;
    struct run_config run_config;
    struct compile_cache cache;
    struct units units;
    struct map jobs;
    struct list active, idle;
    size_t idle_count, running;
    struct heap runs;
    int64_t now_us;
    double speed;
};

/* agent_report.c: all that the controller must know of this host. */
void agent_send_report(struct agent *agent, bool registration, struct agent_effects *effects);

#endif
