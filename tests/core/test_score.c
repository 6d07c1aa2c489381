/* The arithmetic of the order by policy, against what its header says. */
#include "core/score.h"

#include <math.h>

#include "base/duration.h"
#include "base/memory.h"
#include "tap.h"

START_TEST(halving_is_exact_at_whole_numbers_and_never_rises)
{
    int64_t before = SCORE_ONE;

    ck_assert_int_eq(score_exp2(0), SCORE_ONE);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(score_exp2((int64_t)i * SCORE_ONE), SCORE_ONE >> i);
    ck_assert_int_eq(score_exp2(INT64_MAX), 0);
    for (int64_t x = 0; x < 8 * SCORE_ONE; x += 997) {
        int64_t now = score_exp2(x);
        ck_assert_int_le(now, before);
        ck_assert_int_le(llabs(now - llround(1e6 * exp2(-(double)x / 1e6))), 20);
        before = now;
    }
}
END_TEST

START_TEST(usage_counts_half_after_a_half_life)
{
    const int64_t day_us = 24 * HOUR_US, used_us = 1000 * HOUR_US;

    ck_assert_int_eq(score_decayed(used_us, 0, day_us), used_us);
    ck_assert_int_eq(score_decayed(used_us, -5, day_us), used_us); /* of a day that goes on */
    ck_assert_int_eq(score_decayed(used_us, day_us, day_us), used_us / 2);
    ck_assert_int_eq(score_decayed(used_us, 3 * day_us, day_us), used_us / 8);
    ck_assert_int_eq(score_decayed(INT64_MAX, INT64_MAX, 1), 0);
    ck_assert_int_eq(score_decayed(INT64_MAX, 1, INT64_MAX), INT64_MAX);
}
END_TEST

/* Two projects with shares 3 and 1, the first with two users. */
START_TEST(who_used_less_than_his_share_is_before_who_used_more)
{
    struct score_account accounts[] = {
        { .project = 0, .project_shares = 3, .user_shares = 1, .usage_us = 300 },
        { .project = 0, .project_shares = 3, .user_shares = 1, .usage_us = 0 },
        { .project = 1, .project_shares = 1, .user_shares = 1, .usage_us = 100 },
    };

    score_shares(accounts, ELEMENTS(accounts));
    /* Each project has used its share; of the first one user all of it. */
    ck_assert_int_eq(accounts[0].of_project, SCORE_ONE);
    ck_assert_int_eq(accounts[0].of_user, 2 * SCORE_ONE);
    ck_assert_int_eq(accounts[0].factor, score_exp2(3 * SCORE_ONE / 2));
    ck_assert_int_eq(accounts[1].factor, score_exp2(SCORE_ONE / 2));
    ck_assert_int_eq(accounts[2].factor, SCORE_ONE / 2);

    accounts[0].usage_us = accounts[2].usage_us = 0;
    score_shares(accounts, ELEMENTS(accounts));
    for (size_t i = 0; i < ELEMENTS(accounts); i++)
        ck_assert_int_eq(accounts[i].factor, SCORE_ONE);
}
END_TEST

START_TEST(factors_are_between_nothing_and_one)
{
    const struct score_rules rules = score_rules_default();
    static const struct {
        struct score_job job;
        int64_t factors[SCORE_TERMS];
    } cases[] = {
        { { SCORE_ONE, 0, INT64_MAX, 1, 4 }, { SCORE_ONE, 0, SCORE_ONE / 4, 0 } },
        { { 0, INT64_MAX, 0, 9, 4 }, { 0, SCORE_ONE, SCORE_ONE, SCORE_ONE } },
        { { 0, -5, INT64_MIN, 1, 0 }, { 0, 0, 0, SCORE_ONE } },
        { { 0, 84 * HOUR_US, 12 * HOUR_US, 0, 4 }, { 0, SCORE_ONE / 2, 0, SCORE_ONE / 2 } },
        { { 0, 0, 24 * HOUR_US, 0, 4 }, { 0, 0, 0, 0 } },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        int64_t factors[SCORE_TERMS], sum = 0;
        int64_t score = score_of(&rules, &cases[i].job, factors);
        for (size_t term = 0; term < SCORE_TERMS; term++) {
            ck_assert_int_eq(factors[term], cases[i].factors[term]);
            sum += factors[term] * rules.weights[term];
        }
        ck_assert_int_eq(score, sum);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("score");
    TCase *tcase = tcase_create("score");

    tcase_add_test(tcase, halving_is_exact_at_whole_numbers_and_never_rises);
    tcase_add_test(tcase, usage_counts_half_after_a_half_life);
    tcase_add_test(tcase, who_used_less_than_his_share_is_before_who_used_more);
    tcase_add_test(tcase, factors_are_between_nothing_and_one);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
