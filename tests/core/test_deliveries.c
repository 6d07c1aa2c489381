/* Notifications beyond what one scenario shows: too many of them, and a webhook that never answers.
 */
#include <stdio.h>
#include <string.h>

#include "model/limits.h"
#include "scenario.h"
#include "tap.h"

static unsigned count(const char *text, const char *what)
{
    unsigned found = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        found++;
    return found;
}

START_TEST(beyond_the_limit_of_a_user_what_is_new_is_dropped_with_a_record)
{
    struct scenario *scenario = scenario_new();

    scenario_run(scenario,
                 "0s submit uid=1000 hold=1 array=1-1010 notify=[{on:+[CANCELLED],to:+ops}]");
    scenario_run(scenario, "0s submit uid=1001 hold=1 notify=[{on:+[CANCELLED],to:+ops}]");
    const char *said = scenario_run(scenario, "1s cancel job=1 uid=1000");
    ck_assert_uint_eq(count(said, " NOTIFY_QUEUED "), LIMIT_DELIVERIES_PER_UID);
    ck_assert_uint_eq(count(said, " NOTIFY_DROPPED "), 10);
    ck_assert_uint_eq(count(said, "  notify delivery="), LIMIT_DELIVERIES_PER_UID);
    ck_assert_ptr_nonnull(strstr(said, "not sent, 1000 wait already (1000 of this user)"));
    /* Nobody else is held up, and there is room again as soon as one has arrived. */
    said = scenario_run(scenario, "2s cancel job=1011 uid=1001");
    ck_assert_uint_eq(count(said, " NOTIFY_QUEUED "), 1);
    scenario_run(scenario, "3s submit uid=1000 hold=1 notify=[{on:+[CANCELLED],to:+ops}]");
    scenario_run(scenario, "3s notified delivery=100");
    said = scenario_run(scenario, "4s cancel job=1012 uid=1000");
    ck_assert_uint_eq(count(said, " NOTIFY_QUEUED "), 1);
    scenario_check_snapshot(scenario);
    said = scenario_run(scenario, "5s restart");
    ck_assert_uint_eq(count(said, "  notify delivery="), LIMIT_DELIVERIES_PER_UID + 1);
    scenario_free(scenario);
}
END_TEST

START_TEST(a_webhook_that_never_answers_is_given_up_after_about_a_day)
{
    struct scenario *scenario = scenario_new();
    unsigned tries = 1;
    long now_s = 1;
    char line[64];

    scenario_run(scenario, "0s submit hold=1 notify=[{on:+[CANCELLED],to:+ops}]");
    scenario_run(scenario, "1s cancel job=1");
    for (;; tries++) {
        snprintf(line, sizeof(line), "%lds notified error=5", now_s);
        const char *said = scenario_run(scenario, line);
        if (strstr(said, "NOTIFY_DROPPED"))
            break;
        ck_assert_ptr_nonnull(strstr(said, "NOTIFY_FAILED"));
        do { /* seconds, then minutes: the waits grow */
            now_s += now_s < 100 ? 1 : 60;
            snprintf(line, sizeof(line), "%lds timer", now_s);
        } while (!strstr(scenario_run(scenario, line), "  notify delivery="));
    }
    ck_assert_uint_eq(tries, 36);
    ck_assert_int_gt(now_s, 20 * 3600);
    ck_assert_int_lt(now_s, 30 * 3600);
    /* That was all. */
    scenario_check_snapshot(scenario);
    snprintf(line, sizeof(line), "%lds restart", now_s);
    ck_assert_ptr_null(strstr(scenario_run(scenario, line), "notify"));
    scenario_free(scenario);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deliveries");
    TCase *tcase = tcase_create("deliveries");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, beyond_the_limit_of_a_user_what_is_new_is_dropped_with_a_record);
    tcase_add_test(tcase, a_webhook_that_never_answers_is_given_up_after_about_a_day);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
