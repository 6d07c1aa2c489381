/* load: clients that submit jobs as fast as the controller takes them, each a process of its own.
 *
 * load [--distinct] [--until-ended] SOCKET JOB_FILE CLIENTS COUNT
 *   submitted_per_s  COUNT jobs, from the first request until the last is acknowledged
 *   ended_per_s      with --until-ended: until there is no job left */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "job_request.h"
#include "measure.h"
#include "net/client.h"
#include "net/connect.h"
#include "net/frame.h"
#include "net/hello.h"

#define PROGRAM      "bench 1"
#define WINDOW       1000 /* requests ahead of their answers */
#define BURST        250  /* in one write */
#define CONNECT_MS   5000
#define POLL_MS      50 /* a list costs the controller a walk over all jobs */
#define ANSWER_BYTES (1 << 16)

struct caller {
    int fd;
    const char *name;
    struct job_request request;
    struct frame_reader in;
    struct buffer out;
    uint64_t sent, answered, count;
    bool greeted, distinct;
};

/* Without unpacking it: who measures a server must not be what is slow. The fields come in their
 * order; 5 is a job, 4 an error. */
static void expect_job(const uint8_t *bytes, size_t length)
{
    size_t i = 0;

    while (i < length && bytes[i] < 4 << 3) { /* id, more, missed: numbers */
        for (i++; i < length && bytes[i] & 0x80; i++)
            ;
        i++;
    }
    if (i < length && bytes[i] == (5 << 3 | 2))
        return;
    Wafer__Response *response = wafer__response__unpack(NULL, length, bytes);
    give_up("a submission was answered with: %s",
            response && response->body_case == WAFER__RESPONSE__BODY_ERROR
                ? response->error->message
                : "no job");
}

static void write_out(struct caller *caller)
{
    ssize_t n = send(caller->fd, buffer_data(&caller->out), caller->out.length, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        give_up("%s: the controller went away: %s", caller->name, strerror(errno));
    if (n > 0)
        buffer_take(&caller->out, (size_t)n);
}

static void read_in(struct caller *caller)
{
    static uint8_t chunk[ANSWER_BYTES];
    const uint8_t *bytes;
    size_t length;
    ssize_t n = recv(caller->fd, chunk, sizeof(chunk), 0);
    int r;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        give_up("%s: the controller went away", caller->name);
    frame_feed(&caller->in, chunk, (size_t)n);
    while ((r = frame_next(&caller->in, &bytes, &length)) > 0) {
        if (caller->greeted) {
            expect_job(bytes, length);
            caller->answered++;
        }
        caller->greeted = true;
    }
    if (r < 0)
        give_up("%s: a frame of a wrong size", caller->name);
    frame_keep(&caller->in);
}

static void submit_more(struct caller *caller)
{
    if (caller->out.length || caller->sent - caller->answered > WINDOW - BURST)
        return;
    for (int i = 0; i < BURST && caller->sent < caller->count; i++) {
        job_request_next(&caller->request, caller->name, ++caller->sent, caller->distinct);
        frame_append(&caller->out, &caller->request.request.base, SIZE_MAX);
    }
}

/* One wait, and what came of it. */
static void move(struct caller *caller)
{
    struct pollfd ready = { .fd = caller->fd,
                            .events = POLLIN | (caller->out.length ? POLLOUT : 0) };
    if (poll(&ready, 1, -1) < 0)
        give_up("poll: %s", strerror(errno));
    if (ready.revents & POLLOUT)
        write_out(caller);
    if (ready.revents & ~POLLOUT)
        read_in(caller);
}

/* In a process of its own; begins when `gate` is closed. */
static void run_caller(struct caller *caller, const char *socket, int gate)
{
    struct diag diag;
    char byte;

    if (connect_unix(socket, CONNECT_MS, &caller->fd, &diag) < 0)
        give_up("%s", diag.text);
    frame_reader_init(&caller->in, ANSWER_BYTES);
    hello_append(&caller->out, PROGRAM, NULL);
    while (!caller->greeted)
        move(caller);
    if (read(gate, &byte, 1) != 0)
        give_up("the gate is broken");
    while (caller->answered < caller->count) {
        submit_more(caller);
        move(caller);
    }
}

/* ---- all of them ---- */

static size_t live_jobs(struct client *client)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ListRequest list = WAFER__LIST_REQUEST__INIT;
    Wafer__Response *response;
    struct diag diag;

    request.id = 1;
    request.body_case = WAFER__REQUEST__BODY_LIST;
    request.list = &list;
    list.has_limit = true;
    if (client_send(client, &request, &diag) < 0 ||
        client_receive(client, -1, &response, &diag) < 0)
        give_up("%s", diag.text);
    if (response->body_case != WAFER__RESPONSE__BODY_JOBS)
        give_up("a list was answered with no list");
    size_t total = response->jobs->total;
    wafer__response__free_unpacked(response, NULL);
    return total;
}

static void wait_until_ended(const char *socket)
{
    owned(client_free) struct client *client = NULL;
    struct diag diag;

    if (client_connect(socket, PROGRAM, NULL, CONNECT_MS, &client, &diag) < 0)
        give_up("%s", diag.text);
    while (live_jobs(client) > 0)
        poll(NULL, 0, POLL_MS);
}

static void start_callers(const char *socket, const char *job_file, unsigned clients,
                          uint64_t count, bool distinct, int gate[2])
{
    for (unsigned i = 0; i < clients; i++) {
        pid_t pid = fork();
        if (pid < 0)
            give_up("no process: %s", strerror(errno));
        if (pid > 0)
            continue;
        owned(free) char *name = text_format("%d", (int)getpid());
        struct caller caller = { .name = name,
                                 .count = (i + 1) * count / clients - i * count / clients,
                                 .distinct = distinct };
        close(gate[1]);
        job_request_init(&caller.request, job_file);
        run_caller(&caller, socket, gate[0]);
        _exit(0);
    }
    close(gate[0]);
}

int main(int argc, char **argv)
{
    bool distinct = false, until_ended = false;
    int first = 1, gate[2], status;

    for (; first < argc && argv[first][0] == '-'; first++) {
        distinct |= strcmp(argv[first], "--distinct") == 0;
        until_ended |= strcmp(argv[first], "--until-ended") == 0;
    }
    if (argc - first != 4)
        give_up("usage: load [--distinct] [--until-ended] SOCKET JOB_FILE CLIENTS COUNT");
    const char *socket = argv[first];
    unsigned clients = (unsigned)atoi(argv[first + 2]);
    uint64_t count = strtoull(argv[first + 3], NULL, 10);

    if (pipe(gate) < 0)
        give_up("no pipe: %s", strerror(errno));
    start_callers(socket, argv[first + 1], clients, count, distinct, gate);
    poll(NULL, 0, 200); /* until all are connected; one that is late is measured as slow */
    double began = now_s();
    close(gate[1]);
    while (wait(&status) > 0)
        if (status != 0)
            give_up("a client failed");
    tell("submitted_per_s", (double)count / (now_s() - began));
    if (until_ended) {
        wait_until_ended(socket);
        tell("ended_per_s", (double)count / (now_s() - began));
    }
    return 0;
}
