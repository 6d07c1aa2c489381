#include "replay/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

#define CHUNK_BYTES (256 << 10)

struct lines {
    gzFile file;
    char *name;
    size_t at, length; /* of what was read and not given yet */
    uint64_t number;
    char bytes[CHUNK_BYTES + 1];
};

int lines_open(int fd, const char *name, struct lines **ret, struct diag *diag)
{
    gzFile file = gzdopen(fd, "rb");

    if (!file) {
        close(fd);
        return diag_fail(diag, -ENOMEM, "%s: cannot be read", name);
    }
    gzbuffer(file, CHUNK_BYTES / 2);
    struct lines *lines = memory_new(sizeof(*lines));
    lines->file = file;
    lines->name = text_copy(name);
    *ret = lines;
    return 0;
}

struct lines *lines_close(struct lines *lines)
{
    if (!lines)
        return NULL;
    gzclose(lines->file);
    free(lines->name);
    free(lines);
    return NULL;
}

/* Have more bytes behind those that are there; 0: there are none. */
static int read_more(struct lines *lines, struct diag *diag)
{
    memmove(lines->bytes, lines->bytes + lines->at, lines->length);
    lines->at = 0;
    int n =
        gzread(lines->file, lines->bytes + lines->length, (unsigned)(CHUNK_BYTES - lines->length));
    int error = Z_OK;
    const char *text = gzerror(lines->file, &error);
    if (error == Z_ERRNO)
        return diag_fail(diag, -errno, "%s: %s", lines->name, strerror(errno));
    /* At the end of a file that is cut short, zlib gives what it has and an error. */
    if (n < 0 || error == Z_BUF_ERROR || error == Z_DATA_ERROR)
        return diag_fail(diag, -EBADMSG, "%s: after line %llu: %s", lines->name,
                         (unsigned long long)lines->number,
                         error == Z_BUF_ERROR ? "the gzip file is cut short" : text);
    lines->length += (size_t)n;
    return n;
}

int lines_next(struct lines *lines, struct line *ret, struct diag *diag)
{
    char *end;

    *ret = (struct line){ .number = lines->number + 1 };
    while (!(end = memchr(lines->bytes + lines->at, '\n', lines->length))) {
        if (lines->length == CHUNK_BYTES) { /* of a line without end only its beginning stays */
            lines->length = LINE_MAX_BYTES + 1;
            ret->is_cut = true;
        }
        int r = read_more(lines, diag);
        if (r < 0)
            return r;
        if (!r) {
            if (!lines->length)
                return 0;
            end = lines->bytes + lines->at + lines->length;
            lines->length++; /* as if it had ended in a newline */
            break;
        }
    }
    char *text = lines->bytes + lines->at;
    size_t length = (size_t)(end - text);
    lines->at += length + 1;
    lines->length -= length + 1;
    lines->number++;
    if (length > LINE_MAX_BYTES) {
        length = LINE_MAX_BYTES;
        ret->is_cut = true;
    }
    if (length && text[length - 1] == '\r')
        length--;
    text[length] = '\0';
    ret->text = text;
    ret->length = length;
    return 1;
}
