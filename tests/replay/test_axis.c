#include "replay/axis.h"

#include "base/memory.h"
#include "tap.h"

static const struct {
    int64_t length_s, step_s;
    const char *second, *last; /* what is written at the second mark and at the last */
} times[] = {
    { 1, 1, "1 s", "1 s" },
    { 9, 1, "1 s", "9 s" },
    { 100, 20, "20 s", "100 s" },
    { 9300, 1200, "20 min", "140 min" },
    { 36 * 3600, 6 * 3600, "6 h", "36 h" },
    { 340 * 86400, 50 * 86400, "50 d", "300 d" },
    { INT64_C(100000) * 86400, INT64_C(20000) * 86400, "20,000 d", "100,000 d" },
};

START_TEST(times_are_marked_at_round_distances_in_one_unit)
{
    int64_t step_s = axis_time_step_s(times[_i].length_s, 9);
    char text[AXIS_TEXT_SIZE];

    ck_assert_int_eq(step_s, times[_i].step_s);
    axis_time_format(0, step_s, text);
    ck_assert_str_eq(text, "0");
    axis_time_format(step_s, step_s, text);
    ck_assert_str_eq(text, times[_i].second);
    axis_time_format(times[_i].length_s / step_s * step_s, step_s, text);
    ck_assert_str_eq(text, times[_i].last);
}
END_TEST

static const struct {
    int64_t length, step, top;
    const char *text; /* of the top */
} counts[] = {
    { 0, 1, 1, "1" },
    { 1, 1, 1, "1" },
    { 5, 1, 5, "5" },
    { 6, 2, 6, "6" },
    { 7, 2, 8, "8" },
    { 121, 50, 150, "150" },
    { 999, 200, 1000, "1,000" },
    { 80640, 20000, 100000, "100,000" },
    { 1234567, 500000, 1500000, "1,500,000" },
};

START_TEST(counts_are_marked_at_1_2_or_5)
{
    char text[AXIS_TEXT_SIZE];

    ck_assert_int_eq(axis_count_step(counts[_i].length, 5), counts[_i].step);
    ck_assert_int_eq(axis_count_top(counts[_i].length, 5), counts[_i].top);
    axis_count_format(counts[_i].top, text);
    ck_assert_str_eq(text, counts[_i].text);
}
END_TEST

static const struct {
    int64_t most_s;
    unsigned marks;
    double position;
    const char *text; /* of the last mark */
} waits[] = {
    { 0, 1, 0, "1 min" },    { 30, 1, 0.5, "1 min" },
    { 60, 1, 1, "1 min" },   { 330, 2, 1.5, "10 min" },
    { 3600, 3, 3, "1 h" },   { 3601, 4, 3 + 1 / 18000.0, "6 h" },
    { 604800, 6, 6, "7 d" }, { INT64_C(1) << 50, 11, 10.8687496, "15,000,000,000 d" },
};

START_TEST(waits_of_seconds_and_of_months_have_room_on_one_axis)
{
    char text[AXIS_TEXT_SIZE];

    ck_assert_uint_eq(axis_wait_marks(waits[_i].most_s), waits[_i].marks);
    ck_assert_double_eq_tol(axis_wait_position((double)waits[_i].most_s), waits[_i].position, 1e-6);
    axis_wait_format(waits[_i].marks, text);
    ck_assert_str_eq(text, waits[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("axis");
    TCase *tcase = tcase_create("axis");

    tcase_add_loop_test(tcase, times_are_marked_at_round_distances_in_one_unit, 0, ELEMENTS(times));
    tcase_add_loop_test(tcase, counts_are_marked_at_1_2_or_5, 0, ELEMENTS(counts));
    tcase_add_loop_test(tcase, waits_of_seconds_and_of_months_have_room_on_one_axis, 0,
                        ELEMENTS(waits));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
