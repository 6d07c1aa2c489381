#include "replay/measure.h"

#include <stdlib.h>

#include "base/memory.h"
#include "replay/drive.h"
#include "replay/trace.h"

#define SLOWDOWN_BOUND_S 10

/* Of what it would have taken alone; with failures it may have run more than once. */
static double slowdown(const struct trace_job *job, int64_t end_s)
{
    int64_t run_s = job->run_s > SLOWDOWN_BOUND_S ? job->run_s : SLOWDOWN_BOUND_S;
    double ratio = (double)(end_s - job->submit_s) / (double)run_s;

    return ratio > 1 ? ratio : 1;
}

/* ---- over jobs ---- */

struct sums {
    struct measures measures;
    int64_t *waits_s; /* of those that ran */
    int64_t first_s, last_s;
};

static void sums_add(struct sums *sums, const struct trace_job *job, int64_t start_s, int64_t end_s)
{
    int64_t wait_s = start_s - job->submit_s;

    sums->measures.mean_wait_s += (double)wait_s;
    sums->measures.mean_slowdown += slowdown(job, end_s);
    sums->measures.system_seconds += (double)job->run_s * job->systems;
    if (!sums->measures.jobs || job->submit_s < sums->first_s)
        sums->first_s = job->submit_s;
    if (end_s > sums->last_s)
        sums->last_s = end_s;
    sums->waits_s[sums->measures.jobs++] = wait_s;
}

static int by_value(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

    return (one > other) - (one < other);
}

static int64_t percentile(const int64_t *sorted, uint64_t count, uint64_t hundredths)
{
    return sorted[(count * hundredths + 99) / 100 - 1];
}

static struct measures sums_end(struct sums *sums)
{
    struct measures ret = sums->measures;

    if (ret.jobs) {
        ret.mean_wait_s /= (double)ret.jobs;
        ret.mean_slowdown /= (double)ret.jobs;
        ret.makespan_s = sums->last_s - sums->first_s;
        qsort(sums->waits_s, ret.jobs, sizeof(*sums->waits_s), by_value);
        ret.median_wait_s = percentile(sums->waits_s, ret.jobs, 50);
        ret.wait_90_s = percentile(sums->waits_s, ret.jobs, 90);
        ret.wait_99_s = percentile(sums->waits_s, ret.jobs, 99);
        ret.longest_wait_s = sums->waits_s[ret.jobs - 1];
    }
    return ret;
}

/* ---- over users ---- */

struct share {
    uint32_t user;
    uint64_t jobs;
    double slowdown;
};

static int by_user(const void *a, const void *b)
{
    const struct share *one = a, *other = b;

    return (one->user > other->user) - (one->user < other->user);
}

static void measure_users(const struct trace *trace, const struct replay_result *result,
                          struct measured *ret)
{
    struct share *shares = memory_new((trace->count + 1) * sizeof(*shares));
    double sum = 0, squares = 0;
    size_t jobs = 0, users = 0;

    for (size_t i = 0; i < trace->count; i++)
        if (trace->jobs[i].user && result->start_s[i] >= 0)
            shares[jobs++] = (struct share){ trace->jobs[i].user, 1,
                                             slowdown(&trace->jobs[i], result->end_s[i]) };
    qsort(shares, jobs, sizeof(*shares), by_user);
    for (size_t i = 0; i < jobs; i++) {
        if (users && shares[users - 1].user == shares[i].user) {
            shares[users - 1].slowdown += shares[i].slowdown;
            shares[users - 1].jobs++;
        } else {
            shares[users++] = shares[i];
        }
    }
    for (size_t i = 0; i < users; i++) {
        double mean = shares[i].slowdown / (double)shares[i].jobs;
        sum += mean;
        squares += mean * mean;
        if (mean > ret->worst_slowdown) {
            ret->worst_slowdown = mean;
            ret->worst_user = shares[i].user;
        }
    }
    ret->users = users;
    ret->fairness = users ? sum * sum / ((double)users * squares) : 0;
    free(shares);
}

/* ---- over queues ---- */

static int by_queue(const void *a, const void *b)
{
    const struct measures_of_queue *one = a, *other = b;

    return (one->queue > other->queue) - (one->queue < other->queue);
}

static void find_queues(const struct trace *trace, const struct replay_result *result,
                        struct measured *ret)
{
    size_t capacity = 0;

    for (size_t i = 0; i < trace->count; i++) {
        size_t at = 0;
        while (at < ret->queue_count && ret->queues[at].queue != trace->jobs[i].queue)
            at++;
        if (at < ret->queue_count || result->start_s[i] < 0)
            continue;
        ARRAY_RESERVE(ret->queues, ret->queue_count, capacity);
        ret->queues[ret->queue_count++] =
            (struct measures_of_queue){ .queue = trace->jobs[i].queue };
    }
    if (ret->queue_count > 1)
        qsort(ret->queues, ret->queue_count, sizeof(*ret->queues), by_queue);
}

void measure(const struct trace *trace, const struct replay_result *result, uint32_t systems,
             struct measured *ret)
{
    int64_t *waits_s = memory_new((trace->count + 1) * sizeof(*waits_s));
    struct sums sums = { .waits_s = waits_s };

    *ret = (struct measured){ .queues = NULL };
    for (size_t i = 0; i < trace->count; i++)
        if (result->start_s[i] >= 0)
            sums_add(&sums, &trace->jobs[i], result->start_s[i], result->end_s[i]);
    ret->all = sums_end(&sums);
    if (ret->all.makespan_s)
        ret->utilisation =
            ret->all.system_seconds / ((double)systems * (double)ret->all.makespan_s);
    measure_users(trace, result, ret);
    find_queues(trace, result, ret);
    if (ret->queue_count < 2)
        ret->queue_count = 0;
    for (size_t q = 0; q < ret->queue_count; q++) {
        sums = (struct sums){ .waits_s = waits_s };
        for (size_t i = 0; i < trace->count; i++)
            if (trace->jobs[i].queue == ret->queues[q].queue && result->start_s[i] >= 0)
                sums_add(&sums, &trace->jobs[i], result->start_s[i], result->end_s[i]);
        ret->queues[q].measures = sums_end(&sums);
    }
    free(waits_s);
}

void measured_done(struct measured *measured)
{
    free(measured->queues);
    *measured = (struct measured){ .queues = NULL };
}
