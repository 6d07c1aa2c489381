/* holders — who holds how many systems, by the records alone: what quotas must keep. */
#ifndef WAFERD_TESTS_CORE_HOLDERS_H
#define WAFERD_TESTS_CORE_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/quotas.h"
#include "record.pb-c.h"

struct holder;

struct holders {
    struct holder *items; /* by the number of the job */
    size_t count;
};

void holders_done(struct holders *holders);
/* NULL, or whose quota a grant exceeds. */
const char *holders_add(struct holders *holders, const Wafer__Record *record,
                        const struct quota_rules *rules);

#endif
