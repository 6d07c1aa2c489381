#include "replay/axis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define MINUTE_S INT64_C(60)
#define HOUR_S   (60 * MINUTE_S)
#define DAY_S    (24 * HOUR_S)

int64_t axis_count_step(int64_t length, unsigned most)
{
    static const int64_t steps[] = { 1, 2, 5 };

    for (int64_t power = 1;; power *= 10)
        for (size_t i = 0; i < ELEMENTS(steps); i++)
            if (length / (steps[i] * power) <= most || power > INT64_MAX / 100)
                return steps[i] * power;
}

int64_t axis_count_top(int64_t length, unsigned most)
{
    int64_t step = axis_count_step(length, most);

    return length > step ? (length + step - 1) / step * step : step;
}

int64_t axis_time_step_s(int64_t length_s, unsigned most)
{
    static const int64_t steps_s[] = {
        1,   2,    5,    10,     20,         30,         MINUTE_S,   120,         300,
        600, 1200, 1800, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S,
    };

    for (size_t i = 0; i < ELEMENTS(steps_s); i++)
        if (length_s / steps_s[i] <= most)
            return steps_s[i];
    return axis_count_step(length_s / DAY_S, most) * DAY_S;
}

void axis_count_format(int64_t count, char ret[static AXIS_TEXT_SIZE])
{
    char digits[AXIS_TEXT_SIZE];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count);
    char *out = ret;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
}

void axis_time_format(int64_t time_s, int64_t step_s, char ret[static AXIS_TEXT_SIZE])
{
    static const struct {
        int64_t unit_s;
        const char *name;
    } units[] = { { DAY_S, "d" }, { HOUR_S, "h" }, { MINUTE_S, "min" }, { 1, "s" } };
    size_t i = 0;

    while (i + 1 < ELEMENTS(units) && step_s < units[i].unit_s)
        i++;
    axis_count_format(time_s / units[i].unit_s, ret);
    if (time_s != 0)
        snprintf(ret + strlen(ret), AXIS_TEXT_SIZE - strlen(ret), " %s", units[i].name);
}

static const int64_t wait_marks_s[] = {
    0,           MINUTE_S,     10 * MINUTE_S, HOUR_S,
    6 * HOUR_S,  DAY_S,        7 * DAY_S,     30 * DAY_S,
    365 * DAY_S, 3650 * DAY_S, 36500 * DAY_S, INT64_C(15000000000) * DAY_S, /* above SPAN_MAX_S */
};

int64_t axis_wait_mark_s(unsigned mark)
{
    return wait_marks_s[mark];
}

unsigned axis_wait_marks(int64_t most_s)
{
    unsigned mark = 1;

    while (mark + 1 < ELEMENTS(wait_marks_s) && wait_marks_s[mark] < most_s)
        mark++;
    return mark;
}

double axis_wait_position(double wait_s)
{
    unsigned mark = 1;

    while (mark + 1 < ELEMENTS(wait_marks_s) && (double)wait_marks_s[mark] < wait_s)
        mark++;
    double below_s = (double)wait_marks_s[mark - 1], above_s = (double)wait_marks_s[mark];
    return mark - 1 + (wait_s - below_s) / (above_s - below_s);
}

void axis_wait_format(unsigned mark, char ret[static AXIS_TEXT_SIZE])
{
    axis_time_format(wait_marks_s[mark], wait_marks_s[mark], ret);
}
