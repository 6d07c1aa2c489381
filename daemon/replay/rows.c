#include "replay/rows.h"

#include <stdlib.h>

#include "base/memory.h"

struct rows rows_new(uint32_t count)
{
    struct rows rows = { .free_from_s = memory_resize(NULL, count, sizeof(int64_t)),
                         .count = count };

    for (uint32_t i = 0; i < count; i++)
        rows.free_from_s[i] = INT64_MIN;
    return rows;
}

void rows_done(struct rows *rows)
{
    free(rows->free_from_s);
    *rows = (struct rows){ 0 };
}

/* How many rows from `first` on are free, but no more than `wanted`. */
static uint32_t free_run(const struct rows *rows, uint32_t first, uint32_t wanted, int64_t start_s)
{
    uint32_t length = 0;

    while (length < wanted && first + length < rows->count &&
           rows->free_from_s[first + length] <= start_s)
        length++;
    return length;
}

/* The first place where all of them fit; 0 if there is none. */
static uint32_t first_fit(const struct rows *rows, uint32_t wanted, int64_t start_s)
{
    for (uint32_t first = 0; first < rows->count; first++) {
        uint32_t length = free_run(rows, first, wanted, start_s);

        if (length == wanted)
            return first;
        first += length;
    }
    return 0;
}

void rows_take(struct rows *rows, uint32_t wanted, int64_t start_s, int64_t end_s,
               void (*take)(void *context, uint32_t first, uint32_t count), void *context)
{
    uint32_t row = first_fit(rows, wanted, start_s);

    while (wanted > 0 && row < rows->count) {
        uint32_t length = free_run(rows, row, wanted, start_s);

        for (uint32_t i = 0; i < length; i++)
            rows->free_from_s[row + i] = end_s;
        if (length > 0)
            take(context, row, length);
        wanted -= length;
        row += length + 1;
    }
}
