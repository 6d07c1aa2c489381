/* options — the command line of wafer-replay. */
#ifndef WAFERD_REPLAY_OPTIONS_H
#define WAFERD_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "replay/drive.h"
#include "replay/failures.h"

/* Each of a list is tried with each of the others. */
enum { OPTIONS_LIST_MAX = 32 };

struct options {
    const char *trace; /* "-": standard input */
    uint32_t systems[OPTIONS_LIST_MAX];
    size_t systems_count; /* 0: as many as the machine of the trace had */
    enum schedule_backfill backfill[OPTIONS_LIST_MAX];
    size_t backfill_count; /* 0: as the policies say */
    enum schedule_order order[OPTIONS_LIST_MAX];
    size_t order_count;   /* likewise */
    const char *policies; /* a directory; NULL: what holds without */
    bool actual_estimates, strict;
    enum replay_ties ties;
    const char *schedule, *report; /* files to write, or NULL */
    const char *failures;          /* a rate or a file, as it was given; or NULL */
    bool has_rate;
    struct failure_rate rate;
    uint64_t seed; /* of the rate */
    int64_t checkpoint_s;
};

/* -EINVAL: usage; the sentence names the option and what would have worked. */
int options_parse(int argc, char **argv, struct options *ret, struct diag *diag);

const char *backfill_name(enum schedule_backfill backfill);
const char *order_name(enum schedule_order order);

#endif
