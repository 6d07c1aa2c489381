/* A copy of the state at one moment, beside a daemon that goes on writing.
 *
 * SQLite copies all pages within one read transaction, so that what the copy holds is what was
 * committed then; the writer is not kept waiting, since its log takes what it writes meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/inside.h"
#include "store/schema.h"

static int copy_pages(sqlite3 *from, sqlite3 *to, struct diag *diag)
{
    errno = 0;
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

    if (!backup)
        return database_fail(to, sqlite3_errcode(to), diag);
    int result = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    return result == SQLITE_DONE ? 0 : database_fail(to, result, diag);
}

/* One file without a log, so that it can be carried about; whoever opens it learns what it is. */
static int mark_copy(sqlite3 *copy, int64_t time_us, struct diag *diag)
{
    char sql[96];
    int r = schema_upgrade(copy, diag);

    snprintf(sql, sizeof(sql), "DELETE FROM copy; INSERT INTO copy VALUES (%lld)",
             (long long)time_us);
    if (r >= 0)
        r = database_run(copy, sql, diag);
    if (r >= 0)
        r = database_run(copy, "PRAGMA journal_mode=DELETE", diag);
    return r;
}

static int sync_path(const char *path, int flags, struct diag *diag)
{
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

    if (fd < 0 || fsync(fd) < 0)
        return diag_fail(diag, -errno, "%s cannot be synced: %s", path, strerror(errno));
    return 0;
}

static int make_copy(const char *from, const char *to, int64_t time_us, struct diag *diag)
{
    owned(database_close) sqlite3 *source = NULL, *copy = NULL;
    owned(fd_close) int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return diag_fail(diag, -errno, "%s cannot be created: %s", to, strerror(errno));
    int r = database_open_reader(from, &source, diag);
    if (r >= 0)
        r = database_open(to, &copy, diag);
    if (r >= 0)
        r = copy_pages(source, copy, diag);
    return r < 0 ? r : mark_copy(copy, time_us, diag);
}

static int finish_copy(const char *partial, const char *path, const char *dir, struct diag *diag)
{
    owned(free) char *parent = text_format("%s/..", dir);
    int r = sync_path(partial, 0, diag);

    if (r < 0)
        return r;
    if (rename(partial, path) < 0)
        return diag_fail(diag, -errno, "%s cannot be renamed: %s", partial, strerror(errno));
    r = sync_path(dir, O_DIRECTORY, diag);
    return r < 0 ? r : sync_path(parent, O_DIRECTORY, diag);
}

int store_backup(const char *dir, const char *to, int64_t time_us, struct store_check *ret,
                 struct diag *diag)
{
    owned(free) char *from = text_format("%s/state.db", dir);
    owned(free) char *partial = text_format("%s/state.db.partial", to);
    owned(free) char *path = text_format("%s/state.db", to);

    if (access(from, F_OK) < 0)
        return diag_fail(diag, -errno, "there is no state at %s: %s", from, strerror(errno));
    if (mkdir(to, 0700) < 0)
        return diag_fail(diag, -errno, "%s cannot be created: %s%s", to, strerror(errno),
                         errno == EEXIST ? ": choose a new directory" : "");
    int r = make_copy(from, partial, time_us, diag);
    if (r >= 0)
        r = finish_copy(partial, path, to, diag);
    if (r >= 0)
        r = store_check(to, NULL, NULL, ret, diag);
    if (r >= 0 && ret->damaged)
        r = diag_fail(diag, -EBADMSG, "what was copied is damaged: %s", ret->first_damage.text);
    return r;
}

int store_is_copy(struct store *store, bool *ret, struct diag *diag)
{
    int64_t copies;
    int r = database_integer(store->reader, "SELECT count(*) FROM copy", 0, &copies, diag);

    if (r >= 0)
        *ret = copies > 0;
    return r;
}
