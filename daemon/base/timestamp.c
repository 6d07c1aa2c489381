#include "base/timestamp.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/date.h"

#define SECOND_US INT64_C(1000000)

/* Exactly `width` digits, then `after` (0: nothing is asked); returns what follows, or NULL. */
static const char *scan(const char *text, size_t width, const char *after, int64_t *ret)
{
    if (!text || strspn(text, "0123456789") < width)
        return NULL;
    *ret = 0;
    for (size_t i = 0; i < width; i++)
        *ret = *ret * 10 + (text[i] - '0');
    text += width;
    if (!after)
        return text;
    return *text && strchr(after, *text) ? text + 1 : NULL;
}

static const char *scan_fraction(const char *text, int64_t *ret_us)
{
    size_t digits;
    int64_t us = 0;

    *ret_us = 0;
    if (!text || *text != '.')
        return text;
    digits = strspn(++text, "0123456789");
    if (digits == 0 || digits > 6)
        return NULL;
    for (size_t i = 0; i < 6; i++)
        us = us * 10 + (i < digits ? text[i] - '0' : 0);
    *ret_us = us;
    return text + digits;
}

static const char *scan_offset(const char *text, int64_t *ret_s)
{
    int64_t hours, minutes;

    if (text && (*text == 'Z' || *text == 'z')) {
        *ret_s = 0;
        return text + 1;
    }
    if (!text || (*text != '+' && *text != '-'))
        return NULL;
    const char *rest = scan(scan(text + 1, 2, ":", &hours), 2, NULL, &minutes);
    if (!rest || hours > 23 || minutes > 59)
        return NULL;
    *ret_s = (hours * 3600 + minutes * 60) * (*text == '-' ? -1 : 1);
    return rest;
}

static int refuse(const char *text, const char *after_minutes, struct diag *diag)
{
    const char *space = strchr(text, ' ');

    if (after_minutes && space && isalpha((unsigned char)space[1]))
        return diag_fail(diag, -EINVAL,
                         "\"%s\": a named zone is not read here; write the offset, "
                         "like 2026-02-01T08:00:00+01:00",
                         text);
    if (after_minutes && !strpbrk(after_minutes, "Zz+-"))
        return diag_fail(diag, -EINVAL, "\"%s\" has no offset from UTC (end it in Z or +01:00)",
                         text);
    return diag_fail(diag, -EINVAL, "\"%s\" is not a time (like 2026-02-01T08:00:00+01:00)", text);
}

int timestamp_parse(const char *text, int64_t *ret_us, struct diag *diag)
{
    int64_t year, month, day, hour, minute, second = 0, fraction_us = 0, offset_s;
    const char *p = scan(scan(scan(text, 4, "-", &year), 2, "-", &month), 2, "Tt", &day);

    p = scan(scan(p, 2, ":", &hour), 2, NULL, &minute);
    const char *after_minutes = p;
    if (p && *p == ':')
        p = scan_fraction(scan(p + 1, 2, NULL, &second), &fraction_us);
    p = scan_offset(p, &offset_s);
    if (!p || *p)
        return refuse(text, after_minutes, diag);
    if (!date_is_valid(year, month, day) || hour > 23 || minute > 59 || second > 59)
        return diag_fail(diag, -EINVAL, "\"%s\" is no date and time of the calendar", text);
    int64_t s = date_to_days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    *ret_us = (s - offset_s) * SECOND_US + fraction_us;
    return 0;
}

int timestamp_parse_local(const char *text, int64_t *ret_s, struct diag *diag)
{
    int64_t year, month, day, hour, minute, second = 0;
    const char *p = scan(scan(scan(text, 4, "-", &year), 2, "-", &month), 2, "Tt ", &day);

    p = scan(scan(p, 2, ":", &hour), 2, NULL, &minute);
    if (p && *p == ':')
        p = scan(p + 1, 2, NULL, &second);
    if (!p || *p)
        return diag_fail(diag, -EINVAL, "\"%s\" is no time of a clock on the wall (like %s)", text,
                         "2026-02-01T08:00");
    if (!date_is_valid(year, month, day) || hour > 23 || minute > 59 || second > 59)
        return diag_fail(diag, -EINVAL, "\"%s\" is no date and time of the calendar", text);
    *ret_s = date_to_days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    return 0;
}

void timestamp_format(int64_t us, char ret[static TIMESTAMP_TEXT_SIZE])
{
    int64_t year, month, day;
    int64_t fraction_us = (us % SECOND_US + SECOND_US) % SECOND_US;
    int64_t s = us / SECOND_US - (us % SECOND_US < 0);
    int64_t second_of_day = (s % DAY_S + DAY_S) % DAY_S;

    date_of_days((s - second_of_day) / DAY_S, &year, &month, &day);
    int length = snprintf(
        ret, TIMESTAMP_TEXT_SIZE,
        "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64, year,
        month, day, second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    if (fraction_us) {
        length += snprintf(ret + length, TIMESTAMP_TEXT_SIZE - (size_t)length, ".%06" PRId64,
                           fraction_us);
        while (ret[length - 1] == '0')
            length--;
    }
    strcpy(ret + length, "Z");
}
