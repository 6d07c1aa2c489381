#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/list.h"
#include "base/memory.h"
#include "model/limits.h"
#include "net/connect.h"
#include "net/link.h"
#include "net/loop.h"
#include "net/place.h"
#include "net/raw.h"
#include "tap.h"

#define NOBODY     65534
#define SOMEBODY   4711
#define PATIENT_MS 5000

/* A server that counts its links. */
struct server {
    struct place place;
    sd_event *event;
    struct listener *listener;
    struct list guests;
    size_t guest_count, ready_count, gone_count;
    uid_t last_uid;
    pid_t last_pid;
    bool refuse;
};

struct guest {
    struct list list;
    struct server *server;
    struct link *link;
    uid_t uid;
};

static void guest_ready(struct link *link, void *userdata, const Wafer__Hello *peer)
{
    struct guest *guest = userdata;

    guest->server->ready_count++;
}

static void guest_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
}

static void guest_leave(struct guest *guest)
{
    listener_gone(guest->server->listener, guest->uid);
    guest->server->guest_count--;
    guest->server->gone_count++;
    list_remove(&guest->list);
    link_free(guest->link);
    free(guest);
}

static void guest_closed(struct link *link, void *userdata, int error, const char *why)
{
    guest_leave(userdata);
}

static int on_connection(struct listener *listener, void *userdata, int fd, uid_t uid, gid_t gid,
                         pid_t pid)
{
    static const struct link_ops ops = { guest_ready, guest_frame, guest_closed };
    static const struct link_limits limits = { .receive_bytes = 1000, .send_bytes = 1000 };
    struct server *server = userdata;

    server->last_uid = uid;
    server->last_pid = pid;
    if (server->refuse) {
        close(fd);
        return -EPERM;
    }
    struct guest *guest = NEW(struct guest);
    guest->server = server;
    guest->uid = uid;
    ck_assert_int_eq(
        link_new(server->event, fd, "waferd 0.1.0", &limits, &ops, guest, &guest->link), 0);
    list_push_tail(&server->guests, &guest->list);
    server->guest_count++;
    return 0;
}

static int server_listen(struct server *server, const char *path, mode_t mode, struct diag *diag)
{
    return listener_new(server->event, path, mode, "waferd 0.1.0", on_connection, server,
                        &server->listener, diag);
}

static void server_init(struct server *server)
{
    *server = (struct server){ .last_uid = (uid_t)-1 };
    place_init(&server->place);
    list_init(&server->guests);
    ck_assert_int_ge(sd_event_new(&server->event), 0);
}

static void server_open(struct server *server)
{
    struct diag diag;

    server_init(server);
    ck_assert_msg(server_listen(server, server->place.socket, 0666, &diag) == 0, "%s", diag.text);
}

static void server_done(struct server *server)
{
    list_foreach_safe (&server->guests, at)
        guest_leave(CONTAINER_OF(at, struct guest, list));
    server->listener = listener_free(server->listener);
    sd_event_unref(server->event);
    place_done(&server->place);
}

static int connect_to(const struct server *server)
{
    struct diag diag;
    int fd;

    ck_assert_msg(connect_unix(server->place.socket, PATIENT_MS, &fd, &diag) == 0, "%s", diag.text);
    return fd;
}

/* What the far end of a refused connection reads: Hello, an Error, the end. */
static void check_refusal(int fd, uint32_t exit, const char *message)
{
    owned(buffer_done) struct buffer in = BUFFER_EMPTY;
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    while (raw_drain(fd, &in))
        ck_assert_int_eq(poll(&poll_fd, 1, PATIENT_MS), 1);
    Wafer__Hello *hello = (Wafer__Hello *)raw_take(&in, &wafer__hello__descriptor);
    ck_assert_ptr_nonnull(hello);
    ck_assert_str_eq(hello->program, "waferd 0.1.0");
    wafer__hello__free_unpacked(hello, NULL);
    Wafer__Response *response = (Wafer__Response *)raw_take(&in, &wafer__response__descriptor);
    ck_assert_ptr_nonnull(response);
    ck_assert_uint_eq(response->id, 0);
    ck_assert_int_eq(response->body_case, WAFER__RESPONSE__BODY_ERROR);
    ck_assert_uint_eq(response->error->exit, exit);
    ck_assert_msg(strstr(response->error->message, message), "%s", response->error->message);
    wafer__response__free_unpacked(response, NULL);
    ck_assert_uint_eq(in.length, 0);
}

/* A process of `uid` that has made `count` connections and holds them until it is killed. */
static pid_t fork_crowd(struct server *server, uid_t uid, unsigned count)
{
    int done[2];
    char byte;

    ck_assert_int_eq(pipe2(done, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        if (uid != geteuid() && setresuid(uid, uid, uid) < 0)
            _exit(1);
        for (unsigned i = 0; i < count; i++)
            connect_to(server);
        ck_assert_int_eq(write(done[1], "x", 1), 1);
        pause();
        _exit(0);
    }
    close(done[1]);
    while (read(done[0], &byte, 1) < 0)
        sd_event_run(server->event, 1000);
    close(done[0]);
    loop_settle(server->event);
    return pid;
}

static void end_crowd(pid_t pid)
{
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* For whom the soft limit is the hard one, and low, a crowd cannot be had. */
static bool allow_descriptors(rlim_t count)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < count)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* ---- who connects -------------------------------------------------------------------------------
 */

START_TEST(a_connection_comes_with_the_name_that_the_kernel_gives)
{
    struct server server;

    server_open(&server);
    int fd = connect_to(&server);
    raw_greet(fd);
    LOOP_UNTIL(server.event, server.ready_count);
    ck_assert_uint_eq(server.last_uid, geteuid());
    ck_assert_int_eq(server.last_pid, getpid());
    close(fd);
    LOOP_UNTIL(server.event, server.gone_count);
    server_done(&server);
}
END_TEST

START_TEST(three_hundred_connections_of_one_uid_get_places_up_to_the_limit_and_a_reason)
{
    enum { ALL = 300, PLACES = 2 * LIMIT_CONNECTIONS_PER_UID };
    struct server server;
    int fds[ALL];

    server_open(&server);
    for (int i = 0; i < ALL; i++)
        fds[i] = connect_to(&server);
    loop_settle(server.event);
    ck_assert_uint_eq(server.guest_count, PLACES);
    for (int i = 0; i < PLACES; i++)
        raw_greet(fds[i]);
    LOOP_UNTIL(server.event, server.ready_count == PLACES);
    for (int i = PLACES; i < ALL; i++)
        check_refusal(fds[i], 75, "has 32 connections");

    /* One leaves, and there is one place again. */
    close(fds[0]);
    LOOP_UNTIL(server.event, server.gone_count == 1);
    fds[0] = connect_to(&server);
    int late = connect_to(&server);
    loop_settle(server.event);
    ck_assert_uint_eq(server.guest_count, PLACES);
    check_refusal(late, 75, "has 32 connections");
    close(late);
    for (int i = 0; i < ALL; i++)
        close(fds[i]);
    LOOP_UNTIL(server.event, server.guest_count == 0);
    server_done(&server);
}
END_TEST

START_TEST(a_refused_client_that_has_spoken_reads_an_end_of_file_and_no_reset)
{
    struct server server;
    int fds[2 * LIMIT_CONNECTIONS_PER_UID + 1];
    owned(buffer_done) struct buffer requests = BUFFER_EMPTY;

    for (uint64_t id = 1; id <= 1000; id++)
        raw_append_request(&requests, id);
    server_open(&server);
    for (size_t i = 0; i < ELEMENTS(fds); i++) { /* all before the first is accepted */
        fds[i] = connect_to(&server);
        raw_greet(fds[i]);
        raw_send(fds[i], buffer_data(&requests), requests.length);
    }
    loop_settle(server.event);
    char bytes[1000];
    int last = fds[ELEMENTS(fds) - 1];
    ck_assert_int_gt(recv(last, bytes, sizeof(bytes), 0), 0);
    ck_assert_int_eq(recv(last, bytes, sizeof(bytes), 0), 0);
    for (size_t i = 0; i < ELEMENTS(fds); i++)
        close(fds[i]);
    server_done(&server);
}
END_TEST

START_TEST(a_flood_of_ten_thousand_connections_locks_nobody_else_out)
{
    struct server server;

    /* Other uids take a root to try. */
    if (geteuid() != 0 || !allow_descriptors(10100))
        return;
    server_open(&server);
    pid_t flood = fork_crowd(&server, SOMEBODY, 10000);
    ck_assert_uint_eq(server.guest_count, LIMIT_CONNECTIONS_PER_UID);
    ck_assert_uint_eq(server.last_uid, SOMEBODY);

    pid_t other = fork_crowd(&server, SOMEBODY + 1, 1);
    ck_assert_uint_eq(server.last_uid, SOMEBODY + 1);
    int fd = connect_to(&server);
    LOOP_UNTIL(server.event, server.last_uid == 0);
    ck_assert_uint_eq(server.guest_count, LIMIT_CONNECTIONS_PER_UID + 2);
    close(fd);
    end_crowd(flood);
    end_crowd(other);
    LOOP_UNTIL(server.event, server.guest_count == 0);
    server_done(&server);
}
END_TEST

START_TEST(when_all_places_are_taken_those_of_control_are_left)
{
    enum { KEPT = 4 * LIMIT_CONNECTIONS_PER_UID };
    enum { CROWDS = (LIMIT_CONNECTIONS - KEPT) / LIMIT_CONNECTIONS_PER_UID };
    struct server server;
    pid_t crowds[CROWDS + 1];

    if (geteuid() != 0 || !allow_descriptors(LIMIT_CONNECTIONS + 200))
        return;
    server_open(&server);
    for (unsigned i = 0; i < CROWDS; i++)
        crowds[i] = fork_crowd(&server, SOMEBODY + i, LIMIT_CONNECTIONS_PER_UID);
    ck_assert_uint_eq(server.guest_count, LIMIT_CONNECTIONS - KEPT);

    crowds[CROWDS] = fork_crowd(&server, SOMEBODY + CROWDS, 1);
    ck_assert_uint_eq(server.guest_count, LIMIT_CONNECTIONS - KEPT);
    int fd = connect_to(&server);
    LOOP_UNTIL(server.event, server.last_uid == 0);
    ck_assert_uint_eq(server.guest_count, LIMIT_CONNECTIONS - KEPT + 1);
    close(fd);
    for (unsigned i = 0; i < ELEMENTS(crowds); i++)
        end_crowd(crowds[i]);
    LOOP_UNTIL(server.event, server.guest_count == 0);

    pid_t later = fork_crowd(&server, SOMEBODY, 1);
    ck_assert_uint_eq(server.guest_count, 1);
    end_crowd(later);
    server_done(&server);
}
END_TEST

START_TEST(whom_the_kernel_cannot_name_is_refused)
{
    struct server server;

    if (geteuid() != 0)
        return;
    server_open(&server);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
        check_refusal(connect_to(&server), 77, "uid 65534 is nobody");
        _exit(0);
    }
    int status = -1;
    while (waitpid(pid, &status, WNOHANG) == 0)
        sd_event_run(server.event, 1000);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(server.guest_count, 0);
    server_done(&server);
}
END_TEST

START_TEST(a_connection_that_the_owner_refuses_holds_no_place)
{
    struct server server;

    server_open(&server);
    server.refuse = true;
    for (int i = 0; i < 3 * LIMIT_CONNECTIONS_PER_UID; i++) {
        char byte;
        int fd = connect_to(&server);
        loop_settle(server.event);
        ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
        close(fd);
    }
    server.refuse = false;
    int fd = connect_to(&server);
    loop_settle(server.event);
    ck_assert_uint_eq(server.guest_count, 1);
    close(fd);
    server_done(&server);
}
END_TEST

START_TEST(without_descriptors_the_loop_rests_and_those_who_wait_are_served_later)
{
    struct rlimit limit, low;
    struct server server;
    unsigned turns = 0;

    server_open(&server);
    loop_settle(server.event);
    int fd = connect_to(&server);
    getrlimit(RLIMIT_NOFILE, &limit);
    low = limit;
    low.rlim_cur = (rlim_t)fd + 1; /* `fd` is the lowest that was free */
    setrlimit(RLIMIT_NOFILE, &low);
    for (uint64_t end_us = loop_now_us() + 150000; loop_now_us() < end_us; turns++)
        sd_event_run(server.event, 10000);
    ck_assert_uint_lt(turns, 50); /* and not as many as the processor can do */
    ck_assert_uint_eq(server.guest_count, 0);

    setrlimit(RLIMIT_NOFILE, &limit);
    LOOP_UNTIL(server.event, server.guest_count == 1);
    close(fd);
    server_done(&server);
}
END_TEST

/* ---- the path -----------------------------------------------------------------------------------
 */

START_TEST(the_socket_has_its_mode_whatever_the_umask_is)
{
    static const struct {
        mode_t umask, mode;
    } rows[] = { { 0, 0600 }, { 077, 0666 }, { 0777, 0660 }, { 022, 0600 } };
    struct server server;
    struct diag diag;
    struct stat st;

    server_init(&server);
    umask(rows[_i].umask);
    ck_assert_int_eq(server_listen(&server, server.place.socket, rows[_i].mode, &diag), 0);
    ck_assert_int_eq(stat(server.place.socket, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, rows[_i].mode);
    server_done(&server);
}
END_TEST

START_TEST(a_socket_that_nobody_listens_on_is_replaced)
{
    struct server server;
    struct diag diag;

    server_init(&server);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, server.place.socket);
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
    if (_i) /* whose owner was killed */
        ck_assert_int_eq(listen(stale, 1), 0);
    close(stale);
    ck_assert_msg(server_listen(&server, server.place.socket, 0600, &diag) == 0, "%s", diag.text);
    close(connect_to(&server));
    server_done(&server);
}
END_TEST

START_TEST(a_socket_that_somebody_listens_on_is_left_alone)
{
    struct server server;
    struct listener *second;
    struct diag diag;

    server_open(&server);
    ck_assert_int_eq(listener_new(server.event, server.place.socket, 0600, "waferd 0.1.0",
                                  on_connection, &server, &second, &diag),
                     -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(diag.text, server.place.socket));
    int fd = connect_to(&server);
    raw_greet(fd);
    LOOP_UNTIL(server.event, server.ready_count);
    close(fd);
    server_done(&server);
}
END_TEST

/* What is in the way and is no socket stays: a file, a directory, a link to somewhere else. */
START_TEST(what_is_no_socket_is_never_replaced)
{
    struct server server;
    struct diag diag;
    struct stat st;

    server_init(&server);
    const char *path = server.place.socket;
    switch (_i) {
    case 0: close(creat(path, 0600)); break;
    case 1: ck_assert_int_eq(mkdir(path, 0700), 0); break;
    case 2: ck_assert_int_eq(symlink("/etc/passwd", path), 0); break;
    case 3: ck_assert_int_eq(mkfifo(path, 0600), 0); break;
    default: ck_abort();
    }
    ck_assert_int_eq(server_listen(&server, path, 0600, &diag), -EEXIST);
    ck_assert_ptr_nonnull(strstr(diag.text, "is no socket"));
    ck_assert_int_eq(lstat(path, &st), 0);
    rmdir(path);
    server_done(&server);
}
END_TEST

START_TEST(a_path_that_does_not_fit_is_refused_with_both_lengths)
{
    struct server server;
    struct diag diag;
    char path[200];

    server_init(&server);
    snprintf(path, sizeof(path), "%s/%0*d", server.place.directory,
             107 + 1 - (int)strlen(server.place.directory) - 1, 0);
    ck_assert_uint_eq(strlen(path), 108);
    ck_assert_int_eq(server_listen(&server, path, 0600, &diag), -ENAMETOOLONG);
    ck_assert_ptr_nonnull(strstr(diag.text, "108"));
    ck_assert_ptr_nonnull(strstr(diag.text, "107"));

    path[107] = '\0';
    ck_assert_msg(server_listen(&server, path, 0600, &diag) == 0, "%s", diag.text);
    int fd = -1;
    ck_assert_int_eq(connect_unix(path, PATIENT_MS, &fd, &diag), 0);
    close(fd);
    server_done(&server);
}
END_TEST

START_TEST(a_directory_that_is_missing_is_named)
{
    struct server server;
    struct diag diag;

    server_init(&server);
    ck_assert_int_eq(server_listen(&server, "/nonexistent/waferd.sock", 0600, &diag), -ENOENT);
    ck_assert_ptr_nonnull(strstr(diag.text, "/nonexistent/waferd.sock"));
    server_done(&server);
}
END_TEST

START_TEST(the_socket_is_unlinked_unless_it_is_a_successors)
{
    struct server server, successor;
    struct diag diag;

    server_open(&server);
    if (_i) {
        unlink(server.place.socket);
        successor = (struct server){ .event = server.event };
        ck_assert_int_eq(server_listen(&successor, server.place.socket, 0600, &diag), 0);
    }
    server.listener = listener_free(server.listener);
    ck_assert_int_eq(access(server.place.socket, F_OK), _i ? 0 : -1);
    if (_i)
        listener_free(successor.listener);
    server_done(&server);
}
END_TEST

START_TEST(a_socket_that_listens_already_is_taken_over_and_not_unlinked)
{
    struct server server;
    struct diag diag;

    server_init(&server);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, server.place.socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    int early = connect_to(&server);
    raw_greet(early);
    ck_assert_int_eq(listener_new_fd(server.event, fd, "waferd 0.1.0", on_connection, &server,
                                     &server.listener, &diag),
                     0);
    LOOP_UNTIL(server.event, server.ready_count);
    close(early);
    LOOP_UNTIL(server.event, server.gone_count);
    server.listener = listener_free(server.listener);
    ck_assert_int_eq(access(server.place.socket, F_OK), 0);
    server_done(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener");
    TCase *tcase = tcase_create("listener");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_connection_comes_with_the_name_that_the_kernel_gives);
    tcase_add_test(tcase,
                   three_hundred_connections_of_one_uid_get_places_up_to_the_limit_and_a_reason);
    tcase_add_test(tcase, a_refused_client_that_has_spoken_reads_an_end_of_file_and_no_reset);
    tcase_add_test(tcase, a_flood_of_ten_thousand_connections_locks_nobody_else_out);
    tcase_add_test(tcase, when_all_places_are_taken_those_of_control_are_left);
    tcase_add_test(tcase, whom_the_kernel_cannot_name_is_refused);
    tcase_add_test(tcase, a_connection_that_the_owner_refuses_holds_no_place);
    tcase_add_test(tcase, without_descriptors_the_loop_rests_and_those_who_wait_are_served_later);
    tcase_add_loop_test(tcase, the_socket_has_its_mode_whatever_the_umask_is, 0, 4);
    tcase_add_loop_test(tcase, a_socket_that_nobody_listens_on_is_replaced, 0, 2);
    tcase_add_test(tcase, a_socket_that_somebody_listens_on_is_left_alone);
    tcase_add_loop_test(tcase, what_is_no_socket_is_never_replaced, 0, 4);
    tcase_add_test(tcase, a_path_that_does_not_fit_is_refused_with_both_lengths);
    tcase_add_test(tcase, a_directory_that_is_missing_is_named);
    tcase_add_loop_test(tcase, the_socket_is_unlinked_unless_it_is_a_successors, 0, 2);
    tcase_add_test(tcase, a_socket_that_listens_already_is_taken_over_and_not_unlinked);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
