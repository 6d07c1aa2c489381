/* cleanup — ownership that is declared where a variable is.
 *
 * `owned(thing_free) struct thing *t = thing_new();` frees `t` on every way out of its scope;
 * `TAKE(t)` hands it on. OWNED_DEFINE(thing_free, struct thing *) makes the helper that the
 * attribute needs, once, beside the declaration of thing_free(). */
#ifndef WAFERD_BASE_CLEANUP_H
#define WAFERD_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define owned(free_function) __attribute__((cleanup(free_function##p)))

#define OWNED_DEFINE(free_function, type)                                                          \
    static inline void free_function##p(type *pointer)                                             \
    {                                                                                              \
        if (*pointer)                                                                              \
            free_function(*pointer);                                                               \
    }                                                                                              \
    struct cleanup_wants_a_semicolon

#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

static inline void freep(void *pointer)
{
    free(*(void **)pointer);
}

static inline void fd_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

OWNED_DEFINE(fclose, FILE *);

#endif
