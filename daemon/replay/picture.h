/* picture — a replay in one SVG: systems in use, jobs that wait, and how long they waited, over
 * time.
 *
 * A few jobs are blocks in rows of systems, each with its number. Of many, each of at most 1,000
 * slices of the time has its average and its maximum, so that 300,000 jobs take no more room than
 * 3,000. The picture needs no script, no font and nothing else from anywhere; it follows the
 * reader's choice of light or dark; its text can be selected. The same arguments give the same
 * bytes.
 */
#ifndef WAFERD_REPLAY_PICTURE_H
#define WAFERD_REPLAY_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Not negative, and submit <= start < end, at most SPAN_MAX_S; or start and end are negative: the
 * job never ran, and is not shown. */
struct picture_job {
    uint64_t number;
    int64_t submit_s, start_s, end_s;
    uint32_t systems;
};

struct picture_measure {
    const char *name, *value; /* "average wait", "1 h 54 min" */
};

/* Texts may hold anything: they are escaped, and cut where they are too long. */
struct picture {
    const char *trace, *options;
    const struct picture_measure *measures; /* the first PICTURE_MEASURES are shown */
    size_t measure_count;
    const struct picture_job *jobs; /* in any order */
    size_t job_count;
    uint32_t systems;
};
#define PICTURE_MEASURES 6

void picture_draw(const struct picture *picture, struct buffer *svg);

#endif
