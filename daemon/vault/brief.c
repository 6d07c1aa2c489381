#include "vault/brief.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "vault/directory.h"
#include "vault/inside.h"

enum {
    JOBS_A_DIRECTORY = 1000,
    FILES_OPEN = 16,
    FILE_BYTES = 4 << 20, /* then another is begun */
    NUMBER_MAX = 999999,
    NAME_SIZE = 32,
    WORD_BYTES = 4,
    HEAD_BYTES = WORD_BYTES + 21 + 21 + 11 + 5 + 5,
};

static const char WORD[] = "log ", CUT_WORD[] = "cut ";

/* One that this writer has begun. */
struct brief_file {
    uint64_t thousand;
    int fd;
    uint64_t bytes;
};

struct vault_log_writer {
    struct vault *vault;
    struct brief_file files[FILES_OPEN];
    size_t count, next; /* `next` to be closed for another */
};

struct piece {
    uint64_t job, epoch, attempt, offset, length;
    const uint8_t *text;
    uint64_t position; /* of its head in the file */
};

/* --- heads --- */

/* `width` digits and the byte after them. */
static const uint8_t *number_parse(const uint8_t *text, int width, char after, uint64_t *ret)
{
    uint64_t number = 0;

    for (int i = 0; text && i < width; i++) {
        unsigned digit = text[i] - (unsigned)'0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return NULL;
        number = number * 10 + digit;
    }
    if (!text || text[width] != (uint8_t)after)
        return NULL;
    *ret = number;
    return text + width + 1;
}

static bool head_parse(const uint8_t *bytes, struct piece *ret)
{
    const uint8_t *next = number_parse(bytes + WORD_BYTES, 20, ' ', &ret->job);

    next = number_parse(next, 20, ' ', &ret->epoch);
    next = number_parse(next, 10, ' ', &ret->attempt);
    next = number_parse(next, 4, ' ', &ret->offset);
    next = number_parse(next, 4, '\n', &ret->length);
    ret->text = next;
    return next != NULL;
}

static void head_format(struct buffer *out, const struct vault_log_text *text)
{
    buffer_format(out, "%s%020" PRIu64 " %020" PRIu64 " %010" PRIu32 " %04" PRIu64 " %04zu\n", WORD,
                  text->job, text->epoch, text->attempt, text->offset, text->length);
}

/* --- files --- */

static int thousand_open(struct vault *vault, uint64_t thousand, bool make, int *ret_fd)
{
    int (*next)(int, const char *, int *) = make ? directory_make : directory_open;
    owned(fd_close) int brief = -1;
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "%" PRIu64, thousand);
    int r = next(vault->logs, "brief", &brief);
    return r < 0 ? r : next(brief, name, ret_fd);
}

static void file_format(char name[static NAME_SIZE], unsigned number)
{
    snprintf(name, NAME_SIZE, "%06u.log", number);
}

static int numbers_compare(const void *a, const void *b)
{
    const unsigned *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* Ascending: they were begun in that order. */
static int numbers_list(int directory, unsigned **ret, size_t *ret_count)
{
    owned(closedir) DIR *list = NULL;
    owned(free) unsigned *numbers = NULL;
    size_t count = 0, capacity = 0;
    char again[NAME_SIZE];
    unsigned number;
    int r = directory_list(directory, &list);

    if (r < 0)
        return r;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (sscanf(entry->d_name, "%u", &number) != 1)
            continue;
        file_format(again, number);
        if (strcmp(again, entry->d_name) != 0)
            continue;
        ARRAY_RESERVE(numbers, count, capacity);
        numbers[count++] = number;
    }
    if (count > 0)
        qsort(numbers, count, sizeof(*numbers), numbers_compare);
    *ret = TAKE(numbers);
    *ret_count = count;
    return 0;
}

/* --- reading --- */

typedef int piece_each(void *userdata, int fd, const struct piece *piece);

/* Up to the first that is torn: nothing was written behind it. */
static int file_walk(int directory, unsigned number, int flags, piece_each *each, void *userdata)
{
    owned(buffer_done) struct buffer bytes = BUFFER_EMPTY;
    owned(fd_close) int fd = -1;
    char name[NAME_SIZE];
    struct piece piece;
    int64_t length;

    file_format(name, number);
    int r = file_open(directory, name, flags, &fd, &length);
    if (r < 0)
        return r;
    if (length > FILE_BYTES)
        length = FILE_BYTES;
    r = file_read_at(fd, 0, buffer_reserve(&bytes, (size_t)length), (size_t)length);
    if (r < 0)
        return r == -ENODATA ? 0 : r; /* its writer took back what did not fit */
    buffer_grow(&bytes, (size_t)length);
    const uint8_t *start = buffer_data(&bytes);
    for (size_t at = 0; r == 0 && bytes.length - at >= HEAD_BYTES;) {
        piece.position = at;
        if (!head_parse(start + at, &piece) || piece.length > bytes.length - at - HEAD_BYTES)
            break;
        if (memcmp(start + at, WORD, WORD_BYTES) == 0)
            r = each(userdata, fd, &piece);
        at += HEAD_BYTES + piece.length;
    }
    return r;
}

static int pieces_walk(struct vault *vault, uint64_t thousand, int flags, piece_each *each,
                       void *userdata)
{
    owned(fd_close) int directory = -1;
    owned(free) unsigned *numbers = NULL;
    size_t count = 0;
    int r = thousand_open(vault, thousand, false, &directory);

    if (r == 0)
        r = numbers_list(directory, &numbers, &count);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = file_walk(directory, numbers[i], flags, each, userdata);
    return r == -ENOENT ? 0 : r;
}

struct wanted {
    uint64_t job, epoch;
    uint32_t attempt;
    bool found;
    size_t start; /* of its text in `text` */
    struct buffer *text;
};

/* A piece at 0 begins again: what was there had not been written whole. */
static int take(void *userdata, int fd, const struct piece *piece)
{
    struct wanted *wanted = userdata;

    if (piece->job != wanted->job || piece->attempt != wanted->attempt)
        return 0;
    if (wanted->found && piece->epoch < wanted->epoch)
        return 0;
    if (piece->offset == 0)
        wanted->text->length = wanted->start;
    else if (!wanted->found || piece->epoch != wanted->epoch ||
             piece->offset != wanted->text->length - wanted->start)
        return -EBADMSG;
    wanted->found = true;
    wanted->epoch = piece->epoch;
    buffer_append(wanted->text, piece->text, piece->length);
    return 0;
}

int brief_read(struct vault *vault, uint64_t job, uint32_t attempt, struct buffer *ret)
{
    struct wanted wanted = { .job = job, .attempt = attempt, .start = ret->length, .text = ret };
    int r = pieces_walk(vault, job / JOBS_A_DIRECTORY, O_RDONLY, take, &wanted);

    if (r == 0 && !wanted.found)
        r = -ENOENT;
    if (r < 0)
        ret->length = wanted.start;
    return r;
}

static int cut(void *userdata, int fd, const struct piece *piece)
{
    const struct wanted *wanted = userdata;

    if (piece->job != wanted->job || piece->attempt != wanted->attempt)
        return 0;
    char nothing[VAULT_LOG_BRIEF_BYTES];
    if (piece->length > sizeof(nothing))
        return -EBADMSG;
    memset(nothing, '-', piece->length);
    int r = file_write_at(fd, piece->position + HEAD_BYTES, nothing, piece->length);
    return r < 0 ? r : file_write_at(fd, piece->position, CUT_WORD, WORD_BYTES);
}

int brief_cut(struct vault *vault, uint64_t job, uint32_t attempt)
{
    struct wanted wanted = { .job = job, .attempt = attempt };

    return pieces_walk(vault, job / JOBS_A_DIRECTORY, O_RDWR, cut, &wanted);
}

static int raise_job(void *userdata, int fd, const struct piece *piece)
{
    uint64_t *last = userdata;

    if (piece->job > *last)
        *last = piece->job;
    return 0;
}

int brief_last_job(struct vault *vault, uint64_t *ret)
{
    owned(fd_close) int brief = -1;
    uint64_t thousand = 0;
    int r = directory_open(vault->logs, "brief", &brief);

    if (r == 0)
        r = directory_last_number(brief, &thousand);
    if (r == 0)
        r = pieces_walk(vault, thousand, O_RDONLY, raise_job, ret);
    return r == -ENOENT ? 0 : r;
}

static int raise_attempt(void *userdata, int fd, const struct piece *piece)
{
    struct wanted *wanted = userdata;

    if (piece->job == wanted->job && piece->attempt > wanted->attempt)
        wanted->attempt = (uint32_t)piece->attempt;
    return 0;
}

int brief_last_attempt(struct vault *vault, uint64_t job, uint64_t *ret)
{
    struct wanted wanted = { .job = job };
    int r = pieces_walk(vault, job / JOBS_A_DIRECTORY, O_RDONLY, raise_attempt, &wanted);

    if (r == 0 && wanted.attempt > *ret)
        *ret = wanted.attempt;
    return r;
}

/* --- writing --- */

struct vault_log_writer *vault_log_writer_new(struct vault *vault)
{
    struct vault_log_writer *writer = NEW(struct vault_log_writer);

    writer->vault = vault;
    return writer;
}

/* Nobody comes back to it: that is when its lines are made to last. */
static void file_close(struct brief_file *file)
{
    fdatasync(file->fd);
    fd_closep(&file->fd);
}

struct vault_log_writer *vault_log_writer_free(struct vault_log_writer *writer)
{
    if (writer) {
        for (size_t i = 0; i < writer->count; i++)
            file_close(&writer->files[i]);
        free(writer);
    }
    return NULL;
}

struct vault *brief_vault(const struct vault_log_writer *writer)
{
    return writer->vault;
}

/* After the newest: perhaps one of another writer. */
static int file_begin(struct vault *vault, uint64_t thousand, struct brief_file *ret)
{
    owned(fd_close) int directory = -1, fd = -1;
    char name[NAME_SIZE];
    int64_t bytes;
    int r = thousand_open(vault, thousand, true, &directory);

    while (r == 0) {
        owned(free) unsigned *numbers = NULL;
        size_t count;
        r = numbers_list(directory, &numbers, &count);
        if (r < 0)
            return r;
        unsigned number = count > 0 ? numbers[count - 1] + 1 : 1;
        if (number > NUMBER_MAX)
            return -EFBIG;
        file_format(name, number);
        r = file_open(directory, name, O_RDWR | O_CREAT | O_EXCL, &fd, &bytes);
        if (r == 0)
            break;
        if (r == -EEXIST)
            r = 0;
    }
    if (r == 0)
        *ret = (struct brief_file){ .thousand = thousand, .fd = fd_take(&fd) };
    return r;
}

static int file_of(struct vault_log_writer *writer, uint64_t thousand, size_t length,
                   struct brief_file **ret)
{
    struct brief_file *file = NULL, begun;

    for (size_t i = 0; i < writer->count && !file; i++)
        if (writer->files[i].thousand == thousand)
            file = &writer->files[i];
    if (file && file->bytes + length <= FILE_BYTES) {
        *ret = file;
        return 0;
    }
    int r = file_begin(writer->vault, thousand, &begun);
    if (r < 0)
        return r;
    if (!file && writer->count < FILES_OPEN) {
        file = &writer->files[writer->count++];
    } else {
        if (!file)
            file = &writer->files[writer->next++ % FILES_OPEN];
        file_close(file);
    }
    *file = begun;
    *ret = file;
    return 0;
}

int brief_append(struct vault_log_writer *writer, const struct vault_log_text *text)
{
    owned(buffer_done) struct buffer piece = BUFFER_EMPTY;
    struct brief_file *file;

    head_format(&piece, text);
    buffer_append(&piece, text->bytes, text->length);
    int r = file_of(writer, text->job / JOBS_A_DIRECTORY, piece.length, &file);
    if (r < 0)
        return r;
    r = file_write_at(file->fd, file->bytes, buffer_data(&piece), piece.length);
    if (r == 0)
        file->bytes += piece.length;
    else if (ftruncate(file->fd, (off_t)file->bytes) < 0)
        return -errno;
    return r;
}
