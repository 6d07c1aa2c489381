#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/run.h"

/* -F: leave at once what fits on the screen; -R: colours; -X: leave it there afterwards. */
#define LESS_DEFAULT "FRX"
#define DEFAULT      "less"

extern char **environ;

static volatile pid_t pager; /* 0: there is none */

/* Whose output may be longer than a screen. */
static int (*const long_ones[])(const struct command *command) = {
    run_ls,       run_show,       run_explain,    run_logs,        run_events,
    run_report,   run_diff,       run_ckpt_ls,    run_ckpt_show,   run_system_ls,
    run_queue_ls, run_queue_show, run_quota_show, run_system_show, run_schema,
};

static bool is_long(const struct verb *verb)
{
    for (size_t i = 0; i < ELEMENTS(long_ones) && verb; i++)
        if (verb->run == long_ones[i])
            return true;
    return false;
}

static bool is_wanted(const struct command *command)
{
    const char *term = getenv("TERM");

    return is_long(command->verb) && command->out.is_terminal && term && *term &&
           strcmp(term, "dumb") != 0 && !command_has(command, FLAG_WATCH) &&
           !command_has(command, FLAG_FOLLOW) && !command_has(command, FLAG_HELP);
}

static bool is_on_path(const char *name)
{
    owned(free) char *path = text_copy(getenv("PATH"));
    char *rest = path;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (char *folder; (folder = strsep(&rest, ":"));) {
        owned(free) char *file = text_format("%s/%s", *folder ? folder : ".", name);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* What the reader asks for, if it is there: the shell that starts it would lose what it is to show.
 * NULL: nothing. */
static const char *choose(void)
{
    const char *pager_name = getenv("PAGER");

    if (!pager_name)
        pager_name = DEFAULT;
    pager_name += strspn(pager_name, " ");
    owned(free) char *program = text_copy_length(pager_name, strcspn(pager_name, " "));
    return *program && strcmp(program, "cat") != 0 && is_on_path(program) ? pager_name : NULL;
}

/* Ctrl-C ends wafer, and not before the pager has given the terminal back. */
static void on_interrupt(int number)
{
    close(STDOUT_FILENO);
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        ;
    signal(number, SIG_DFL);
    raise(number);
}

static pid_t start(const char *command, int read_fd)
{
    char *words[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t pid = 0;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* which wafer ignores */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, read_fd, STDIN_FILENO);
    if (posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ) != 0)
        pid = 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

void pager_begin(struct command *command)
{
    const char *chosen = is_wanted(command) ? choose() : NULL;
    int pipe_fds[2];

    if (!chosen || pipe2(pipe_fds, O_CLOEXEC) < 0)
        return;
    setenv("LESS", LESS_DEFAULT, 0);
    unsigned width = screen_width(&command->out);
    pager = start(chosen, pipe_fds[0]);
    if (pager && dup2(pipe_fds[1], STDOUT_FILENO) >= 0) {
        command->out.fixed_width = width; /* of the terminal, which a pipe does not know */
        signal(SIGINT, on_interrupt);
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

bool pager_reads(void)
{
    return pager != 0;
}

void pager_end(void)
{
    if (!pager)
        return;
    signal(SIGINT, SIG_IGN); /* it is the pager's now */
    close(STDOUT_FILENO);
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
}
