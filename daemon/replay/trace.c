#include "replay/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sort.h"
#include "replay/trace_inside.h"

#define QUEUES_MAX 10000
/* In microseconds all of it must fit into 63 bits, with room. */
#define TRACE_LENGTH_MAX_S 4000000000000

static const char *const causes[] = {
    [TRACE_MALFORMED] = "is not a job in the format of the log",
    [TRACE_NO_SYSTEMS] = "needs no system",
    [TRACE_NO_RUN] = "ran for no time",
    [TRACE_NO_REQUEST] = "asked for no time",
    [TRACE_NO_SUBMIT] = "was submitted before the log began",
};

const char *trace_cause_text(enum trace_cause cause)
{
    return causes[cause];
}

void omission_add(struct trace_omission *omission, const struct line *line)
{
    if (omission->count++)
        return;
    omission->line = line->number;
    size_t length = strnlen(line->text, sizeof(omission->text) - 1);
    memcpy(omission->text, line->text, length);
    omission->text[length] = '\0';
}

void trace_omit(struct trace *trace, const struct line *line, enum trace_cause cause)
{
    omission_add(&trace->omissions[cause], line);
}

uint32_t trace_queue(struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->queue_count; i++)
        if (strcmp(trace->queues[i], name) == 0)
            return (uint32_t)i + 1;
    if (trace->queue_count == QUEUES_MAX)
        return 0;
    ARRAY_RESERVE(trace->queues, trace->queue_count, trace->queue_capacity);
    trace->queues[trace->queue_count++] = text_copy(name);
    return (uint32_t)trace->queue_count;
}

static uint32_t name_number(int64_t value)
{
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Cutting at the request waits for the end of the log: perhaps nobody asked for anything. */
void trace_add(struct trace *trace, const struct line *line, const struct trace_entry *entry)
{
    if (entry->width > UINT32_MAX || entry->run_s > TRACE_SPAN_MAX_S ||
        entry->request_s > TRACE_SPAN_MAX_S || entry->submit_s > TRACE_LENGTH_MAX_S ||
        entry->id < 0) {
        trace_omit(trace, line, TRACE_MALFORMED);
        return;
    }
    if (entry->systems <= 0) {
        trace_omit(trace, line, TRACE_NO_SYSTEMS);
        return;
    }
    trace->has_requests |= entry->request_s > 0;
    if (entry->run_s <= 0) {
        trace_omit(trace, line, TRACE_NO_RUN);
        return;
    }
    if (entry->submit_s < 0) {
        trace_omit(trace, line, TRACE_NO_SUBMIT);
        return;
    }
    if (entry->request_s <= 0)
        trace_omit(trace, line, TRACE_NO_REQUEST);
    ARRAY_RESERVE(trace->jobs, trace->count, trace->capacity);
    trace->jobs[trace->count++] = (struct trace_job){
        .id = (uint64_t)entry->id,
        .submit_s = entry->submit_s,
        .run_s = entry->run_s,
        .request_s = entry->request_s,
        .systems = (uint32_t)entry->systems,
        .width = (uint32_t)entry->width,
        .user = name_number(entry->user),
        .queue = name_number(entry->queue),
    };
}

static int by_submission(const void *a, const void *b)
{
    const struct trace_job *one = a, *other = b;

    return (one->submit_s > other->submit_s) - (one->submit_s < other->submit_s);
}

/* The rules that need all of the log. */
static int finish(struct trace *trace, const char *name, struct diag *diag)
{
    int64_t total_s = 0;
    size_t kept = 0;

    if (!trace->has_requests)
        trace->omissions[TRACE_NO_REQUEST] = (struct trace_omission){ .count = 0 };
    for (size_t i = 0; i < trace->count; i++) {
        struct trace_job job = trace->jobs[i];
        if (!trace->has_requests)
            job.request_s = job.run_s;
        if (job.request_s <= 0)
            continue;
        if (job.run_s > job.request_s)
            job.run_s = job.request_s;
        total_s += job.run_s;
        trace->jobs[kept++] = job;
    }
    trace->count = kept;
    if (total_s > TRACE_LENGTH_MAX_S)
        return diag_fail(diag, -ERANGE, "%s: its jobs run for %lld s, more than %lld s", name,
                         (long long)total_s, (long long)TRACE_LENGTH_MAX_S);
    trace->jobs = memory_resize(trace->jobs, kept + 1, sizeof(*trace->jobs));
    sort_stable(trace->jobs, kept, sizeof(*trace->jobs), by_submission);
    return 0;
}

/* Of a trace with dates: as seconds since its first job. */
static void shift_to_zero(struct trace *trace)
{
    int64_t first_s = trace->count ? trace->jobs[0].submit_s : 0;

    for (size_t i = 0; i < trace->count; i++)
        trace->jobs[i].submit_s -= first_s;
}

typedef void (*read_line_fn)(struct trace *trace, const struct line *line);

/* By the first line of the file; NULL: it is of no known format. */
static read_line_fn reader_for(const char *first)
{
    first += strspn(first, " \t");
    if (trace_is_philly(first))
        return trace_read_philly;
    return !*first || strchr(";-0123456789", *first) ? trace_read_swf : NULL;
}

int trace_read(int fd, const char *name, struct trace *ret, struct diag *diag)
{
    owned(lines_close) struct lines *lines = NULL;
    read_line_fn read_line = NULL;
    struct line line;
    int r = lines_open(fd, name, &lines, diag);

    *ret = (struct trace){ .jobs = NULL };
    if (r < 0)
        return r;
    while ((r = lines_next(lines, &line, diag)) > 0) {
        bool is_first = !read_line;
        if (is_first)
            read_line = reader_for(line.text);
        if (is_first && read_line == trace_read_philly)
            continue; /* names of columns */
        if (!read_line) {
            r = diag_fail(diag, -EBADMSG, "%s: neither Standard Workload Format nor the Philly CSV",
                          name);
            break;
        }
        read_line(ret, &line);
    }
    if (r == 0)
        r = finish(ret, name, diag);
    if (r == 0 && read_line == trace_read_philly)
        shift_to_zero(ret);
    if (r < 0)
        trace_done(ret);
    return r;
}

void trace_done(struct trace *trace)
{
    for (size_t i = 0; i < trace->queue_count; i++)
        free(trace->queues[i]);
    free(trace->queues);
    free(trace->jobs);
    *trace = (struct trace){ .jobs = NULL };
}
