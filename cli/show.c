#include <stdio.h>
#include <sysexits.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/job_page.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "cli/user.h"
#include "model/bind.h"

static int print_spec(const struct command *command, const Wafer__JobSpec *spec)
{
    if (!spec)
        return message_fail(command, EX_NOPERM,
                            "what this job is made of is content: it is not shown to you");
    if (command->format == FORMAT_JSON) {
        output_json(&spec->base);
        return 0;
    }
    owned(free) char *text = bind_yaml_text(&spec->base);
    fputs(text, stdout);
    return 0;
}

static int print_job(const struct command *command, const Wafer__ShowResponse *show)
{
    user_fill(show->job);
    switch (command->format) {
    case FORMAT_JSON: output_job(show->job, false); break;
    case FORMAT_PLAIN: job_plain(show->job); break;
    default: job_page_print(command, show); break;
    }
    return 0;
}

int run_show(const struct command *command)
{
    owned(connection_close) struct connection *connection = NULL;
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ShowRequest body = WAFER__SHOW_REQUEST__INIT;
    Wafer__Target target;
    int exit = target_read(command, command->targets[0], &target);

    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_SHOW;
    request.show = &body;
    if (!exit)
        exit = connection_open(command, &connection);
    if (!exit)
        exit = connection_call(connection, &request, BIT(WAFER__RESPONSE__BODY_SHOW), &response);
    if (exit)
        return exit;
    return command_has(command, FLAG_SPEC) ? print_spec(command, response->show->spec)
                                           : print_job(command, response->show);
}
