#include "engine/lease.h"

#include "tap.h"

#define SPAN_US 1000
#define NONE    INT64_MAX

/* What the host says and hears, by its own clock, and when its lease ends then. */
enum what { SAYS, HEARS, HEARS_NOTHING_BACK, GRANTED, ENDS };

static const struct moment {
    int64_t now_us;
    enum what what;
    int64_t value_us; /* HEARS: what it brings back; GRANTED: how long */
    int64_t due_us;
} moments[][8] = {
    { /* nothing said, nothing granted */
      { 0, GRANTED, SPAN_US, NONE } },
    { /* from when it was said, not from when the answer came */
      { 100, SAYS, 0, NONE },
      { 150, GRANTED, SPAN_US, NONE },
      { 150, HEARS, 100, 1100 },
      { 400, SAYS, 0, 1100 },
      { 1099, HEARS, 400, 1400 } },
    { /* an answer that was longer on its way than the lease has ended before it came */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 5000, HEARS, 100, 1100 } },
    { /* what the host says is lost, what it hears arrives: the same answer again is no new one */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 200, HEARS, 100, 1100 },
      { 300, SAYS, 0, 1100 },
      { 500, HEARS, 100, 1100 },
      { 900, HEARS, 100, 1100 } },
    { /* answers that overtake each other */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 300, SAYS, 0, NONE },
      { 400, HEARS, 300, 1300 },
      { 500, HEARS, 100, 1300 } },
    { /* an answer to what was never said */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 200, HEARS, 101, NONE },
      { 200, HEARS, INT64_MAX, NONE },
      { 200, HEARS, INT64_MIN, NONE } },
    { /* after its end only a new answer begins one */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 200, HEARS, 100, 1100 },
      { 1100, ENDS, 0, NONE },
      { 1200, SAYS, 0, NONE },
      { 1300, HEARS, 1200, 2200 } },
    { /* a controller that brings nothing back means from now */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, SPAN_US, NONE },
      { 300, HEARS_NOTHING_BACK, 0, 1300 },
      { 900, HEARS_NOTHING_BACK, 0, 1900 } },
    { /* lengths that make no sense */
      { 100, SAYS, 0, NONE },
      { 100, GRANTED, -5, NONE },
      { 200, HEARS, 100, 100 },
      { 200, GRANTED, INT64_MAX, NONE } },
};

START_TEST(a_lease_counts_from_what_the_controller_answers)
{
    struct lease lease = { 0 };

    for (int i = 0; i < 8; i++) {
        const struct moment *moment = &moments[_i][i];
        switch (moment->what) {
        case SAYS:
            if (moment->now_us)
                ck_assert_int_eq(lease_stamp(&lease, moment->now_us), moment->now_us);
            break;
        case HEARS: lease_renew(&lease, &moment->value_us, moment->now_us); break;
        case HEARS_NOTHING_BACK: lease_renew(&lease, NULL, moment->now_us); break;
        case GRANTED: lease_grant(&lease, moment->value_us); break;
        case ENDS: lease_end(&lease); break;
        }
        if (moment->due_us)
            ck_assert_msg(lease_due_us(&lease) == moment->due_us, "row %d, moment %d: %lld", _i, i,
                          (long long)lease_due_us(&lease));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease");
    TCase *tcase = tcase_create("lease");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_lease_counts_from_what_the_controller_answers, 0,
                        (int)(sizeof(moments) / sizeof(moments[0])));
    return tap_run(suite);
}
