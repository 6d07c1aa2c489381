#include "cli/follow.h"

#include "cli/job_text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "model/job.h"

struct follower {
    const struct command *command;
    struct progress progress;
    bool with_progress;
};

static bool on_job(void *userdata, const Wafer__Job *before, const Wafer__Job *job)
{
    struct follower *follower = userdata;
    bool is_end = job_state_is_terminal(job->state);

    if (command_is_for_people(follower->command)) {
        if ((follower->with_progress || is_end) && !command_has(follower->command, FLAG_QUIET))
            progress_show(&follower->progress, before, job);
    } else if (follower->with_progress || is_end) {
        noun_print_item(follower->command, &job_noun, &job->base, true);
    }
    return output_flush();
}

static void on_message(void *userdata)
{
    struct follower *follower = userdata;

    progress_erase(&follower->progress);
}

int follow_jobs(const struct command *command, struct connection **connection,
                const struct targets *targets, bool with_progress)
{
    struct follower follower = { .command = command, .with_progress = with_progress };
    struct watch watch = {
        .command = command,
        .targets = targets,
        .deadline_us = watch_deadline_us(command),
        .on_job = on_job,
        .on_message = on_message,
        .userdata = &follower,
    };

    progress_init(&follower.progress, command, with_progress ? targets->count : 0);
    return watch_jobs(&watch, connection);
}
