/* rows — which rows of a chart show which job: each as many as it has systems, for as long as it
 * runs.
 *
 * A schedule counts systems and does not say which; these are some that are free. */
#ifndef WAFERD_REPLAY_ROWS_H
#define WAFERD_REPLAY_ROWS_H

#include <stdint.h>

struct rows {
    int64_t *free_from_s; /* of each row */
    uint32_t count;
};

struct rows rows_new(uint32_t count);
void rows_done(struct rows *rows);
static inline void rows_donep(struct rows *rows)
{
    rows_done(rows);
}

/* Take `wanted` rows from `start_s` to `end_s`, side by side if that can be, and call `take` for
 * each block of them. Starts must not go back. Where there are not enough, the rest is not shown.
 */
void rows_take(struct rows *rows, uint32_t wanted, int64_t start_s, int64_t end_s,
               void (*take)(void *context, uint32_t first, uint32_t count), void *context);

#endif
