/* fake_server SCRIPT COMMAND [ARGUMENT...] — run a command against a controller that reads its
 * answers from a script, and exit as the command did (128+N when signal N ended it).
 *
 * The command finds the socket through WAFER_SOCKET. A script is a list of steps, each a line that
 * begins with "--- " and the text below it; before the first step there may be remarks.
 *
 *     --- hello MAJOR MINOR   greet like that
 *     --- KIND                wait for a request of that kind (list, show ...) and answer the text,
 * a Response in YAML without its id; no text: no answer
 *     --- more [N]            answer the text to the Nth request, or to the last one
 *     --- close               close the connection
 *     --- interrupt           send SIGINT to the command
 *     --- garbage             send bytes that are no frame
 *
 * Requests are appended to the file FAKE_REQUESTS as YAML. Exit 99: the command asked something
 * else, or did not ask all; what went wrong is on stderr. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind.h"
#include "model/limits.h"
#include "net/frame.h"
#include "net/hello.h"

#define EXIT_SCRIPT    99
#define REQUESTS_MAX   1000
#define RESPONSE_LIMIT (16 << 20)

struct step {
    char *words; /* after "--- " */
    struct buffer text;
};

struct server {
    struct step *steps;
    size_t step_count, capacity, next_step;
    unsigned major, minor;

    char folder[64], path[96];
    int listen_fd, fd, signal_fd;
    struct frame_reader in;
    struct buffer out;
    bool greeted;

    pid_t child;
    uint64_t requests[REQUESTS_MAX]; /* their ids, over all connections */
    size_t request_count;
    FILE *log;
};

static void give_up(const char *what, const char *which)
{
    fprintf(stderr, "fake_server: %s: %s\n", what, which);
    exit(EXIT_SCRIPT);
}

static void read_script(struct server *server, const char *path)
{
    owned(fclose) FILE *file = fopen(path, "r");
    owned(free) char *line = NULL;
    size_t size = 0;

    if (!file)
        give_up("cannot open", path);
    while (getline(&line, &size, file) >= 0) {
        if (strncmp(line, "--- ", 4) == 0) {
            ARRAY_RESERVE(server->steps, server->step_count, server->capacity);
            struct step *step = &server->steps[server->step_count++];
            *step = (struct step){ .words = text_copy_length(line + 4, strcspn(line + 4, "\n")) };
        } else if (server->step_count) {
            buffer_append_text(&server->steps[server->step_count - 1].text, line);
        }
    }
}

static struct step *current(struct server *server)
{
    return server->next_step < server->step_count ? &server->steps[server->next_step] : NULL;
}

static bool is_step(const struct step *step, const char *word)
{
    size_t length = strlen(word);

    return step && strncmp(step->words, word, length) == 0 &&
           (step->words[length] == ' ' || !step->words[length]);
}

/* ---- the connection ------------------------------------------------------------------------- */

static void listen_at_path(struct server *server)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    strcpy(server->folder, "/tmp/fake_server.XXXXXX");
    if (!mkdtemp(server->folder))
        give_up("cannot make", server->folder);
    snprintf(server->path, sizeof(server->path), "%s/sock", server->folder);
    memcpy(address.sun_path, server->path, strlen(server->path) + 1);
    server->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(server->listen_fd, 8) < 0)
        give_up("cannot listen", strerror(errno));
}

static void flush_out(struct server *server)
{
    while (server->fd >= 0 && server->out.length) {
        ssize_t n = send(server->fd, buffer_data(&server->out), server->out.length, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        buffer_take(&server->out, (size_t)n);
    }
    buffer_clear(&server->out);
}

static void hang_up(struct server *server)
{
    if (server->fd >= 0)
        close(server->fd);
    server->fd = -1;
    frame_reader_done(&server->in);
    frame_reader_init(&server->in, LIMIT_REQUEST_BYTES);
    server->greeted = false;
}

static void greet(struct server *server)
{
    Wafer__Hello hello = WAFER__HELLO__INIT;

    hello.magic = NET_MAGIC;
    hello.major = server->major;
    hello.minor = server->minor;
    hello.program = (char *)"waferd 0.1.0";
    frame_append(&server->out, &hello.base, HELLO_LIMIT_BYTES);
    flush_out(server);
    server->greeted = true;
}

static void answer(struct server *server, struct step *step, uint64_t id)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    struct bind_errors errors = { .count = 0 };
    ProtobufCMessage *message;

    if (!step->text.length)
        return;
    buffer_append_text(&text, "id: 0\n");
    buffer_append(&text, buffer_data(&step->text), step->text.length);
    if (bind_yaml(&wafer__response__descriptor, (const char *)buffer_data(&text), text.length,
                  RESPONSE_LIMIT, &message, NULL, &errors) < 0)
        give_up(step->words, errors.items[0].text);
    ((Wafer__Response *)message)->id = id;
    if (frame_append(&server->out, message, RESPONSE_LIMIT) < 0)
        give_up(step->words, "too long");
    protobuf_c_message_free_unpacked(message, NULL);
    flush_out(server);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Those that wait for nothing. */
static void take_steps(struct server *server)
{
    for (struct step *step; (step = current(server)); server->next_step++) {
        if (is_step(step, "hello")) {
            sscanf(step->words, "hello %u %u", &server->major, &server->minor);
        } else if (is_step(step, "more")) {
            size_t which = server->request_count;
            sscanf(step->words, "more %zu", &which);
            if (server->fd < 0 || which == 0 || which > server->request_count)
                return;
            answer(server, step, server->requests[which - 1]);
        } else if (is_step(step, "close")) {
            hang_up(server);
        } else if (is_step(step, "interrupt")) {
            kill(server->child, SIGINT);
        } else if (is_step(step, "garbage")) {
            buffer_append(&server->out, "\x05\x00\x00\x00\xff\xff\xff\xff\xff", 9);
            flush_out(server);
        } else {
            return;
        }
    }
}

static void take_request(struct server *server, const uint8_t *bytes, size_t length)
{
    Wafer__Request *request = wafer__request__unpack(NULL, length, bytes);

    if (!request)
        give_up("no request", "cannot unpack");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&wafer__request__descriptor, request->body_case);
    struct step *step = current(server);
    if (!step || !field || strcmp(step->words, field->name) != 0)
        give_up("asked for", field ? field->name : "nothing");
    if (server->log) {
        owned(free) char *text = bind_yaml_text(&request->base);
        fputs(text, server->log);
        fflush(server->log);
    }
    if (server->request_count == REQUESTS_MAX)
        give_up("too many requests", field->name);
    server->requests[server->request_count++] = request->id;
    server->next_step++;
    answer(server, step, request->id);
    wafer__request__free_unpacked(request, NULL);
    take_steps(server);
}

static void receive(struct server *server)
{
    static uint8_t chunk[FRAME_CHUNK_BYTES];
    ssize_t n = recv(server->fd, chunk, sizeof(chunk), 0);
    const uint8_t *bytes;
    size_t length;

    if (n <= 0) {
        hang_up(server);
        return;
    }
    frame_feed(&server->in, chunk, (size_t)n);
    while (server->fd >= 0 && frame_next(&server->in, &bytes, &length) > 0) {
        if (server->greeted)
            take_request(server, bytes, length);
        else
            greet(server);
    }
    if (server->fd >= 0)
        frame_keep(&server->in);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void start_command(struct server *server, char *argv[])
{
    sigset_t none;

    server->child = fork();
    if (server->child != 0)
        return;
    setenv("WAFER_SOCKET", server->path, 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL); /* a shell ignores it for jobs in the background */
    execvp(argv[0], argv);
    give_up("cannot run", argv[0]);
}

static int finish(struct server *server)
{
    int status;

    waitpid(server->child, &status, 0);
    unlink(server->path);
    rmdir(server->folder);
    if (server->next_step < server->step_count) {
        fprintf(stderr, "fake_server: the command never asked: %s\n", current(server)->words);
        return EXIT_SCRIPT;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char *argv[])
{
    static struct server server = { .fd = -1, .major = NET_MAJOR, .minor = NET_MINOR };
    const char *log_path = getenv("FAKE_REQUESTS");
    sigset_t child_ended;

    if (argc < 3)
        give_up("usage", "fake_server SCRIPT COMMAND [ARGUMENT...]");
    read_script(&server, argv[1]);
    server.log = log_path ? fopen(log_path, "ae") : NULL;
    frame_reader_init(&server.in, LIMIT_REQUEST_BYTES);
    listen_at_path(&server);
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, NULL);
    server.signal_fd = signalfd(-1, &child_ended, SFD_CLOEXEC);
    take_steps(&server);
    start_command(&server, argv + 2);

    for (;;) {
        struct pollfd fds[] = {
            { .fd = server.signal_fd, .events = POLLIN },
            { .fd = server.fd >= 0 ? server.fd : server.listen_fd, .events = POLLIN },
        };

        if (poll(fds, ELEMENTS(fds), 20000) == 0)
            give_up("nothing happens", current(&server) ? current(&server)->words : "at the end");
        if (fds[0].revents)
            return finish(&server);
        if (fds[1].revents && server.fd >= 0)
            receive(&server);
        else if (fds[1].revents)
            server.fd = accept4(server.listen_fd, NULL, NULL, SOCK_CLOEXEC);
    }
}
