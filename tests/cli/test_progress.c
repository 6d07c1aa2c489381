#include <stdlib.h>

#include "cli/progress.h"
#include "tap.h"

struct view {
    Wafer__Job job;
    Wafer__Job__Progress progress;
    Wafer__Job__LastCheckpoint checkpoint;
    Wafer__Job__WaitReason reason;
    Wafer__Job__Result result;
};

/* A job that runs at step `step` of 1,000. */
static void view_init(struct view *view, uint64_t step)
{
    wafer__job__init(&view->job);
    wafer__job__progress__init(&view->progress);
    wafer__job__last_checkpoint__init(&view->checkpoint);
    wafer__job__wait_reason__init(&view->reason);
    wafer__job__result__init(&view->result);
    view->job.id = 7;
    view->job.name = (char *)"gpt";
    view->job.has_state = view->job.has_phase = view->job.has_attempt = true;
    view->job.state = WAFER__JOB__STATE__RUNNING;
    view->job.phase = WAFER__JOB__PHASE__EXECUTE;
    view->job.attempt = 1;
    view->job.progress = &view->progress;
    view->progress.has_step = view->progress.has_max_steps = true;
    view->progress.step = step;
    view->progress.max_steps = 1000;
}

static void view_checkpoint(struct view *view, uint64_t step, bool verified)
{
    view->job.checkpoint = &view->checkpoint;
    view->checkpoint.has_last_good_step = true;
    view->checkpoint.last_good_step = step;
    view->checkpoint.has_verified = true;
    view->checkpoint.verified = verified;
}

static void expect(const struct view *before, const struct view *now, const char *lines)
{
    char *changes = progress_changes(before ? &before->job : NULL, &now->job, true);

    ck_assert_str_eq(changes, lines);
    free(changes);
}

START_TEST(the_first_view_tells_where_the_job_is)
{
    struct view now;

    view_init(&now, 0);
    expect(NULL, &now, "job 7 gpt: RUNNING EXECUTE\n");
}
END_TEST

START_TEST(a_view_without_news_says_nothing)
{
    struct view before, now;

    view_init(&before, 101);
    view_init(&now, 199);
    expect(&before, &now, "");
}
END_TEST

START_TEST(each_tenth_of_the_steps_is_told_once)
{
    struct view before, now;

    view_init(&before, 199);
    view_init(&now, 200);
    expect(&before, &now, "job 7: 20%  step 200 of 1,000\n");
    view_init(&before, 200);
    expect(&before, &now, "");
}
END_TEST

START_TEST(writing_a_checkpoint_is_one_line_when_it_is_there)
{
    struct view before, now;

    view_init(&before, 300);
    view_init(&now, 300);
    now.job.phase = WAFER__JOB__PHASE__CHECKPOINT;
    expect(&before, &now, "");
    view_checkpoint(&now, 300, false);
    expect(&before, &now, "job 7: checkpoint at step 300 written\n");
    view_checkpoint(&before, 300, false);
    view_checkpoint(&now, 300, true);
    expect(&before, &now, "job 7: checkpoint at step 300 verified\n");
}
END_TEST

START_TEST(a_new_attempt_says_where_it_goes_on)
{
    struct view before, now;

    view_init(&before, 450);
    view_init(&now, 400);
    view_checkpoint(&before, 400, true);
    view_checkpoint(&now, 400, true);
    now.job.attempt = 2;
    expect(&before, &now, "job 7: attempt 2 from step 400\n");
}
END_TEST

START_TEST(waiting_tells_its_reason_and_the_end_its_result)
{
    struct view before, now;

    view_init(&before, 0);
    view_init(&now, 0);
    now.job.state = WAFER__JOB__STATE__PENDING;
    now.job.has_phase = false;
    now.job.progress = NULL;
    now.job.reason = &now.reason;
    now.reason.code = WAFER__JOB__REASON__Resources;
    now.reason.detail = (char *)"needs 2, free 1";
    expect(&before, &now, "job 7 gpt: PENDING: Resources: needs 2, free 1\n");

    view_init(&before, 1000);
    view_init(&now, 1000);
    now.job.state = WAFER__JOB__STATE__SUCCEEDED;
    now.job.has_phase = false;
    now.job.attempt = 2;
    before.job.attempt = 2;
    now.job.has_steps_lost = true;
    now.job.steps_lost = 50;
    now.job.result = &now.result;
    now.result.state_digest = (char *)"ab12";
    expect(&before, &now, "job 7 gpt: SUCCEEDED, 2 attempts, 50 steps lost, digest ab12\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *tcase = tcase_create("progress");

    tcase_add_test(tcase, the_first_view_tells_where_the_job_is);
    tcase_add_test(tcase, a_view_without_news_says_nothing);
    tcase_add_test(tcase, each_tenth_of_the_steps_is_told_once);
    tcase_add_test(tcase, writing_a_checkpoint_is_one_line_when_it_is_there);
    tcase_add_test(tcase, a_new_attempt_says_where_it_goes_on);
    tcase_add_test(tcase, waiting_tells_its_reason_and_the_end_its_result);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
