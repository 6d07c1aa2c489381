/* measure — what a schedule is worth, in the terms of the field.
 *
 *   wait              start less submission
 *   bounded slowdown  max(1, (end less submission) / max(run, 10 s)): Feitelson and Rudolph,
 *                     "Metrics and benchmarking for parallel job scheduling", JSSPP 1998, with
 *                     their bound of 10 s
 *   makespan          first submission to last end
 *   utilisation       system seconds that ran over systems x makespan
 *   fairness          Jain's index over the users' mean bounded slowdowns, 1 if all are equal:
 *                     Jain, Chiu and Hawe, DEC-TR-301, 1984
 *   percentile        the smallest value that at least so many hundredths do not exceed
 *
 * Units  seconds (`_s`); means are of real numbers, summed in the order of the trace, so that the
 *        same schedule gives the same bits */
#ifndef WAFERD_REPLAY_MEASURE_H
#define WAFERD_REPLAY_MEASURE_H

#include <stddef.h>
#include <stdint.h>

struct trace;
struct replay_result;

struct measures {
    uint64_t jobs; /* that ran */
    double mean_wait_s, mean_slowdown;
    int64_t median_wait_s, wait_90_s, wait_99_s, longest_wait_s;
    int64_t makespan_s;
    double system_seconds;
};

struct measures_of_queue {
    uint32_t queue; /* as in the trace; 0: not said */
    struct measures measures;
};

struct measured {
    struct measures all;
    double utilisation;  /* 0 to 1 */
    uint64_t users;      /* that the log names; 0: it names none */
    double fairness;     /* 0 to 1, with users */
    uint32_t worst_user; /* the greatest mean bounded slowdown */
    double worst_slowdown;
    struct measures_of_queue *queues; /* by number; none if the log has no more than one */
    size_t queue_count;
};

void measure(const struct trace *trace, const struct replay_result *result, uint32_t systems,
             struct measured *ret);
void measured_done(struct measured *measured);

#endif
