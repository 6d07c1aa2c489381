#include "vault/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY_MODE = 0700, FILE_MODE = 0600 };

/* What open() says of a link depends on the other flags; to us each of these means: not ours. */
static int open_error(void)
{
    switch (errno) {
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case ENXIO: /* a FIFO or socket */ return -EBADMSG;
    default: return -errno;
    }
}

static int write_error(void)
{
    return errno == EFBIG ? -ENOSPC : -errno;
}

int directory_open(int parent, const char *name, int *ret_fd)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return open_error();
    *ret_fd = fd;
    return 0;
}

int directory_make(int parent, const char *name, int *ret_fd)
{
    if (mkdirat(parent, name, DIRECTORY_MODE) < 0 && errno != EEXIST)
        return -errno;
    return directory_open(parent, name, ret_fd);
}

int directory_sync(int directory)
{
    return fsync(directory) < 0 ? -errno : 0;
}

int directory_remove(int parent, const char *name)
{
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int directory_list(int directory, DIR **ret)
{
    owned(fd_close) int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    DIR *list = fdopendir(fd);
    if (!list)
        return -errno;
    fd_take(&fd); /* the list closes it */
    *ret = list;
    return 0;
}

int directory_last_number(int directory, uint64_t *ret)
{
    owned(closedir) DIR *list = NULL;
    char again[32];
    uint64_t number;
    int r = directory_list(directory, &list);

    if (r < 0)
        return r;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (sscanf(entry->d_name, "%" SCNu64, &number) != 1)
            continue;
        snprintf(again, sizeof(again), "%" PRIu64, number);
        if (strcmp(again, entry->d_name) == 0 && number > *ret)
            *ret = number;
    }
    return 0;
}

/* A name that nobody else writes to, so that two writers of one file cannot mix their bytes. */
static int temporary_open(int directory, const char *name, char *temporary, size_t size)
{
    for (;;) {
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return -EIO;
        snprintf(temporary, size, "%s.%016llx.tmp", name, (unsigned long long)random);
        int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        FILE_MODE);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : write_error();
    }
}

/* link() refuses to replace, on every file system, where rename() does not. */
static int give_name(int directory, const char *temporary, const char *name, bool replace)
{
    if (replace)
        return renameat(directory, temporary, directory, name) < 0 ? -errno : 0;
    if (linkat(directory, temporary, directory, name, 0) < 0)
        return -errno;
    return unlinkat(directory, temporary, 0) < 0 ? -errno : 0;
}

int file_write(int directory, const char *name, const void *bytes, size_t length, bool replace)
{
    char temporary[256];
    owned(fd_close) int fd = temporary_open(directory, name, temporary, sizeof(temporary));

    if (fd < 0)
        return fd;
    int r = file_write_at(fd, 0, bytes, length);
    if (r == 0 && fsync(fd) < 0)
        r = write_error();
    if (r == 0)
        r = give_name(directory, temporary, name, replace);
    if (r < 0)
        unlinkat(directory, temporary, 0);
    return r;
}

int file_open(int directory, const char *name, int flags, int *ret_fd, int64_t *ret_bytes)
{
    /* O_NONBLOCK: a FIFO that somebody put there must not hold us up. */
    owned(fd_close) int fd =
        openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, FILE_MODE);
    struct stat status;

    if (fd < 0)
        return open_error();
    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EBADMSG;
    *ret_bytes = status.st_size;
    *ret_fd = fd_take(&fd);
    return 0;
}

int file_remove(int directory, const char *name)
{
    return unlinkat(directory, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int file_read_at(int fd, uint64_t offset, void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(fd, (char *)bytes + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        done += (size_t)n;
    }
    return 0;
}

int file_write_at(int fd, uint64_t offset, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return write_error();
        done += (size_t)n;
    }
    return 0;
}
