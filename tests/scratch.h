/* scratch — a directory that a test may fill and that is gone afterwards. */
#ifndef WAFERD_TESTS_SCRATCH_H
#define WAFERD_TESTS_SCRATCH_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static inline void scratch_make(void)
{
    snprintf(scratch, sizeof(scratch), "/tmp/waferd-test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static inline int scratch_remove_one(const char *path, const struct stat *status, int type,
                                     struct FTW *walk)
{
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
