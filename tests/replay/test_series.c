#include "replay/series.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "tap.h"

static const struct {
    int64_t first_s, last_s;
    unsigned most, columns;
} spans[] = {
    { 0, 0, 1000, 1 }, /* nothing lasts a second all the same */
    { 5, 6, 1000, 1 },
    { 100, 107, 1000, 7 },
    { 0, 1000, 1000, 1000 },
    { 7, 7 + 1001, 1000, 1000 },
    { 3, 3 + 29363626, 250, 250 },
    { 0, SPAN_MAX_S, SERIES_COLUMNS, SERIES_COLUMNS },
};

START_TEST(columns_share_the_span_without_gap_and_each_second_is_in_one)
{
    struct span span = span_of(spans[_i].first_s, spans[_i].last_s, spans[_i].most);

    ck_assert_uint_eq(span.columns, spans[_i].columns);
    ck_assert_int_eq(span_begin(&span, 0), span.first_s);
    ck_assert_int_eq(span_begin(&span, span.columns), span.first_s + span.length_s);
    for (unsigned i = 0; i < span.columns; i++) {
        ck_assert_int_lt(span_begin(&span, i), span_begin(&span, i + 1));
        ck_assert_uint_eq(span_column(&span, span_begin(&span, i)), i);
        ck_assert_uint_eq(span_column(&span, span_begin(&span, i + 1) - 1), i);
    }
    ck_assert_uint_eq(span_column(&span, span.first_s - 9), 0);
    ck_assert_uint_eq(span_column(&span, span.first_s + span.length_s + 9), span.columns - 1);
}
END_TEST

START_TEST(a_column_has_the_average_over_its_time_and_the_most_of_any_second)
{
    owned(free) struct series *series = NEW(struct series);
    struct span span = span_of(100, 120, 2);
    struct step steps[] = { /* in no order; before the span, across the columns, and beyond it */
                            { 115, -4 }, { 108, 4 },   { 90, 2 },
                            { 109, 10 }, { 110, -10 }, { 300, -2 }
    };

    series_fill(series, &span, steps, ELEMENTS(steps));
    ck_assert_double_eq_tol(series->average[0], 2 + 0.8 + 1.0, 1e-9);
    ck_assert_double_eq_tol(series->average[1], 2 + 2.0, 1e-9);
    ck_assert_int_eq(series->most[0], 16);
    ck_assert_int_eq(series->most[1], 6);
    ck_assert_int_eq(series_most(series, &span), 16);
}
END_TEST

START_TEST(what_is_undone_in_its_own_second_is_not_seen)
{
    owned(free) struct series *series = NEW(struct series);
    struct span span = span_of(0, 10, 1000);
    struct step steps[] = { { 5, 7 }, { 5, -7 }, { 2, 1 }, { 3, -1 } };

    series_fill(series, &span, steps, ELEMENTS(steps));
    ck_assert_int_eq(series_most(series, &span), 1);
    ck_assert_double_eq_tol(series->average[5], 0, 1e-9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("series");
    TCase *tcase = tcase_create("series");

    tcase_add_loop_test(tcase, columns_share_the_span_without_gap_and_each_second_is_in_one, 0,
                        ELEMENTS(spans));
    tcase_add_test(tcase, a_column_has_the_average_over_its_time_and_the_most_of_any_second);
    tcase_add_test(tcase, what_is_undone_in_its_own_second_is_not_seen);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
