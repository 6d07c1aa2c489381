#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/follow.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/spec.h"
#include "cli/submission.h"
#include "cli/user.h"
#include "model/job.h"
#include "model/limits.h"

#define WRITER_TIMEOUT_MS 1000 /* of a pipe that is given as a job file */

/* ---- the job file -------------------------------------------------------------------------- */

static int read_all(const struct command *command, int fd, const char *name, struct buffer *ret)
{
    ssize_t n;

    do {
        n = read(fd, buffer_reserve(ret, 64 << 10), 64 << 10);
        if (n > 0)
            buffer_grow(ret, (size_t)n);
        if (ret->length > LIMIT_JOB_FILE_BYTES)
            return message_fail(command, EXIT_DATA, "'%s' is no job file: more than %d bytes", name,
                                LIMIT_JOB_FILE_BYTES);
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0)
        return message_fail(command, errno == EISDIR ? EXIT_NO_INPUT : EXIT_IO,
                            "cannot read '%s': %s", name, strerror(errno));
    return 0;
}

/* A pipe without a writer would keep us for ever; one that is about to come is waited for. */
static int open_job_file(const struct command *command, const char *path, int *ret,
                         bool *ret_is_pipe)
{
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return message_fail(command, EXIT_NO_INPUT, "cannot open '%s': %s", path, strerror(errno));
    struct pollfd writer = { .fd = fd, .events = POLLIN };
    if (S_ISFIFO(st.st_mode))
        poll(&writer, 1, WRITER_TIMEOUT_MS);
    fcntl(fd, F_SETFL, 0); /* from here on reading waits for whoever writes, as any reader's does */
    *ret = fd_take(&fd);
    *ret_is_pipe = S_ISFIFO(st.st_mode);
    return 0;
}

static int read_job_file(const struct command *command, const char *path, struct buffer *ret)
{
    if (strcmp(path, "-") == 0)
        return read_all(command, STDIN_FILENO, "standard input", ret);

    owned(fd_close) int fd = -1;
    bool is_pipe = false;
    int exit = open_job_file(command, path, &fd, &is_pipe);
    if (!exit)
        exit = read_all(command, fd, path, ret);
    if (!exit && is_pipe && !ret->length)
        exit = message_fail(command, EXIT_NO_INPUT, "'%s' is a pipe that nobody wrote to", path);
    return exit;
}

/* ---- flags that stand for --set ------------------------------------------------------------ */

/* Flags whose value is the key's. */
static const struct {
    enum flag_id flag;
    const char *key;
} direct[] = {
    { FLAG_NAME, "name" },         { FLAG_QUEUE, "queue" },
    { FLAG_PRIORITY, "priority" }, { FLAG_LIMIT, "limit" },
    { FLAG_ARRAY, "array" },       { FLAG_BEGIN, "begin" },
    { FLAG_DEADLINE, "deadline" }, { FLAG_RESERVATION, "reservation" },
};

enum { SET_SYSTEMS = ELEMENTS(direct), SET_SYSTEMS_MIN, SET_AFTER, SETS };

struct sets {
    char *made[SETS]; /* what the flags stand for, before the user's own */
    const char **all;
};

static void sets_done(struct sets *sets)
{
    for (size_t i = 0; i < ELEMENTS(sets->made); i++)
        free(sets->made[i]);
    free(sets->all);
}

static inline void sets_donep(struct sets *sets)
{
    sets_done(sets);
}

/* "4": that many; "2..4": four, and no fewer than two */
static int set_systems(const struct command *command, char **ret_count, char **ret_min)
{
    const char *text = command->values[FLAG_SYSTEMS];
    const char *dots = text ? strstr(text, "..") : NULL;

    if (!text)
        return 0;
    if (dots == text || (dots && !dots[2]))
        return message_fail(command, EXIT_USAGE, "--systems: '%s' is no number like 4 or 2..4",
                            text);
    *ret_count = text_format("systems.count=%s", dots ? dots + 2 : text);
    if (dots)
        *ret_min = text_format("systems.min=%.*s", (int)(dots - text), text);
    return 0;
}

/* "afterok:7,afterany:8_3" as the list that a job file has. */
static int set_after(const struct command *command, char **ret)
{
    const char *text = command->values[FLAG_AFTER];
    owned(buffer_done) struct buffer list = BUFFER_EMPTY;

    if (!text)
        return 0;
    buffer_append_text(&list, "after=[");
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, ","), kind = strcspn(p, ":,");
        if (kind == 0 || kind + 1 >= length)
            return message_fail(command, EXIT_USAGE,
                                "--after: '%.*s' is not KIND:ID, as in afterok:7", (int)length, p);
        buffer_format(&list, "{%.*s: %.*s},", (int)kind, p, (int)(length - kind - 1), p + kind + 1);
        p += length + (p[length] == ',');
    }
    buffer_append_text(&list, "]");
    *ret = buffer_text(&list);
    return 0;
}

static int sets_make(const struct command *command, struct sets *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < ELEMENTS(direct); i++)
        if (command_has(command, direct[i].flag))
            ret->made[i] = text_format("%s=%s", direct[i].key, command->values[direct[i].flag]);
    int exit = set_systems(command, &ret->made[SET_SYSTEMS], &ret->made[SET_SYSTEMS_MIN]);
    if (!exit)
        exit = set_after(command, &ret->made[SET_AFTER]);
    if (exit)
        return exit;

    ret->all = memory_new((ELEMENTS(ret->made) + command->set_count + 1) * sizeof(*ret->all));
    for (size_t i = 0; i < ELEMENTS(ret->made); i++)
        if (ret->made[i])
            ret->all[count++] = ret->made[i];
    for (size_t i = 0; i < command->set_count; i++)
        ret->all[count++] = command->sets[i];
    return 0;
}

static void fill_default(char **field, const struct setting *setting)
{
    if (!*field)
        *field = text_copy(setting->value);
}

/* What neither the job file nor a flag says, but the user's settings do. */
static void fill_defaults(const struct command *command, Wafer__JobSpec *spec)
{
    fill_default(&spec->queue, command_setting(command, SETTING_QUEUE));
    fill_default(&spec->project, command_setting(command, SETTING_PROJECT));
}

int spec_read(const struct command *command, Wafer__JobSpec **ret)
{
    const char *path = command->targets[0];
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    owned(sets_done) struct sets sets = { .all = NULL };
    struct bind_errors errors = { .count = 0 };
    int exit = sets_make(command, &sets);

    if (!exit)
        exit = read_job_file(command, path, &text);
    if (exit)
        return exit;
    if (job_spec_read((const char *)buffer_data(&text), text.length, sets.all, ret, &errors) < 0)
        exit = message_bind(command, strcmp(path, "-") == 0 ? "stdin" : path, &errors);
    else
        fill_defaults(command, *ret);
    bind_errors_done(&errors);
    return exit;
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* An array is one submission of many jobs, whose ids rise from the first. */
static size_t count_jobs(const Wafer__JobSpec *spec)
{
    uint32_t first, last, parallel;

    if (!spec->array || job_array_parse(spec->array, &first, &last, &parallel) < 0)
        return 1;
    return (size_t)last - first + 1;
}

static void print_sentence(const struct command *command, const Wafer__Job *job, size_t count)
{
    uint64_t id = job->has_array_id ? job->array_id : job->id;
    const char *name = job->name ? job->name : "-";

    if (count > 1)
        output_line(command, "submitted jobs %" PRIu64 " to %" PRIu64 " %s", id, id + count - 1,
                    name);
    else
        output_line(command, "submitted job %" PRIu64 " %s", id, name);
    if (command->out.is_terminal && command->err.is_terminal &&
        !command_has(command, FLAG_FOLLOW_JOB) && !command_has(command, FLAG_WAIT))
        fprintf(stderr,
                "next: wafer show %" PRIu64 " | wafer logs -f %" PRIu64 " | wafer cancel %" PRIu64
                "\n",
                id, id, id);
}

static void print_submitted(const struct command *command, Wafer__Job *job, size_t count)
{
    bool goes_on = command_has(command, FLAG_FOLLOW_JOB) || command_has(command, FLAG_WAIT);

    user_fill(job);
    if (command->format == FORMAT_NAME ||
        (command_has(command, FLAG_QUIET) && !command_is_json(command)))
        printf("%" PRIu64 "\n", job->has_array_id ? job->array_id : job->id);
    else if (!noun_print_item(command, &job_noun, &job->base, goes_on))
        print_sentence(command, job, count);
    output_flush();
}

static int follow_submitted(const struct command *command, struct connection **connection,
                            const Wafer__Job *job, size_t count)
{
    uint64_t first = job->has_array_id ? job->array_id : job->id;
    struct targets targets = { .count = count };

    targets.items = memory_new(count * sizeof(*targets.items));
    for (size_t i = 0; i < count; i++) {
        wafer__target__init(&targets.items[i]);
        targets.items[i].has_job = true;
        targets.items[i].job = first + i;
    }
    int exit = follow_jobs(command, connection, &targets, command_has(command, FLAG_FOLLOW_JOB));
    free(targets.items);
    return exit;
}

static int submit_spec(const struct command *command, Wafer__JobSpec *spec)
{
    char key[SUBMISSION_KEY_SIZE];
    owned(connection_close) struct connection *connection = NULL;
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SubmitRequest body = WAFER__SUBMIT_REQUEST__INIT;
    Wafer__Job **jobs;

    submission_key(key);
    body.spec = spec;
    body.key = command_has(command, FLAG_KEY) ? (char *)command->values[FLAG_KEY] : key;
    body.has_hold = body.hold = command_has(command, FLAG_HOLD);
    request.body_case = WAFER__REQUEST__BODY_SUBMIT;
    request.submit = &body;

    int exit = connection_open(command, &connection);
    if (!exit)
        exit = connection_call_again(&connection, &request, RESPONSE_HAS_JOBS, &response);
    if (exit)
        return exit;
    if (response_jobs(response, &jobs) == 0)
        return message_fail(command, EXIT_INTERNAL, "the controller named no job");

    size_t count = count_jobs(spec);
    if (response->warning)
        message_note(command, "warning: %s", response->warning);
    print_submitted(command, jobs[0], count);
    if (command_has(command, FLAG_FOLLOW_JOB) || command_has(command, FLAG_WAIT))
        exit = follow_submitted(command, &connection, jobs[0], count);
    return exit;
}

int run_submit(const struct command *command)
{
    Wafer__JobSpec *spec = NULL;
    int exit = noun_check_columns(command, &job_noun);

    if (!exit && command_has(command, FLAG_PLAN))
        return run_plan(command);
    if (!exit)
        exit = spec_read(command, &spec);
    if (exit)
        return exit;
    exit = submit_spec(command, spec);
    wafer__job_spec__free_unpacked(spec, NULL);
    return exit;
}
