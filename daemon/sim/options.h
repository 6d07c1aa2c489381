/* options — what `wafersim` was asked to be. */
#ifndef WAFERD_SIM_OPTIONS_H
#define WAFERD_SIM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct pool_option { /* NAME=PLATFORM:COUNT[:PREFIX] */
    char *name, *platform, *prefix;
    unsigned count;
};

struct options {
    enum { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION } what;
    const char *socket, *vault, *platforms; /* borrowed from argv */
    char *host;
    struct pool_option *pools;
    size_t pool_count, pool_capacity;
    uint64_t seed;
    int64_t filler_bytes;
    int64_t linger_us; /* 0: never */
};

extern const char options_usage[];

/* -EINVAL. Call options_done() in any case. */
int options_parse(int argc, char **argv, struct options *ret, struct diag *diag);
void options_done(struct options *options);

#endif
