#include "engine/trainer_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Civil date of a day since 1970 (Hinnant's algorithm, eras of 400 years that begin in March). */
static void date_of_day(int64_t day, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    int64_t shifted = day + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    unsigned of_era = (unsigned)(shifted - era * 146097);
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
    unsigned march = (5 * of_year + 2) / 153;

    *ret_day = of_year - (153 * march + 2) / 5 + 1;
    *ret_month = march < 10 ? march + 3 : march - 9;
    *ret_year = (int64_t)year + era * 400 + (*ret_month <= 2);
}

static void add_time(struct buffer *buffer, int64_t now_us)
{
    int64_t day_us = 86400ll * 1000000, day = now_us / day_us, rest = now_us % day_us, year;
    unsigned month, of_month;

    if (rest < 0) {
        rest += day_us;
        day--;
    }
    date_of_day(day, &year, &month, &of_month);
    unsigned ms = (unsigned)(rest / 1000), s = ms / 1000;
    buffer_format(buffer, "%04lld-%02u-%02uT%02u:%02u:%02u.%03uZ INFO ", (long long)year, month,
                  of_month, s / 3600, s / 60 % 60, s % 60, ms % 1000);
}

void trainer_log_line(struct trainer_log *log, int64_t now_us, const char *format, ...)
{
    va_list arguments;

    add_time(&log->text, now_us);
    va_start(arguments, format);
    char *words = text_vformat(format, arguments);
    va_end(arguments);
    for (char *p = words; *p; p++) /* a line is one line, whatever a name or an error holds */
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    buffer_append_text(&log->text, words);
    buffer_append_text(&log->text, "\n");
    free(words);
}

size_t trainer_log_chunk(const char *text, size_t length, size_t limit)
{
    if (length <= limit)
        return length;
    const char *end = memrchr(text, '\n', limit);
    if (!end)
        end = memchr(text, '\n', length);
    return end ? (size_t)(end - text) + 1 : length;
}
