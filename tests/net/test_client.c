#include "net/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "model/limits.h"
#include "net/connect.h"
#include "net/loop.h"
#include "net/place.h"
#include "net/raw.h"
#include "tap.h"

#define PATIENT_MS 5000

/* A controller of few words: a child that serves one connection as a test wants it. */
struct controller {
    struct place place;
    int fd; /* listens */
    pid_t pid;
};

static void controller_init(struct controller *controller, int backlog)
{
    *controller = (struct controller){ .pid = -1 };
    place_init(&controller->place);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, controller->place.socket);
    controller->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(controller->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(controller->fd, backlog), 0);
}

static void controller_open(struct controller *controller, void (*serve)(int fd))
{
    controller_init(controller, 8);
    controller->pid = fork();
    ck_assert_int_ge(controller->pid, 0);
    if (!controller->pid) {
        int fd = accept(controller->fd, NULL, NULL);
        serve(fd);
        close(fd);
        _exit(0);
    }
}

static void controller_done(struct controller *controller)
{
    if (controller->pid > 0) {
        kill(controller->pid, SIGKILL);
        waitpid(controller->pid, NULL, 0);
    }
    close(controller->fd);
    place_done(&controller->place);
}

static int connect_client(const struct controller *controller, int timeout_ms, struct client **ret,
                          struct diag *diag)
{
    return client_connect(controller->place.socket, "wafer 0.1.0", NULL, timeout_ms, ret, diag);
}

static Wafer__Request *small_request(uint64_t id)
{
    static Wafer__VersionRequest version = WAFER__VERSION_REQUEST__INIT;
    static Wafer__Request request = WAFER__REQUEST__INIT;

    request.id = id;
    request.body_case = WAFER__REQUEST__BODY_VERSION;
    request.version = &version;
    return &request;
}

/* ---- controllers --------------------------------------------------------------------------------
 */

static void send_response(int fd, uint64_t id)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;

    response.id = id;
    raw_send_message(fd, &response.base);
}

static bool read_all(int fd, void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = read(fd, (char *)bytes + done, length - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The id of the next request, or 0 at the end; blocks. */
static uint64_t read_request_id(int fd)
{
    uint8_t bytes[1000];
    uint32_t length;

    if (!read_all(fd, &length, sizeof(length)) || length > sizeof(bytes) ||
        !read_all(fd, bytes, length))
        return 0;
    Wafer__Request *request = wafer__request__unpack(NULL, length, bytes);
    uint64_t id = request->id;
    wafer__request__free_unpacked(request, NULL);
    return id;
}

static void read_hello(int fd)
{
    uint8_t bytes[1000];
    uint32_t length;

    ck_assert(read_all(fd, &length, sizeof(length)) && read_all(fd, bytes, length));
}

/* Answers one after the other, and reads no request before the last response was taken. */
static void serve_echo(int fd)
{
    raw_greet(fd);
    read_hello(fd);
    for (uint64_t id; (id = read_request_id(fd));)
        send_response(fd, id);
}

static void serve_newer(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR + 2, "waferd 0.3.0");
    read_hello(fd);
}

static void serve_minor_apart(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR + 1, "waferd 0.2.0");
    read_hello(fd);
    send_response(fd, read_request_id(fd));
}

static void serve_http(int fd)
{
    raw_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
}

static void serve_other_protocol(int fd)
{
    raw_send(fd, "\x03\x00\x00\x00\x08\x01\x10", 7);
}

static void serve_nothing(int fd)
{
    pause();
}

static void serve_hello_and_stop(int fd)
{
    raw_greet(fd);
    pause();
}

static void serve_refusal(int fd)
{
    Wafer__Error error = WAFER__ERROR__INIT;
    Wafer__Response response = WAFER__RESPONSE__INIT;

    error.code = "E_BUSY";
    error.exit = 75;
    error.message = "no place";
    response.body_case = WAFER__RESPONSE__BODY_ERROR;
    response.error = &error;
    raw_greet(fd);
    raw_send_message(fd, &response.base);
}

static void serve_cut_response(int fd)
{
    raw_greet(fd);
    read_hello(fd);
    read_request_id(fd);
    raw_send(fd, "\x05\x00\x00\x00\x08", 5);
}

static void serve_gibibyte(int fd)
{
    raw_greet(fd);
    read_hello(fd);
    read_request_id(fd);
    raw_send(fd, "\x00\x00\x00\x40", 4);
    pause();
}

static void serve_garbage(int fd)
{
    raw_greet(fd);
    read_hello(fd);
    read_request_id(fd);
    raw_send(fd, "\x05\x00\x00\x00\xff\xff\xff\xff\xff", 9);
    pause();
}

/* ---- connecting ---------------------------------------------------------------------------------
 */

static const struct {
    void (*serve)(int fd);
    int error;
    const char *text;
} handshakes[] = {
    { serve_echo, 0, "" },
    { serve_minor_apart, 0, "" },
    { serve_newer, -EPROTONOSUPPORT,
      "waferd 0.3.0 speaks protocol 1.3 and wafer 0.1.0 speaks 1.1" },
    { serve_http, -EMSGSIZE, "at most 4096 bytes" },
    { serve_other_protocol, -EPROTO, "no Hello" },
    { serve_nothing, -ETIMEDOUT, "did not say Hello within 50 ms" },
};

START_TEST(a_handshake_succeeds_or_says_why_not)
{
    struct controller controller;
    struct client *client = NULL;
    struct diag diag = { "" };

    controller_open(&controller, handshakes[_i].serve);
    int timeout_ms = handshakes[_i].error == -ETIMEDOUT ? 50 : PATIENT_MS;
    int r = connect_client(&controller, timeout_ms, &client, &diag);
    ck_assert_msg(r == handshakes[_i].error, "%d: %s", r, diag.text);
    ck_assert_msg(strstr(diag.text, handshakes[_i].text), "%s", diag.text);
    if (r == 0)
        ck_assert_ptr_nonnull(strchr(client_peer_program(client), ' '));
    client_free(client);
    controller_done(&controller);
}
END_TEST

START_TEST(a_path_where_nobody_listens_is_named_at_once)
{
    struct place place;
    struct client *client;
    struct diag diag;

    place_init(&place);
    uint64_t start_us = loop_now_us();
    ck_assert_int_eq(client_connect(place.socket, "wafer 0.1.0", NULL, PATIENT_MS, &client, &diag),
                     -ENOENT);
    ck_assert_ptr_nonnull(strstr(diag.text, place.socket));

    close(creat(place.socket, 0600)); /* no socket at all */
    ck_assert_int_eq(client_connect(place.socket, "wafer 0.1.0", NULL, PATIENT_MS, &client, &diag),
                     -ECONNREFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, place.socket));
    ck_assert_uint_lt(loop_now_us() - start_us, 1000000);
    place_done(&place);
}
END_TEST

START_TEST(a_path_that_cannot_be_one_is_refused)
{
    struct client *client;
    struct diag diag;
    char path[109];

    memset(path, 'a', 108);
    path[108] = '\0';
    ck_assert_int_eq(client_connect(path, "wafer 0.1.0", NULL, PATIENT_MS, &client, &diag),
                     -ENAMETOOLONG);
    ck_assert_ptr_nonnull(strstr(diag.text, "has 108 bytes, at most 107 fit"));
    ck_assert_int_eq(client_connect("", "wafer 0.1.0", NULL, PATIENT_MS, &client, &diag), -EINVAL);
    ck_assert_ptr_nonnull(strstr(diag.text, "empty"));
}
END_TEST

START_TEST(a_listener_whose_queue_is_full_is_waited_for_so_long_and_no_longer)
{
    struct controller controller;
    struct diag diag = { "" };
    int fds[10], r = 0, count = 0;

    controller_init(&controller, 0);
    while (count < 10 && (r = connect_unix(controller.place.socket, 30, &fds[count], &diag)) == 0)
        count++;
    ck_assert_int_eq(r, -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "within 30 ms"));
    ck_assert_int_eq(connect_unix(controller.place.socket, 0, &fds[count], &diag), -ETIMEDOUT);
    while (count)
        close(fds[--count]);
    controller_done(&controller);
}
END_TEST

/* ---- requests and responses ---------------------------------------------------------------------
 */

START_TEST(a_request_gets_its_response)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, serve_echo);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    for (uint64_t id = 1; id <= 3; id++) {
        ck_assert_int_eq(client_receive(client, 0, &response, &diag), -EAGAIN);
        ck_assert_int_eq(client_send(client, small_request(id), &diag), 0);
        ck_assert_int_eq(client_receive(client, -1, &response, &diag), 0);
        ck_assert_uint_eq(response->id, id);
        wafer__response__free_unpacked(response, NULL);
    }
    uint64_t start_us = loop_now_us();
    ck_assert_int_eq(client_receive(client, 20, &response, &diag), -EAGAIN);
    ck_assert_uint_ge(loop_now_us() - start_us, 19000);
    controller_done(&controller);
}
END_TEST

/* Far more than the kernel keeps, to a controller that reads nothing while nobody takes its
 * responses: whoever only wrote would wait for ever. */
START_TEST(requests_sent_far_ahead_are_all_answered)
{
    enum { REQUESTS = 30000 };
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };
    bool queued = _i;

    controller_open(&controller, serve_echo);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    for (uint64_t id = 1; id <= REQUESTS; id++)
        ck_assert_int_eq((queued ? client_queue : client_send)(client, small_request(id), &diag),
                         0);
    for (uint64_t id = 1; id <= REQUESTS; id++) {
        ck_assert_msg(client_receive(client, PATIENT_MS, &response, &diag) == 0, "%s", diag.text);
        ck_assert_uint_eq(response->id, id);
        wafer__response__free_unpacked(response, NULL);
    }
    controller_done(&controller);
}
END_TEST

START_TEST(responses_that_came_in_one_read_need_no_other_poll)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, serve_minor_apart);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    ck_assert_int_eq(client_send(client, small_request(1), &diag), 0);
    struct pollfd poll_fd = { .fd = client_fd(client), .events = POLLIN };
    ck_assert_int_eq(poll(&poll_fd, 1, PATIENT_MS), 1);
    ck_assert_int_eq(client_receive(client, 0, &response, &diag), 0);
    wafer__response__free_unpacked(response, NULL);
    int r;
    while ((r = client_receive(client, 100, &response, &diag)) == -EAGAIN)
        continue;
    ck_assert_int_eq(r, -EPIPE);
    controller_done(&controller);
}
END_TEST

START_TEST(a_request_over_the_limit_is_not_sent)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Target target = WAFER__TARGET__INIT;
    Wafer__ShowRequest show = WAFER__SHOW_REQUEST__INIT;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, serve_echo);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    owned(free) char *name = memory_new(LIMIT_REQUEST_BYTES + 1);
    memset(name, 'a', LIMIT_REQUEST_BYTES);
    target.name = name;
    show.target = &target;
    request.body_case = WAFER__REQUEST__BODY_SHOW;
    request.show = &show;
    ck_assert_int_eq(client_send(client, &request, &diag), -EMSGSIZE);

    /* And harms nothing. */
    ck_assert_int_eq(client_send(client, small_request(2), &diag), 0);
    ck_assert_int_eq(client_receive(client, PATIENT_MS, &response, &diag), 0);
    ck_assert_uint_eq(response->id, 2);
    wafer__response__free_unpacked(response, NULL);
    controller_done(&controller);
}
END_TEST

/* ---- controllers that fail ----------------------------------------------------------------------
 */

static const struct {
    void (*serve)(int fd);
    int error;
    const char *text;
} failures[] = {
    { serve_cut_response, -EPIPE, "within a message" },
    { serve_gibibyte, -EMSGSIZE, "at most 8388608 bytes" },
    { serve_garbage, -EPROTO, "no response" },
};

START_TEST(a_broken_response_is_an_error_and_no_crash)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, failures[_i].serve);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    ck_assert_int_eq(client_send(client, small_request(1), &diag), 0);
    ck_assert_int_eq(client_receive(client, PATIENT_MS, &response, &diag), failures[_i].error);
    ck_assert_msg(strstr(diag.text, failures[_i].text), "%s", diag.text);
    controller_done(&controller);
}
END_TEST

START_TEST(a_refused_client_reads_the_reason_although_it_cannot_send)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, serve_refusal);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    ck_assert_int_eq(waitpid(controller.pid, NULL, 0), controller.pid);
    controller.pid = -1;
    ck_assert_int_eq(client_send(client, small_request(1), &diag), 0);
    ck_assert_int_eq(client_receive(client, PATIENT_MS, &response, &diag), 0);
    ck_assert_uint_eq(response->id, 0);
    ck_assert_uint_eq(response->error->exit, 75);
    wafer__response__free_unpacked(response, NULL);
    ck_assert_int_eq(client_receive(client, PATIENT_MS, &response, &diag), -EPIPE);
    ck_assert_int_eq(client_receive(client, -1, &response, &diag), -EPIPE);
    controller_done(&controller);
}
END_TEST

START_TEST(a_controller_that_takes_nothing_ends_a_send_in_time)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    struct diag diag = { "" };
    int r = 0;

    controller_open(&controller, serve_hello_and_stop);
    ck_assert_int_eq(connect_client(&controller, 50, &client, &diag), 0);
    for (uint64_t id = 1; r == 0 && id < 1000000; id++)
        r = client_send(client, small_request(id), &diag);
    ck_assert_int_eq(r, -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "took nothing for 50 ms"));
    controller_done(&controller);
}
END_TEST

START_TEST(a_controller_that_is_killed_ends_the_wait)
{
    struct controller controller;
    owned(client_free) struct client *client = NULL;
    Wafer__Response *response;
    struct diag diag = { "" };

    controller_open(&controller, serve_hello_and_stop);
    ck_assert_int_eq(connect_client(&controller, PATIENT_MS, &client, &diag), 0);
    ck_assert_int_eq(client_send(client, small_request(1), &diag), 0);
    kill(controller.pid, SIGKILL);
    ck_assert_int_eq(client_receive(client, -1, &response, &diag), -EPIPE);
    controller_done(&controller);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client");
    TCase *tcase = tcase_create("client");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, a_handshake_succeeds_or_says_why_not, 0, ELEMENTS(handshakes));
    tcase_add_test(tcase, a_path_where_nobody_listens_is_named_at_once);
    tcase_add_test(tcase, a_path_that_cannot_be_one_is_refused);
    tcase_add_test(tcase, a_listener_whose_queue_is_full_is_waited_for_so_long_and_no_longer);
    tcase_add_test(tcase, a_request_gets_its_response);
    tcase_add_loop_test(tcase, requests_sent_far_ahead_are_all_answered, 0, 2);
    tcase_add_test(tcase, responses_that_came_in_one_read_need_no_other_poll);
    tcase_add_test(tcase, a_request_over_the_limit_is_not_sent);
    tcase_add_loop_test(tcase, a_broken_response_is_an_error_and_no_crash, 0, ELEMENTS(failures));
    tcase_add_test(tcase, a_refused_client_reads_the_reason_although_it_cannot_send);
    tcase_add_test(tcase, a_controller_that_takes_nothing_ends_a_send_in_time);
    tcase_add_test(tcase, a_controller_that_is_killed_ends_the_wait);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
