#include "store/writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "store/database.h"
#include "store/history.h"
#include "store/row.h"

/* More to a row gains nothing: the sync is no longer what costs, and a reader takes it whole. */
#define ROW_BYTES (4 << 20)

#define CHECKPOINT_PAGES 8192 /* of the write-ahead log, before it is copied into the database */
#define RETRY_MS         100  /* on a full disk, while something waits */
#define ROOM_MS          250  /* on a full disk, while nothing waits */

enum statement { BEGIN, ADD_ROW, COMMIT, ROLLBACK, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [ADD_ROW] = "INSERT INTO journal VALUES (?1, ?2, ?3, ?4)",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
};

struct batches {
    struct store_batch *head, *tail;
};

struct writer {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    struct history *history;
    struct reserve *reserve;
    pthread_t thread;
    bool started;
    int fd;

    /* The thread's alone. */
    struct batches pending; /* taken from the queue, not yet durable */
    uint64_t next_sequence;
    struct digest chain;
    struct buffer records;
    int log_pages;

    /* Under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct batches queued, durable;
    uint64_t durable_sequence;
    enum store_state state;
    struct diag why;
    bool stopping;
};

static void batches_append(struct batches *batches, struct batches *more)
{
    if (!more->head)
        return;
    if (batches->tail)
        batches->tail->next = more->head;
    else
        batches->head = more->head;
    batches->tail = more->tail;
    *more = (struct batches){ .head = NULL };
}

static int count_log_pages(void *userdata, sqlite3 *database, const char *name, int pages)
{
    struct writer *writer = userdata;

    assert(database == writer->database && name);
    writer->log_pages = pages;
    return SQLITE_OK;
}

int writer_new(sqlite3 *database, struct reserve *reserve, struct writer **ret, struct diag *diag)
{
    owned(writer_free) struct writer *writer = NEW(struct writer);
    pthread_condattr_t attributes;

    pthread_mutex_init(&writer->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    writer->database = database;
    writer->reserve = reserve;
    writer->state = reserve->held ? STORE_GOOD : STORE_FULL;
    if (!reserve->held)
        diag_fail(&writer->why, -ENOSPC, "no room for the reserve %s of %d MiB", reserve->path,
                  STORE_RESERVE_BYTES >> 20);
    writer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (writer->fd < 0)
        return diag_fail(diag, -errno, "no event descriptor for the journal: %m");
    for (int i = 0; i < STATEMENTS; i++) {
        int r = database_prepare(database, sql[i], &writer->statements[i], diag);
        if (r < 0)
            return r;
    }
    int r = history_new(database, &writer->history, diag);
    if (r < 0)
        return r;
    sqlite3_wal_hook(database, count_log_pages, writer);
    *ret = TAKE(writer);
    return 0;
}

struct writer *writer_free(struct writer *writer)
{
    if (!writer)
        return NULL;
    if (writer->started) {
        pthread_mutex_lock(&writer->mutex);
        writer->stopping = true;
        pthread_cond_signal(&writer->wake);
        pthread_mutex_unlock(&writer->mutex);
        pthread_join(writer->thread, NULL);
    }
    history_free(writer->history);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(writer->statements[i]);
    if (writer->state == STORE_FAILED)
        database_abandon(writer->database);
    else
        database_close(writer->database);
    if (writer->fd >= 0)
        close(writer->fd);
    buffer_done(&writer->records);
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
    return NULL;
}

static void notify(struct writer *writer)
{
    uint64_t one = 1;

    /* It can only fail when the counter is at its end, and then the descriptor is readable. */
    if (write(writer->fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

static void enter_state(struct writer *writer, enum store_state state, const struct diag *why)
{
    pthread_mutex_lock(&writer->mutex);
    bool changed = writer->state != state;
    writer->state = state;
    writer->why = *why;
    pthread_mutex_unlock(&writer->mutex);
    if (changed)
        notify(writer);
}

/* ---- the thread ---- */

static void monotonic_in(long ms, struct timespec *ret)
{
    clock_gettime(CLOCK_MONOTONIC, ret);
    ret->tv_nsec += ms * 1000000L;
    ret->tv_sec += ret->tv_nsec / 1000000000L;
    ret->tv_nsec %= 1000000000L;
}

/* Wait until there is something to write; false when there is nothing left to do for ever. */
static bool wait_for_work(struct writer *writer)
{
    struct timespec until;

    monotonic_in(ROOM_MS, &until);
    pthread_mutex_lock(&writer->mutex);
    int r = 0;
    while (!writer->queued.head && !writer->pending.head && !writer->stopping && r == 0) {
        if (writer->state == STORE_FULL) /* then it looks for room now and again */
            r = pthread_cond_timedwait(&writer->wake, &writer->mutex, &until);
        else
            pthread_cond_wait(&writer->wake, &writer->mutex);
    }
    batches_append(&writer->pending, &writer->queued);
    bool more = writer->pending.head || !writer->stopping;
    pthread_mutex_unlock(&writer->mutex);
    return more;
}

/* After a full disk; false when the store is being closed. */
static bool pause_for_room(struct writer *writer)
{
    struct timespec until;

    monotonic_in(RETRY_MS, &until);
    pthread_mutex_lock(&writer->mutex);
    int r = 0;
    while (!writer->stopping && r == 0)
        r = pthread_cond_timedwait(&writer->wake, &writer->mutex, &until);
    bool stopping = writer->stopping;
    pthread_mutex_unlock(&writer->mutex);
    return !stopping;
}

/* Pack batches into one row until it is large enough; on a full disk one batch is. Gives the last
 * batch that is in it. A batch without records only keeps its place behind those that have some:
 * at the head of the queue it need not wait for a commit. */
static struct store_batch *pack_row(struct writer *writer, struct row *ret)
{
    struct store_batch *last = NULL;
    size_t enough = writer->state == STORE_FULL ? 1 : ROW_BYTES;
    uint64_t sequence = writer->next_sequence;

    buffer_clear(&writer->records);
    for (struct store_batch *batch = writer->pending.head; batch && writer->records.length < enough;
         batch = batch->next) {
        if (batch->count && last && sequence == writer->next_sequence)
            break;
        for (size_t i = 0; i < batch->count; i++, sequence++) {
            assert(batch->records[i]->sequence == sequence);
            row_put(&writer->records, batch->records[i]);
        }
        last = batch;
    }
    *ret = (struct row){
        .first_sequence = writer->next_sequence,
        .count = sequence - writer->next_sequence,
        .records = buffer_data(&writer->records),
        .length = writer->records.length,
    };
    row_chain(ret, &writer->chain, &ret->chain);
    return last;
}

static int step(struct writer *writer, enum statement which, struct diag *diag)
{
    return database_step(writer->database, writer->statements[which], diag);
}

static int write_row(struct writer *writer, const struct row *row, const struct store_batch *last,
                     struct diag *diag)
{
    sqlite3_stmt *statement = writer->statements[ADD_ROW];

    database_bind(statement, 1, row->first_sequence);
    database_bind(statement, 2, row->count);
    database_bind_bytes(statement, 3, row->chain.bytes, sizeof(row->chain.bytes));
    database_bind_bytes(statement, 4, row->records, row->length);
    int r = step(writer, ADD_ROW, diag);
    for (const struct store_batch *batch = writer->pending.head; r >= 0; batch = batch->next) {
        for (size_t i = 0; i < batch->count && r >= 0; i++)
            r = history_add(writer->history, batch->records[i], diag);
        if (batch == last)
            break;
    }
    return r;
}

static int commit_row(struct writer *writer, const struct row *row, const struct store_batch *last,
                      struct diag *diag)
{
    int r = step(writer, BEGIN, diag);

    if (r >= 0)
        r = write_row(writer, row, last, diag);
    if (r >= 0)
        r = step(writer, COMMIT, diag);
    if (r < 0) {
        history_rolled_back(writer->history);
        /* What failed is told; if this fails too, SQLite has rolled back by itself. */
        if (!sqlite3_get_autocommit(writer->database))
            step(writer, ROLLBACK, NULL);
    }
    return r;
}

static void publish(struct writer *writer, struct store_batch *last)
{
    struct batches done = { .head = writer->pending.head, .tail = last };

    writer->pending.head = last->next;
    if (!last->next)
        writer->pending.tail = NULL;
    last->next = NULL;
    pthread_mutex_lock(&writer->mutex);
    batches_append(&writer->durable, &done);
    writer->durable_sequence = writer->next_sequence - 1;
    pthread_mutex_unlock(&writer->mutex);
    notify(writer);
}

/* Copy the log into the database once it is long. What is in the log is durable already. */
static int checkpoint(struct writer *writer, struct diag *diag)
{
    if (writer->log_pages < CHECKPOINT_PAGES)
        return 0;
    errno = 0;
    int result =
        sqlite3_wal_checkpoint_v2(writer->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    writer->log_pages = 0; /* and counted anew at the next commit */
    if (result == SQLITE_OK || result == SQLITE_BUSY)
        return 0; /* a reader holds it up: the next commit tries again */
    return database_fail(writer->database, result, diag);
}

/* True when the same may be tried again. */
static bool handle(struct writer *writer, int error, const struct diag *why)
{
    if (error == -ENOSPC) {
        bool released = writer->reserve->held;
        if (released)
            reserve_release(writer->reserve);
        enter_state(writer, STORE_FULL, why);
        return released || pause_for_room(writer);
    }
    if (error == -EBUSY)
        return true; /* somebody's shell holds a lock */
    enter_state(writer, STORE_FAILED, why);
    return false;
}

static void look_for_room(struct writer *writer)
{
    static const struct diag nothing;

    if (writer->state == STORE_FULL && reserve_hold(writer->reserve))
        enter_state(writer, STORE_GOOD, &nothing);
}

/* One row, tried until it is durable; false when that is not to be. */
static bool write_pending(struct writer *writer)
{
    struct diag why;
    struct row row;
    struct store_batch *last;
    int r;

    do {
        last = pack_row(writer, &row);
        r = row.count ? commit_row(writer, &row, last, &why) : 0;
        if (r < 0 && !handle(writer, r, &why))
            return false;
    } while (r < 0);
    if (row.count) {
        writer->next_sequence += row.count;
        writer->chain = row.chain;
    }
    publish(writer, last);
    r = checkpoint(writer, &why);
    return r >= 0 || handle(writer, r, &why);
}

static void *run(void *userdata)
{
    struct writer *writer = userdata;

    while (wait_for_work(writer)) {
        if (writer->pending.head && !write_pending(writer))
            return NULL;
        look_for_room(writer);
    }
    return NULL;
}

void writer_start(struct writer *writer, uint64_t next_sequence, const struct digest *chain)
{
    sigset_t all, old;

    assert(!writer->started);
    writer->next_sequence = next_sequence;
    writer->durable_sequence = next_sequence - 1;
    writer->chain = *chain;
    /* Signals are for the loop. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&writer->thread, NULL, run, writer);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    assert(r == 0);
    writer->started = true;
}

/* ---- for the loop ---- */

void writer_queue(struct writer *writer, struct store_batch *batch)
{
    assert(writer->started);
    batch->next = NULL;
    struct batches one = { .head = batch, .tail = batch };
    pthread_mutex_lock(&writer->mutex);
    batches_append(&writer->queued, &one);
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->mutex);
}

struct store_batch *writer_take(struct writer *writer)
{
    uint64_t count;

    /* Before the list: what becomes durable in between makes it readable again. */
    if (read(writer->fd, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    pthread_mutex_lock(&writer->mutex);
    struct store_batch *head = writer->durable.head;
    writer->durable = (struct batches){ .head = NULL };
    pthread_mutex_unlock(&writer->mutex);
    return head;
}

int writer_fd(const struct writer *writer)
{
    return writer->fd;
}

enum store_state writer_state(struct writer *writer, struct diag *diag)
{
    pthread_mutex_lock(&writer->mutex);
    enum store_state state = writer->state;
    if (diag)
        *diag = writer->why;
    pthread_mutex_unlock(&writer->mutex);
    return state;
}

uint64_t writer_durable_sequence(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    uint64_t sequence = writer->durable_sequence;
    pthread_mutex_unlock(&writer->mutex);
    return sequence;
}
