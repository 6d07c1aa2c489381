/* timestamp — points in time: RFC 3339 with an offset, microseconds since 1970 UTC. Seconds may be
 * left out, as ISO 8601 lets one. */
#ifndef WAFERD_BASE_TIMESTAMP_H
#define WAFERD_BASE_TIMESTAMP_H

#include <stdint.h>

#include "base/diag.h"

#define TIMESTAMP_TEXT_SIZE 48

/* 2026-02-01T08:00:00+01:00, at most six decimals of a second. A local time with the name of a zone
 * is refused: what it means depends on files that may differ between two machines. -EINVAL */
int timestamp_parse(const char *text, int64_t *ret_us, struct diag *diag);

/* 2026-02-01T08:00 or 2026-02-01 08:00:00, as a clock on the wall shows it: seconds since it showed
 * 1970-01-01T00:00. zone_utc_s() says when that is. -EINVAL */
int timestamp_parse_local(const char *text, int64_t *ret_s, struct diag *diag);

/* In UTC: 2026-02-01T07:00:00Z, with decimals only where there are any. */
void timestamp_format(int64_t us, char ret[static TIMESTAMP_TEXT_SIZE]);

#endif
