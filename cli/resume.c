#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/connection.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/plan_page.h"
#include "cli/run.h"
#include "cli/submission.h"
#include "cli/targets.h"
#include "cli/user.h"
#include "model/job.h"
#include "model/limits.h"

static void print_sentence(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;

    buffer_format(&line, "job %s %s: %s", job_id_text(job).text, job->name ? job->name : "-",
                  job->has_state ? job_state_name(job->state) : "-");
    if (job->has_resumed_from)
        buffer_format(&line, ", goes on from job %" PRIu64, job->resumed_from);
    if (job->checkpoint && job->checkpoint->has_last_good_step)
        buffer_format(&line, ", checkpoint at step %" PRIu64, job->checkpoint->last_good_step);
    owned(free) char *text = buffer_text(&line);
    output_line(command, "%s", text);
}

static void print_resumed(const struct command *command, Wafer__Job *job)
{
    user_fill(job);
    if (noun_print_item(command, &job_noun, &job->base, false))
        return;
    if (command_has(command, FLAG_QUIET))
        printf("%" PRIu64 "\n", job->id);
    else
        print_sentence(command, job);
}

static int resume(const struct command *command, Wafer__ResumeRequest__Move move)
{
    char key[SUBMISSION_KEY_SIZE];
    owned(connection_close) struct connection *connection = NULL;
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ResumeRequest body = WAFER__RESUME_REQUEST__INIT;
    Wafer__Target target;
    Wafer__Job **jobs;
    uint64_t systems = 0;
    int exit = noun_check_columns(command, &job_noun);

    if (!exit)
        exit = target_read(command, command->targets[0], &target);
    if (!exit)
        exit = command_number(command, FLAG_RESUME_SYSTEMS, LIMIT_SYSTEMS, &systems);
    if (!exit && command_has(command, FLAG_RESUME_SYSTEMS) && !systems)
        exit = message_fail(command, EXIT_USAGE, "--systems: a job needs at least one");
    if (exit)
        return exit;

    bool plans = command_has(command, FLAG_PLAN);
    submission_key(key);
    body.target = &target;
    body.from = (char *)command->values[FLAG_FROM];
    body.pool = (char *)command->values[FLAG_POOL];
    body.has_systems = systems > 0;
    body.systems = (uint32_t)systems;
    body.key = plans ? NULL : key;
    body.has_plan = body.plan = plans;
    body.has_move = move != WAFER__RESUME_REQUEST__MOVE__none;
    body.move = move;
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_RESUME;
    request.resume = &body;
    exit = connection_open(command, &connection);
    if (!exit)
        exit = connection_call_again(&connection, &request,
                                     plans ? BIT(WAFER__RESPONSE__BODY_PLAN) : RESPONSE_HAS_JOBS,
                                     &response);
    if (exit)
        return exit;
    if (plans)
        return plan_print(command, response->plan);
    if (response_jobs(response, &jobs) == 0)
        return message_fail(command, EXIT_INTERNAL, "the controller named no job");
    if (response->warning)
        message_note(command, "warning: %s", response->warning);
    print_resumed(command, jobs[0]);
    return 0;
}

int run_resume(const struct command *command)
{
    return resume(command, WAFER__RESUME_REQUEST__MOVE__none);
}

int run_fallback(const struct command *command)
{
    return resume(command, WAFER__RESUME_REQUEST__MOVE__fallback);
}

int run_return(const struct command *command)
{
    return resume(command, WAFER__RESUME_REQUEST__MOVE__back);
}
