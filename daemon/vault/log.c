#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "vault/brief.h"
#include "vault/directory.h"
#include "vault/inside.h"

enum { NAME_SIZE = 40, BLOCK_BYTES = 64 << 10 };

static const uint64_t OFFSET_MAX = 999999999999; /* what a name of twelve digits can say */

/* One attempt's segments: where each begins, ascending, and where the last one ends. `brief` is all
 * of it while they hold nothing. */
struct segments {
    uint64_t job;
    uint32_t attempt;
    int directory;
    uint64_t *firsts;
    size_t count, capacity;
    uint64_t length;
    struct buffer brief;
};

static void segments_donep(struct segments *segments)
{
    fd_closep(&segments->directory);
    free(segments->firsts);
    buffer_done(&segments->brief);
}

#define SEGMENTS_OF(job_, attempt_)                                                                \
    {                                                                                              \
        .job = (job_), .attempt = (attempt_), .directory = -1                                      \
    }

__attribute__((format(printf, 4, 5))) static int
fail(struct diag *diag, int error, const struct segments *segments, const char *format, ...)
{
    char what[DIAG_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return diag_fail(diag, error, "log of job %" PRIu64 ", attempt %" PRIu32 ": %s", segments->job,
                     segments->attempt, what);
}

static void segment_format(char name[static NAME_SIZE], uint64_t first)
{
    snprintf(name, NAME_SIZE, "%012" PRIu64 ".log", first);
}

static bool segment_parse(const char *name, uint64_t *ret)
{
    char again[NAME_SIZE];

    if (sscanf(name, "%" SCNu64, ret) != 1 || *ret > OFFSET_MAX)
        return false;
    segment_format(again, *ret);
    return strcmp(again, name) == 0;
}

static int compare_firsts(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

static int segments_list(struct segments *segments)
{
    owned(closedir) DIR *list = NULL;
    uint64_t first;
    int r = directory_list(segments->directory, &list);

    if (r < 0)
        return r;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!segment_parse(entry->d_name, &first))
            continue;
        ARRAY_RESERVE(segments->firsts, segments->count, segments->capacity);
        segments->firsts[segments->count++] = first;
    }
    if (segments->count > 0)
        qsort(segments->firsts, segments->count, sizeof(first), compare_firsts);
    return 0;
}

static int segment_open(const struct segments *segments, uint64_t first, int flags, int *ret_fd,
                        uint64_t *ret_bytes)
{
    char name[NAME_SIZE];
    int64_t bytes = 0;

    segment_format(name, first);
    int r = file_open(segments->directory, name, flags, ret_fd, &bytes);
    *ret_bytes = (uint64_t)bytes;
    return r;
}

static void job_format(char name[static NAME_SIZE], uint64_t job)
{
    snprintf(name, NAME_SIZE, "%" PRIu64, job);
}

static void attempt_format(char name[static NAME_SIZE], uint32_t attempt)
{
    snprintf(name, NAME_SIZE, "%" PRIu32, attempt);
}

static int directories_open(struct vault *vault, struct segments *segments, bool make)
{
    int (*next)(int, const char *, int *) = make ? directory_make : directory_open;
    owned(fd_close) int job = -1;
    char name[NAME_SIZE];

    job_format(name, segments->job);
    int r = next(vault->logs, name, &job);
    attempt_format(name, segments->attempt);
    return r < 0 ? r : next(job, name, &segments->directory);
}

/* `make`: the attempt's directory too. */
static int segments_open(struct vault *vault, struct segments *segments, bool make,
                         struct diag *diag)
{
    owned(fd_close) int last = -1;
    uint64_t bytes;
    int r = directories_open(vault, segments, make);

    /* Deleting the last log of a job removes its directory, perhaps just under us. */
    for (int tries = 0; make && r == -ENOENT && tries < 10; tries++)
        r = directories_open(vault, segments, make);
    bool none = r == -ENOENT;
    if (r == 0)
        r = segments_list(segments);
    if (r == 0 && segments->count > 0) {
        uint64_t first = segments->firsts[segments->count - 1];
        r = segment_open(segments, first, O_RDONLY, &last, &bytes);
        segments->length = first + bytes;
    }
    if (none || (r == 0 && segments->length == 0)) {
        r = brief_read(vault, segments->job, segments->attempt, &segments->brief);
        segments->length = segments->brief.length;
        if (r == -ENOENT && none)
            return fail(diag, r, segments, "there is none");
        if (r == -ENOENT)
            r = 0;
    }
    return r < 0 ? fail(diag, r, segments, "%s", vault_reason(r)) : 0;
}

/* --- reading --- */

static size_t segment_of(const struct segments *segments, uint64_t offset)
{
    size_t i = segments->count;

    while (i > 0 && segments->firsts[i - 1] > offset)
        i--;
    return i; /* 1 + index; 0: before the first */
}

/* The bytes must be there: the caller stays below the log's length. */
static int segments_read(const struct segments *segments, uint64_t offset, uint8_t *bytes,
                         size_t length, struct diag *diag)
{
    if (segments->brief.length > 0) {
        memcpy(bytes, buffer_data(&segments->brief) + offset, length);
        return 0;
    }
    while (length > 0) {
        owned(fd_close) int fd = -1;
        uint64_t found;
        size_t number = segment_of(segments, offset), take = length;

        if (number == 0)
            return fail(diag, -EBADMSG, segments, "its first segment is gone");
        uint64_t first = segments->firsts[number - 1];
        if (number < segments->count && segments->firsts[number] - offset < take)
            take = (size_t)(segments->firsts[number] - offset);
        int r = segment_open(segments, first, O_RDONLY, &fd, &found);
        if (r == 0)
            r = file_read_at(fd, offset - first, bytes, take);
        if (r == -ENODATA || r == -ENOENT)
            return fail(diag, -EBADMSG, segments, "bytes before %" PRIu64 " are gone",
                        offset + take);
        if (r < 0)
            return fail(diag, r, segments, "%s", vault_reason(r));
        bytes += take;
        offset += take;
        length -= take;
    }
    return 0;
}

int vault_log_length(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t *ret,
                     struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(job, attempt);

    int r = segments_open(vault, &segments, false, diag);
    if (r == 0)
        *ret = segments.length;
    return r;
}

int vault_log_read(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t offset,
                   size_t length, struct buffer *ret, struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(job, attempt);

    int r = segments_open(vault, &segments, false, diag);
    if (r < 0 || offset >= segments.length)
        return r;
    if (length > segments.length - offset)
        length = (size_t)(segments.length - offset);
    r = segments_read(&segments, offset, buffer_reserve(ret, length), length, diag);
    if (r == 0)
        buffer_grow(ret, length);
    return r;
}

int vault_log_tail(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t lines,
                   uint64_t *ret_offset, struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(job, attempt);
    owned(free) uint8_t *block = memory_resize(NULL, 1, BLOCK_BYTES);

    int r = segments_open(vault, &segments, false, diag);
    if (r < 0)
        return r;
    uint64_t end = segments.length, seen = 0;
    while (end > 0 && lines > 0) {
        size_t length = end < BLOCK_BYTES ? (size_t)end : BLOCK_BYTES;
        r = segments_read(&segments, end - length, block, length, diag);
        if (r < 0)
            return r;
        for (size_t i = length; i > 0; i--) {
            uint64_t after = end - length + i; /* where a line begins if block[i - 1] ends one */
            if (block[i - 1] != '\n' || after == segments.length)
                continue;
            if (++seen == lines) {
                *ret_offset = after;
                return 0;
            }
        }
        end -= length;
    }
    *ret_offset = end;
    return 0;
}

/* --- writing --- */

/* How much of it goes into a segment of `used` bytes: whole lines, or as much as it takes of a line
 * that no segment can hold. */
static size_t fit(const uint8_t *bytes, size_t length, uint64_t used)
{
    size_t room = used < VAULT_LOG_SEGMENT_BYTES ? (size_t)(VAULT_LOG_SEGMENT_BYTES - used) : 0;

    if (length <= room)
        return length;
    const uint8_t *end = memrchr(bytes, '\n', room);
    if (end)
        return (size_t)(end - bytes) + 1;
    return used == 0 ? room : 0;
}

static int segments_append(struct segments *segments, const uint8_t *bytes, size_t length)
{
    uint64_t first = segments->count > 0 ? segments->firsts[segments->count - 1] : 0;
    int flags = segments->count > 0 ? O_RDWR : O_RDWR | O_CREAT | O_EXCL;

    while (length > 0) {
        owned(fd_close) int fd = -1;
        uint64_t used;
        int r = segment_open(segments, first, flags, &fd, &used);
        if (r < 0)
            return r;
        size_t take = fit(bytes, length, used);
        r = file_write_at(fd, used, bytes, take);
        if (r < 0)
            return r;
        if (take < length && fdatasync(fd) < 0) /* full: nobody comes back to it */
            return -errno;
        bytes += take;
        length -= take;
        first += used + take;
        flags = O_RDWR | O_CREAT | O_EXCL;
    }
    return 0;
}

/* What is there already must be the same. */
static int compare(const struct segments *segments, uint64_t offset, const uint8_t *bytes,
                   size_t length, struct diag *diag)
{
    owned(free) uint8_t *stored = memory_resize(NULL, 1, length);

    int r = segments_read(segments, offset, stored, length, diag);
    if (r < 0)
        return r;
    if (memcmp(stored, bytes, length) != 0)
        return fail(diag, -EEXIST, segments, "other bytes are at %" PRIu64 " already", offset);
    return 0;
}

int vault_log_append(struct vault *vault, uint64_t job, uint32_t attempt, uint64_t offset,
                     const void *bytes, size_t length, struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(job, attempt);
    const uint8_t *rest = bytes;

    int r = segments_open(vault, &segments, true, diag);
    if (r < 0)
        return r;
    if (offset > segments.length)
        return fail(diag, -ERANGE, &segments,
                    "has %" PRIu64 " bytes: nothing can follow at %" PRIu64, segments.length,
                    offset);
    if (offset > OFFSET_MAX || length > OFFSET_MAX - offset)
        return fail(diag, -EFBIG, &segments, "at most %" PRIu64 " bytes can be", OFFSET_MAX);
    if (offset < segments.length && length > 0) {
        uint64_t repeated = segments.length - offset;
        size_t same = repeated < length ? (size_t)repeated : length;
        r = compare(&segments, offset, rest, same, diag);
        if (r < 0)
            return r;
        rest += same;
        length -= same;
    }
    if (segments.brief.length > 0) { /* it moves to where the rest of it will be */
        buffer_append(&segments.brief, rest, length);
        rest = buffer_data(&segments.brief);
        length = segments.brief.length;
    }
    r = segments_append(&segments, rest, length);
    return r < 0 ? fail(diag, r, &segments, "%s", vault_reason(r)) : 0;
}

/* --- deletion --- */

static int segments_remove(struct vault *vault, const struct segments *segments)
{
    owned(fd_close) int job = -1;
    char name[NAME_SIZE];
    int r = 0;

    for (size_t i = segments->count; r == 0 && i > 0; i--) {
        segment_format(name, segments->firsts[i - 1]);
        r = file_remove(segments->directory, name);
    }
    if (r < 0)
        return r;
    job_format(name, segments->job);
    r = directory_open(vault->logs, name, &job);
    if (r < 0)
        return r;
    attempt_format(name, segments->attempt);
    r = directory_remove(job, name);
    if (r == 0)
        r = directory_sync(job);
    if (r < 0)
        return r;
    job_format(name, segments->job);
    r = directory_remove(vault->logs, name);
    return r == -ENOTEMPTY ? 0 : r;
}

static int segments_delete(struct vault *vault, struct segments *segments)
{
    int r = directories_open(vault, segments, false);

    if (r == 0)
        r = segments_list(segments);
    if (r == 0)
        r = segments_remove(vault, segments);
    return r == -ENOENT ? 0 : r;
}

int vault_log_delete(struct vault *vault, uint64_t job, uint32_t attempt, struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(job, attempt);

    int r = segments_delete(vault, &segments);
    if (r == 0)
        r = brief_cut(vault, job, attempt);
    return r < 0 ? fail(diag, r, &segments, "cannot be removed: %s", vault_reason(r)) : 0;
}

/* --- of many attempts --- */

/* What has a directory stays there. */
static bool is_brief(struct vault *vault, const struct vault_log_text *text)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(text->job, text->attempt);

    return text->length <= VAULT_LOG_BRIEF_BYTES &&
           text->offset <= VAULT_LOG_BRIEF_BYTES - text->length &&
           directories_open(vault, &segments, false) == -ENOENT;
}

int vault_log_write(struct vault_log_writer *writer, const struct vault_log_text *text,
                    struct diag *diag)
{
    owned(segments_done) struct segments segments = SEGMENTS_OF(text->job, text->attempt);
    struct vault *vault = brief_vault(writer);
    bool replaces = text->offset == 0;
    int r = 0;

    /* A piece at 0 replaces pieces by itself. */
    if (replaces && text->length <= VAULT_LOG_BRIEF_BYTES)
        r = segments_delete(vault, &segments);
    else if (replaces)
        r = vault_log_delete(vault, text->job, text->attempt, diag);
    if (r == 0 && is_brief(vault, text))
        r = brief_append(writer, text);
    else if (r == 0)
        return vault_log_append(vault, text->job, text->attempt, text->offset, text->bytes,
                                text->length, diag);
    return r < 0 ? fail(diag, r, &segments, "%s", vault_reason(r)) : 0;
}
