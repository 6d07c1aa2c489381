/* memory — allocation that never returns NULL.
 *
 * Memory that cannot be had ends the process: the journal brings it back. Free with free(). */
#ifndef WAFERD_BASE_MEMORY_H
#define WAFERD_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

void *memory_new(size_t size); /* zeroed */
void *memory_resize(void *pointer, size_t count, size_t size);
void *memory_copy(const void *bytes, size_t length);
char *text_copy(const char *text); /* NULL gives NULL */
char *text_copy_length(const char *text, size_t length);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_vformat(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#define NEW(type) ((type *)memory_new(sizeof(type)))

/* Room for one more element in a growing array. */
#define ARRAY_RESERVE(array, count, capacity)                                                      \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? (capacity)*2 : 8;                                            \
            (array) = memory_resize((array), (capacity), sizeof(*(array)));                        \
        }                                                                                          \
    } while (0)

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

#endif
