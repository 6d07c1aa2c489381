/* trace_inside — what the readers of the formats share. Private to daemon/replay. */
#ifndef WAFERD_REPLAY_TRACE_INSIDE_H
#define WAFERD_REPLAY_TRACE_INSIDE_H

#include "replay/lines.h"
#include "replay/trace.h"

/* 31 years: of a single job, and of what it asks for. */
#define TRACE_SPAN_MAX_S 1000000000

/* A job as the log has it; -1 is "not said". */
struct trace_entry {
    int64_t id, submit_s, run_s, request_s, systems, width, user, queue;
};

void trace_add(struct trace *trace, const struct line *line, const struct trace_entry *entry);
void omission_add(struct trace_omission *omission, const struct line *line);
void trace_omit(struct trace *trace, const struct line *line, enum trace_cause cause);
uint32_t trace_queue(struct trace *trace, const char *name); /* its number */

void trace_read_swf(struct trace *trace, const struct line *line);
bool trace_is_philly(const char *header);
void trace_read_philly(struct trace *trace, const struct line *line);

#endif
