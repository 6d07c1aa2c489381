#include "base/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Merge sort; `spare` has room for half of them. */
static void sort(uint8_t *items, uint8_t *spare, size_t count, size_t size,
                 int (*compare)(const void *a, const void *b))
{
    if (count < 2)
        return;
    size_t half = count / 2;
    uint8_t *right = items + half * size, *end = items + count * size, *out = items;
    sort(items, spare, half, size, compare);
    sort(right, spare, count - half, size, compare);
    if (compare(right - size, right) <= 0)
        return;
    memcpy(spare, items, half * size);
    uint8_t *left = spare, *left_end = spare + half * size;
    for (; left < left_end && right < end; out += size) {
        uint8_t **next = compare(right, left) < 0 ? &right : &left;
        memcpy(out, *next, size);
        *next += size;
    }
    memcpy(out, left, (size_t)(left_end - left));
}

void sort_stable(void *items, size_t count, size_t size,
                 int (*compare)(const void *a, const void *b))
{
    if (count < 2)
        return;
    uint8_t *spare = memory_new(count / 2 * size);

    sort(items, spare, count, size, compare);
    free(spare);
}
