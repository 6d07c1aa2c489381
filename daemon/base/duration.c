#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"

static const struct {
    char letter;
    int64_t us;
} units[] = { { 'd', DAY_US }, { 'h', HOUR_US }, { 'm', MINUTE_US }, { 's', SECOND_US } };

/* One or two digits below `limit`, at most `width` of them; returns what follows, or NULL. */
static const char *scan_field(const char *text, size_t width_min, int64_t limit, int64_t *ret)
{
    size_t width = strspn(text, "0123456789");

    if (width < width_min || width > 2)
        return NULL;
    *ret = 0;
    for (size_t i = 0; i < width; i++)
        *ret = *ret * 10 + (text[i] - '0');
    return *ret < limit ? text + width : NULL;
}

/* D-H, D-H:MM, D-H:MM:SS: what follows the dash */
static int parse_after_days(const char *text, int64_t *ret_us)
{
    int64_t hours, minutes = 0, seconds = 0;
    const char *p = scan_field(text, 1, 24, &hours);

    if (p && *p == ':')
        p = scan_field(p + 1, 2, 60, &minutes);
    if (p && *p == ':')
        p = scan_field(p + 1, 2, 60, &seconds);
    if (!p || *p)
        return -EINVAL;
    *ret_us = hours * HOUR_US + minutes * MINUTE_US + seconds * SECOND_US;
    return 0;
}

/* M:SS, H:MM:SS: what follows the first number, and the unit that makes of the first */
static int parse_after_first(const char *text, int64_t *ret_unit_us, int64_t *ret_us)
{
    int64_t second, third;
    const char *p = scan_field(text, 2, 60, &second);

    if (p && !*p) {
        *ret_unit_us = MINUTE_US;
        *ret_us = second * SECOND_US;
        return 0;
    }
    p = p && *p == ':' ? scan_field(p + 1, 2, 60, &third) : NULL;
    if (!p || *p)
        return -EINVAL;
    *ret_unit_us = HOUR_US;
    *ret_us = second * MINUTE_US + third * SECOND_US;
    return 0;
}

static int parse_clock(const char *text, const char *mark, int64_t *ret_us)
{
    owned(free) char *digits = text_copy_length(text, (size_t)(mark - text));
    int64_t unit_us = DAY_US, rest_us;
    uint64_t first;
    int r = *mark == '-' ? parse_after_days(mark + 1, &rest_us)
                         : parse_after_first(mark + 1, &unit_us, &rest_us);

    if (r == 0)
        r = number_parse_whole(digits, (uint64_t)(DURATION_MAX_US / unit_us), &first);
    if (r < 0)
        return r;
    *ret_us = (int64_t)first * unit_us + rest_us;
    return 0;
}

/* 1h30m: each unit once, from large to small */
static int parse_units(const char *text, int64_t *ret_us)
{
    int64_t sum = 0;
    size_t unit = 0;

    for (const char *p = text; *p; unit++) {
        struct number number;
        int64_t us;

        p = number_scan(p, 0, &number);
        if (!p)
            return -EINVAL;
        while (unit < ELEMENTS(units) && units[unit].letter != *p)
            unit++;
        if (unit == ELEMENTS(units))
            return -EINVAL;
        p++;
        int r = number_times(&number, (uint64_t)units[unit].us, NUMBER_EXACT, &us);
        if (r < 0)
            return r == -ERANGE ? r : -EINVAL;
        if (us > DURATION_MAX_US)
            return -ERANGE;
        sum += us;
    }
    *ret_us = sum;
    return 0;
}

/* ms, msec, milliseconds: their first letter would stand for what is much more. */
static bool is_smaller_unit(const char *word)
{
    return strncasecmp(word, "ms", 2) == 0 || strncasecmp(word, "mil", 3) == 0 ||
           strncasecmp(word, "mic", 3) == 0;
}

/* "10 minuts" means 10m: the number, then the first letter of the word. */
static int refuse(const char *text, struct diag *diag)
{
    size_t digits = strspn(text, "0123456789.");
    const char *word = text + digits + strspn(text + digits, " \t");
    char letter = (char)tolower((unsigned char)*word);

    if (digits && !text[digits])
        return diag_fail(diag, -EINVAL, "%s: a bare number is not a duration (%sm? %ss?)", text,
                         text, text);
    bool is_word = letter && strchr("dhms", letter) && isalpha((unsigned char)word[1]);

    if (digits && is_word && !is_smaller_unit(word))
        return diag_fail(diag, -EINVAL, "\"%s\" is not a duration (try %.*s%c)", text, (int)digits,
                         text, letter);
    if (strcmp(text, "unlimited") == 0)
        return diag_fail(diag, -EINVAL, "unlimited is not a duration (leave the key out)");
    return diag_fail(diag, -EINVAL,
                     "\"%s\" is not a duration: its units are d, h, m and s (like 90m, 1.5s, "
                     "1-00:00:00)",
                     text);
}

int duration_parse(const char *text, int64_t *ret_us, struct diag *diag)
{
    const char *mark = text + strspn(text, "0123456789");
    int64_t us = 0;
    int r = -EINVAL;

    if (text[0] == '-' && strspn(text + 1, "0123456789"))
        return diag_fail(diag, -ERANGE, "%s: a duration is more than 0", text);
    if (*mark == ':' || *mark == '-')
        r = parse_clock(text, mark, &us);
    else if (*text && *mark)
        r = parse_units(text, &us);
    else if (strcmp(text, "0") == 0)
        return diag_fail(diag, -ERANGE, "0: a duration is more than 0");

    if (r == -EINVAL)
        return refuse(text, diag);
    if (r < 0 || us > DURATION_MAX_US)
        return diag_fail(diag, -ERANGE, "%s: longer than 36500 days", text);
    if (us == 0)
        return diag_fail(diag, -ERANGE, "%s: a duration is more than 0", text);
    *ret_us = us;
    return 0;
}

/* Below a day, or with parts of a second: 1h30m, 1.5s */
static void format_units(uint64_t us, char *ret, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i + 1 < ELEMENTS(units); i++) {
        uint64_t unit_us = (uint64_t)units[i].us;
        if (us / unit_us)
            length += (size_t)snprintf(ret + length, size - length, "%" PRIu64 "%c", us / unit_us,
                                       units[i].letter);
        us %= unit_us;
    }
    if (!us && length)
        return;
    length += (size_t)snprintf(ret + length, size - length, "%" PRIu64 ".%06" PRIu64,
                               us / (uint64_t)SECOND_US, us % (uint64_t)SECOND_US);
    while (ret[length - 1] == '0')
        length--;
    if (ret[length - 1] == '.')
        length--;
    strcpy(ret + length, "s");
}

/* Whole seconds: 00:12:31, 1-00:00:00 */
static void format_clock(uint64_t s, char *ret, size_t size)
{
    int length = 0;

    if (s >= 86400)
        length = snprintf(ret, size, "%" PRIu64 "-", s / 86400);
    snprintf(ret + length, size - (size_t)length, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
             s / 3600 % 24, s / 60 % 60, s % 60);
}

/* The size of `us`; a minus sign goes before it in `ret`. */
static uint64_t format_sign(int64_t us, char **ret, size_t *size)
{
    if (us >= 0)
        return (uint64_t)us;
    *(*ret)++ = '-';
    --*size;
    return -(uint64_t)us;
}

void duration_format(int64_t us, char ret[static DURATION_TEXT_SIZE])
{
    size_t size = DURATION_TEXT_SIZE;
    uint64_t length_us = format_sign(us, &ret, &size);

    if (length_us >= (uint64_t)DAY_US && us % SECOND_US == 0)
        format_clock(length_us / (uint64_t)SECOND_US, ret, size);
    else
        format_units(length_us, ret, size);
}

void duration_format_clock(int64_t us, char ret[static DURATION_TEXT_SIZE])
{
    size_t size = DURATION_TEXT_SIZE;
    uint64_t length_us = format_sign(us, &ret, &size);

    format_clock(length_us / (uint64_t)SECOND_US, ret, size);
}
