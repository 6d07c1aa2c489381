/* commands: whole processes, from their start to their end.
 *
 * commands oneshot DIR COMMAND...   alternately the command and an fsync in DIR
 * commands repeat COUNT COMMAND...
 * commands restart PID SOCKET COMMAND...  kill -9 PID, start the command, until it answers at
 * SOCKET commands loop FILE [reset]        what loop_watch.so has written */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "loop_watch.h"
#include "measure.h"
#include "net/client.h"

#define PROGRAM       "bench 1"
#define ONESHOT_COUNT 60
#define READY_S       60

extern char **environ;

static pid_t start(char *const *command)
{
    posix_spawn_file_actions_t files;
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, command[0], &files, NULL, command, environ) != 0)
        give_up("%s cannot be started", command[0]);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* Seconds from start to end; what it used, in `ret_usage` or nowhere. */
static double run(char *const *command, struct rusage *ret_usage)
{
    struct rusage usage;
    double began = now_s();
    int status;

    wait4(start(command), &status, 0, ret_usage ? ret_usage : &usage);
    if (status != 0)
        give_up("%s failed", command[0]);
    return now_s() - began;
}

static double sync_once(int fd)
{
    static char page[4096];
    double began = now_s();

    if (write(fd, page, sizeof(page)) != sizeof(page) || fdatasync(fd) < 0)
        give_up("cannot sync: %s", strerror(errno));
    return now_s() - began;
}

static void measure_oneshot(const char *dir, char *const *command)
{
    owned(free) char *path = text_format("%s/sync", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    double took[ONESHOT_COUNT], synced[ONESHOT_COUNT];

    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    for (size_t i = 0; i < ONESHOT_COUNT; i++) {
        took[i] = run(command, NULL);
        synced[i] = sync_once(fd);
    }
    close(fd);
    unlink(path);
    tell("oneshot_ms", percentile(took, ONESHOT_COUNT, 50) * 1e3);
    tell("oneshot_fsync_ms", percentile(synced, ONESHOT_COUNT, 50) * 1e3);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void measure_repeated(size_t count, char *const *command)
{
    double *took = memory_new((count + 1) * sizeof(*took));
    double *cpu_s = memory_new((count + 1) * sizeof(*cpu_s));
    struct rusage usage;

    for (size_t i = 0; i < count; i++) {
        took[i] = run(command, &usage);
        cpu_s[i] = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    }
    tell("median_ms", percentile(took, count, 50) * 1e3);
    tell("least_ms", percentile(took, count, 0) * 1e3);
    tell("cpu_s", percentile(cpu_s, count, 50));
    tell("memory_mb", (double)usage.ru_maxrss / 1024);
    free(took);
    free(cpu_s);
}

static bool answers(const char *socket)
{
    owned(client_free) struct client *client = NULL;
    Wafer__VersionRequest version = WAFER__VERSION_REQUEST__INIT;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__Response *response;
    struct diag diag;

    request.id = 1;
    request.body_case = WAFER__REQUEST__BODY_VERSION;
    request.version = &version;
    if (client_connect(socket, PROGRAM, NULL, READY_S * 1000, &client, &diag) < 0 ||
        client_send(client, &request, &diag) < 0 ||
        client_receive(client, READY_S * 1000, &response, &diag) < 0)
        return false;
    wafer__response__free_unpacked(response, NULL);
    return true;
}

static void measure_restart(pid_t pid, const char *socket, char *const *command)
{
    double began = now_s();

    if (kill(pid, SIGKILL) < 0)
        give_up("process %d: %s", (int)pid, strerror(errno));
    /* The socket of the dead one must not be taken for that of the new one. */
    unlink(socket);
    pid = start(command);
    while (!answers(socket)) {
        poll(NULL, 0, 1);
        if (now_s() - began > READY_S || waitpid(pid, NULL, WNOHANG) == pid)
            give_up("%s does not get ready", command[0]);
    }
    tell("restart_s", now_s() - began);
    tell("pid", (double)pid);
}

static void tell_loop(const char *path, bool reset)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct loop_watch *watch =
        mmap(NULL, sizeof(*watch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (watch == MAP_FAILED)
        give_up("%s: %s", path, strerror(errno));
    tell("loop_block_ms", (double)watch->longest_us / 1e3);
    tell("loop_block_cpu_ms", (double)watch->longest_cpu_us / 1e3);
    tell("loop_turns", (double)watch->turns);
    if (reset)
        watch->longest_us = watch->longest_cpu_us = watch->turns = 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    if (!strcmp(what, "oneshot") && argc > 3)
        measure_oneshot(argv[2], argv + 3);
    else if (!strcmp(what, "repeat") && argc > 3)
        measure_repeated(strtoul(argv[2], NULL, 10), argv + 3);
    else if (!strcmp(what, "restart") && argc > 4)
        measure_restart(atoi(argv[2]), argv[3], argv + 4);
    else if (!strcmp(what, "loop"))
        tell_loop(argv[2], argc > 3);
    else
        give_up("usage: commands oneshot|repeat|restart|loop ...");
    return 0;
}
