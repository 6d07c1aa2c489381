/* zone — what clocks on the wall show in one time zone.
 *
 * Read from the bytes of a TZif file (RFC 9636), version 2 or later; beyond its last transition the
 * rule in its footer holds. The caller reads the file: the C library knows one zone at a time, that
 * of the process.
 *
 * Units   seconds since 1970 UTC (`utc_s`), and seconds since a clock there showed
 *         1970-01-01T00:00 (`local_s`)
 * Errors  a negative errno with the reason in `diag` */
#ifndef WAFERD_BASE_ZONE_H
#define WAFERD_BASE_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/diag.h"

struct zone;

/* -EINVAL  the bytes are no such file */
int zone_parse(const void *bytes, size_t length, struct zone **ret, struct diag *diag);
struct zone *zone_free(struct zone *zone); /* always NULL */
OWNED_DEFINE(zone_free, struct zone *);

/* How far clocks there are ahead of UTC then. */
int64_t zone_offset_s(const struct zone *zone, int64_t utc_s);

/* When clocks there show that. A time that they show twice, because they were put back: the first.
 * One that they never show, because they were put forward: when they were. */
int64_t zone_utc_s(const struct zone *zone, int64_t local_s);

#endif
