/* proxy — what `--server ssh://HOST` runs at the other end: standard input and output, joined with
 * the controller's socket here. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/message.h"
#include "cli/run.h"
#include "net/connect.h"

#define PIPE_BYTES       (64 << 10)
#define PROXY_TIMEOUT_MS 1000
#define PROXY_PAUSE_MS   200

/* One direction. */
struct pipe {
    int from, to;
    char bytes[PIPE_BYTES];
    size_t start, end; /* what was read and not written yet */
    bool ended;        /* nothing more comes, or nobody takes it */
};

static void fill(struct pipe *pipe)
{
    ssize_t n = read(pipe->from, pipe->bytes, sizeof(pipe->bytes));

    if (n > 0)
        pipe->start = 0, pipe->end = (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        pipe->ended = true;
}

static void drain(struct pipe *pipe)
{
    ssize_t n = write(pipe->to, pipe->bytes + pipe->start, pipe->end - pipe->start);

    if (n > 0)
        pipe->start += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        pipe->ended = true;
    if (pipe->start == pipe->end)
        pipe->start = pipe->end = 0;
}

static bool is_full(const struct pipe *pipe)
{
    return pipe->end > 0;
}

/* Until either side is done: a client that closes wants no more answers. */
static void join(struct pipe *pipes)
{
    while (!pipes[0].ended && !pipes[1].ended) {
        struct pollfd fds[2];

        for (size_t i = 0; i < 2; i++)
            fds[i] = is_full(&pipes[i]) ? (struct pollfd){ .fd = pipes[i].to, .events = POLLOUT }
                                        : (struct pollfd){ .fd = pipes[i].from, .events = POLLIN };
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < 2; i++) {
            if (!fds[i].revents)
                continue;
            if (is_full(&pipes[i]))
                drain(&pipes[i]);
            else
                fill(&pipes[i]);
        }
    }
}

/* With --timeout a controller that is not there is waited for, as long as somebody is at the other
 * end: it may be starting again. A negative errno when it is not there. */
static int reach(const struct command *command, int *ret_fd, struct diag *diag)
{
    int64_t deadline_us = connection_now_us() + command->timeout_us;

    for (;;) {
        int r = connect_unix(command->socket_path, PROXY_TIMEOUT_MS, ret_fd, diag);
        struct pollfd client = { .fd = STDIN_FILENO };

        if ((r != -ENOENT && r != -ECONNREFUSED) || connection_now_us() >= deadline_us)
            return r;
        if (poll(&client, 1, PROXY_PAUSE_MS) > 0)
            return r;
    }
}

int run_proxy(const struct command *command)
{
    static struct pipe pipes[2];
    struct diag diag;
    int fd;

    if (!command->socket_path)
        return message_fail(command, EXIT_USAGE,
                            "%s: a proxy leads to the controller of its own machine",
                            command->address->origin);
    if (isatty(STDIN_FILENO))
        return message_fail(command, EXIT_USAGE,
                            "a proxy speaks to a program: --server ssh://HOST runs it");
    int r = reach(command, &fd, &diag);
    if (r < 0)
        return connection_refused(command, r, &diag);
    owned(fd_close) int socket = fd;
    pipes[0] = (struct pipe){ .from = STDIN_FILENO, .to = socket };
    pipes[1] = (struct pipe){ .from = socket, .to = STDOUT_FILENO };
    join(pipes);
    return 0;
}
