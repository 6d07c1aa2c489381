#include "cli/connection.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "cli/message.h"
#include "cli/ssh.h"
#include "config.h"
#include "net/client.h"

#define PROGRAM            "wafer " PACKAGE_VERSION
#define CONNECT_TIMEOUT_MS 1000
#define SSH_TIMEOUT_MS     30000 /* somebody may have to type a password */
#define ANSWER_TIMEOUT_MS  30000
#define REOPEN_TIMEOUT_US  (30 * SECOND_US)
#define REOPEN_PAUSE_MS    200
#define REOPEN_QUIET_US    (3 * SECOND_US) /* a restart takes less: nobody need hear of it */

struct connection {
    const struct command *command;
    struct client *client;
    pid_t ssh; /* 0: there is none */
    uint64_t last_id;
    int error; /* why it ended */
    struct diag why;
};

static volatile sig_atomic_t interrupted;
static sigset_t mask_while_waiting;
static bool catches_interrupt;

static int timeout_ms(const struct command *command, int without)
{
    int64_t asked_ms = command->timeout_us / 1000;

    if (!command->timeout_us)
        return without;
    return asked_ms < 1 ? 1 : asked_ms > INT32_MAX ? INT32_MAX : (int)asked_ms;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Where the controller is, for messages. */
static const char *address_of(const struct command *command)
{
    return command->ssh_host ? command->ssh_host : command->socket_path;
}

int connection_refused(const struct command *command, int error, const struct diag *diag)
{
    const char *path = address_of(command);

    switch (error) {
    case -ENOENT:
    case -ECONNREFUSED:
        return message_fail(command, EXIT_UNREACHABLE,
                            "no controller at '%s': start it with 'systemctl start waferd', or "
                            "'waferd --dev DIR' and --socket DIR/waferd.sock",
                            path);
    case -EACCES:
    case -EPERM:
        return message_fail(command, EXIT_DENIED,
                            "may not connect to '%s': ask for access to that socket", path);
    case -EPROTONOSUPPORT:
        return message_fail(command, EXIT_PROTOCOL,
                            "%s: use the client that came with the controller", diag->text);
    case -EPROTO:
    case -EMSGSIZE:
        return message_fail(command, EXIT_PROTOCOL, "'%s' is no waferd: %s", path, diag->text);
    case -ENAMETOOLONG:
    case -EINVAL:
        return message_fail(command, setting_exit(command->address), "%s: %s",
                            command->address->origin, diag->text);
    default: return message_fail(command, EXIT_UNREACHABLE, "%s", diag->text);
    }
}

/* 0, an exit code of something that was told, or a negative errno that was not. */
static int open_ssh(const struct command *command, unsigned wait_s, struct connection *connection,
                    struct diag *diag)
{
    int fd;
    int exit = ssh_start(command, wait_s, &fd, &connection->ssh);

    if (exit)
        return exit;
    int r = client_attach(fd, command->ssh_host, PROGRAM, command->values[FLAG_AS],
                          timeout_ms(command, SSH_TIMEOUT_MS) + (int)wait_s * 1000,
                          &connection->client, diag);
    if (r != -EPIPE)
        return r;
    /* One that was ending when we came back may have taken the connection with it. */
    exit = ssh_tell_end(command, wait_s > 0, connection->ssh);
    connection->ssh = 0;
    return exit;
}

/* `wait_s`: how long a proxy waits for its controller; on this machine each try is at once. */
static int try_open(const struct command *command, unsigned wait_s, struct connection **ret,
                    struct diag *diag)
{
    owned(connection_close) struct connection *connection = NEW(struct connection);

    connection->command = command;
    int r =
        command->ssh_host
            ? open_ssh(command, wait_s, connection, diag)
            : client_connect(command->socket_path, PROGRAM, command->values[FLAG_AS],
                             timeout_ms(command, CONNECT_TIMEOUT_MS), &connection->client, diag);
    if (r == 0)
        *ret = TAKE(connection);
    return r;
}

int connection_open(const struct command *command, struct connection **ret)
{
    struct diag diag = { .text = "" };
    int r = try_open(command, 0, ret, &diag);

    if (r < 0)
        return connection_refused(command, r, &diag);
    if (r == 0 && command_has(command, FLAG_VERBOSE))
        message_note(command, "'%s' answers at '%s'", connection_peer(*ret), address_of(command));
    return r;
}

struct connection *connection_close(struct connection *connection)
{
    if (!connection)
        return NULL;
    client_free(connection->client);
    if (connection->ssh)
        ssh_wait(connection->ssh);
    free(connection);
    return NULL;
}

const char *connection_peer(const struct connection *connection)
{
    return client_peer_program(connection->client);
}

/* ---- one answer ---------------------------------------------------------------------------- */

static int went_wrong(struct connection *connection, int error, const struct diag *diag)
{
    connection->error = error;
    connection->why = *diag;
    return error;
}

/* A negative errno; connection_gone() tells it. */
static int send_request(struct connection *connection, Wafer__Request *request)
{
    struct diag diag = { .text = "" };

    request->id = ++connection->last_id;
    int r = client_send(connection->client, request, &diag);
    return r < 0 ? went_wrong(connection, r, &diag) : 0;
}

static int receive_response(struct connection *connection, Wafer__Response **ret)
{
    struct diag diag = { .text = "" };
    int limit_ms = timeout_ms(connection->command, ANSWER_TIMEOUT_MS);
    int r = client_receive(connection->client, limit_ms, ret, &diag);

    if (r == -EAGAIN)
        r = diag_fail(&diag, -ETIMEDOUT,
                      "no answer within %d ms: the controller is busy or stopped; --timeout waits "
                      "longer",
                      limit_ms);
    return r < 0 ? went_wrong(connection, r, &diag) : 0;
}

int connection_gone(const struct connection *connection)
{
    switch (connection->error) {
    case -EPIPE:
        return message_fail(connection->command, EXIT_UNREACHABLE,
                            "the controller at '%s' went away: see 'systemctl status waferd'",
                            address_of(connection->command));
    case -EPROTO:
        return message_fail(connection->command, EXIT_PROTOCOL, "%s", connection->why.text);
    case -EMSGSIZE: return message_fail(connection->command, EXIT_DATA, "%s", connection->why.text);
    default: return message_fail(connection->command, EXIT_UNREACHABLE, "%s", connection->why.text);
    }
}

int connection_send(struct connection *connection, Wafer__Request *request)
{
    return send_request(connection, request) < 0 ? connection_gone(connection) : 0;
}

int connection_receive(struct connection *connection, Wafer__Response **ret)
{
    owned(response_free) Wafer__Response *response = NULL;

    if (receive_response(connection, &response) < 0)
        return connection_gone(connection);
    if (response->body_case == WAFER__RESPONSE__BODY_ERROR)
        return message_refused(connection->command, response->error);
    *ret = TAKE(response);
    return 0;
}

bool connection_is_broken(const struct connection *connection)
{
    return connection->error != 0;
}

/* 0, an exit code of something that was told, or a negative errno that was not. */
static int call(struct connection *connection, Wafer__Request *request, bit_set bodies,
                Wafer__Response **ret)
{
    owned(response_free) Wafer__Response *response = NULL;
    int r = send_request(connection, request);
    if (!r)
        r = receive_response(connection, &response);
    if (r < 0)
        return r;

    if (response->body_case == WAFER__RESPONSE__BODY_ERROR)
        return message_refused(connection->command, response->error);
    if (!(bodies & BIT(response->body_case)))
        return message_fail(connection->command, EXIT_PROTOCOL,
                            "'%s' gave an answer to another question: use the client that came "
                            "with it",
                            connection_peer(connection));
    *ret = TAKE(response);
    return 0;
}

int connection_call(struct connection *connection, Wafer__Request *request, bit_set bodies,
                    Wafer__Response **ret)
{
    int r = call(connection, request, bodies, ret);

    return r < 0 ? connection_gone(connection) : r;
}

int connection_ask(const struct command *command, Wafer__Request *request, bit_set bodies,
                   Wafer__Response **ret)
{
    owned(connection_close) struct connection *connection = NULL;
    int exit = connection_open(command, &connection);

    return exit ? exit : connection_call(connection, request, bodies, ret);
}

int connection_call_again(struct connection **connection, Wafer__Request *request, bit_set bodies,
                          Wafer__Response **ret)
{
    int r = call(*connection, request, bodies, ret);

    if (r == -EPIPE) {
        int64_t limit_us = (int64_t)timeout_ms((*connection)->command, ANSWER_TIMEOUT_MS) * 1000;
        if (connection_reopen(connection, connection_now_us() + limit_us) == NEXT_RESPONSE)
            r = call(*connection, request, bodies, ret);
    }
    return r < 0 ? connection_gone(*connection) : r;
}

/* ---- streams ------------------------------------------------------------------------------- */

static void on_interrupt(int signal)
{
    interrupted = 1;
}

void connection_catch_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigset_t interrupt;

    /* Blocked but while waiting: none can come between the look at the flag and the wait. */
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &mask_while_waiting);
    sigdelset(&mask_while_waiting, SIGINT);
    sigaction(SIGINT, &action, NULL);
    catches_interrupt = true;
}

int64_t connection_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* Until `fd` (-1: none) has something or the deadline comes. */
static enum next wait_for(int fd, int64_t deadline_us)
{
    int64_t left_us = deadline_us < 0 ? 0 : deadline_us - connection_now_us();
    struct timespec left = { .tv_sec = left_us / SECOND_US, .tv_nsec = left_us % SECOND_US * 1000 };
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    if (interrupted)
        return NEXT_INTERRUPTED;
    if (deadline_us >= 0 && left_us <= 0)
        return NEXT_DEADLINE;
    ppoll(&poll_fd, 1, deadline_us < 0 ? NULL : &left,
          catches_interrupt ? &mask_while_waiting : NULL);
    return interrupted ? NEXT_INTERRUPTED : NEXT_RESPONSE;
}

enum next connection_next(struct connection *connection, int64_t deadline_us, Wafer__Response **ret)
{
    for (;;) {
        struct diag diag = { .text = "" };
        int r = client_receive(connection->client, 0, ret, &diag);

        if (r == 0)
            return NEXT_RESPONSE;
        if (r != -EAGAIN) {
            went_wrong(connection, r, &diag);
            return NEXT_GONE;
        }
        enum next next = wait_for(client_fd(connection->client), deadline_us);
        if (next != NEXT_RESPONSE)
            return next;
    }
}

void connection_pause(struct connection *connection, int64_t us)
{
    wait_for(client_fd(connection->client), connection_now_us() + us);
}

/* At least one: less is no wait. */
static unsigned reopen_seconds(int64_t deadline_us)
{
    int64_t left_us = deadline_us < 0 ? REOPEN_TIMEOUT_US : deadline_us - connection_now_us();

    return left_us < SECOND_US           ? 1
           : left_us > REOPEN_TIMEOUT_US ? REOPEN_TIMEOUT_US / SECOND_US
                                         : (unsigned)(left_us / SECOND_US);
}

enum next connection_reopen(struct connection **connection, int64_t deadline_us)
{
    const struct command *command = (*connection)->command;
    int64_t began_us = connection_now_us();
    bool is_told = false;

    if ((*connection)->error != -EPIPE)
        return NEXT_GONE; /* it is there, but speaks something else */
    for (;;) {
        struct connection *fresh;
        struct diag diag;
        int r = try_open(command, reopen_seconds(deadline_us), &fresh, &diag);
        int64_t tried_us = connection_now_us() - began_us;

        if (r == 0) {
            connection_close(*connection);
            *connection = fresh;
            return NEXT_RESPONSE;
        }
        if (r > 0 || r == -EPROTONOSUPPORT || tried_us > REOPEN_TIMEOUT_US)
            return NEXT_GONE;
        if (!is_told && tried_us > REOPEN_QUIET_US) {
            message_note(command, "the controller went away: trying to connect again");
            is_told = true;
        }
        int64_t pause_end_us = connection_now_us() + REOPEN_PAUSE_MS * 1000;
        enum next next = wait_for(
            -1, deadline_us >= 0 && deadline_us < pause_end_us ? deadline_us : pause_end_us);
        if (next == NEXT_INTERRUPTED)
            return next;
        if (deadline_us >= 0 && connection_now_us() >= deadline_us)
            return NEXT_DEADLINE;
    }
}
