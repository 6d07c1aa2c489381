/* series — how a level goes over time, in a bounded number of columns with average and maximum. */
#ifndef WAFERD_REPLAY_SERIES_H
#define WAFERD_REPLAY_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SERIES_COLUMNS 1000

/* The time that is cut into columns: [first_s, first_s + length_s). Column i begins at
 * span_begin(i); each is at least a second long. */
struct span {
    int64_t first_s, length_s; /* at least 1, at most SPAN_MAX_S */
    unsigned columns;          /* 1 to SERIES_COLUMNS */
};
#define SPAN_MAX_S (INT64_C(1) << 50)

/* In as many columns as there are seconds, but no more than `most`. */
struct span span_of(int64_t first_s, int64_t last_s, unsigned most);
int64_t span_begin(const struct span *span, unsigned column);
unsigned span_column(const struct span *span, int64_t time_s); /* of the nearest, if outside */

/* At `time_s` the level rises by `rise`, or falls. */
struct step {
    int64_t time_s, rise;
};

/* A level that is undone in its own second lasts no time, and is not seen. */
struct series {
    double average[SERIES_COLUMNS];
    int64_t most[SERIES_COLUMNS];
};

/* The level is 0 before the first step. Puts `steps` into order. */
void series_fill(struct series *series, const struct span *span, struct step *steps, size_t count);
int64_t series_most(const struct series *series, const struct span *span);

#endif
