#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/job_filter.h"
#include "cli/job_list.h"
#include "cli/job_text.h"
#include "cli/list_watch.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/user.h"
#include "model/job.h"

/* "running,failed" */
static int read_states(const struct command *command, Wafer__ListRequest *body)
{
    const char *text = command->values[FLAG_STATE];
    const char *names[JOB_STATES + 1] = { NULL };

    if (!text)
        return 0;
    body->states = memory_new(JOB_STATES * sizeof(*body->states));
    owned(free) char *copy = text_copy(text);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, ","));) {
        Wafer__Job__State state;
        if (job_state_parse(word, &state) < 0) {
            for (Wafer__Job__State i = 0; i < JOB_STATES; i++)
                names[i] = job_state_name(i);
            const char *nearest = bind_nearest(word, names);
            return message_fail(command, EXIT_USAGE, "--state: '%s' is no state: %s%s", word,
                                nearest ? "did you mean " : "PENDING, RUNNING, FAILED ...",
                                nearest ? nearest : "");
        }
        if (body->n_states == JOB_STATES)
            return message_fail(command, EXIT_USAGE, "--state: name each state once");
        body->states[body->n_states++] = state;
        if (job_state_is_terminal(state))
            body->has_ended = body->ended = true;
    }
    return 0;
}

static int read_filter(const struct command *command, Wafer__ListRequest *body,
                       struct job_filter *filter)
{
    int exit = read_states(command, body);

    if (!exit)
        exit = job_filter_read(command, filter, body);
    if (!exit && command_has(command, FLAG_MINE) && command_has(command, FLAG_ALL_USERS))
        exit = message_fail(command, EXIT_USAGE, "--mine and --all-users exclude each other");
    body->has_all_users = body->all_users = command_has(command, FLAG_ALL_USERS);
    if (command_has(command, FLAG_ALL))
        body->has_ended = body->ended = true;
    body->queue = (char *)command->values[FLAG_IN_QUEUE];
    return exit;
}

static void print_jobs(const struct command *command, const struct job_filter *filter,
                       Wafer__JobList *jobs, const Wafer__SystemList *systems)
{
    for (size_t i = 0; i < jobs->n_items; i++)
        user_fill(jobs->items[i]);
    job_filter_apply(command, filter, jobs);
    if (!noun_print_list(command, &job_noun, &jobs->base))
        job_list_print(command, jobs, systems);
}

/* The last line of the table tells of systems too; both requests travel at once. */
static int list_once(const struct command *command, const struct job_filter *filter,
                     struct connection *connection, Wafer__Request *request)
{
    /* Never freed: the process ends with this list, and that gives its many pieces back at once. */
    static Wafer__Response *jobs, *systems;
    bool wants_systems = command_is_for_people(command);
    Wafer__Request system_request = WAFER__REQUEST__INIT;
    Wafer__SystemListRequest system_body = WAFER__SYSTEM_LIST_REQUEST__INIT;

    request->list->has_brief = request->list->brief =
        command->format == FORMAT_TABLE && !job_filter_is_given(filter);
    int exit = connection_send(connection, request);
    system_request.body_case = WAFER__REQUEST__BODY_SYSTEM_LIST;
    system_request.system_list = &system_body;
    if (!exit && wants_systems)
        exit = connection_send(connection, &system_request);
    if (!exit)
        exit = connection_receive(connection, &jobs);
    if (!exit && wants_systems)
        exit = connection_receive(connection, &systems);
    if (exit)
        return exit;
    if (systems && jobs->id == system_request.id) {
        Wafer__Response *other = jobs;
        jobs = systems;
        systems = other;
    }
    if (jobs->body_case != WAFER__RESPONSE__BODY_JOBS)
        return message_fail(command, EXIT_PROTOCOL, "the controller sent no list of jobs");
    print_jobs(command, filter, jobs->jobs,
               systems && systems->body_case == WAFER__RESPONSE__BODY_SYSTEMS ? systems->systems
                                                                              : NULL);
    return 0;
}

/* What the user's settings say of the table; -o says otherwise. */
static void choose_columns(struct command *command)
{
    const struct setting *output = command_setting(command, SETTING_OUTPUT);
    const struct setting *columns = command_setting(command, SETTING_LS_COLUMNS);

    if (!columns->value || command->format != FORMAT_TABLE || output->level <= columns->level)
        return;
    command->format = FORMAT_COLUMNS;
    command->columns = columns->value;
}

static int list_jobs(const struct command *command)
{
    owned(connection_close) struct connection *connection = NULL;
    owned(job_filter_done) struct job_filter filter = { .label_count = 0 };
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ListRequest body = WAFER__LIST_REQUEST__INIT;
    int64_t interval_us;
    int exit = read_filter(command, &body, &filter);

    if (!exit)
        exit = noun_check_columns(command, &job_noun);
    if (!exit)
        exit = list_watch_interval(command, &interval_us);
    request.body_case = WAFER__REQUEST__BODY_LIST;
    request.list = &body;
    if (!exit)
        exit = connection_open(command, &connection);
    if (!exit)
        exit = command_has(command, FLAG_WATCH)
                   ? list_watch(command, &filter, &connection, &request, interval_us)
                   : list_once(command, &filter, connection, &request);
    free(body.states);
    return exit;
}

int run_ls(const struct command *command)
{
    struct command chosen = *command;

    choose_columns(&chosen);
    return list_jobs(&chosen);
}
