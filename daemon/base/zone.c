#include "base/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/memory.h"

#define HEADER_BYTES 44
#define HOUR_S       3600

/* A day of each year, and a time of it, at which clocks are changed. */
struct change {
    char form; /* 'M': weekday `day` of week `week` (5: the last) of `month`; 'J': day of the year
                * from 1 without 29 February; 'D': day of the year from 0 */
    int64_t month, week, day;
    int64_t time_s;
};

/* The footer: TZ as POSIX has it. */
struct rule {
    int64_t standard_s, summer_s; /* ahead of UTC */
    bool has_summer;
    struct change begins, ends; /* of summer time */
};

struct transition {
    int64_t utc_s;
    int32_t offset_s; /* from then on */
};

struct zone {
    int32_t first_s; /* before the first transition */
    struct transition *transitions;
    size_t count;
    bool has_rule;
    struct rule rule;
};

struct zone *zone_free(struct zone *zone)
{
    if (zone)
        free(zone->transitions);
    free(zone);
    return NULL;
}

/* ---- the footer ---- */

static const char *scan_name(const char *p)
{
    const char *from = p;

    if (!p)
        return NULL;
    if (*p == '<') {
        p = strchr(p, '>');
        return p ? p + 1 : NULL;
    }
    while (isalpha((unsigned char)*p))
        p++;
    return p - from >= 3 ? p : NULL;
}

static const char *scan_number(const char *p, int64_t most, int64_t *ret)
{
    if (!p || !isdigit((unsigned char)*p))
        return NULL;
    for (*ret = 0; isdigit((unsigned char)*p) && *ret <= most; p++)
        *ret = *ret * 10 + (*p - '0');
    return *ret <= most ? p : NULL;
}

/* [+-]HHH[:MM[:SS]] */
static const char *scan_time(const char *p, int64_t *ret_s)
{
    int64_t sign = p && *p == '-' ? -1 : 1, hours, minutes = 0, seconds = 0;

    if (p && (*p == '-' || *p == '+'))
        p++;
    p = scan_number(p, 167, &hours);
    if (p && *p == ':')
        p = scan_number(p + 1, 59, &minutes);
    if (p && *p == ':')
        p = scan_number(p + 1, 59, &seconds);
    if (p)
        *ret_s = sign * (hours * HOUR_S + minutes * 60 + seconds);
    return p;
}

static const char *scan_change(const char *p, struct change *ret)
{
    *ret = (struct change){ .form = 'D', .time_s = 2 * HOUR_S };
    if (!p || *p++ != ',')
        return NULL;
    if (*p == 'M') {
        ret->form = 'M';
        p = scan_number(p + 1, 12, &ret->month);
        p = p && *p == '.' ? scan_number(p + 1, 5, &ret->week) : NULL;
        p = p && *p == '.' ? scan_number(p + 1, 6, &ret->day) : NULL;
        if (!ret->month || !ret->week)
            return NULL;
    } else if (*p == 'J') {
        ret->form = 'J';
        p = scan_number(p + 1, 365, &ret->day);
    } else {
        p = scan_number(p, 365, &ret->day);
    }
    return p && *p == '/' ? scan_time(p + 1, &ret->time_s) : p;
}

/* False: it is no rule. */
static bool scan_rule(const char *p, struct rule *ret)
{
    int64_t west_s;

    *ret = (struct rule){ .has_summer = false };
    p = scan_time(scan_name(p), &west_s);
    if (!p)
        return false;
    ret->standard_s = -west_s;
    if (!*p)
        return true;
    ret->has_summer = true;
    ret->summer_s = ret->standard_s + HOUR_S;
    p = scan_name(p);
    if (p && *p && *p != ',') {
        p = scan_time(p, &west_s);
        ret->summer_s = -west_s;
    }
    p = scan_change(scan_change(p, &ret->begins), &ret->ends);
    return p && !*p;
}

/* ---- the file ---- */

static int64_t read_number(const uint8_t *bytes, size_t width)
{
    uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < width; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

/* What a header says of the block that follows it. */
struct block {
    uint64_t utc_flags, standard_flags, leaps, times, types, characters;
};

static uint64_t block_bytes(const struct block *block, uint64_t time_bytes)
{
    return block->times * (time_bytes + 1) + block->types * 6 + block->characters +
           block->leaps * (time_bytes + 4) + block->standard_flags + block->utc_flags;
}

static bool read_header(const uint8_t *bytes, size_t length, struct block *ret)
{
    uint64_t *counts[] = { &ret->utc_flags, &ret->standard_flags, &ret->leaps,
                           &ret->times,     &ret->types,          &ret->characters };

    if (length < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0 || bytes[4] < '2')
        return false;
    for (size_t i = 0; i < ELEMENTS(counts); i++)
        *counts[i] = (uint32_t)read_number(bytes + 20 + 4 * i, 4);
    return true;
}

static bool read_transitions(const uint8_t *bytes, const struct block *block, struct zone *zone)
{
    const uint8_t *which = bytes + block->times * 8, *types = which + block->times;

    zone->first_s = (int32_t)read_number(types, 4);
    zone->count = block->times;
    zone->transitions = memory_new(zone->count * sizeof(*zone->transitions) + 1);
    for (size_t i = 0; i < zone->count; i++) {
        struct transition *transition = &zone->transitions[i];
        if (which[i] >= block->types)
            return false;
        transition->utc_s = read_number(bytes + 8 * i, 8);
        transition->offset_s = (int32_t)read_number(types + 6 * which[i], 4);
        if (i && transition->utc_s <= transition[-1].utc_s)
            return false;
    }
    return true;
}

static bool read_footer(const uint8_t *bytes, size_t length, struct zone *zone)
{
    if (length < 2 || bytes[0] != '\n')
        return false;
    const uint8_t *end = memchr(bytes + 1, '\n', length - 1);
    if (!end)
        return false;
    owned(free) char *text = text_copy_length((const char *)bytes + 1, (size_t)(end - bytes - 1));
    zone->has_rule = *text;
    return !*text || scan_rule(text, &zone->rule);
}

int zone_parse(const void *bytes, size_t length, struct zone **ret, struct diag *diag)
{
    owned(zone_free) struct zone *zone = NEW(struct zone);
    const uint8_t *at = bytes;
    struct block block;

    /* The first block is for readers that know of 32 bits only. */
    if (!read_header(at, length, &block) || block_bytes(&block, 4) > length - HEADER_BYTES)
        return diag_fail(diag, -EINVAL, "it is no TZif file of version 2 or later");
    uint64_t skipped = HEADER_BYTES + block_bytes(&block, 4);
    at += skipped;
    length -= skipped;
    if (!read_header(at, length, &block) || !block.types ||
        block_bytes(&block, 8) > length - HEADER_BYTES)
        return diag_fail(diag, -EINVAL, "it ends too early, or has no types");
    at += HEADER_BYTES;
    length -= HEADER_BYTES;
    if (!read_transitions(at, &block, zone) ||
        !read_footer(at + block_bytes(&block, 8), length - block_bytes(&block, 8), zone))
        return diag_fail(diag, -EINVAL, "its transitions or its footer make no sense");
    *ret = TAKE(zone);
    return 0;
}

/* ---- questions ---- */

/* When the change is in that year, as clocks show it before. */
static int64_t change_local_s(const struct change *change, int64_t year)
{
    int64_t first = date_to_days(year, 1, 1), day = first + change->day;

    if (change->form == 'J') {
        bool is_leap = date_month_days(year, 2) == 29;
        day = first + change->day - 1 + (is_leap && change->day >= 60);
    } else if (change->form == 'M') {
        int64_t of_month = date_to_days(year, change->month, 1);
        int64_t weekday = (change->day + 6) % 7; /* the rule counts from Sunday */
        day = of_month + (weekday - date_weekday(of_month) + 7) % 7 + 7 * (change->week - 1);
        if (day >= of_month + date_month_days(year, change->month))
            day -= 7;
    }
    return day * DAY_S + change->time_s;
}

static int64_t rule_offset_s(const struct rule *rule, int64_t utc_s)
{
    int64_t year, month, day;

    if (!rule->has_summer)
        return rule->standard_s;
    int64_t local_s = utc_s + rule->standard_s;
    date_of_days((local_s - (local_s % DAY_S + DAY_S) % DAY_S) / DAY_S, &year, &month, &day);
    int64_t begins_s = change_local_s(&rule->begins, year) - rule->standard_s;
    int64_t ends_s = change_local_s(&rule->ends, year) - rule->summer_s;
    bool is_summer = begins_s < ends_s ? utc_s >= begins_s && utc_s < ends_s
                                       : utc_s >= begins_s || utc_s < ends_s; /* in the south */
    return is_summer ? rule->summer_s : rule->standard_s;
}

int64_t zone_offset_s(const struct zone *zone, int64_t utc_s)
{
    size_t low = 0, high = zone->count; /* transitions that have been: [0, low) */

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (zone->transitions[middle].utc_s <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->count && zone->has_rule)
        return rule_offset_s(&zone->rule, utc_s);
    return low ? zone->transitions[low - 1].offset_s : zone->first_s;
}

/* Clocks are changed once in these two days at most. */
int64_t zone_utc_s(const struct zone *zone, int64_t local_s)
{
    int64_t before_s = local_s - zone_offset_s(zone, local_s - DAY_S);
    int64_t after_s = local_s - zone_offset_s(zone, local_s + DAY_S);

    if (zone_offset_s(zone, before_s) == local_s - before_s)
        return before_s; /* shown twice: with the offset before the change it is the first */
    if (zone_offset_s(zone, after_s) == local_s - after_s)
        return after_s;
    /* Never shown: the change is between the two. */
    int64_t low = after_s, high = before_s, offset_s = zone_offset_s(zone, after_s);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (zone_offset_s(zone, middle) == offset_s)
            low = middle;
        else
            high = middle;
    }
    return high;
}
