/* options — the command line of waferd. */
#ifndef WAFERD_OPTIONS_H
#define WAFERD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define OPTIONS_POOLS_MAX 16

enum options_action {
    OPTIONS_RUN,
    OPTIONS_CHECK_CONFIG,
    OPTIONS_HELP,
    OPTIONS_VERSION,
};

struct options_pool { /* --pool [NAME=]PLATFORM[:COUNT] */
    char name[64], platform[64];
    uint32_t count;
};

struct options {
    enum options_action action;
    const char *config_path;                      /* NULL: the default; borrowed from argv */
    const char *dev_dir;                          /* --dev; borrowed */
    struct options_pool pools[OPTIONS_POOLS_MAX]; /* --dev: at least one */
    size_t pool_count;
    uint32_t speed;
    uint64_t seed;
};

/* -EINVAL  a usage error */
int options_parse(int argc, char *const *argv, struct options *ret, struct diag *diag);

extern const char options_help[];

#endif
