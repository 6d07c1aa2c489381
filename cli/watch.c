#include "cli/watch.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "cli/user.h"
#include "model/job.h"

struct watched {
    uint64_t request; /* of its stream */
    bool ended;
    int outcome;
    Wafer__Job *last;
};

struct watching {
    const struct watch *watch;
    struct connection **connection;
    struct watched *jobs;
    struct watched *open[WATCH_STREAMS]; /* those whose stream is open */
    size_t open_count, ended_count;
    size_t next; /* of jobs: before it each has been asked for */
    bool stopped;
};

int64_t watch_deadline_us(const struct command *command)
{
    return command->timeout_us ? connection_now_us() + command->timeout_us : -1;
}

static int open_streams(struct watching *watching)
{
    const struct watch *watch = watching->watch;

    while (watching->next < watch->targets->count && watching->open_count < WATCH_STREAMS) {
        size_t i = watching->next++;
        struct watched *job = &watching->jobs[i];
        if (job->ended)
            continue;

        Wafer__Request request = WAFER__REQUEST__INIT;
        Wafer__WatchRequest body = WAFER__WATCH_REQUEST__INIT;
        body.target = &watch->targets->items[i];
        request.body_case = WAFER__REQUEST__BODY_WATCH;
        request.watch = &body;
        int exit = connection_send(*watching->connection, &request);
        if (exit)
            return exit;
        job->request = request.id;
        watching->open[watching->open_count++] = job;
    }
    return 0;
}

static struct watched *find(struct watching *watching, uint64_t request)
{
    for (size_t i = 0; i < watching->open_count; i++)
        if (watching->open[i]->request == request)
            return watching->open[i];
    return NULL;
}

static void end_job(struct watching *watching, struct watched *job, int outcome)
{
    if (job->ended)
        return;
    job->ended = true;
    job->outcome = outcome;
    watching->ended_count++;
}

static void end_stream(struct watching *watching, struct watched *job)
{
    size_t i = 0;

    while (watching->open[i] != job)
        i++;
    watching->open[i] = watching->open[--watching->open_count];
}

static void take_view(struct watching *watching, struct watched *watched, Wafer__Response *response)
{
    const struct watch *watch = watching->watch;
    Wafer__Job *job = response->job;

    response->job = NULL;
    response->body_case = WAFER__RESPONSE__BODY__NOT_SET;
    user_fill(job);
    if (watch->on_job && !watch->on_job(watch->userdata, watched->last, job))
        watching->stopped = true;
    if (watched->last)
        wafer__job__free_unpacked(watched->last, NULL);
    watched->last = job;
}

/* 0, or the exit code that ends the whole watch. */
static int take_response(struct watching *watching, Wafer__Response *response)
{
    const struct command *command = watching->watch->command;
    struct watched *job = find(watching, response->id);

    if (response->body_case == WAFER__RESPONSE__BODY_ERROR) {
        int exit = message_refused(command, response->error);
        if (!job)
            return exit;
        end_stream(watching, job);
        end_job(watching, job, exit);
        return 0;
    }
    if (!job)
        return 0;
    if (response->body_case == WAFER__RESPONSE__BODY_JOB && !job->ended)
        take_view(watching, job, response);
    /* The stream may go on for what is still open after the end: a checkpoint to verify. */
    int outcome = job->last ? job_state_exit(job->last->state) : -1;
    if (outcome >= 0)
        end_job(watching, job, outcome);
    if (response->has_more && response->more)
        return 0;
    end_stream(watching, job);
    if (outcome < 0)
        end_job(watching, job,
                message_fail(command, EXIT_INTERNAL,
                             "the controller stopped telling before the job had ended"));
    return 0;
}

static int reopen(struct watching *watching, enum next *ret)
{
    if (watching->watch->on_message)
        watching->watch->on_message(watching->watch->userdata);
    *ret = connection_reopen(watching->connection, watching->watch->deadline_us);
    if (*ret == NEXT_GONE)
        return connection_gone(*watching->connection);
    watching->open_count = watching->next = 0;
    return 0;
}

static const char *still_running(const struct watching *watching)
{
    return watching->watch->targets->count == 1 ? "the job goes on" : "the jobs go on";
}

static int watch_to_the_end(struct watching *watching)
{
    const struct watch *watch = watching->watch;
    size_t wanted = watch->any ? 1 : watch->targets->count;

    while (watching->ended_count < wanted && !watching->stopped) {
        owned(response_free) Wafer__Response *response = NULL;
        int exit = open_streams(watching);
        if (exit)
            return exit;

        enum next next = connection_next(*watching->connection, watch->deadline_us, &response);
        if (next == NEXT_GONE)
            exit = reopen(watching, &next);
        else if (next == NEXT_RESPONSE)
            exit = take_response(watching, response);
        if (exit)
            return exit;
        if (next == NEXT_DEADLINE)
            return message_fail(watch->command, EXIT_WAIT_TIMEOUT, "not ended within --timeout: %s",
                                still_running(watching));
        if (next == NEXT_INTERRUPTED)
            return message_fail(watch->command, EXIT_INTERRUPTED,
                                "interrupted: %s, 'wafer wait' waits again",
                                still_running(watching));
    }
    return 0;
}

int watch_jobs(const struct watch *watch, struct connection **connection)
{
    size_t count = watch->targets->count;
    struct watching watching = { .watch = watch, .connection = connection };

    connection_catch_interrupt();
    watching.jobs = memory_new(count * sizeof(*watching.jobs));
    int exit = watch_to_the_end(&watching);
    for (size_t i = 0; i < count; i++) {
        if (!exit && watching.jobs[i].ended)
            exit = watching.jobs[i].outcome;
        if (watching.jobs[i].last)
            wafer__job__free_unpacked(watching.jobs[i].last, NULL);
    }
    free(watching.jobs);
    return exit;
}

int watch_outcome(const struct command *command, struct connection **connection,
                  Wafer__Target *target)
{
    struct targets targets = { .items = target, .count = 1 };
    struct watch watch = { .command = command, .targets = &targets, .deadline_us = -1 };

    return watch_jobs(&watch, connection);
}
