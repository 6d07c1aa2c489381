#include "base/cleanup.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/watch.h"
#include "model/job.h"

static bool on_job(void *userdata, const Wafer__Job *before, const Wafer__Job *job)
{
    const struct command *command = userdata;

    if (!job_state_is_terminal(job->state))
        return true;
    if (!noun_print_item(command, &job_noun, &job->base, true) && !command_has(command, FLAG_QUIET))
        output_line(command, "job %s: %s", job_id_text(job).text, job_state_name(job->state));
    return output_flush();
}

int run_wait(const struct command *command)
{
    owned(targets_done) struct targets targets = { .count = 0 };
    owned(connection_close) struct connection *connection = NULL;
    int exit = noun_check_columns(command, &job_noun);

    if (!exit)
        exit = targets_read(command, &targets);
    if (!exit && command_has(command, FLAG_ANY) && targets.count > WATCH_STREAMS)
        exit = message_fail(command, EXIT_USAGE, "--any takes at most %d jobs", WATCH_STREAMS);
    if (!exit)
        exit = connection_open(command, &connection);
    if (exit)
        return exit;

    struct watch watch = {
        .command = command,
        .targets = &targets,
        .any = command_has(command, FLAG_ANY),
        .deadline_us = watch_deadline_us(command),
        .on_job = on_job,
        .userdata = (void *)command,
    };
    return watch_jobs(&watch, &connection);
}
