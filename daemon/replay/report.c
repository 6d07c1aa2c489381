#include "replay/report.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "replay/drive.h"
#include "replay/measure.h"
#include "replay/options.h"
#include "replay/picture.h"
#include "replay/trace.h"

/* Of a job that was restarted, each of its runs, with the wait before it. */
static struct picture_job *jobs_of(const struct trace *trace, const struct replay_result *result)
{
    struct picture_job *jobs =
        memory_resize(NULL, trace->count + result->attempt_count + 1, sizeof(*jobs));

    for (size_t i = 0; i < trace->count; i++)
        jobs[i] =
            (struct picture_job){ trace->jobs[i].id, trace->jobs[i].submit_s, result->start_s[i],
                                  result->end_s[i], trace->jobs[i].systems };
    for (size_t i = 0; i < result->attempt_count; i++) {
        const struct replay_attempt *attempt = &result->attempts[i];
        struct picture_job *job = &jobs[attempt->job];
        jobs[trace->count + i] =
            (struct picture_job){ job->number, attempt->queued_s, attempt->start_s, attempt->end_s,
                                  job->systems };
        job->start_s = job->end_s = -1;
        if (attempt->start_s == attempt->end_s) /* stopped in the second in which it started */
            jobs[trace->count + i].start_s = jobs[trace->count + i].end_s = -1;
    }
    return jobs;
}

static char *span(double seconds)
{
    return seconds < 3600 ? text_format("%.0f s", seconds) : text_format("%.1f h", seconds / 3600);
}

void report_draw(const char *name, const struct trace *trace, const struct replay_options *options,
                 const struct replay_result *result, const struct measured *measured,
                 struct buffer *svg)
{
    owned(free) struct picture_job *jobs = jobs_of(trace, result);
    const char *file = strrchr(name, '/');
    owned(free) char *failures =
        options->failures ? text_format(", %llu failures", (unsigned long long)result->failures)
                          : text_copy("");
    owned(free) char *settings =
        text_format("%u systems, backfill %s, order %s, limits %s%s", options->systems,
                    backfill_name(options->rules.backfill), order_name(options->rules.order),
                    options->actual_estimates ? "actual" : "requested", failures);
    owned(free) char *count = text_format("%llu", (unsigned long long)measured->all.jobs);
    owned(free) char *wait = span(measured->all.mean_wait_s);
    owned(free) char *wait_90 = span((double)measured->all.wait_90_s);
    owned(free) char *slowdown = text_format("%.2f", measured->all.mean_slowdown);
    owned(free) char *used = text_format("%.1f %%", measured->utilisation * 100);
    owned(free) char *makespan = text_format("%.1f d", (double)measured->all.makespan_s / 86400);
    const struct picture_measure measures[] = {
        { "jobs", count },
        { "average wait", wait },
        { "90 of 100 wait at most", wait_90 },
        { "bounded slowdown", slowdown },
        { "used", used },
        { "makespan", makespan },
    };
    const struct picture picture = { .trace = file ? file + 1 : name,
                                     .options = settings,
                                     .measures = measures,
                                     .measure_count = ELEMENTS(measures),
                                     .jobs = jobs,
                                     .job_count = trace->count + result->attempt_count,
                                     .systems = options->systems };

    picture_draw(&picture, svg);
}
