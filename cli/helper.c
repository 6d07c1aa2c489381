#include "cli/helper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"

#define OUTPUT_MAX    (16 << 20)
#define ARGUMENTS_MAX 32

extern char **environ;

/* Beside this program in a build tree, else where it was installed. */
static char *helper_path(const char *name)
{
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length > 0) {
        own[length] = '\0';
        owned(free) char *beside =
            text_format("%.*s/%s", (int)(strrchr(own, '/') - own), own, name);
        if (access(beside, X_OK) == 0)
            return TAKE(beside);
    }
    return text_format("%s/%s", HELPERDIR, name);
}

static void read_all(int fd, struct buffer *ret)
{
    ssize_t n;

    while ((n = read(fd, buffer_reserve(ret, 64 << 10), 64 << 10)) > 0 && ret->length < OUTPUT_MAX)
        buffer_grow(ret, (size_t)n);
}

int helper_run(const struct command *command, const char *name, const char *const *arguments,
               struct buffer *ret)
{
    owned(free) char *path = helper_path(name);
    char *words[ARGUMENTS_MAX + 2] = { path };
    posix_spawn_file_actions_t actions;
    int pipe_fds[2], status = 0;
    pid_t pid;

    for (size_t i = 0; arguments[i]; i++) {
        assert(i < ARGUMENTS_MAX);
        words[i + 1] = (char *)arguments[i];
    }
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return message_fail(command, EXIT_INTERNAL, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    int error = posix_spawn(&pid, path, &actions, NULL, words, environ);
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
