#include "replay/failures.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "file.h"
#include "tap.h"

static const struct {
    const char *text;
    int error;
    int64_t mtbf_s, repair_s;
} rates[] = {
    { "mtbf=30d", 0, 30 * 86400, 4 * 3600 },
    { "mtbf=12h,repair=90m", 0, 12 * 3600, 90 * 60 },
    { "1", 0, 365 * 86400, 4 * 3600 },
    { "2.5", 0, 146 * 86400, 4 * 3600 },
    { "0", -EINVAL, 0, 0 },
    { "1000001", -EINVAL, 0, 0 },
    { "mtbf=", -EINVAL, 0, 0 },
    { "mtbf=30", -EINVAL, 0, 0 }, /* thirty what? */
    { "mtbf=0.5s", -EINVAL, 0, 0 },
    { "mtbf=30d,", -EINVAL, 0, 0 },
    { "mtbf=30d,mttr=4h", -EINVAL, 0, 0 },
    { "mtbf=30d,repair=-4h", -EINVAL, 0, 0 },
    { "failures.csv", -ENOENT, 0, 0 },
    { "2.csv", -ENOENT, 0, 0 },
    { "", -ENOENT, 0, 0 },
};

START_TEST(a_rate_parses_or_says_why_not)
{
    struct failure_rate rate = { -7, -7 };
    struct diag diag;

    ck_assert_int_eq(failure_rate_parse(rates[_i].text, &rate, &diag), rates[_i].error);
    ck_assert_int_eq(rate.mtbf_s, rates[_i].error ? -7 : rates[_i].mtbf_s);
    ck_assert_int_eq(rate.repair_s, rates[_i].error ? -7 : rates[_i].repair_s);
}
END_TEST

static const struct failure_rate often = { 86400, 3600 };

/* In order, and no system fails while it is down. */
static void check_order(const struct failures *failures, uint32_t systems)
{
    owned(free) int64_t *up_s = memory_new(systems * sizeof(*up_s));

    for (size_t i = 0; i < failures->count; i++) {
        const struct failure *failure = &failures->items[i];
        ck_assert_uint_lt(failure->system, systems);
        ck_assert_int_gt(failure->down_s, 0);
        ck_assert_int_ge(failure->time_s, i ? failures->items[i - 1].time_s : 0);
        ck_assert_int_ge(failure->time_s, up_s[failure->system]);
        up_s[failure->system] = failure->time_s + failure->down_s;
    }
}

START_TEST(systems_fail_as_often_as_the_rate_says)
{
    owned(failures_done) struct failures failures = { .items = NULL };

    ck_assert_int_eq(failures_draw(&often, 3, 100, 1000, 1000 + 100 * 86400, &failures, NULL), 0);
    check_order(&failures, 100);
    /* 100 systems, 100 days, every 25 h: 9,600, give or take four deviations */
    ck_assert_uint_gt(failures.count, 9600 - 4 * 98);
    ck_assert_uint_lt(failures.count, 9600 + 4 * 98);
    ck_assert_int_gt(failures.items[0].time_s, 1000);
    ck_assert_int_lt(failures.items[failures.count - 1].time_s, 1000 + 100 * 86400);
}
END_TEST

START_TEST(a_system_fails_when_it_does_whatever_the_size_of_the_pool)
{
    owned(failures_done) struct failures few = { .items = NULL };
    owned(failures_done) struct failures many = { .items = NULL };
    owned(failures_done) struct failures other = { .items = NULL };
    size_t at = 0, same = 0;

    ck_assert_int_eq(failures_draw(&often, 3, 10, 0, 864000, &few, NULL), 0);
    ck_assert_int_eq(failures_draw(&often, 3, 20, 0, 864000, &many, NULL), 0);
    ck_assert_int_eq(failures_draw(&often, 4, 10, 0, 864000, &other, NULL), 0);
    for (size_t i = 0; i < many.count; i++) {
        if (many.items[i].system >= 10)
            continue;
        ck_assert_int_eq(many.items[i].time_s, few.items[at].time_s);
        ck_assert_uint_eq(many.items[i].system, few.items[at++].system);
    }
    ck_assert_uint_eq(at, few.count);
    for (size_t i = 0; i < few.count && i < other.count; i++)
        same += few.items[i].time_s == other.items[i].time_s;
    ck_assert_uint_lt(same, 5); /* another seed, other failures */
}
END_TEST

START_TEST(there_is_a_limit_to_failures)
{
    static const struct failure_rate always = { 1, 1 };
    owned(failures_done) struct failures failures = { .items = NULL };
    struct diag diag;

    ck_assert_int_eq(failures_draw(&always, 1, 10, 0, 10000000, &failures, &diag), -E2BIG);
    ck_assert_int_eq(failures_draw(&often, 1, UINT32_MAX, 0, 1, &failures, &diag), -E2BIG);
    ck_assert_int_eq(failures_take(&failures, UINT32_MAX, 0, &failures, &diag), -E2BIG);
}
END_TEST

#define HEADER "System,nodenumz,purpose,Prob Started,Prob Fixed,Down Time,Software\n"

static const char record[] =
    HEADER "2,0,compute,6/21/2005 10:54,6/21/2005 11:00,6,\n"
           "2,0,compute,6/21/2005 11:00,6/21/2005 11:30,30,\"MPI, PVM\"\n" /* goes on */
           "2,0,compute,6/21/2005 10:55,6/21/2005 10:56,1,\n"              /* within */
           "2,7,\"a, b\",6/21/2005 10:54,6/21/2005 10:54,0,\n"             /* of no minute */
           "9,0,compute,1/1/2005 0:00,1/2/2005 0:00,1440,\n";

START_TEST(a_record_is_read_and_moved_to_where_the_trace_begins)
{
    owned(failures_done) struct failures all = { .items = NULL };
    owned(failures_done) struct failures two = { .items = NULL };
    owned(failures_done) struct failures three = { .items = NULL };

    ck_assert_int_eq(
        failures_read(file_compressed(record, sizeof(record) - 1), "record", &all, NULL), 0);
    ck_assert_uint_eq(all.malformed.count, 0);
    ck_assert_uint_eq(all.systems, 3);
    ck_assert_int_eq(failures_take(&all, 2, 500, &two, NULL), 0);
    ck_assert_uint_eq(two.count, 2);
    ck_assert_uint_eq(two.items[0].system, 0);
    ck_assert_int_eq(two.items[0].time_s, 500);
    ck_assert_int_eq(two.items[0].down_s, 36 * 60);
    ck_assert_uint_eq(two.items[1].system, 1);
    ck_assert_int_eq(two.items[1].time_s, 500);
    ck_assert_int_eq(two.items[1].down_s, 60);
    ck_assert_int_eq(failures_take(&all, 3, 0, &three, NULL), 0);
    check_order(&three, 3);
    ck_assert_uint_eq(three.items[0].system, 2);
    ck_assert_int_eq(three.items[0].down_s, 86400);
    ck_assert_int_eq(three.items[1].time_s, (171 * 24 + 10) * 3600 + 54 * 60);
}
END_TEST

static const char *const malformed[] = {
    ",0,x,6/21/2005 10:54,6/21/2005 11:00,6,",  "2,x,x,6/21/2005 10:54,6/21/2005 11:00,6,",
    "2,0,x,2/30/2005 10:54,3/21/2005 11:00,6,", "2,0,x,6/21/2005 10:54,6/21/2005 10:53,6,",
    "2,0,x,6/21/2005,6/21/2005 11:00,6,",       "2,0,x,6/21/2005 10:54",
    "2,0,x,6/21/2005 10:54z,6/22/2005 0:00,6,", "99999999999,0,x,6/21/2005 10:54,6/22/2005 0:00,6,",
};

START_TEST(a_line_that_is_no_failure_is_counted)
{
    owned(failures_done) struct failures failures = { .items = NULL };
    owned(free) char *text = text_format("%s%s\n", record, malformed[_i]);

    ck_assert_int_eq(failures_read(file_of_text(text), "record", &failures, NULL), 0);
    ck_assert_uint_eq(failures.malformed.count, 1);
    ck_assert_uint_eq(failures.malformed.line, 7);
    ck_assert_str_eq(failures.malformed.text, malformed[_i]);
    ck_assert_uint_eq(failures.systems, 3);
}
END_TEST

START_TEST(a_file_of_another_kind_is_no_record)
{
    struct failures failures;
    struct diag diag;

    ck_assert_int_eq(
        failures_read(file_of_text("System,nodenumz\n2,0\n"), "record", &failures, &diag),
        -EBADMSG);
    ck_assert_ptr_nonnull(strstr(diag.text, "Prob Started"));
    ck_assert_int_eq(failures_read(file_of_text(""), "record", &failures, &diag), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failures");
    TCase *tcase = tcase_create("failures");

    tcase_add_loop_test(tcase, a_rate_parses_or_says_why_not, 0, ELEMENTS(rates));
    tcase_add_test(tcase, systems_fail_as_often_as_the_rate_says);
    tcase_add_test(tcase, a_system_fails_when_it_does_whatever_the_size_of_the_pool);
    tcase_add_test(tcase, there_is_a_limit_to_failures);
    tcase_add_test(tcase, a_record_is_read_and_moved_to_where_the_trace_begins);
    tcase_add_loop_test(tcase, a_line_that_is_no_failure_is_counted, 0, ELEMENTS(malformed));
    tcase_add_test(tcase, a_file_of_another_kind_is_no_record);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
