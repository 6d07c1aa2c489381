#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

static struct flock whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

static int fail_busy(const char *dir, int fd, struct diag *diag)
{
    struct flock holder = whole_file();

    if (fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0)
        return diag_fail(diag, -EBUSY,
                         "%s is in use by process %ld: stop it, or choose another directory", dir,
                         (long)holder.l_pid);
    return diag_fail(diag, -EBUSY,
                     "%s is in use by another process: stop it, or choose another directory", dir);
}

static int write_pid(const char *path, int fd, struct diag *diag)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    /* For people. A full disk must not stop a restart. */
    if ((ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length) &&
        errno != ENOSPC && errno != EDQUOT)
        return diag_fail(diag, -errno, "%s cannot be written: %s", path, strerror(errno));
    return 0;
}

int lock_take(const char *dir, int *ret_fd, struct diag *diag)
{
    owned(free) char *path = text_format("%s/lock", dir);
    owned(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return diag_fail(diag, -errno, "%s cannot be opened for writing: %s", path,
                         strerror(errno));
    /* A lock of the process, which flock() is not: a child that was just forked for a snapshot when
     * we are killed would hold that one on, and stop our successor. */
    struct flock lock = whole_file();
    if (fcntl(fd, F_SETLK, &lock) < 0)
        return errno == EACCES || errno == EAGAIN
                   ? fail_busy(dir, fd, diag)
                   : diag_fail(diag, -errno, "%s cannot be locked: %s", path, strerror(errno));
    int r = write_pid(path, fd, diag);
    if (r < 0)
        return r;
    *ret_fd = fd_take(&fd);
    return 0;
}

pid_t lock_holder(const char *dir)
{
    owned(free) char *path = text_format("%s/lock", dir);
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct flock holder = whole_file();

    if (fd < 0 || fcntl(fd, F_GETLK, &holder) < 0 || holder.l_type == F_UNLCK)
        return 0;
    return holder.l_pid;
}
