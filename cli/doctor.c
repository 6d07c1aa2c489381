/* doctor — what waferd-doctor found, which has what it takes to look; it needs no controller. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "view.pb-c.h"

#define HELPER     "waferd-doctor"
#define OUTPUT_MAX (16 << 20)

extern char **environ;

/* Beside this program in a build tree, else where it was installed. */
static char *helper_path(void)
{
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length > 0) {
        own[length] = '\0';
        owned(free) char *beside = text_format("%.*s/" HELPER, (int)(strrchr(own, '/') - own), own);
        if (access(beside, X_OK) == 0)
            return TAKE(beside);
    }
    return text_copy(HELPERDIR "/" HELPER);
}

static void helper_arguments(const struct command *command, char *path, char *arguments[static 8])
{
    size_t count = 0;

    arguments[count++] = path;
    if (command->target_count) {
        arguments[count++] = (char *)"--dev";
        arguments[count++] = (char *)command->targets[0];
    }
    if (command_has(command, FLAG_CONFIG)) {
        arguments[count++] = (char *)"--config";
        arguments[count++] = (char *)command->values[FLAG_CONFIG];
    }
    if (command_has(command, FLAG_BACKUP)) {
        arguments[count++] = (char *)"--backup";
        arguments[count++] = (char *)command->values[FLAG_BACKUP];
    }
    arguments[count] = NULL;
}

static void read_all(int fd, struct buffer *ret)
{
    ssize_t n;

    while ((n = read(fd, buffer_reserve(ret, 64 << 10), 64 << 10)) > 0 && ret->length < OUTPUT_MAX)
        buffer_grow(ret, (size_t)n);
}

/* Its exit status; what it says on standard error goes to ours. */
static int run_helper(const struct command *command, struct buffer *ret)
{
    owned(free) char *path = helper_path();
    char *arguments[8];
    posix_spawn_file_actions_t actions;
    int pipe_fds[2], status = 0;
    pid_t pid;

    helper_arguments(command, path, arguments);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return message_fail(command, EXIT_INTERNAL, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    int error = posix_spawn(&pid, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    if (error == 0) {
        read_all(pipe_fds[0], ret);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(pipe_fds[0]);
    if (error)
        return message_fail(command, EXIT_INTERNAL, "cannot run %s: %s: it comes with waferd", path,
                            strerror(error));
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return message_fail(command, EXIT_INTERNAL, "%s was ended by signal %d", path,
                        WTERMSIG(status));
}

static const char *verdict_name(const Wafer__Finding *finding)
{
    static const char *const names[] = { "ok", "warn", "fail" };

    return (size_t)finding->verdict < ELEMENTS(names) ? names[finding->verdict] : "fail";
}

static void print_lines(const struct command *command, const Wafer__Doctor *doctor)
{
    static const enum style styles[] = { STYLE_GOOD, STYLE_ACTIVE, STYLE_BAD };
    const struct screen *screen = &command->out;

    for (size_t i = 0; i < doctor->n_items; i++) {
        const Wafer__Finding *finding = doctor->items[i];
        enum style style =
            (size_t)finding->verdict < ELEMENTS(styles) ? styles[finding->verdict] : STYLE_BAD;
        owned(free) char *line =
            text_format("%-8s %s%s%s", finding->check, finding->text, finding->remedy ? ": " : "",
                        finding->remedy ? finding->remedy : "");

        printf("%s%-4s%s ", screen_begin(screen, style), verdict_name(finding),
               screen_end(screen, style));
        output_line(command, "%s", line);
    }
}

static void print_plain(const Wafer__Doctor *doctor)
{
    for (size_t i = 0; i < doctor->n_items; i++) {
        const Wafer__Finding *finding = doctor->items[i];
        struct record record = { 0 };

        output_text(&record, verdict_name(finding));
        output_text(&record, finding->check);
        output_text(&record, finding->text);
        output_text(&record, finding->remedy);
        output_end(&record);
    }
}

int run_doctor(const struct command *command)
{
    owned(buffer_done) struct buffer packed = BUFFER_EMPTY;

    if (command->target_count && command_has(command, FLAG_CONFIG))
        return message_fail(command, EXIT_USAGE, "a directory and --config: one of them");
    int exit = run_helper(command, &packed);
    if (exit)
        return exit;
    Wafer__Doctor *doctor =
        wafer__doctor__unpack(NULL, packed.length, (const uint8_t *)buffer_data(&packed));
    if (!doctor)
        return message_fail(command, EXIT_INTERNAL,
                            "what " HELPER " said cannot be read: it is of "
                            "another version");
    if (command->format == FORMAT_PLAIN)
        print_plain(doctor);
    else if (!output_document(command, &doctor->base) && !command_has(command, FLAG_QUIET))
        print_lines(command, doctor);
    exit = doctor->healthy ? 0 : 1;
    wafer__doctor__free_unpacked(doctor, NULL);
    return exit;
}
