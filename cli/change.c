/* change — verbs that do one thing to each of several jobs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "cli/user.h"
#include "model/job.h"

#define WINDOW 64 /* requests at a time, so that neither side has to keep many */

/* Ask for one job; the body lives as long as the call. */
typedef int (*send_fn)(const struct command *command, struct connection *connection,
                       Wafer__Target *target);

struct changes {
    const struct command *command;
    Wafer__Response **responses; /* NULL: refused, and told */
    size_t count;
    int exit;
};

static void print_change(const struct command *command, const Wafer__Job *job)
{
    const char *state = job->has_state ? job_state_name(job->state) : "-";
    owned(free) char *why = job_why_text(job);
    size_t length = strlen(state);
    /* CANCELLED is a state and a cause: said once. */
    bool is_told = strncmp(why, state, length) == 0 && (!why[length] || why[length] == ':');

    output_line(command, "job %s %s: %s%s%s", job_id_text(job).text, job->name ? job->name : "-",
                is_told ? "" : state, *why && !is_told ? ": " : "", why);
}

/* Of cancel --dry-run: the job as it is. */
static void print_intention(const struct command *command, const Wafer__Job *job)
{
    bool runs = job->has_state && job_state_has_systems(job->state);

    output_line(command, "job %s %s would be cancelled: it is %s%s", job_id_text(job).text,
                job->name ? job->name : "-", job->has_state ? job_state_name(job->state) : "-",
                !runs                            ? ""
                : command_has(command, FLAG_NOW) ? ", and would not save"
                                                 : ", and may save a checkpoint first");
}

static bool print_list(const struct command *command, Wafer__Job **jobs, size_t count)
{
    Wafer__JobList list = WAFER__JOB_LIST__INIT;

    list.n_items = count;
    list.items = jobs;
    bool is_printed = noun_print_list(command, &job_noun, &list.base);
    free(list.schema);
    if (list.generated_at)
        wafer__time__free_unpacked(list.generated_at, NULL);
    return is_printed;
}

static void print_changes(struct changes *changes)
{
    const struct command *command = changes->command;
    Wafer__Job **all = NULL;
    size_t count = 0, capacity = 0;

    for (size_t i = 0; i < changes->count; i++) {
        Wafer__Job **jobs;
        size_t more = changes->responses[i] ? response_jobs(changes->responses[i], &jobs) : 0;
        for (size_t j = 0; j < more; j++) {
            ARRAY_RESERVE(all, count, capacity);
            all[count++] = jobs[j];
            user_fill(jobs[j]);
        }
    }
    bool is_one = changes->count == 1 && count == 1;
    bool is_printed = is_one  ? noun_print_item(command, &job_noun, &all[0]->base, false)
                      : count ? print_list(command, all, count)
                              : true;
    for (size_t i = 0; i < count && !is_printed && !command_has(command, FLAG_QUIET); i++)
        (command_has(command, FLAG_DRY_RUN) ? print_intention : print_change)(command, all[i]);
    free(all);
}

/* Of targets `first` to `last`. Responses may come in any order; ids are given in order. */
static int change_window(struct changes *changes, struct connection *connection,
                         const struct targets *targets, size_t first, size_t last, send_fn send)
{
    for (size_t i = first; i < last; i++) {
        int exit = send(changes->command, connection, &targets->items[i]);
        if (exit)
            return exit;
    }
    for (size_t i = first; i < last; i++) {
        Wafer__Response *response = NULL;
        int exit = connection_receive(connection, &response);
        if (exit && changes->exit == 0)
            changes->exit = exit;
        if (connection_is_broken(connection))
            return exit;
        if (response && response->id >= 1 && response->id <= targets->count &&
            !changes->responses[response->id - 1])
            changes->responses[response->id - 1] = response;
        else if (response)
            response_free(response);
    }
    return 0;
}

static int change_jobs(const struct command *command, send_fn send)
{
    owned(targets_done) struct targets targets = { .count = 0 };
    owned(connection_close) struct connection *connection = NULL;
    struct changes changes = { .command = command };
    int exit = noun_check_columns(command, &job_noun);

    if (!exit)
        exit = targets_read(command, &targets);
    if (!exit)
        exit = targets_confirm(command, targets.count);
    if (!exit)
        exit = connection_open(command, &connection);
    if (exit)
        return exit;

    changes.count = targets.count;
    changes.responses = memory_new(targets.count * sizeof(*changes.responses));
    for (size_t i = 0; i < targets.count && !exit; i += WINDOW) {
        size_t last = i + WINDOW < targets.count ? i + WINDOW : targets.count;
        exit = change_window(&changes, connection, &targets, i, last, send);
    }
    print_changes(&changes);
    for (size_t i = 0; i < changes.count; i++)
        if (changes.responses[i])
            response_free(changes.responses[i]);
    free(changes.responses);
    return exit ? exit : changes.exit;
}

/* ---- the verbs ------------------------------------------------------------------------------ */

static int send_cancel(const struct command *command, struct connection *connection,
                       Wafer__Target *target)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CancelRequest body = WAFER__CANCEL_REQUEST__INIT;
    Wafer__Duration grace = WAFER__DURATION__INIT;

    body.target = target;
    body.reason = (char *)command->values[FLAG_REASON];
    body.has_now = body.now = command_has(command, FLAG_NOW);
    body.has_dry_run = body.dry_run = command_has(command, FLAG_DRY_RUN);
    if (command_duration(command, FLAG_GRACE, &grace.us) == 0 && grace.us)
        body.grace = &grace;
    request.body_case = WAFER__REQUEST__BODY_CANCEL;
    request.cancel = &body;
    return connection_send(connection, &request);
}

static int send_hold(const struct command *command, struct connection *connection,
                     Wafer__Target *target)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__HoldRequest body = WAFER__HOLD_REQUEST__INIT;

    body.target = target;
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_HOLD;
    request.hold = &body;
    return connection_send(connection, &request);
}

static int send_release(const struct command *command, struct connection *connection,
                        Wafer__Target *target)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReleaseRequest body = WAFER__RELEASE_REQUEST__INIT;

    body.target = target;
    request.body_case = WAFER__REQUEST__BODY_RELEASE;
    request.release = &body;
    return connection_send(connection, &request);
}

static int send_requeue(const struct command *command, struct connection *connection,
                        Wafer__Target *target)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__RequeueRequest body = WAFER__REQUEUE_REQUEST__INIT;

    body.target = target;
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_REQUEUE;
    request.requeue = &body;
    return connection_send(connection, &request);
}

static int send_update(const struct command *command, struct connection *connection,
                       Wafer__Target *target)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__UpdateRequest body = WAFER__UPDATE_REQUEST__INIT;

    body.target = target;
    body.set = (char **)command->sets;
    body.n_set = command->set_count;
    body.has_if_version = command_has(command, FLAG_IF_VERSION);
    if (body.has_if_version)
        command_number(command, FLAG_IF_VERSION, UINT64_MAX, &body.if_version);
    request.body_case = WAFER__REQUEST__BODY_UPDATE;
    request.update = &body;
    return connection_send(connection, &request);
}

int run_update(const struct command *command)
{
    uint64_t version;
    int exit = command_number(command, FLAG_IF_VERSION, UINT64_MAX, &version);

    if (!exit && command->set_count == 0)
        exit = message_fail(command, EXIT_USAGE, "nothing to change: --set KEY=VALUE");
    return exit ? exit : change_jobs(command, send_update);
}

int run_cancel(const struct command *command)
{
    int64_t grace_us;
    int exit = command_duration(command, FLAG_GRACE, &grace_us);

    return exit ? exit : change_jobs(command, send_cancel);
}

int run_hold(const struct command *command)
{
    return change_jobs(command, send_hold);
}

int run_release(const struct command *command)
{
    return change_jobs(command, send_release);
}

int run_requeue(const struct command *command)
{
    return change_jobs(command, send_requeue);
}
