/* file — what a reader is given: bytes, as they are or compressed, behind a descriptor. */
#ifndef WAFERD_TESTS_REPLAY_FILE_H
#define WAFERD_TESTS_REPLAY_FILE_H

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static inline int file_of(const void *bytes, size_t length)
{
    int fd = memfd_create("file", 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static inline int file_of_text(const char *text)
{
    return file_of(text, strlen(text));
}

static inline int file_compressed(const void *bytes, size_t length)
{
    int fd = memfd_create("file", 0);
    gzFile file = gzdopen(dup(fd), "wb");

    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)length), (int)length);
    ck_assert_int_eq(gzclose(file), Z_OK);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

#endif
