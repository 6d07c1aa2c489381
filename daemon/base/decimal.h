/* decimal — numbers in millionths, counts, and money: exact, never a float. */
#ifndef WAFERD_BASE_DECIMAL_H
#define WAFERD_BASE_DECIMAL_H

#include <stdint.h>

#include "base/diag.h"

#define DECIMAL_TEXT_SIZE  24
#define CURRENCY_TEXT_SIZE 4
#define MONEY_TEXT_SIZE    (DECIMAL_TEXT_SIZE + CURRENCY_TEXT_SIZE)

/* 2.30, -0.5, 1.3e-3. -EINVAL; -ERANGE: finer than a millionth, or beyond int64 millionths */
int decimal_parse(const char *text, int64_t *ret_micro, struct diag *diag);
void decimal_format(int64_t micro, char ret[static DECIMAL_TEXT_SIZE]); /* 2.3 */

/* A whole number, also as 26.3e9. -EINVAL; -ERANGE: not whole, or beyond int64 */
int count_parse(const char *text, uint64_t *ret, struct diag *diag);
void count_format(uint64_t count, char ret[static DECIMAL_TEXT_SIZE]);

/* 900.00 EUR: not negative; the currency by its three capitals of ISO 4217 */
int money_parse(const char *text, int64_t *ret_micro, char ret_currency[static CURRENCY_TEXT_SIZE],
                struct diag *diag);
void money_format(int64_t micro, const char *currency, char ret[static MONEY_TEXT_SIZE]);

#endif
