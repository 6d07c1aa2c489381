#include "base/number.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define DIGITS_MAX   18
#define EXPONENT_MAX 99

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Take one more digit; false when there are more than can be kept. */
static bool push_digit(struct number *number, char digit, unsigned *count)
{
    if (number->digits == 0 && digit == '0')
        return true;
    number->digits = number->digits * 10 + (uint64_t)(digit - '0');
    return ++*count <= DIGITS_MAX;
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
    unsigned count = 0;
    const char *p = text;

    if (!is_digit(*p) || (p[0] == '0' && is_digit(p[1])))
        return NULL;
    for (; is_digit(*p); p++)
        if (!push_digit(&number, *p, &count))
            return NULL;
    if (*p == '.') {
        if (!is_digit(*++p))
            return NULL;
        for (; is_digit(*p); p++) {
            /* A zero at the end says nothing and costs no digit. */
            if (p[strspn(p, "0")] == '\0' || !is_digit(p[strspn(p, "0")])) {
                p += strspn(p, "0");
                break;
            }
            if (!push_digit(&number, *p, &count) || --number.exponent < -EXPONENT_MAX)
                return NULL;
        }
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
    bool rest = false;

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
