#include "base/decimal.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define UNTOUCHED INT64_C(-7)

static const struct {
    const char *text;
    int error;
    int64_t micro;
    const char *shown; /* NULL: as written */
} decimals[] = {
    { "2.30", 0, 2300000, "2.3" },
    { "2.3", 0, 2300000, NULL },
    { "0", 0, 0, NULL },
    { "-0.5", 0, -500000, NULL },
    { "0.000001", 0, 1, NULL },
    { "1.3e-3", 0, 1300, "0.0013" },
    { "1E+3", 0, 1000000000, "1000" },
    { "2.3000000", 0, 2300000, "2.3" },
    { "0.00e99", 0, 0, "0" },
    { "9223372036854.775807", 0, INT64_MAX, NULL },

    { "", -EINVAL, UNTOUCHED, NULL },
    { "-", -EINVAL, UNTOUCHED, NULL },
    { "2,3", -EINVAL, UNTOUCHED, NULL },
    { "2.", -EINVAL, UNTOUCHED, NULL },
    { ".5", -EINVAL, UNTOUCHED, NULL },
    { "+1", -EINVAL, UNTOUCHED, NULL },
    { "--1", -EINVAL, UNTOUCHED, NULL },
    { "01", -EINVAL, UNTOUCHED, NULL },
    { "1e", -EINVAL, UNTOUCHED, NULL },
    { "1e+", -EINVAL, UNTOUCHED, NULL },
    { "1e1.5", -EINVAL, UNTOUCHED, NULL },
    { "1e100", -EINVAL, UNTOUCHED, NULL },
    { "0x10", -EINVAL, UNTOUCHED, NULL },
    { "nan", -EINVAL, UNTOUCHED, NULL },
    { "inf", -EINVAL, UNTOUCHED, NULL },
    { "1 ", -EINVAL, UNTOUCHED, NULL },
    { "0.0000001", -ERANGE, UNTOUCHED, NULL },
    { "1e-7", -ERANGE, UNTOUCHED, NULL },
    { "0.10000000000000000000000001", -ERANGE, UNTOUCHED, NULL },
    { "9223372036854.775808", -ERANGE, UNTOUCHED, NULL },
    { "1e99", -ERANGE, UNTOUCHED, NULL },
};

START_TEST(a_decimal_is_exact_or_refused)
{
    int64_t micro = UNTOUCHED;
    char text[DECIMAL_TEXT_SIZE];
    struct diag diag = { "" };

    ck_assert_int_eq(decimal_parse(decimals[_i].text, &micro, &diag), decimals[_i].error);
    ck_assert_int_eq(micro, decimals[_i].micro);
    ck_assert_int_eq(diag.text[0] != '\0', decimals[_i].error != 0);
    if (decimals[_i].error)
        return;
    decimal_format(micro, text);
    ck_assert_str_eq(text, decimals[_i].shown ? decimals[_i].shown : decimals[_i].text);
}
END_TEST

static const struct {
    const char *text;
    int error;
    uint64_t value;
} counts[] = {
    { "24334", 0, 24334 },
    { "26.3e9", 0, 26300000000 },
    { "1.50e1", 0, 15 },
    { "0", 0, 0 },
    { "1300e-2", 0, 13 },
    { "9223372036854775807", 0, INT64_MAX },

    { "9223372036854775808", -ERANGE, 7 },
    { "99999999999999999999999999", -ERANGE, 7 },
    { "1.5", -ERANGE, 7 },
    { "1e-1", -ERANGE, 7 },
    { "-1", -EINVAL, 7 },
    { "1_000", -EINVAL, 7 },
    { "1,000", -EINVAL, 7 },
    { "007", -EINVAL, 7 },
    { "1k", -EINVAL, 7 },
    { "", -EINVAL, 7 },
};

START_TEST(a_count_is_a_whole_number_however_it_is_written)
{
    uint64_t value = 7;
    struct diag diag = { "" };

    ck_assert_int_eq(count_parse(counts[_i].text, &value, &diag), counts[_i].error);
    ck_assert_uint_eq(value, counts[_i].value);
    ck_assert_int_eq(diag.text[0] != '\0', counts[_i].error != 0);
}
END_TEST

static const struct {
    const char *text;
    int error;
    int64_t micro;
    const char *shown;
} amounts[] = {
    { "900.00 EUR", 0, 900000000, NULL },
    { "900 EUR", 0, 900000000, "900.00 EUR" },
    { "0.125 USD", 0, 125000, NULL },
    { "0 CHF", 0, 0, "0.00 CHF" },

    { "900.00", -EINVAL, UNTOUCHED, NULL },
    { "EUR 900", -EINVAL, UNTOUCHED, NULL },
    { "900EUR", -EINVAL, UNTOUCHED, NULL },
    { "900  EUR", -EINVAL, UNTOUCHED, NULL },
    { "900 eur", -EINVAL, UNTOUCHED, NULL },
    { "900 EURO", -EINVAL, UNTOUCHED, NULL },
    { "900 EU", -EINVAL, UNTOUCHED, NULL },
    { "900 EUR ", -EINVAL, UNTOUCHED, NULL },
    { "-1 EUR", -EINVAL, UNTOUCHED, NULL },
    { "0.0000001 EUR", -ERANGE, UNTOUCHED, NULL },
    { "99999999999999 EUR", -ERANGE, UNTOUCHED, NULL },
};

START_TEST(money_has_an_amount_and_a_currency)
{
    int64_t micro = UNTOUCHED;
    char currency[CURRENCY_TEXT_SIZE] = "";
    char text[MONEY_TEXT_SIZE];
    struct diag diag = { "" };

    ck_assert_int_eq(money_parse(amounts[_i].text, &micro, currency, &diag), amounts[_i].error);
    ck_assert_int_eq(micro, amounts[_i].micro);
    ck_assert_int_eq(diag.text[0] != '\0', amounts[_i].error != 0);
    if (amounts[_i].error)
        return;
    money_format(micro, currency, text);
    ck_assert_str_eq(text, amounts[_i].shown ? amounts[_i].shown : amounts[_i].text);
}
END_TEST

START_TEST(what_is_shown_reads_back_the_same)
{
    struct random random;

    random_init(&random, 3);
    for (int i = 0; i < 20000; i++) {
        char text[MONEY_TEXT_SIZE], currency[CURRENCY_TEXT_SIZE];
        int64_t micro = (int64_t)(random_next(&random) >> (1 + i % 63)), back;
        int64_t negative = -micro;

        decimal_format(negative, text);
        ck_assert_int_eq(decimal_parse(text, &back, NULL), 0);
        ck_assert_int_eq(back, negative);
        money_format(micro, "EUR", text);
        ck_assert_int_eq(money_parse(text, &back, currency, NULL), 0);
        ck_assert_int_eq(back, micro);
        ck_assert_str_eq(currency, "EUR");
    }
    char text[DECIMAL_TEXT_SIZE];
    decimal_format(INT64_MIN, text);
    ck_assert_str_eq(text, "-9223372036854.775808");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decimal");
    TCase *tcase = tcase_create("decimal");

    tcase_add_loop_test(tcase, a_decimal_is_exact_or_refused, 0, ELEMENTS(decimals));
    tcase_add_loop_test(tcase, a_count_is_a_whole_number_however_it_is_written, 0,
                        ELEMENTS(counts));
    tcase_add_loop_test(tcase, money_has_an_amount_and_a_currency, 0, ELEMENTS(amounts));
    tcase_add_test(tcase, what_is_shown_reads_back_the_same);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
