/* limits DIR JOB_FILE: what this machine can do at best, for the figures to be held against. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "job_request.h"
#include "measure.h"

#define ROW_BYTES     300
#define MESSAGE_BYTES 300

extern char **environ;

/* ---- the disk ---- */

static void measure_sync(const char *dir)
{
    static char page[4096];
    static double took[200000];
    owned(free) char *path = text_format("%s/sync", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    double began = now_s();
    size_t count = 0;

    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    while (now_s() - began < 3 && count < ELEMENTS(took)) {
        double start = now_s();
        if (write(fd, page, sizeof(page)) != sizeof(page) || fdatasync(fd) < 0)
            give_up("%s: %s", path, strerror(errno));
        took[count++] = now_s() - start;
    }
    tell("fdatasync_per_s", (double)count / (now_s() - began));
    tell("fdatasync_median_ms", percentile(took, count, 50) * 1e3);
    tell("fdatasync_p99_ms", percentile(took, count, 99) * 1e3);
    close(fd);
    unlink(path);
}

static void check(sqlite3 *database, int result)
{
    if (result != SQLITE_OK && result != SQLITE_DONE)
        give_up("SQLite: %s", sqlite3_errmsg(database));
}

static void remove_database(const char *path)
{
    static const char *const endings[] = { "", "-wal", "-shm" };

    for (size_t i = 0; i < ELEMENTS(endings); i++) {
        owned(free) char *name = text_format("%s%s", path, endings[i]);
        unlink(name);
    }
}

/* Rows as long as a job, with a key and one index; what a program could do that wrote one row a job
 * and nothing else. */
static double insert_rows(const char *dir, int batch)
{
    owned(free) char *path = text_format("%s/rows.db", dir);
    static char row[ROW_BYTES];
    sqlite3 *database;
    sqlite3_stmt *insert;
    int64_t id = 0;

    remove_database(path);
    check(NULL, sqlite3_open(path, &database));
    check(database,
          sqlite3_exec(database,
                       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                       "PRAGMA cache_size=-65536;"
                       "CREATE TABLE job (id INTEGER PRIMARY KEY, state INT, priority INT,"
                       " spec BLOB) STRICT;"
                       "CREATE INDEX job_by_state ON job (state, priority)",
                       NULL, NULL, NULL));
    check(database, sqlite3_prepare_v2(database, "INSERT INTO job VALUES (?1, ?2, ?3, ?4)", -1,
                                       &insert, NULL));
    double began = now_s();
    while (now_s() - began < 2) {
        check(database, sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL));
        for (int i = 0; i < batch; i++) {
            sqlite3_bind_int64(insert, 1, ++id);
            sqlite3_bind_int64(insert, 2, id % 5);
            sqlite3_bind_int64(insert, 3, id * 7 % 1000);
            sqlite3_bind_blob(insert, 4, row, sizeof(row), SQLITE_STATIC);
            check(database, sqlite3_step(insert));
            sqlite3_reset(insert);
        }
        check(database, sqlite3_exec(database, "COMMIT", NULL, NULL, NULL));
    }
    double rate = (double)id / (now_s() - began);
    sqlite3_finalize(insert);
    sqlite3_close(database);
    remove_database(path);
    return rate;
}

static void measure_sqlite(const char *dir)
{
    static const int batches[] = { 256, 4096 };
    double best = 0;

    for (size_t i = 0; i < ELEMENTS(batches); i++) {
        double rate = insert_rows(dir, batches[i]);
        best = rate > best ? rate : best;
    }
    tell("sqlite_rows_per_s", best);
}

/* ---- the processor ---- */

/* The request that the clients of the other figures send. */
static void measure_unpack(const char *job_file)
{
    struct job_request request;
    uint8_t bytes[4096];
    size_t count = 0;

    job_request_init(&request, job_file);
    size_t length = wafer__request__get_packed_size(&request.request);
    if (length > sizeof(bytes))
        give_up("a request of %zu bytes", length);
    wafer__request__pack(&request.request, bytes);
    double began = now_s();
    for (; now_s() - began < 1; count += 1000)
        for (int i = 0; i < 1000; i++)
            wafer__request__free_unpacked(wafer__request__unpack(NULL, length, bytes), NULL);
    tell("unpack_per_s", (double)count / (now_s() - began));
    tell("request_bytes", (double)length);
    job_request_done(&request);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    char bytes[MESSAGE_BYTES];
    ssize_t n = read(fd, bytes, sizeof(bytes));

    if (n <= 0 || write(fd, bytes, (size_t)n) != n)
        return sd_event_exit(sd_event_source_get_event(source), 0);
    return 0;
}

static void echo(int fd) __attribute__((noreturn));
static void echo(int fd)
{
    sd_event *event = NULL;

    if (sd_event_new(&event) < 0 ||
        sd_event_add_io(event, NULL, fd, EPOLLIN, on_readable, NULL) < 0)
        _exit(1);
    _exit(sd_event_loop(event));
}

/* One client that waits for each answer, and a server on the loop that the daemon has. */
static void measure_socket(void)
{
    static double took[1000000];
    char bytes[MESSAGE_BYTES] = { 0 };
    size_t count = 0;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("no socket: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        echo(ends[1]);
    }
    close(ends[1]);
    double began = now_s();
    while (now_s() - began < 1 && count < ELEMENTS(took)) {
        double start = now_s();
        if (write(ends[0], bytes, sizeof(bytes)) != sizeof(bytes) ||
            recv(ends[0], bytes, sizeof(bytes), MSG_WAITALL) != sizeof(bytes))
            give_up("the socket: %s", strerror(errno));
        took[count++] = now_s() - start;
    }
    tell("round_trips_per_s", (double)count / (now_s() - began));
    tell("round_trip_median_ms", percentile(took, count, 50) * 1e3);
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

/* A process that does nothing, from its start to its end. */
static void measure_process(void)
{
    char *arguments[] = { (char *)"true", NULL };
    double took[100];

    for (size_t i = 0; i < ELEMENTS(took); i++) {
        double start = now_s();
        pid_t pid;
        if (posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) != 0)
            give_up("no process: true");
        waitpid(pid, NULL, 0);
        took[i] = now_s() - start;
    }
    tell("process_median_ms", percentile(took, ELEMENTS(took), 50) * 1e3);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        give_up("usage: limits DIR JOB_FILE");
    measure_sync(argv[1]);
    measure_sqlite(argv[1]);
    measure_unpack(argv[2]);
    measure_socket();
    measure_process();
    return 0;
}
