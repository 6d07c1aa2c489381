#include "cli/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/memory.h"

#define UINT64_DIGITS 20

/* Without printf: a long list has ten thousands of them. */
struct unit_text units_digits(uint64_t count)
{
    struct unit_text ret;
    char digits[UINT64_DIGITS], *first = digits + sizeof(digits);

    do
        *--first = (char)('0' + count % 10);
    while (count /= 10);
    size_t length = (size_t)(digits + sizeof(digits) - first);
    memcpy(ret.text, first, length);
    ret.text[length] = '\0';
    return ret;
}

struct unit_text units_count(uint64_t count)
{
    static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
    struct unit_text ret;
    uint64_t whole = count, tenths = 0;
    unsigned unit = 0;

    while (whole >= 1000) {
        tenths = whole / 100 % 10;
        whole /= 1000;
        unit++;
    }
    ret = units_digits(whole);
    char *end = ret.text + strlen(ret.text);
    if (tenths && whole < 10) {
        *end++ = '.';
        *end++ = (char)('0' + tenths);
    }
    strcpy(end, units[unit]);
    return ret;
}

struct unit_text units_grouped(uint64_t count)
{
    struct unit_text ret;
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            ret.text[used++] = ',';
        ret.text[used++] = digits[i];
    }
    ret.text[used] = '\0';
    return ret;
}

struct unit_text units_seconds(int64_t seconds)
{
    struct unit_text ret;
    int64_t most = DURATION_MAX_US / SECOND_US;

    _Static_assert(sizeof(ret.text) >= DURATION_TEXT_SIZE, "a duration fits");
    duration_format_clock((seconds > most ? most
                           : seconds < 0  ? 0
                                          : seconds) *
                              SECOND_US,
                          ret.text);
    return ret;
}

struct unit_text units_ago(int64_t seconds)
{
    static const struct {
        int64_t seconds;
        char letter;
    } units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    struct unit_text ret;
    size_t unit = 0;

    if (seconds < 0)
        seconds = 0;
    while (unit < ELEMENTS(units) - 1 && seconds < units[unit].seconds)
        unit++;
    snprintf(ret.text, sizeof(ret.text), "%" PRId64 "%c", seconds / units[unit].seconds,
             units[unit].letter);
    return ret;
}

struct unit_text units_bytes(int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    struct unit_text ret;
    double value = (double)bytes;
    unsigned unit = 0;

    while (value >= 1024 && unit < ELEMENTS(units) - 1) {
        value /= 1024;
        unit++;
    }
    snprintf(ret.text, sizeof(ret.text), "%.*f %s", unit ? 1 : 0, value, units[unit]);
    return ret;
}

struct unit_text units_decimal(int64_t micro, unsigned digits)
{
    struct unit_text ret;

    snprintf(ret.text, sizeof(ret.text), "%.*f", (int)digits, (double)micro / 1e6);
    return ret;
}

struct unit_text units_time(int64_t us, bool utc)
{
    struct unit_text ret;
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;

    if (utc ? !gmtime_r(&seconds, &tm) : !localtime_r(&seconds, &tm)) {
        snprintf(ret.text, sizeof(ret.text), "%" PRId64 " us", us);
        return ret;
    }
    strftime(ret.text, sizeof(ret.text), utc ? "%Y-%m-%d %H:%M:%SZ" : "%Y-%m-%d %H:%M:%S%z", &tm);
    size_t length = strlen(ret.text);
    if (!utc && length >= 5 && length + 1 < sizeof(ret.text)) { /* +0100 to +01:00 */
        memmove(ret.text + length - 1, ret.text + length - 2, 3);
        ret.text[length - 2] = ':';
    }
    return ret;
}
