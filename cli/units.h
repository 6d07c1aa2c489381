/* units — numbers as people read them. Each answer is a value, so that calls nest in a format. */
#ifndef WAFERD_CLI_UNITS_H
#define WAFERD_CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

struct unit_text {
    char text[40];
};

struct unit_text units_digits(uint64_t count);   /* 1234567 */
struct unit_text units_count(uint64_t count);    /* 999, 3k, 3.1k, 41k, 1.2M: never rounded up */
struct unit_text units_grouped(uint64_t count);  /* 1,234,567 */
struct unit_text units_seconds(int64_t seconds); /* 09:51:07, 1-00:00:00 */
struct unit_text units_ago(int64_t seconds);     /* 5s, 2m, 3h, 4d */
struct unit_text units_bytes(int64_t bytes);     /* 27.0 GiB */
struct unit_text units_decimal(int64_t micro, unsigned digits); /* 2.4123 */
struct unit_text units_time(int64_t us, bool utc); /* 2026-01-15 10:00:00+01:00, ...Z */

#endif
