#include "engine/lease.h"

#include "base/later.h"

int64_t lease_stamp(struct lease *lease, int64_t now_us)
{
    if (now_us > lease->sent_us)
        lease->sent_us = now_us;
    return now_us;
}

void lease_grant(struct lease *lease, int64_t span_us)
{
    lease->span_us = span_us > 0 ? span_us : 0;
}

void lease_renew(struct lease *lease, const int64_t *echo_us, int64_t now_us)
{
    int64_t from_us = echo_us ? *echo_us : now_us;

    if (from_us < lease->from_us || (echo_us && from_us > lease->sent_us))
        return;
    lease->from_us = from_us;
    lease->runs = true;
}

void lease_end(struct lease *lease)
{
    lease->runs = false;
}

int64_t lease_due_us(const struct lease *lease)
{
    if (!lease->runs)
        return INT64_MAX;
    return later_us(lease->from_us, lease->span_us);
}
