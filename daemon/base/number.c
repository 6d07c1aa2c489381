#include "base/number.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define DIGITS_MAX   UINT64_C(1000000000000000000) /* ten times this fits */
#define EXPONENT_MAX 99

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One more digit at the end. What does not fit any more is only noted: before the point it makes a
 * number that is too large for any unit, behind it one that is too fine. */
static void push_digit(struct number *number, char digit, bool behind_point)
{
    if (number->digits < DIGITS_MAX) {
        number->digits = number->digits * 10 + (uint64_t)(digit - '0');
        number->exponent -= behind_point;
    } else {
        number->cut |= digit != '0';
        number->exponent += !behind_point;
    }
}

static const char *scan_exponent(const char *text, struct number *number)
{
    bool negative = text[1] == '-';
    const char *p = text + 1 + (text[1] == '-' || text[1] == '+');
    int exponent = 0;

    if (!is_digit(*p))
        return NULL;
    for (; is_digit(*p); p++) {
        exponent = exponent * 10 + (*p - '0');
        if (exponent > EXPONENT_MAX)
            return NULL;
    }
    number->exponent += negative ? -exponent : exponent;
    return p;
}

const char *number_scan(const char *text, unsigned flags, struct number *ret)
{
    struct number number = { 0 };
    const char *p = text;

    if (!is_digit(*p) || (p[0] == '0' && is_digit(p[1])))
        return NULL;
    for (; is_digit(*p); p++)
        push_digit(&number, *p, false);
    if (*p == '.') {
        if (!is_digit(*++p))
            return NULL;
        for (; is_digit(*p); p++)
            push_digit(&number, *p, true);
    }
    if ((flags & NUMBER_EXPONENT) && (*p == 'e' || *p == 'E')) {
        p = scan_exponent(p, &number);
        if (!p)
            return NULL;
    }
    *ret = number;
    return p;
}

int number_times(const struct number *number, uint64_t unit, enum number_rounding rounding,
                 int64_t *ret)
{
    unsigned __int128 value = (unsigned __int128)number->digits * unit;
    bool rest = number->cut;

    for (int i = 0; i < number->exponent && value; i++) {
        value *= 10;
        if (value > INT64_MAX)
            return -ERANGE;
    }
    for (int i = 0; i > number->exponent; i--) {
        rest |= value % 10 != 0;
        value /= 10;
    }
    if (rest && rounding == NUMBER_EXACT)
        return -EDOM;
    value += rest;
    if (value > INT64_MAX)
        return -ERANGE;
    *ret = (int64_t)value;
    return 0;
}

int number_parse_whole(const char *text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;

    if (!is_digit(text[0]) || (text[0] == '0' && text[1]))
        return -EINVAL;
    if (text[strspn(text, "0123456789")])
        return -EINVAL;
    for (const char *p = text; *p; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return -ERANGE;
    if (value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}
