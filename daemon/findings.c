#include "findings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/limits.h"

void findings_done(struct findings *findings)
{
    for (size_t i = 0; i < findings->errors.count; i++) {
        owned(free) char *line = bind_error_format(&findings->errors.items[i], findings->file);
        buffer_format(findings->lines, "%s\n", line);
    }
    bind_errors_done(&findings->errors);
    bind_places_free(findings->places);
}

void findings_add(struct findings *findings, const char *field, const char *format, ...)
{
    const struct bind_report report = { findings->places, &findings->errors };
    va_list arguments;

    va_start(arguments, format);
    bind_vrefuse(&report, field, format, arguments);
    va_end(arguments);
}

/* ---- files ---- */

static int read_all(int fd, size_t limit, struct buffer *ret)
{
    for (;;) {
        uint8_t *room = buffer_reserve(ret, 4096);
        ssize_t n = read(fd, room, 4096);
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        buffer_grow(ret, (size_t)n);
        if (ret->length > limit)
            return -EFBIG;
    }
}

static const char *reason(int error)
{
    return error == -EFBIG ? "it is larger than 256 KiB" : strerror(-error);
}

/* Whoever can write the file decides what it says. */
static bool is_guarded(struct findings *findings, const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        findings_add(findings, NULL, "it belongs to uid %u: it must be root's, or uid %u's",
                     (unsigned)st->st_uid, (unsigned)geteuid());
    else if (st->st_mode & (S_IWGRP | S_IWOTH))
        findings_add(findings, NULL, "others may write it: chmod go-w");
    else
        return true;
    return false;
}

int findings_read(struct findings *findings, const ProtobufCMessageDescriptor *type, bool guarded,
                  ProtobufCMessage **ret)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    /* O_NONBLOCK: a FIFO must not hold us up. */
    owned(fd_close) int fd =
        open(findings->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (guarded ? O_NOFOLLOW : 0));
    struct stat st;
    int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

    if (r == 0 && !S_ISREG(st.st_mode)) {
        findings_add(findings, NULL, "it is not a regular file");
        return -EINVAL;
    }
    if (r == 0 && guarded && !is_guarded(findings, &st))
        return -EINVAL;
    if (r == 0)
        r = read_all(fd, LIMIT_POLICY_FILE_BYTES, &text);
    if (r < 0) {
        findings_add(findings, NULL, "it cannot be read: %s",
                     r == -ELOOP ? "it is a link" : reason(r));
        return -EINVAL;
    }
    return bind_yaml(type, (const char *)buffer_data(&text), text.length, LIMIT_POLICY_FILE_BYTES,
                     ret, &findings->places, &findings->errors);
}

void findings_check_kind(struct findings *findings, const char *version, const char *kind,
                         const char *wanted)
{
    if (strcmp(version, "wafer/v1") != 0)
        findings_add(findings, "apiVersion", "\"%s\" is not known (only wafer/v1 is)", version);
    if (strcmp(kind, wanted) != 0)
        findings_add(findings, "kind", "\"%s\" is not what this file is for (%s)", kind, wanted);
}
