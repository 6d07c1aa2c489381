#include "dev.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "net/address.h"

#define RESTART_US UINT64_C(500000) /* before wafersim is started again ... */
#define RESTART_MAX_US                                                                             \
    UINT64_C(8000000)                    /* ... twice as long each time that it did not register   \
                                          */
#define ADOPT_US       UINT64_C(3000000) /* what is alive tries to connect at least every second */
#define END_MS         3000              /* for wafersim to end when asked to */
#define TIMER_SLACK_US 1000

extern char **environ;

struct dev {
    struct daemon *daemon;
    char *program, *pid_path, *log_path;
    char **arguments; /* NULL ends them */
    size_t argument_count;
    pid_t pid; /* 0: it does not run */
    int pidfd;
    uint64_t restart_us;
    sd_event_source *exit, *timer;
};

/* ---- places ---- */

static char *own_directory(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length <= 0)
        return text_copy(".");
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    *slash = '\0';
    return text_copy(path);
}

int dev_prepare(const char *dir, struct diag *diag)
{
    owned(free) char *socket = text_format("%s/waferd.sock", dir);
    struct sockaddr_un address;
    struct stat st;
    int r = address_unix(socket, &address, diag); /* before anything is made */

    if (r < 0)
        return r;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return diag_fail(diag, -errno, "%s cannot be created: %s", dir, strerror(errno));
    if (stat(dir, &st) < 0)
        return diag_fail(diag, -errno, "%s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return diag_fail(diag, -ENOTDIR, "%s is not a directory", dir);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return diag_fail(diag, -EACCES,
                         "%s must belong to uid %u and be writable by nobody else: choose a new "
                         "directory",
                         dir, (unsigned)geteuid());
    return 0;
}

int dev_find_platforms(char **ret, struct diag *diag)
{
    owned(free) char *own = own_directory();
    char *places[] = {
        text_format("%s/policies/platforms", own), /* in a build tree */
        text_format("%s/../share/waferd/platforms", own),
        text_copy(PKGDATADIR "/platforms"),
    };
    char *found = NULL;

    for (size_t i = 0; i < ELEMENTS(places) && !found; i++)
        if (access(places[i], R_OK | X_OK) == 0)
            found = TAKE(places[i]);
    if (!found)
        diag_fail(diag, -ENOENT, "no platform files: there is neither %s nor %s nor %s", places[0],
                  places[1], places[2]);
    for (size_t i = 0; i < ELEMENTS(places); i++)
        free(places[i]);
    *ret = found;
    return found ? 0 : -ENOENT;
}

static int find_program(char **ret, struct diag *diag)
{
    owned(free) char *own = own_directory();
    owned(free) char *beside = text_format("%s/wafersim", own);

    if (access(beside, X_OK) == 0)
        *ret = TAKE(beside);
    else if (access(SBINDIR "/wafersim", X_OK) == 0)
        *ret = text_copy(SBINDIR "/wafersim");
    else
        return diag_fail(diag, -ENOENT, "wafersim is missing: it is neither %s nor %s", beside,
                         SBINDIR "/wafersim");
    return 0;
}

/* ---- which process it is ---- */

/* When a process began, in clock ticks since boot: with its number, it names one process for good.
 * 0: there is none. */
static uint64_t process_start(pid_t pid)
{
    owned(free) char *path = text_format("/proc/%d/stat", (int)pid);
    owned(fclose) FILE *file = fopen(path, "re");
    char text[1024];
    uint64_t start = 0;

    if (!file || !fgets(text, sizeof(text), file))
        return 0;
    const char *rest = strrchr(text, ')'); /* a program's name may hold anything */
    if (!rest || sscanf(rest,
                        ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %*s %" SCNu64,
                        &start) != 1)
        return 0;
    return start;
}

/* "PID START DEVICE INODE": the last two are of the file itself, as who runs on a copy of the
 * directory must not take the systems of the original for its own, and end them. */
static pid_t recorded_process(const char *pid_path)
{
    /* Whatever has that name: opening it must not wait, as for the writer of a pipe. */
    owned(fd_close) int fd = open(pid_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    owned(fclose) FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    int pid;
    uint64_t start, device, inode;
    struct stat st;

    if (file)
        fd_take(&fd);
    if (!file || fstat(fileno(file), &st) < 0 ||
        fscanf(file, "%d %" SCNu64 " %" SCNu64 " %" SCNu64, &pid, &start, &device, &inode) != 4 ||
        pid <= 0 || start == 0 || device != st.st_dev || inode != st.st_ino)
        return 0;
    return process_start(pid) == start ? pid : 0;
}

static void record_process(const struct dev *dev)
{
    int fd = open(dev->pid_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                  0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    struct stat st;

    if (!file || fstat(fd, &st) < 0 ||
        fprintf(file, "%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (int)dev->pid,
                process_start(dev->pid), (uint64_t)st.st_dev, (uint64_t)st.st_ino) < 0)
        log_warning("%s cannot be written: %s; a restart will not find wafersim", dev->pid_path,
                    strerror(errno));
    if (file)
        fclose(file);
}

static char *pid_path_of(const char *dir)
{
    return text_format("%s/wafersim.pid", dir);
}

bool dev_systems_are_alive(const char *dir)
{
    owned(free) char *path = pid_path_of(dir);

    return recorded_process(path) > 0;
}

/* ---- start and end ---- */

static void set_timer(struct dev *dev, uint64_t after_us)
{
    sd_event_source_set_time_relative(dev->timer, after_us);
    sd_event_source_set_enabled(dev->timer, SD_EVENT_ONESHOT);
}

static void forget_process(struct dev *dev)
{
    dev->exit = sd_event_source_disable_unref(dev->exit);
    fd_closep(&dev->pidfd);
    dev->pidfd = -1;
    dev->pid = 0;
    unlink(dev->pid_path);
}

static void report_end(pid_t pid)
{
    int status;

    /* One that an earlier run started is not our child: how it ended is not told. */
    if (waitpid(pid, &status, WNOHANG) != pid)
        log_warning("wafersim (process %d) has ended", (int)pid);
    else if (WIFSIGNALED(status))
        log_warning("wafersim (process %d) was ended by signal %d", (int)pid, WTERMSIG(status));
    else
        log_warning("wafersim (process %d) has ended with status %d", (int)pid,
                    WEXITSTATUS(status));
}

static int on_exit_of(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct dev *dev = userdata;

    report_end(dev->pid);
    forget_process(dev);
    if (agents_registered(dev->daemon->agents) == 0)
        daemon_agents_gone(dev->daemon);
    set_timer(dev, dev->restart_us);
    dev->restart_us *= 2; /* until it registers */
    if (dev->restart_us > RESTART_MAX_US)
        dev->restart_us = RESTART_MAX_US;
    return 0;
}

static int watch_process(struct dev *dev, pid_t pid)
{
    dev->pidfd = pidfd_open(pid, 0);
    if (dev->pidfd < 0)
        return -errno;
    dev->pid = pid;
    return sd_event_add_io(dev->daemon->event, &dev->exit, dev->pidfd, EPOLLIN, on_exit_of, dev);
}

/* Our environment, but for what the service manager meant for us alone. The caller frees it; its
 * texts are borrowed. */
static char **environment_of_child(void)
{
    static const char *const ours[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=" };
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    char **copy = memory_resize(NULL, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        bool is_ours = false;
        for (size_t j = 0; j < ELEMENTS(ours); j++)
            is_ours |= strncmp(environ[i], ours[j], strlen(ours[j])) == 0;
        if (!is_ours)
            copy[kept++] = environ[i];
    }
    copy[kept] = NULL;
    return copy;
}

static int spawn(struct dev *dev, pid_t *ret)
{
    owned(free) char **environment = environment_of_child();
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none;

    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_init(&files);
    /* A file of its own: it may outlive whoever reads our standard error. */
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, dev->log_path,
                                     O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    int r = -posix_spawn(ret, dev->program, &files, &attributes, dev->arguments, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return r;
}

static void start(struct dev *dev)
{
    pid_t pid;
    int r = spawn(dev, &pid);

    if (r >= 0)
        r = watch_process(dev, pid);
    if (r < 0) {
        log_error("%s cannot be started: %s", dev->program, strerror(-r));
        set_timer(dev, RESTART_MAX_US);
        return;
    }
    record_process(dev);
    log_notice("wafersim is process %d; its messages go to %s", (int)pid, dev->log_path);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct dev *dev = userdata;

    if (!dev->pid) {
        start(dev);
    } else if (agents_registered(dev->daemon->agents) == 0) {
        log_warning("wafersim (process %d) of an earlier run does not connect: it is ended",
                    (int)dev->pid);
        pidfd_send_signal(dev->pidfd, SIGKILL, NULL, 0);
    }
    return 0;
}

void dev_registered(struct dev *dev)
{
    dev->restart_us = RESTART_US;
}

static void add_argument(struct dev *dev, char *text)
{
    dev->arguments =
        memory_resize(dev->arguments, dev->argument_count + 2, sizeof(*dev->arguments));
    dev->arguments[dev->argument_count++] = text;
    dev->arguments[dev->argument_count] = NULL;
}

static void add_option(struct dev *dev, const char *name, char *value)
{
    add_argument(dev, text_copy(name));
    add_argument(dev, value);
}

/* As the pages show them: s1, s2 ... are wafers. */
static char *pool_option(const struct options_pool *pool)
{
    const char *prefix = strcmp(pool->name, "wafer") == 0 ? ":s"
                         : strcmp(pool->name, "gpu") == 0 ? ":g"
                                                          : "";
    return text_format("%s=%s:%" PRIu32 "%s", pool->name, pool->platform, pool->count, prefix);
}

static void add_arguments(struct dev *dev, const struct options *options)
{
    const struct settings *settings = dev->daemon->settings;

    add_argument(dev, text_copy("wafersim"));
    add_option(dev, "--socket", text_copy(settings->agent_socket));
    add_option(dev, "--vault", text_copy(settings->vault_dir));
    add_option(dev, "--platforms", text_copy(settings->platforms_dir));
    add_option(dev, "--host", text_copy("dev"));
    add_option(dev, "--seed", text_format("%" PRIu64, options->seed));
    add_option(dev, "--linger", text_copy("30s"));
    for (size_t i = 0; i < options->pool_count; i++)
        add_option(dev, "--pool", pool_option(&options->pools[i]));
}

static int begin(struct dev *dev, struct diag *diag)
{
    int r = sd_event_add_time_relative(dev->daemon->event, &dev->timer, CLOCK_MONOTONIC, ADOPT_US,
                                       TIMER_SLACK_US, on_timer, dev);
    if (r < 0)
        return diag_fail(diag, r, "cannot set a timer: %s", strerror(-r));
    pid_t pid = recorded_process(dev->pid_path);
    if (pid > 0 && watch_process(dev, pid) >= 0) {
        log_notice("wafersim of an earlier run is alive (process %d)", (int)pid);
        return 0;
    }
    forget_process(dev);
    sd_event_source_set_enabled(dev->timer, SD_EVENT_OFF);
    start(dev);
    return 0;
}

int dev_new(struct daemon *daemon, const struct options *options, struct dev **ret,
            struct diag *diag)
{
    struct dev *dev = NEW(struct dev);

    dev->daemon = daemon;
    dev->pidfd = -1;
    dev->restart_us = RESTART_US;
    dev->pid_path = pid_path_of(options->dev_dir);
    dev->log_path = text_format("%s/wafersim.log", options->dev_dir);
    add_arguments(dev, options);
    int r = find_program(&dev->program, diag);
    if (r >= 0)
        r = begin(dev, diag);
    if (r < 0) {
        dev_free(dev);
        return r;
    }
    *ret = dev;
    return 0;
}

static void end_process(struct dev *dev)
{
    struct pollfd ended = { .fd = dev->pidfd, .events = POLLIN };

    pidfd_send_signal(dev->pidfd, SIGTERM, NULL, 0);
    if (poll(&ended, 1, END_MS) <= 0) {
        pidfd_send_signal(dev->pidfd, SIGKILL, NULL, 0);
        poll(&ended, 1, END_MS);
    }
    waitpid(dev->pid, NULL, WNOHANG);
    forget_process(dev);
}

struct dev *dev_free(struct dev *dev)
{
    if (!dev)
        return NULL;
    if (dev->pid)
        end_process(dev);
    sd_event_source_disable_unref(dev->timer);
    for (size_t i = 0; i < dev->argument_count; i++)
        free(dev->arguments[i]);
    free(dev->arguments);
    free(dev->program);
    free(dev->pid_path);
    free(dev->log_path);
    free(dev);
    return NULL;
}
