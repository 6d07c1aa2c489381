#include "calendars.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "model/message.h"
#include "workers.h"

#define ZONE_FILE_BYTES (64 << 10) /* the largest of tzdata has 4 KiB */

/* Europe/Berlin, Etc/GMT+1: no way out of the directory. */
static bool is_zone_name(const char *name)
{
    return *name && *name != '/' && *name != '.' && !strstr(name, "..") &&
           strlen(name) < NAME_MAX &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-") ==
               strlen(name);
}

static int read_zone(const char *name, struct zone **ret, struct diag *diag)
{
    const char *directory = getenv("TZDIR");
    owned(free) char *path =
        text_format("%s/%s", directory ? directory : "/usr/share/zoneinfo", name);
    owned(free) uint8_t *bytes = memory_new(ZONE_FILE_BYTES);
    size_t length = 0;
    ssize_t more;

    if (!is_zone_name(name))
        return diag_fail(diag, -EINVAL, "zone \"%.80s\" is no name like Europe/Berlin", name);
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return diag_fail(diag, errno == ENOENT ? -EINVAL : -errno,
                         "zone %s is not known here (%s: %m); tzdata has the names", name, path);
    while (length < ZONE_FILE_BYTES &&
           (more = read(fd, bytes + length, ZONE_FILE_BYTES - length)) != 0) {
        if (more < 0)
            return diag_fail(diag, errno == EISDIR ? -EINVAL : -errno, "%s: %m", path);
        length += (size_t)more;
    }
    int r = zone_parse(bytes, length, ret, diag);
    return r < 0 ? diag_prefix(diag, r, "%s", path) : 0;
}

int calendars_expand(const Wafer__Calendar *calendar, int64_t now_us, struct calendar_windows *ret,
                     struct diag *diag)
{
    owned(zone_free) struct zone *zone = NULL;
    int r = calendar->zone ? read_zone(calendar->zone, &zone, diag) : 0;

    return r < 0 ? r : calendar_expand(calendar, zone, now_us, ret, diag);
}

/* ---- renewal ---- */

struct renewal {
    struct task task;
    struct daemon *daemon;
    Wafer__ReservationState *reservation;
    int64_t now_us;
    struct calendar_windows windows;
    int error;
    struct diag diag;
};

static struct renewal *of_task(struct task *task)
{
    return CONTAINER_OF(task, struct renewal, task);
}

static void run(struct task *task)
{
    struct renewal *renewal = of_task(task);

    renewal->error = calendars_expand(renewal->reservation->calendar, renewal->now_us,
                                      &renewal->windows, &renewal->diag);
}

static void drop(struct task *task)
{
    struct renewal *renewal = of_task(task);

    calendar_windows_done(&renewal->windows);
    wafer__reservation_state__free_unpacked(renewal->reservation, NULL);
    free(renewal);
}

static void finish(struct task *task)
{
    struct renewal *renewal = of_task(task);
    struct input input = {
        .type = INPUT_CALENDAR,
        .calendar = { .reservation = renewal->reservation->number,
                      .facts = { .windows = renewal->windows.items,
                                 .count = renewal->windows.count,
                                 .known_until_us = renewal->windows.known_until_us,
                                 .refusal = renewal->error < 0 ? renewal->diag.text : NULL } },
    };

    if (renewal->error < 0)
        log_error("reservation %s: its next windows are not known: %s", renewal->reservation->name,
                  renewal->diag.text);
    daemon_step(renewal->daemon, &input);
    drop(task);
}

void calendars_renew(struct daemon *daemon, const struct effect *effect)
{
    struct renewal *renewal = NEW(struct renewal);

    renewal->task = (struct task){ .run = run, .finish = finish, .drop = drop };
    renewal->daemon = daemon;
    renewal->reservation = MESSAGE_COPY(effect->reservation);
    renewal->now_us = daemon_time_us(daemon);
    workers_add(daemon->workers, &renewal->task);
}
