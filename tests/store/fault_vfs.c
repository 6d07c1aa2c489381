#include "fault_vfs.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"

#define SECTOR 512

/* A sector as it was when it was last synced. */
struct sector {
    sqlite3_int64 offset;
    uint8_t before[SECTOR];
};

/* SQLite allocates it: the real file follows in the same piece of memory. */
struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct list link; /* in `files`, when it is a database or its log */
    bool tracked;
    const char *name; /* SQLite's */
    sqlite3_int64 synced_size;
    struct sector *sectors;
    size_t count, capacity;
};

static struct {
    pthread_mutex_t mutex;
    sqlite3_vfs vfs, *real;
    struct fault_plan plan;
    uint64_t operations;
    struct list files;
} fault = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static struct fault_file *of(sqlite3_file *file)
{
    return (struct fault_file *)file;
}

/* ---- what was not synced ---- */

static void remember(struct fault_file *file, sqlite3_int64 offset, sqlite3_int64 length)
{
    if (!file->tracked || fault.plan.kind != FAULT_POWER_LOSS)
        return;
    for (sqlite3_int64 at = offset - offset % SECTOR; at < offset + length; at += SECTOR) {
        size_t i = 0;
        while (i < file->count && file->sectors[i].offset != at)
            i++;
        if (i < file->count || at >= file->synced_size)
            continue;
        ARRAY_RESERVE(file->sectors, file->count, file->capacity);
        struct sector *sector = &file->sectors[file->count++];
        sector->offset = at;
        /* A short read leaves zeros behind the end of the file. */
        file->real->pMethods->xRead(file->real, sector->before, SECTOR, at);
    }
}

static void forget(struct fault_file *file)
{
    file->count = 0;
    file->real->pMethods->xFileSize(file->real, &file->synced_size);
}

/* Each sector on its own: the new contents or the synced ones; the same for the length. */
static void lose(struct fault_file *file, struct random *random)
{
    sqlite3_int64 size;

    file->real->pMethods->xFileSize(file->real, &size);
    /* Beyond the synced end a sector that was not written reads as zeros. */
    for (sqlite3_int64 at = file->synced_size; at < size; at += SECTOR) {
        static const uint8_t zeros[SECTOR];
        if (random_below(random, 2))
            file->real->pMethods->xWrite(file->real, zeros,
                                         size - at < SECTOR ? (int)(size - at) : SECTOR, at);
    }
    for (size_t i = 0; i < file->count; i++)
        if (random_below(random, 2))
            file->real->pMethods->xWrite(file->real, file->sectors[i].before, SECTOR,
                                         file->sectors[i].offset);
    if (random_below(random, 2))
        file->real->pMethods->xTruncate(file->real, file->synced_size);
}

static void lose_power(void)
{
    struct random random;

    random_init(&random, fault.plan.seed);
    for (struct list *link = fault.files.next; link != &fault.files; link = link->next)
        lose(CONTAINER_OF(link, struct fault_file, link), &random);
    _exit(FAULT_EXIT);
}

/* ---- the plan ---- */

/* The kind that strikes now, if one does; `kinds` are those that this operation knows. */
static enum fault_kind strike(unsigned kinds)
{
    enum fault_kind kind = FAULT_NONE;

    if (!(kinds & 1U << fault.plan.kind))
        return FAULT_NONE;
    fault.operations++;
    if (fault.operations >= fault.plan.at && fault.operations - fault.plan.at < fault.plan.count)
        kind = fault.plan.kind;
    if (kind == FAULT_POWER_LOSS)
        lose_power();
    return kind;
}

static int fault_write(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset)
{
    struct fault_file *file = of(base);
    int result;

    pthread_mutex_lock(&fault.mutex);
    remember(file, offset, length);
    switch (
        strike(1U << FAULT_FULL | 1U << FAULT_QUOTA | 1U << FAULT_WRITE | 1U << FAULT_POWER_LOSS)) {
    case FAULT_FULL: result = SQLITE_FULL; break;
    case FAULT_QUOTA:
        errno = EDQUOT;
        result = SQLITE_IOERR_WRITE;
        break;
    case FAULT_WRITE:
        file->real->pMethods->xWrite(file->real, bytes, length / 2, offset);
        errno = EIO;
        result = SQLITE_IOERR_WRITE;
        break;
    default: result = file->real->pMethods->xWrite(file->real, bytes, length, offset);
    }
    pthread_mutex_unlock(&fault.mutex);
    return result;
}

static int fault_sync(sqlite3_file *base, int flags)
{
    struct fault_file *file = of(base);
    int result;

    pthread_mutex_lock(&fault.mutex);
    if (strike(1U << FAULT_SYNC | 1U << FAULT_POWER_LOSS) == FAULT_SYNC) {
        errno = fault.plan.error ? fault.plan.error : EIO;
        result = SQLITE_IOERR_FSYNC;
    } else {
        result = file->real->pMethods->xSync(file->real, flags);
        if (file->tracked)
            forget(file);
    }
    pthread_mutex_unlock(&fault.mutex);
    return result;
}

static int fault_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct fault_file *file = of(base);
    int result;

    pthread_mutex_lock(&fault.mutex);
    if (size < file->synced_size)
        remember(file, size, file->synced_size - size);
    switch (strike(1U << FAULT_FULL | 1U << FAULT_TRUNCATE)) {
    case FAULT_FULL: result = SQLITE_FULL; break;
    case FAULT_TRUNCATE:
        errno = EIO;
        result = SQLITE_IOERR_TRUNCATE;
        break;
    default: result = file->real->pMethods->xTruncate(file->real, size);
    }
    pthread_mutex_unlock(&fault.mutex);
    return result;
}

static int fault_close(sqlite3_file *base)
{
    struct fault_file *file = of(base);

    pthread_mutex_lock(&fault.mutex);
    if (file->tracked)
        list_remove(&file->link);
    free(file->sectors);
    pthread_mutex_unlock(&fault.mutex);
    return file->real->pMethods->xClose(file->real);
}

/* ---- passed through ---- */

#define REAL(file) of(file)->real->pMethods
static int pass_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
    return REAL(file)->xRead(of(file)->real, bytes, length, offset);
}
static int pass_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return REAL(file)->xFileSize(of(file)->real, size);
}
static int pass_lock(sqlite3_file *file, int level)
{
    return REAL(file)->xLock(of(file)->real, level);
}
static int pass_unlock(sqlite3_file *file, int level)
{
    return REAL(file)->xUnlock(of(file)->real, level);
}
static int pass_check_lock(sqlite3_file *file, int *ret)
{
    return REAL(file)->xCheckReservedLock(of(file)->real, ret);
}
static int pass_control(sqlite3_file *file, int operation, void *argument)
{
    return REAL(file)->xFileControl(of(file)->real, operation, argument);
}
static int pass_sector_size(sqlite3_file *file)
{
    return REAL(file)->xSectorSize(of(file)->real);
}
static int pass_characteristics(sqlite3_file *file)
{
    return REAL(file)->xDeviceCharacteristics(of(file)->real);
}
static int pass_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return REAL(file)->xShmMap(of(file)->real, page, size, extend, ret);
}
static int pass_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return REAL(file)->xShmLock(of(file)->real, offset, count, flags);
}
static void pass_shm_barrier(sqlite3_file *file)
{
    REAL(file)->xShmBarrier(of(file)->real);
}
static int pass_shm_unmap(sqlite3_file *file, int remove)
{
    return REAL(file)->xShmUnmap(of(file)->real, remove);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* no xFetch: a mapped page would pass by the shim */
    .xClose = fault_close,
    .xRead = pass_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = pass_size,
    .xLock = pass_lock,
    .xUnlock = pass_unlock,
    .xCheckReservedLock = pass_check_lock,
    .xFileControl = pass_control,
    .xSectorSize = pass_sector_size,
    .xDeviceCharacteristics = pass_characteristics,
    .xShmMap = pass_shm_map,
    .xShmLock = pass_shm_lock,
    .xShmBarrier = pass_shm_barrier,
    .xShmUnmap = pass_shm_unmap,
};

/* Databases and their logs, through the connection that was first: the other one only reads. */
static bool wants_tracking(const char *name, int flags)
{
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return false;
    for (struct list *link = fault.files.next; link != &fault.files; link = link->next)
        if (!strcmp(CONTAINER_OF(link, struct fault_file, link)->name, name))
            return false;
    return true;
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                      int *ret_flags)
{
    struct fault_file *file = of(base);

    assert(vfs == &fault.vfs);
    memset(file, 0, sizeof(*file));
    file->real = (sqlite3_file *)(file + 1);
    int result = fault.real->xOpen(fault.real, name, file->real, flags, ret_flags);
    if (result != SQLITE_OK)
        return result;
    base->pMethods = &methods;
    pthread_mutex_lock(&fault.mutex);
    file->tracked = wants_tracking(name, flags);
    if (file->tracked) {
        file->name = name;
        forget(file);
        list_push_tail(&fault.files, &file->link);
    }
    pthread_mutex_unlock(&fault.mutex);
    return SQLITE_OK;
}

static int fault_last_error(sqlite3_vfs *vfs, int length, char *text)
{
    assert(vfs == &fault.vfs && (length == 0 || text));
    return errno;
}

void fault_vfs_install(void)
{
    list_init(&fault.files);
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = fault_open;
    fault.vfs.xGetLastError = fault_last_error;
    int result = sqlite3_vfs_register(&fault.vfs, 1);
    assert(result == SQLITE_OK);
}

void fault_vfs_plan(const struct fault_plan *plan)
{
    pthread_mutex_lock(&fault.mutex);
    fault.plan = *plan;
    fault.operations = 0;
    pthread_mutex_unlock(&fault.mutex);
}

uint64_t fault_vfs_operations(void)
{
    pthread_mutex_lock(&fault.mutex);
    uint64_t operations = fault.operations;
    pthread_mutex_unlock(&fault.mutex);
    return operations;
}
