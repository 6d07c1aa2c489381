/* trace — the jobs of a recorded workload, as a replay takes them.
 *
 * Formats, plain or gzip, told apart by what is in them
 *   SWF    the Standard Workload Format of the Parallel Workloads Archive: 18 columns, `;` begins a
 *          comment; systems are column 8 (requested), else 5
 *   Philly the CSV of Microsoft's GPU clusters (Jeon et al., ATC 2019) as reduced by its re-users:
 *          timestamp,duration,num_gpus,gpu_time,cluster; a GPU counts as a system, the duration is
 *          also what was asked for, the cluster is the queue
 *
 * Reading rules, those of the published simulations of these logs
 *   - a job that needs no system, ran for no time, asked for no time or came before 0 is left
 *     out; a log without any request takes the run as every request
 *   - who ran longer than asked is cut at the request
 *   - order: submission, then the log's
 * What is left out is counted by cause, with the first line of each.
 *
 * Units      whole seconds (`_s`), as in the log; of a CSV since its first job
 * Errors     0, or a negative errno with the reason in `diag`
 * Ownership  the trace is the caller's: trace_done() */
#ifndef WAFERD_REPLAY_TRACE_H
#define WAFERD_REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct trace_job {
    uint64_t id; /* as in the log; of a CSV, its line */
    int64_t submit_s, run_s, request_s;
    uint32_t systems;
    uint32_t width; /* >= systems: what the machine must have; the log may say more */
    uint32_t user;  /* as in the log; 0: not said */
    uint32_t queue; /* as in the log, or of `queues` from 1; 0: not said */
};

enum trace_cause {
    TRACE_MALFORMED, /* no job: columns are missing, or a number is none or out of range */
    TRACE_NO_SYSTEMS,
    TRACE_NO_RUN,
    TRACE_NO_REQUEST,
    TRACE_NO_SUBMIT,
    TRACE_CAUSES,
};

struct trace_omission {
    uint64_t count;
    uint64_t line; /* the first */
    char text[64]; /* its beginning */
};

struct trace {
    struct trace_job *jobs;
    size_t count, capacity;
    bool has_requests; /* some job of the log asked for a time */
    uint32_t machine;  /* systems of the machine that the log is of; 0: not said */
    struct trace_omission omissions[TRACE_CAUSES];
    char **queues; /* names, where the log has names; of number 1 and on */
    size_t queue_count, queue_capacity;
};

/* Read all of the file; `name` is for messages.
 * -EBADMSG  it is cut short or damaged, or nothing that this reads
 * -ERANGE   together its jobs run for longer than can be counted */
int trace_read(int fd, const char *name, struct trace *ret, struct diag *diag);
void trace_done(struct trace *trace);

const char *trace_cause_text(enum trace_cause cause); /* "ran for no time" */

#endif
