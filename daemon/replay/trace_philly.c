/* timestamp,duration,num_gpus,gpu_time,cluster */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "replay/trace_inside.h"

enum { TIMESTAMP, DURATION, GPUS, GPU_TIME, CLUSTER, COLUMNS };

#define HEADER "timestamp,duration,num_gpus"

bool trace_is_philly(const char *header)
{
    return strncmp(header, HEADER, sizeof(HEADER) - 1) == 0;
}

/* "2017-10-09 07:01:55"; the trace names no zone, and only differences count. -1: it is none. */
static int64_t seconds_of(char *text)
{
    owned(free) char *standard = NULL;
    int64_t us;

    if (strlen(text) != sizeof("2017-10-09 07:01:55") - 1 || text[10] != ' ')
        return -1;
    text[10] = 'T';
    standard = text_format("%sZ", text);
    text[10] = ' ';
    return timestamp_parse(standard, &us, NULL) < 0 || us < 0 ? -1 : us / 1000000;
}

/* "66.0", rounded down; -1: it is no such number. */
static int64_t count_of(const char *text)
{
    char *end;

    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || *end || !(value >= 0 && value < 1e15))
        return -1;
    return (int64_t)floor(value);
}

void trace_read_philly(struct trace *trace, const struct line *line)
{
    char *columns[COLUMNS], *rest = line->text;
    int count = 0;

    if (!line->length)
        return;
    while (count < COLUMNS && (columns[count] = strsep(&rest, ",")))
        count++;
    int64_t submit_s = count == COLUMNS ? seconds_of(columns[TIMESTAMP]) : -1;
    int64_t run_s = submit_s < 0 ? -1 : count_of(columns[DURATION]);
    int64_t systems = run_s < 0 ? -1 : count_of(columns[GPUS]);
    if (systems < 0 || rest || line->is_cut || strlen(line->text) > line->length) {
        trace_omit(trace, line, TRACE_MALFORMED);
        return;
    }
    struct trace_entry entry = {
        .id = (int64_t)line->number,
        .submit_s = submit_s,
        .run_s = run_s,
        .request_s = run_s,
        .systems = systems,
        .width = systems,
        .user = -1,
        .queue = trace_queue(trace, columns[CLUSTER]),
    };
    trace_add(trace, line, &entry);
}
