#include "base/decimal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define MICRO 1000000

int decimal_parse(const char *text, int64_t *ret_micro, struct diag *diag)
{
    struct number number;
    int64_t micro;
    const char *rest = number_scan(text + (text[0] == '-'), NUMBER_EXPONENT, &number);

    if (!rest || *rest)
        return diag_fail(diag, -EINVAL, "\"%s\" is not a number (like 2.30)", text);
    int r = number_times(&number, MICRO, NUMBER_EXACT, &micro);
    if (r < 0)
        return diag_fail(diag, -ERANGE, "%s: %s", text,
                         r == -EDOM ? "more than six decimals" : "too large");
    *ret_micro = text[0] == '-' ? -micro : micro;
    return 0;
}

/* At least `decimals` digits after the point, the further ones only where they are not 0. */
static int format_micro(int64_t micro, int decimals, char *ret, size_t size)
{
    uint64_t value = micro < 0 ? -(uint64_t)micro : (uint64_t)micro;
    int length = snprintf(ret, size, "%s%" PRIu64 ".%06" PRIu64, micro < 0 ? "-" : "",
                          value / MICRO, value % MICRO);
    int least = length - 6 + decimals;

    while (length > least && ret[length - 1] == '0')
        length--;
    if (ret[length - 1] == '.')
        length--;
    ret[length] = '\0';
    return length;
}

void decimal_format(int64_t micro, char ret[static DECIMAL_TEXT_SIZE])
{
    format_micro(micro, 0, ret, DECIMAL_TEXT_SIZE);
}

int count_parse(const char *text, uint64_t *ret, struct diag *diag)
{
    struct number number;
    int64_t value;
    const char *rest = number_scan(text, NUMBER_EXPONENT, &number);

    if (!rest || *rest)
        return diag_fail(diag, -EINVAL, "\"%s\" is not a count (like 24334 or 26.3e9)", text);
    int r = number_times(&number, 1, NUMBER_EXACT, &value);
    if (r < 0)
        return diag_fail(diag, -ERANGE, "%s: %s", text,
                         r == -EDOM ? "not a whole number" : "too large");
    *ret = (uint64_t)value;
    return 0;
}

void count_format(uint64_t count, char ret[static DECIMAL_TEXT_SIZE])
{
    snprintf(ret, DECIMAL_TEXT_SIZE, "%" PRIu64, count);
}

int money_parse(const char *text, int64_t *ret_micro, char ret_currency[static CURRENCY_TEXT_SIZE],
                struct diag *diag)
{
    struct number number;
    int64_t micro;
    const char *rest = number_scan(text, 0, &number);

    if (!rest || rest[0] != ' ' || strspn(rest + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3 || rest[4])
        return diag_fail(diag, -EINVAL, "\"%s\" is not an amount of money (like 900.00 EUR)", text);
    int r = number_times(&number, MICRO, NUMBER_EXACT, &micro);
    if (r < 0)
        return diag_fail(diag, -ERANGE, "%s: %s", text,
                         r == -EDOM ? "more than six decimals" : "too large");
    *ret_micro = micro;
    memcpy(ret_currency, rest + 1, CURRENCY_TEXT_SIZE);
    return 0;
}

void money_format(int64_t micro, const char *currency, char ret[static MONEY_TEXT_SIZE])
{
    int length = format_micro(micro, 2, ret, DECIMAL_TEXT_SIZE);

    snprintf(ret + length, MONEY_TEXT_SIZE - (size_t)length, " %.3s", currency);
}
