#include "store/reserve.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/store.h"

void reserve_init(struct reserve *reserve, const char *dir)
{
    *reserve = (struct reserve){ .path = text_format("%s/reserve", dir) };
}

void reserve_done(struct reserve *reserve)
{
    free(reserve->path);
    *reserve = (struct reserve){ .path = NULL };
}

static bool is_allocated(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_size == STORE_RESERVE_BYTES &&
           (off_t)status.st_blocks * 512 >= STORE_RESERVE_BYTES;
}

static bool allocate(int fd)
{
    if (posix_fallocate(fd, 0, 2 * (off_t)STORE_RESERVE_BYTES) == 0 &&
        ftruncate(fd, STORE_RESERVE_BYTES) == 0)
        return true;
    /* A part of it would only take the room that is wanted. */
    return ftruncate(fd, 0) == 0 && false;
}

bool reserve_hold(struct reserve *reserve)
{
    owned(fd_close) int fd = open(reserve->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    reserve->held = fd >= 0 && (is_allocated(fd) || allocate(fd));
    return reserve->held;
}

void reserve_release(struct reserve *reserve)
{
    unlink(reserve->path);
    reserve->held = false;
}
