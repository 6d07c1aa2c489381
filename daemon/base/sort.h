/* sort — into order, and equals stay as they are, which qsort() does not promise. */
#ifndef WAFERD_BASE_SORT_H
#define WAFERD_BASE_SORT_H

#include <stddef.h>

/* `compare` as for qsort(). What is in order already costs one comparison an item. */
void sort_stable(void *items, size_t count, size_t size,
                 int (*compare)(const void *a, const void *b));

#endif
