#include "store/snapshot.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "store/frame.h"

#define KEEP         2
#define CHUNK_BYTES  (256 << 10)
#define CHILD_S      600 /* one that hangs must not stop snapshots for ever */
#define NAME_DIGITS  20
#define NAME_PATTERN "%s/%020" PRIu64 ".%s"

static char *path_of(const struct snapshots *snapshots, uint64_t sequence, const char *ending)
{
    return text_format(NAME_PATTERN, snapshots->dir, sequence, ending);
}

/* ---- the folder ---- */

static void add(struct snapshots *snapshots, uint64_t sequence)
{
    size_t i;

    ARRAY_RESERVE(snapshots->sequences, snapshots->count, snapshots->capacity);
    for (i = snapshots->count++; i > 0 && snapshots->sequences[i - 1] < sequence; i--)
        snapshots->sequences[i] = snapshots->sequences[i - 1];
    snapshots->sequences[i] = sequence;
}

static int sync_folder(const struct snapshots *snapshots, struct diag *diag)
{
    owned(fd_close) int fd = open(snapshots->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return diag_fail(diag, -errno, "%s cannot be synced: %s", snapshots->dir, strerror(errno));
    return 0;
}

static void look_at(struct snapshots *snapshots, const char *name)
{
    char *end;
    uint64_t sequence = strtoull(name, &end, 10);

    if (end - name != NAME_DIGITS)
        return;
    if (!strcmp(end, ".snap"))
        add(snapshots, sequence);
    if (!strcmp(end, ".tmp")) {
        owned(free) char *path = path_of(snapshots, sequence, "tmp");
        unlink(path);
    }
}

OWNED_DEFINE(closedir, DIR *);

int snapshots_open(struct snapshots *snapshots, const char *dir, struct diag *diag)
{
    *snapshots = (struct snapshots){ .dir = text_format("%s/snapshots", dir) };
    if (mkdir(snapshots->dir, 0700) < 0 && errno != EEXIST)
        return diag_fail(diag, -errno, "%s cannot be created: %s", snapshots->dir, strerror(errno));
    owned(closedir) DIR *folder = opendir(snapshots->dir);
    if (!folder)
        return diag_fail(diag, -errno, "%s cannot be read: %s", snapshots->dir, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder));)
        look_at(snapshots, entry->d_name);
    return 0;
}

void snapshots_done(struct snapshots *snapshots)
{
    free(snapshots->dir);
    free(snapshots->sequences);
    *snapshots = (struct snapshots){ .dir = NULL };
}

static void forget(struct snapshots *snapshots, size_t index)
{
    snapshots->count--;
    memmove(&snapshots->sequences[index], &snapshots->sequences[index + 1],
            (snapshots->count - index) * sizeof(*snapshots->sequences));
}

void snapshots_set_aside(struct snapshots *snapshots, uint64_t sequence)
{
    owned(free) char *path = path_of(snapshots, sequence, "snap");
    owned(free) char *aside = path_of(snapshots, sequence, "bad");

    /* If it cannot be renamed it is found bad once more at the next start: no harm. */
    rename(path, aside);
    for (size_t i = 0; i < snapshots->count; i++)
        if (snapshots->sequences[i] == sequence)
            forget(snapshots, i--);
}

/* ---- reading ---- */

static int fail_damaged(const char *path, const char *what, struct diag *diag)
{
    return diag_fail(diag, -EBADMSG, "snapshot %s is damaged: %s", path, what);
}

/* Nothing of a snapshot is believed before its digest fits. */
static int verify(int fd, const char *path, off_t *ret_length, struct diag *diag)
{
    owned(free) uint8_t *chunk = memory_new(CHUNK_BYTES);
    struct digest_stream stream;
    struct digest digest, trailer;
    struct stat status;

    if (fstat(fd, &status) < 0)
        return diag_fail(diag, -errno, "%s: %s", path, strerror(errno));
    off_t length = status.st_size - DIGEST_BYTES;
    if (length < 0)
        return fail_damaged(path, "it is too short", diag);
    digest_begin(&stream);
    for (off_t offset = 0; offset < length;) {
        size_t want = length - offset < CHUNK_BYTES ? (size_t)(length - offset) : CHUNK_BYTES;
        ssize_t got = pread(fd, chunk, want, offset);
        if (got <= 0)
            return fail_damaged(path, got < 0 ? strerror(errno) : "it became shorter", diag);
        digest_add(&stream, chunk, (size_t)got);
        offset += got;
    }
    digest_end(&stream, &digest);
    if (pread(fd, trailer.bytes, DIGEST_BYTES, length) != DIGEST_BYTES ||
        !digest_is_equal(&digest, &trailer))
        return fail_damaged(path, "its digest does not fit", diag);
    *ret_length = length;
    return 0;
}

/* Exactly `length` bytes at the current place. */
static int read_bytes(FILE *file, const char *path, void *bytes, size_t length, struct diag *diag)
{
    return fread(bytes, 1, length, file) == length
               ? 0
               : fail_damaged(path, ferror(file) ? strerror(errno) : "it ends too early", diag);
}

static int read_item(FILE *file, const char *path, off_t *left, struct buffer *body,
                     Wafer__SnapshotItem **ret, struct diag *diag)
{
    uint8_t head[FRAME_HEAD_BYTES];

    if (*left < FRAME_HEAD_BYTES)
        return fail_damaged(path, "a frame is cut", diag);
    int r = read_bytes(file, path, head, sizeof(head), diag);
    if (r < 0)
        return r;
    int64_t length = frame_head_length(head);
    if (length < 0 || length > *left - FRAME_HEAD_BYTES)
        return fail_damaged(path, "a frame has no length", diag);
    buffer_clear(body);
    r = read_bytes(file, path, buffer_reserve(body, (size_t)length), (size_t)length, diag);
    if (r < 0)
        return r;
    *left -= FRAME_HEAD_BYTES + length;
    *ret = wafer__snapshot_item__unpack(NULL, (size_t)length, buffer_data(body));
    return *ret ? 0 : fail_damaged(path, "an item is malformed", diag);
}

static int check_header(const char *path, uint64_t sequence, const Wafer__SnapshotItem *item,
                        struct diag *diag)
{
    if (!item->header)
        return fail_damaged(path, "it has no header", diag);
    if (item->header->sequence != sequence)
        return fail_damaged(path, "it is the snapshot of another record", diag);
    return 0;
}

static int read_items(FILE *file, const char *path, uint64_t sequence, off_t left,
                      const struct store_load_ops *ops, void *userdata, struct diag *diag)
{
    owned(buffer_done) struct buffer body = BUFFER_EMPTY;

    for (bool first = true; left > 0; first = false) {
        Wafer__SnapshotItem *item;
        int r = read_item(file, path, &left, &body, &item, diag);
        if (r < 0)
            return r;
        if (first)
            r = check_header(path, sequence, item, diag);
        if (r >= 0)
            r = ops->item(userdata, item, diag);
        wafer__snapshot_item__free_unpacked(item, NULL);
        if (r < 0)
            return r;
    }
    return ops->items_end(userdata, diag);
}

int snapshots_read(const struct snapshots *snapshots, uint64_t sequence,
                   const struct store_load_ops *ops, void *userdata, struct diag *diag)
{
    owned(free) char *path = path_of(snapshots, sequence, "snap");
    owned(fclose) FILE *file = fopen(path, "re");
    off_t length;

    if (!file)
        return diag_fail(diag, -errno, "snapshot %s cannot be read: %s", path, strerror(errno));
    int r = verify(fileno(file), path, &length, diag);
    if (r < 0)
        return r;
    return read_items(file, path, sequence, length, ops, userdata, diag);
}

/* ---- writing, in the child ---- */

struct output {
    int fd;
    struct buffer buffer;
    struct digest_stream stream;
};

static int write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

static int flush(struct output *output)
{
    digest_add(&output->stream, buffer_data(&output->buffer), output->buffer.length);
    int r = write_all(output->fd, buffer_data(&output->buffer), output->buffer.length);
    buffer_clear(&output->buffer);
    return r;
}

static int emit(void *userdata, const Wafer__SnapshotItem *item)
{
    struct output *output = userdata;

    frame_put(&output->buffer, 0, &item->base);
    return output->buffer.length < CHUNK_BYTES ? 0 : flush(output);
}

static int write_snapshot(const char *path, store_save_fn save, const void *core)
{
    owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct output output = { .fd = fd };
    struct digest digest;

    if (fd < 0)
        return -errno;
    digest_begin(&output.stream);
    int r = save(core, emit, &output);
    if (r >= 0)
        r = flush(&output);
    buffer_done(&output.buffer);
    if (r < 0)
        return r;
    digest_end(&output.stream, &digest);
    r = write_all(fd, digest.bytes, sizeof(digest.bytes));
    return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

/* The exit status is the errno. Nothing of the parent's is touched or kept: a lock or a listening
 * socket that outlived the parent in here would stop its successor. */
static void run_child(const char *path, pid_t parent, store_save_fn save, const void *core)
    __attribute__((noreturn));
static void run_child(const char *path, pid_t parent, store_save_fn save, const void *core)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(ESRCH);
    if (close_range(0, UINT_MAX, 0) < 0)
        _exit(errno);
    alarm(CHILD_S);
    _exit(-write_snapshot(path, save, core));
}

/* ---- writing, in the parent ---- */

int snapshots_start(struct snapshots *snapshots, uint64_t sequence, store_save_fn save,
                    const void *core, pid_t *ret_pid, struct diag *diag)
{
    owned(free) char *path = path_of(snapshots, sequence, "tmp");
    pid_t parent = getpid();

    if (snapshots->started || snapshots->written)
        return diag_fail(diag, -EBUSY, "the snapshot of record %" PRIu64 " is not done yet",
                         snapshots->started ? snapshots->started : snapshots->written);
    pid_t pid = fork();
    if (pid < 0)
        return diag_fail(diag, -errno, "no process for a snapshot: %s", strerror(errno));
    if (pid == 0)
        run_child(path, parent, save, core);
    snapshots->started = sequence;
    *ret_pid = pid;
    return 0;
}

int snapshots_end(struct snapshots *snapshots, int status, struct diag *diag)
{
    uint64_t sequence = snapshots->started;

    assert(sequence);
    snapshots->started = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        snapshots->written = sequence;
        return 0;
    }
    owned(free) char *path = path_of(snapshots, sequence, "tmp");
    unlink(path);
    if (WIFEXITED(status))
        return diag_fail(diag, -WEXITSTATUS(status), "snapshot %s was not written: %s", path,
                         strerror(WEXITSTATUS(status)));
    return diag_fail(diag, -EIO, "snapshot %s was not written: its process was killed by signal %d",
                     path, WTERMSIG(status));
}

static void remove_old(struct snapshots *snapshots)
{
    while (snapshots->count > KEEP) {
        owned(free) char *path =
            path_of(snapshots, snapshots->sequences[snapshots->count - 1], "snap");
        unlink(path);
        forget(snapshots, snapshots->count - 1);
    }
}

int snapshots_settle(struct snapshots *snapshots, uint64_t durable_sequence, struct diag *diag)
{
    uint64_t sequence = snapshots->written;

    if (!sequence || sequence > durable_sequence)
        return 0;
    owned(free) char *from = path_of(snapshots, sequence, "tmp");
    owned(free) char *to = path_of(snapshots, sequence, "snap");
    snapshots->written = 0;
    if (rename(from, to) < 0)
        return diag_fail(diag, -errno, "snapshot %s was not written: %s", to, strerror(errno));
    int r = sync_folder(snapshots, diag);
    if (r < 0)
        return r; /* the older ones stay: this one may not be there after a power loss */
    add(snapshots, sequence);
    remove_old(snapshots);
    return 0;
}
