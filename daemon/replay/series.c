#include "replay/series.h"

#include <assert.h>
#include <stdlib.h>

struct span span_of(int64_t first_s, int64_t last_s, unsigned most)
{
    int64_t length_s = last_s > first_s ? last_s - first_s : 1;

    assert(length_s <= SPAN_MAX_S && most > 0 && most <= SERIES_COLUMNS);
    return (struct span){
        .first_s = first_s,
        .length_s = length_s,
        .columns = length_s < most ? (unsigned)length_s : most,
    };
}

/* Rounded up, so that a whole second is in the column that span_column() says. */
int64_t span_begin(const struct span *span, unsigned column)
{
    return span->first_s + (span->length_s * column + span->columns - 1) / span->columns;
}

unsigned span_column(const struct span *span, int64_t time_s)
{
    if (time_s <= span->first_s)
        return 0;
    if (time_s >= span->first_s + span->length_s)
        return span->columns - 1;
    return (unsigned)((time_s - span->first_s) * span->columns / span->length_s);
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left, *b = right;

    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

/* `level` holds on [begin_s, end_s). */
static void hold(struct series *series, const struct span *span, int64_t begin_s, int64_t end_s,
                 int64_t level)
{
    unsigned last = span_column(span, end_s - 1);

    for (unsigned i = span_column(span, begin_s); i <= last; i++) {
        int64_t from_s = span_begin(span, i), to_s = span_begin(span, i + 1);
        double length_s = (double)(to_s - from_s);

        from_s = from_s < begin_s ? begin_s : from_s;
        to_s = to_s > end_s ? end_s : to_s;
        series->average[i] += (double)level * (double)(to_s - from_s) / length_s;
        if (series->most[i] < level)
            series->most[i] = level;
    }
}

void series_fill(struct series *series, const struct span *span, struct step *steps, size_t count)
{
    int64_t at_s = span->first_s, last_s = span->first_s + span->length_s, level = 0;

    *series = (struct series){ .most = { 0 } };
    qsort(steps, count, sizeof(*steps), compare_steps);
    for (size_t i = 0; i < count; i++) {
        int64_t time_s = steps[i].time_s < last_s ? steps[i].time_s : last_s;

        if (time_s > at_s) {
            hold(series, span, at_s, time_s, level);
            at_s = time_s;
        }
        level += steps[i].rise;
    }
    if (at_s < last_s)
        hold(series, span, at_s, last_s, level);
}

int64_t series_most(const struct series *series, const struct span *span)
{
    int64_t most = 0;

    for (unsigned i = 0; i < span->columns; i++)
        if (most < series->most[i])
            most = series->most[i];
    return most;
}
