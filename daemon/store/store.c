#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/inside.h"
#include "store/lock.h"
#include "store/schema.h"

OWNED_DEFINE(store_close, struct store *);

static int sync_folder(const char *dir, struct diag *diag)
{
    owned(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return diag_fail(diag, -errno, "%s cannot be synced: %s", dir, strerror(errno));
    return 0;
}

static int make_folder(const char *dir, struct diag *diag)
{
    owned(free) char *parent = text_format("%s/..", dir);

    if (mkdir(dir, 0700) == 0)
        return sync_folder(parent, diag);
    if (errno != EEXIST)
        return diag_fail(diag, -errno, "state directory %s cannot be created: %s", dir,
                         strerror(errno));
    return 0;
}

/* SQLite would create the file for everybody to read; its companions get the same mode. */
static int make_file(const char *path, struct diag *diag)
{
    owned(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return diag_fail(diag, -errno, "%s cannot be opened for writing: %s", path,
                         strerror(errno));
    return 0;
}

static int open_database(const char *path, sqlite3 **ret, struct diag *diag)
{
    owned(database_close) sqlite3 *database = NULL;
    int r = make_file(path, diag);

    if (r >= 0)
        r = database_open(path, &database, diag);
    if (r >= 0)
        r = schema_upgrade(database, diag);
    if (r < 0)
        return r;
    *ret = TAKE(database);
    return 0;
}

/* Recovery needs some room itself. After a restart on a full disk the reserve gives it. */
static int open_with_reserve(struct store *store, const char *path, sqlite3 **ret,
                             struct diag *diag)
{
    reserve_hold(&store->reserve);
    int r = open_database(path, ret, diag);
    if (r != -ENOSPC || !store->reserve.held)
        return r;
    reserve_release(&store->reserve);
    return open_database(path, ret, diag);
}

static int open_inside(struct store *store, const char *dir, struct diag *diag)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;
    int r = make_folder(dir, diag);

    if (r >= 0)
        r = lock_take(dir, &store->lock, diag);
    if (r < 0)
        return r;
    reserve_init(&store->reserve, dir);
    r = open_with_reserve(store, path, &database, diag);
    if (r < 0)
        return r;
    r = writer_new(database, &store->reserve, &store->writer, diag);
    if (r >= 0)
        r = database_open_reader(path, &store->reader, diag);
    if (r >= 0)
        r = snapshots_open(&store->snapshots, dir, diag);
    if (r >= 0)
        r = sync_folder(dir, diag);
    return r;
}

int store_open(const char *dir, struct store **ret, struct diag *diag)
{
    owned(store_close) struct store *store = NEW(struct store);

    store->lock = -1;
    int r = open_inside(store, dir, diag);
    if (r < 0)
        return r;
    *ret = TAKE(store);
    return 0;
}

struct store *store_close(struct store *store)
{
    if (!store)
        return NULL;
    /* The reader first: the last connection tidies the log away, and it may not write. */
    database_close(store->reader);
    writer_free(store->writer);
    snapshots_done(&store->snapshots);
    reserve_done(&store->reserve);
    if (store->lock >= 0)
        close(store->lock);
    free(store);
    return NULL;
}

void store_queue(struct store *store, struct store_batch *batch)
{
    writer_queue(store->writer, batch);
}

int store_fd(const struct store *store)
{
    return writer_fd(store->writer);
}

struct store_batch *store_take(struct store *store)
{
    struct store_batch *batches = writer_take(store->writer);

    /* A snapshot that had to wait for the journal; if it cannot be kept, the one before serves. */
    snapshots_settle(&store->snapshots, writer_durable_sequence(store->writer), NULL);
    return batches;
}

enum store_state store_state(struct store *store, struct diag *diag)
{
    return writer_state(store->writer, diag);
}

int store_snapshot_start(struct store *store, uint64_t sequence, store_save_fn save,
                         const void *core, pid_t *ret_pid, struct diag *diag)
{
    return snapshots_start(&store->snapshots, sequence, save, core, ret_pid, diag);
}

int store_snapshot_end(struct store *store, int status, struct diag *diag)
{
    int r = snapshots_end(&store->snapshots, status, diag);

    if (r < 0)
        return r;
    return snapshots_settle(&store->snapshots, writer_durable_sequence(store->writer), diag);
}

uint64_t store_snapshot_sequence(const struct store *store)
{
    return store->snapshots.count ? store->snapshots.sequences[0] : 0;
}
