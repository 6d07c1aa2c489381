#include "cli/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"

#define SSH_FAILED 255 /* what ssh exits with for reasons of its own */
#define NOT_FOUND  127 /* what a shell does for a program that is not there */
#define WORDS_MAX  14

/* [USER@]HOST[:PORT], or with the host in brackets where it has colons itself. */
static const char *split_port(char *host)
{
    char *bracket = strrchr(host, ']'), *colon = strrchr(host, ':');
    bool has_port = colon && (bracket ? colon == bracket + 1 : strchr(host, ':') == colon);

    if (has_port)
        *colon = '\0';
    char *open = strchr(host, '[');
    if (bracket && open) {
        *bracket = '\0';
        memmove(open, open + 1, strlen(open));
    }
    return has_port ? colon + 1 : NULL;
}

static void run_ssh(const struct command *command, unsigned wait_s, int fd)
{
    char *host = text_copy(command->ssh_host);
    const char *port = split_port(host);
    const char *words[WORDS_MAX] = { "ssh", "-T" };
    size_t count = 2;
    sigset_t none;

    if (port) {
        words[count++] = "-p";
        words[count++] = port;
    }
    if (command_has(command, FLAG_NO_INPUT)) {
        words[count++] = "-o";
        words[count++] = "BatchMode=yes";
    }
    words[count++] = "--";
    words[count++] = host;
    words[count++] = "wafer";
    words[count++] = "proxy";
    if (wait_s) {
        words[count++] = "--timeout";
        words[count++] = text_format("%us", wait_s);
    }

    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], (char *const *)words);
    fprintf(stderr, "wafer: cannot run ssh: %s\n", strerror(errno));
    _exit(SSH_FAILED);
}

int ssh_start(const struct command *command, unsigned wait_s, int *ret_fd, pid_t *ret_pid)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return message_fail(command, EXIT_OS, "cannot make a pair of sockets: %s", strerror(errno));
    owned(fd_close) int ours = fds[0];
    owned(fd_close) int theirs = fds[1];
    /* To ssh its standard streams are as any others: it does not expect reads that do not wait. */
    int blocking = fcntl(theirs, F_SETFL, 0);
    pid_t pid = blocking < 0 ? -1 : fork();
    if (pid < 0)
        return message_fail(command, EXIT_OS, "cannot start ssh: %s", strerror(errno));
    if (pid == 0)
        run_ssh(command, wait_s, theirs);

    *ret_pid = pid;
    *ret_fd = fd_take(&ours);
    return 0;
}

static int wait_status(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return SSH_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SSH_FAILED;
}

int ssh_tell_end(const struct command *command, bool retries, pid_t pid)
{
    int status = wait_status(pid);

    switch (status) {
    case SSH_FAILED:
        return message_fail(command, EXIT_UNREACHABLE,
                            "cannot reach '%s' through ssh: try 'ssh %s wafer version'",
                            command->ssh_host, command->ssh_host);
    case NOT_FOUND:
        return message_fail(command, EXIT_UNREACHABLE,
                            "'%s' has no 'wafer' where ssh looks for programs: install it there",
                            command->ssh_host);
    case 0:
        if (retries)
            return -EPIPE;
        return message_fail(command, EXIT_UNREACHABLE, "the controller of '%s' went away",
                            command->ssh_host);
    default:
        /* The proxy has told the rest. */
        return message_fail(
            command, status >= EXIT_USAGE && status <= EXIT_CONFIG ? status : EXIT_UNREACHABLE,
            "the proxy on '%s' ended", command->ssh_host);
    }
}

void ssh_wait(pid_t pid)
{
    kill(pid, SIGTERM); /* it may be asking for a password that nobody will type */
    wait_status(pid);
}
