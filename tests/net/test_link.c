#include "net/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "model/limits.h"
#include "net/loop.h"
#include "net/raw.h"
#include "tap.h"

#define UNTOUCHED 1 /* no errno of ours */

/* One link, and at the other end of its socket the test. */
struct end {
    sd_event *event;
    struct link *link;
    int far;
    struct buffer in; /* what the far end received */

    unsigned ready_count, frame_count, closed_count;
    size_t byte_count;
    uint64_t last_id;
    char *peer_program;
    int error;
    char why[512];

    /* what to do inside a callback */
    bool echo, free_when_ready, free_on_frame, free_when_closed, pause_on_frame, close_on_frame;
};

static void echo(struct end *end, uint64_t id)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;

    response.id = id;
    ck_assert_int_eq(link_send(end->link, &response.base), 0);
}

static void on_ready(struct link *link, void *userdata, const Wafer__Hello *peer)
{
    struct end *end = userdata;

    end->ready_count++;
    end->peer_program = text_copy(peer->program);
    if (end->free_when_ready)
        end->link = link_free(link);
}

static void on_frame(struct link *link, void *userdata, const uint8_t *bytes, size_t length)
{
    struct end *end = userdata;

    end->frame_count++;
    end->byte_count += length;
    if (end->free_on_frame)
        end->link = link_free(link);
    if (end->pause_on_frame)
        link_read(link, false);
    /* Also read after link_free(): the bytes hold until we return. */
    Wafer__Request *request = wafer__request__unpack(NULL, length, bytes);
    if (request) {
        end->last_id = request->id;
        if (end->echo)
            echo(end, request->id);
        wafer__request__free_unpacked(request, NULL);
    }
    if (end->close_on_frame)
        link_close_after_send(link);
}

static void on_closed(struct link *link, void *userdata, int error, const char *why)
{
    struct end *end = userdata;

    end->closed_count++;
    end->error = error;
    strcpy(end->why, why);
    if (end->free_when_closed)
        end->link = link_free(link);
}

static const struct link_ops ops = { on_ready, on_frame, on_closed };

#define LIMITS                                                                                     \
    {                                                                                              \
        .receive_bytes = 1 << 20, .send_bytes = 1 << 20                                            \
    }

static void end_init(struct end *end, struct link_limits limits)
{
    int fds[2];

    *end = (struct end){ .error = UNTOUCHED };
    ck_assert_int_ge(sd_event_new(&end->event), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    end->far = fds[1];
    ck_assert_int_eq(link_new(end->event, fds[0], "waferd 0.1.0", &limits, &ops, end, &end->link),
                     0);
}

static void end_done(struct end *end)
{
    link_free(end->link);
    fd_closep(&end->far);
    buffer_done(&end->in);
    free(end->peer_program);
    sd_event_unref(end->event);
}

/* As far as a peer that behaves gets. */
static void end_open(struct end *end, struct link_limits limits)
{
    end_init(end, limits);
    raw_greet(end->far);
    LOOP_UNTIL(end->event, end->ready_count);
    loop_settle(end->event);
    raw_drain(end->far, &end->in);
    Wafer__Hello *ours = (Wafer__Hello *)raw_take(&end->in, &wafer__hello__descriptor);
    ck_assert_ptr_nonnull(ours);
    wafer__hello__free_unpacked(ours, NULL);
}

/* The far end's next frame, which has to come. */
static uint64_t take_response_id(struct end *end)
{
    Wafer__Response *response;

    while (!(response = (Wafer__Response *)raw_take(&end->in, &wafer__response__descriptor))) {
        loop_settle(end->event);
        ck_assert(raw_drain(end->far, &end->in) || end->in.length);
    }
    uint64_t id = response->id;
    wafer__response__free_unpacked(response, NULL);
    return id;
}

START_TEST(both_sides_say_hello_and_frames_follow)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    ck_assert_str_eq(end.peer_program, "raw 0.1.0");
    end.echo = true;
    raw_send_request(end.far, 7);
    LOOP_UNTIL(end.event, end.frame_count);
    ck_assert_uint_eq(take_response_id(&end), 7);
    end_done(&end);
}
END_TEST

START_TEST(two_links_greet_each_other_and_know_who_is_there)
{
    struct end near, far;
    uid_t uid;
    gid_t gid;
    pid_t pid;

    end_init(&near, (struct link_limits)LIMITS);
    far = (struct end){ .error = UNTOUCHED, .event = sd_event_ref(near.event), .far = -1 };
    struct link_limits limits = LIMITS;
    ck_assert_int_eq(
        link_new(far.event, fd_take(&near.far), "wafersim 0.1.0", &limits, &ops, &far, &far.link),
        0);
    LOOP_UNTIL(near.event, near.ready_count && far.ready_count);
    ck_assert_str_eq(near.peer_program, "wafersim 0.1.0");
    ck_assert_str_eq(far.peer_program, "waferd 0.1.0");
    ck_assert_int_eq(link_peer(near.link, &uid, &gid, &pid), 0);
    ck_assert_uint_eq(uid, geteuid());
    ck_assert_uint_eq(gid, getegid());
    ck_assert_int_eq(pid, getpid());

    far.link = link_free(far.link);
    LOOP_UNTIL(near.event, near.closed_count);
    ck_assert_int_eq(near.error, 0);
    ck_assert_int_eq(link_peer(near.link, NULL, NULL, NULL), -ENOTCONN);
    end_done(&far);
    end_done(&near);
}
END_TEST

/* ---- what a hostile or broken peer sends first, and what becomes of it --------------------------
 */

static void send_major(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR + 1, NET_MINOR, "wafer 9.0.0");
}

static void send_minor_two_ahead(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR + 2, "wafer 0.9.0");
}

static void send_minor_one_ahead(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR + 1, "wafer 0.2.0");
    raw_send_request(fd, 1);
    shutdown(fd, SHUT_WR);
}

static void send_other_magic(int fd)
{
    raw_send_hello(fd, 0x12345678, NET_MAJOR, NET_MINOR, "wafer 0.1.0");
}

static void send_escape_in_program(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR, "wafer\x1b[2J");
}

static void send_newline_in_program(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR, "wafer\nroot: all is well");
}

static void send_endless_program(int fd)
{
    char program[HELLO_PROGRAM_MAX + 2] = { 0 };

    memset(program, 'a', sizeof(program) - 1);
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR, program);
}

static void send_request_before_hello(int fd)
{
    raw_send_request(fd, 1);
    raw_greet(fd);
}

static void send_http(int fd)
{
    raw_send(fd, "GET / HTTP/1.1\r\n\r\n", 18);
}

static void send_gibibyte(int fd)
{
    raw_send(fd, "\x00\x00\x00\x40", 4);
}

static void send_gibibyte_after_hello(int fd)
{
    raw_greet(fd);
    send_gibibyte(fd);
}

static void send_over_the_limit(int fd)
{
    raw_greet(fd);
    raw_send(fd, "\x01\x00\x10\x00", 4); /* 1 MiB + 1 */
}

static void send_empty_frame(int fd)
{
    raw_greet(fd);
    raw_send(fd, "\x00\x00\x00\x00", 4);
}

static void send_cut_length(int fd)
{
    raw_greet(fd);
    raw_send(fd, "\x05", 1);
    shutdown(fd, SHUT_WR);
}

static void send_cut_frame(int fd)
{
    raw_greet(fd);
    raw_send(fd, "\x05\x00\x00\x00\x08", 5);
    shutdown(fd, SHUT_WR);
}

static void send_cut_hello(int fd)
{
    raw_send(fd, "\x05\x00\x00\x00\x08", 5);
    shutdown(fd, SHUT_WR);
}

static void send_nothing_and_leave(int fd)
{
    shutdown(fd, SHUT_WR);
}

static const struct {
    void (*send)(int fd);
    int error;
    const char *why;
    unsigned frame_count;
} peers[] = {
    { send_major, -EPROTONOSUPPORT, "wafer 9.0.0 speaks protocol 2.1 and waferd 0.1.0 speaks 1.1",
      0 },
    { send_minor_two_ahead, -EPROTONOSUPPORT, "wafer 0.9.0 speaks protocol 1.3", 0 },
    { send_minor_one_ahead, 0, "the peer went away", 1 },
    { send_other_magic, -EPROTO, "no Hello", 0 },
    { send_escape_in_program, -EPROTO, "not a printable text", 0 },
    { send_newline_in_program, -EPROTO, "not a printable text", 0 },
    { send_endless_program, -EPROTO, "1 to 256 bytes", 0 },
    { send_request_before_hello, -EPROTO, "no Hello", 0 },
    { send_http, -EMSGSIZE, "larger than the 4096 bytes", 0 },
    { send_gibibyte, -EMSGSIZE, "larger than the 4096 bytes", 0 },
    { send_gibibyte_after_hello, -EMSGSIZE, "larger than the 1048576 bytes", 0 },
    { send_over_the_limit, -EMSGSIZE, "larger than the 1048576 bytes", 0 },
    { send_empty_frame, -EPROTO, "a frame of no bytes", 0 },
    { send_cut_length, -EPROTO, "ends within a frame", 0 },
    { send_cut_frame, -EPROTO, "ends within a frame", 0 },
    { send_cut_hello, -EPROTO, "ends within a frame", 0 },
    { send_nothing_and_leave, 0, "the peer went away", 0 },
};

START_TEST(a_peer_that_breaks_the_rules_gets_our_hello_and_is_closed_with_a_reason)
{
    struct end end;

    end_init(&end, (struct link_limits)LIMITS);
    peers[_i].send(end.far);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, peers[_i].error);
    ck_assert_msg(strstr(end.why, peers[_i].why), "\"%s\" lacks \"%s\"", end.why, peers[_i].why);
    ck_assert_uint_eq(end.frame_count, peers[_i].frame_count);

    ck_assert(!raw_drain(end.far, &end.in)); /* nothing more can come */
    Wafer__Hello *ours = (Wafer__Hello *)raw_take(&end.in, &wafer__hello__descriptor);
    ck_assert_uint_eq(ours->magic, NET_MAGIC);
    ck_assert_str_eq(ours->program, "waferd 0.1.0");
    wafer__hello__free_unpacked(ours, NULL);

    loop_settle(end.event);
    ck_assert_uint_eq(end.closed_count, 1);
    end_done(&end);
}
END_TEST

START_TEST(a_replayed_hello_is_handed_on_as_a_frame_that_no_request_fits)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    raw_greet(end.far);
    LOOP_UNTIL(end.event, end.frame_count);
    ck_assert_uint_eq(end.ready_count, 1);
    ck_assert_uint_eq(end.last_id, 0);
    end_done(&end);
}
END_TEST

/* ---- time ---------------------------------------------------------------------------------------
 */

static void sleep_ms(unsigned ms)
{
    usleep(ms * 1000);
}

/* A byte now and then keeps nobody's place: 10 in 100 ms, of the Hello, or of a frame after it. */
START_TEST(a_peer_that_sends_byte_by_byte_has_a_bounded_time_for_a_frame)
{
    bool greeted = _i;
    struct link_limits limits = LIMITS;
    struct end end;

    *(greeted ? &limits.frame_ms : &limits.first_frame_ms) = 40;
    uint64_t start_us = loop_now_us(); /* before the time of the link begins */
    (greeted ? end_open : end_init)(&end, limits);
    raw_send(end.far, "\x64\x00\x00\x00", 4);
    while (!end.closed_count) {
        ck_assert_uint_lt(loop_now_us() - start_us, 3000000);
        send(end.far, "\x08", 1, MSG_NOSIGNAL);
        sleep_ms(5);
        loop_settle(end.event);
    }
    ck_assert_int_eq(end.error, -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(end.why, "40 ms"));
    ck_assert_uint_ge(loop_now_us() - start_us, 39000);
    end_done(&end);
}
END_TEST

START_TEST(a_silent_peer_is_closed_before_its_hello_and_kept_after_it)
{
    bool greeted = _i;
    struct link_limits limits = LIMITS;
    struct end end;

    *(greeted ? &limits.frame_ms : &limits.first_frame_ms) = 20;
    (greeted ? end_open : end_init)(&end, limits);
    for (int i = 0; i < 10; i++) {
        sleep_ms(5);
        loop_settle(end.event);
    }
    ck_assert_int_eq(end.error, greeted ? UNTOUCHED : -ETIMEDOUT);
    end_done(&end);
}
END_TEST

START_TEST(frames_that_complete_in_time_may_follow_each_other_for_ever)
{
    struct link_limits limits = LIMITS;
    owned(buffer_done) struct buffer request = BUFFER_EMPTY;
    struct end end;

    limits.frame_ms = 200;
    end_open(&end, limits);
    raw_append_request(&request, 9);
    /* Always within a frame when the loop looks, and never for long within the same. */
    raw_send(end.far, buffer_data(&request), 5);
    for (unsigned i = 0; i < 15; i++) {
        sleep_ms(20);
        raw_send(end.far, buffer_data(&request) + 5, request.length - 5);
        raw_send(end.far, buffer_data(&request), 5);
        loop_settle(end.event);
    }
    ck_assert_int_eq(end.error, UNTOUCHED);
    ck_assert_uint_eq(end.frame_count, 15);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, -ETIMEDOUT);
    end_done(&end);
}
END_TEST

START_TEST(the_time_of_a_frame_stands_still_while_its_owner_does_not_read)
{
    struct link_limits limits = LIMITS;
    struct end end;

    limits.frame_ms = 50;
    end_open(&end, limits);
    raw_send(end.far, "\x64\x00\x00\x00\x08", 5);
    loop_settle(end.event);
    link_read(end.link, false);
    sleep_ms(80);
    loop_settle(end.event);
    ck_assert_int_eq(end.error, UNTOUCHED);
    link_read(end.link, true);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, -ETIMEDOUT);
    end_done(&end);
}
END_TEST

/* ---- many frames --------------------------------------------------------------------------------
 */

START_TEST(pipelined_requests_are_answered_in_order)
{
    enum { REQUESTS = 20000 };
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct link_limits limits = LIMITS;
    struct end end;
    uint64_t next = 1;

    end_open(&end, limits);
    end.echo = true;
    for (uint64_t id = 1; id <= REQUESTS; id++)
        raw_append_request(&all, id);
    while (next <= REQUESTS) {
        ssize_t n = send(end.far, buffer_data(&all), all.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            buffer_take(&all, (size_t)n);
        loop_settle(end.event);
        raw_drain(end.far, &end.in);
        for (Wafer__Response *response;
             (response = (Wafer__Response *)raw_take(&end.in, &wafer__response__descriptor));) {
            ck_assert_uint_eq(response->id, next++);
            wafer__response__free_unpacked(response, NULL);
        }
    }
    ck_assert_uint_eq(end.frame_count, REQUESTS);
    end_done(&end);
}
END_TEST

static unsigned count_writes(const struct end *end, unsigned messages)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    unsigned writes = 0;

    response.id = 1;
    for (unsigned i = 0; i < messages; i++)
        ck_assert_int_eq(link_send(end->link, &response.base), 0);
    for (size_t queued = link_queued(end->link); queued; writes++) {
        loop_turn(end->event);
        ck_assert_uint_le(link_queued(end->link), queued);
        queued = link_queued(end->link);
    }
    return writes;
}

START_TEST(what_is_sent_in_one_turn_of_the_loop_leaves_in_one_write)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    ck_assert_uint_eq(count_writes(&end, 1000), 1);
    ck_assert_uint_eq(link_queued(end.link), 0);
    end_done(&end);
}
END_TEST

START_TEST(a_frame_may_be_as_large_as_the_limit)
{
    enum { SIZE = 1 << 20 };
    owned(buffer_done) struct buffer out = BUFFER_EMPTY;
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    memcpy(buffer_reserve(&out, 4 + SIZE), "\x00\x00\x10\x00", 4);
    memset(buffer_data(&out) + 4, 0xff, SIZE);
    buffer_grow(&out, 4 + SIZE);
    while (!end.frame_count) {
        ssize_t n = send(end.far, buffer_data(&out), out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            buffer_take(&out, (size_t)n);
        loop_settle(end.event);
    }
    ck_assert_uint_eq(end.byte_count, SIZE);
    end_done(&end);
}
END_TEST

/* ---- a reader that does not read ----------------------------------------------------------------
 */

static void fill_log(Wafer__Response *response, Wafer__LogChunk *log, uint8_t *text, size_t length)
{
    *response = (Wafer__Response)WAFER__RESPONSE__INIT;
    *log = (Wafer__LogChunk)WAFER__LOG_CHUNK__INIT;
    response->body_case = WAFER__RESPONSE__BODY_LOG;
    response->log = log;
    log->has_text = true;
    log->text.data = text;
    log->text.len = length;
    memset(text, 'x', length);
}

START_TEST(a_slow_reader_costs_no_more_than_the_limit_and_loses_whole_messages)
{
    static uint8_t text[10000];
    Wafer__Response response;
    Wafer__LogChunk log;
    struct end end;
    uint64_t sent = 0, lost = 0;

    end_open(&end, (struct link_limits)LIMITS);
    fill_log(&response, &log, text, sizeof(text));
    while (lost < 100) {
        response.id = sent + 1;
        int r = link_send(end.link, &response.base);
        if (r == 0)
            sent++;
        else
            lost++;
        ck_assert(r == 0 || r == -ENOBUFS);
        ck_assert_uint_le(link_queued(end.link), 1 << 20);
        if (sent % 10 == 0)
            loop_settle(end.event);
    }
    ck_assert_uint_ge(link_queued(end.link), (1 << 20) - sizeof(text) - 100);

    /* It reads again: all that was taken on comes, in order, and new messages fit again. */
    for (uint64_t id = 1; id <= sent; id++)
        ck_assert_uint_eq(take_response_id(&end), id);
    ck_assert_uint_eq(link_queued(end.link), 0);
    response.id = sent + 1;
    ck_assert_int_eq(link_send(end.link, &response.base), 0);
    ck_assert_uint_eq(take_response_id(&end), sent + 1);
    end_done(&end);
}
END_TEST

START_TEST(a_message_larger_than_the_queue_can_never_be_sent)
{
    static uint8_t text[1 << 20];
    Wafer__Response response;
    Wafer__LogChunk log;
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    fill_log(&response, &log, text, sizeof(text));
    response.id = 1;
    ck_assert_int_eq(link_send(end.link, &response.base), -EMSGSIZE);
    ck_assert_uint_eq(link_queued(end.link), 0);

    log.text.len = sizeof(text) - 4 - 20; /* the header and the envelope */
    ck_assert_int_eq(link_send(end.link, &response.base), 0);
    ck_assert_uint_eq(take_response_id(&end), 1);
    end_done(&end);
}
END_TEST

START_TEST(a_queue_that_is_full_in_one_turn_uses_the_room_that_the_kernel_has)
{
    static uint8_t text[1000];
    struct link_limits limits = LIMITS;
    Wafer__Response response;
    Wafer__LogChunk log;
    struct end end;

    limits.send_bytes = 4000;
    end_open(&end, limits);
    fill_log(&response, &log, text, sizeof(text));
    for (uint64_t id = 1; id <= 40; id++) { /* ten times the queue */
        response.id = id;
        ck_assert_int_eq(link_send(end.link, &response.base), 0);
    }
    for (uint64_t id = 1; id <= 40; id++)
        ck_assert_uint_eq(take_response_id(&end), id);
    end_done(&end);
}
END_TEST

/* ---- reading on and off -------------------------------------------------------------------------
 */

/* Whoever kept a pointer into a stack that is gone finds something else there. */
__attribute__((noinline)) static void spoil_stack(void)
{
    volatile uint8_t bytes[4 * FRAME_CHUNK_BYTES];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = 0xff;
}

START_TEST(an_owner_that_stops_reading_gets_the_rest_when_it_goes_on)
{
    owned(buffer_done) struct buffer all = BUFFER_EMPTY;
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    end.pause_on_frame = true;
    for (uint64_t id = 1; id <= 5; id++)
        raw_append_request(&all, id);
    raw_send(end.far, buffer_data(&all), all.length - 1);
    for (uint64_t id = 1; id <= 4; id++) {
        loop_settle(end.event);
        ck_assert_uint_eq(end.frame_count, id);
        ck_assert_uint_eq(end.last_id, id);
        spoil_stack();
        link_read(end.link, true);
    }
    loop_settle(end.event);
    ck_assert_uint_eq(end.frame_count, 4);
    raw_send(end.far, buffer_data(&all) + all.length - 1, 1);
    loop_settle(end.event);
    ck_assert_uint_eq(end.last_id, 5);
    end_done(&end);
}
END_TEST

START_TEST(a_peer_that_nobody_reads_is_pushed_back_on)
{
    static uint8_t bytes[64 << 10];
    struct end end;
    size_t taken = 0;

    end_open(&end, (struct link_limits)LIMITS);
    link_read(end.link, false);
    for (ssize_t n; (n = send(end.far, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0;) {
        taken += (size_t)n;
        loop_settle(end.event);
    }
    ck_assert_uint_lt(taken, 4 << 20); /* what the kernel keeps */
    end_done(&end);
}
END_TEST

START_TEST(a_peer_that_goes_away_is_noticed_also_while_nobody_reads)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    link_read(end.link, false);
    raw_send_request(end.far, 1);
    loop_settle(end.event);
    ck_assert_uint_eq(end.closed_count, 0);
    fd_closep(&end.far);
    end.far = -1;
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, 0);
    ck_assert_uint_eq(end.frame_count, 0);
    end_done(&end);
}
END_TEST

/* ---- endings ------------------------------------------------------------------------------------
 */

START_TEST(requests_of_a_peer_that_left_at_once_are_handed_on)
{
    struct end end;

    end_init(&end, (struct link_limits)LIMITS);
    end.echo = false;
    raw_greet(end.far);
    raw_send_request(end.far, 1);
    raw_send_request(end.far, 2);
    fd_closep(&end.far);
    end.far = -1;
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_uint_eq(end.frame_count, 2);
    ck_assert_int_eq(end.error, 0);
    end_done(&end);
}
END_TEST

START_TEST(answers_given_at_once_reach_a_peer_that_closed_its_sending_side)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    end.echo = true;
    raw_send_request(end.far, 1);
    raw_send_request(end.far, 2);
    shutdown(end.far, SHUT_WR);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, 0);
    ck_assert_uint_eq(take_response_id(&end), 1);
    ck_assert_uint_eq(take_response_id(&end), 2);
    ck_assert(!raw_drain(end.far, &end.in));
    end_done(&end);
}
END_TEST

START_TEST(a_peer_that_is_killed_is_a_peer_that_went_away)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        /* The only holder of the far end, in the middle of its work. */
        raw_send_request(end.far, 3);
        pause();
        _exit(0);
    }
    fd_closep(&end.far);
    end.far = -1;
    LOOP_UNTIL(end.event, end.frame_count);
    ck_assert_uint_eq(end.closed_count, 0);
    kill(pid, SIGKILL);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, 0);
    ck_assert_uint_eq(end.last_id, 3);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);

    Wafer__Response response = WAFER__RESPONSE__INIT;
    ck_assert_int_eq(link_send(end.link, &response.base), -EPIPE);
    end_done(&end);
}
END_TEST

START_TEST(closing_after_send_sends_everything_first)
{
    static uint8_t text[100000];
    Wafer__Response response;
    Wafer__LogChunk log;
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    fill_log(&response, &log, text, sizeof(text));
    for (response.id = 1; response.id <= 9; response.id++)
        ck_assert_int_eq(link_send(end.link, &response.base), 0);
    link_close_after_send(end.link);
    ck_assert_int_eq(link_send(end.link, &response.base), -EPIPE);
    raw_send_request(end.far, 1); /* too late */
    for (uint64_t id = 1; id <= 9; id++)
        ck_assert_uint_eq(take_response_id(&end), id);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_int_eq(end.error, 0);
    ck_assert_uint_eq(end.frame_count, 0);
    ck_assert(!raw_drain(end.far, &end.in));
    end_done(&end);
}
END_TEST

START_TEST(a_peer_that_does_not_take_what_is_left_is_closed_in_time)
{
    static uint8_t text[1000000];
    struct link_limits limits = LIMITS;
    Wafer__Response response;
    Wafer__LogChunk log;
    struct end end;

    limits.close_ms = 30;
    uint64_t start_us = loop_now_us(); /* times of the loop begin when it was last woken */
    end_open(&end, limits);
    fill_log(&response, &log, text, sizeof(text));
    response.id = 1;
    ck_assert_int_eq(link_send(end.link, &response.base), 0);
    link_close_after_send(end.link);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_uint_ge(loop_now_us() - start_us, 29000);
    ck_assert_int_eq(end.error, 0);
    ck_assert_ptr_nonnull(strstr(end.why, "did not take what was left"));
    end_done(&end);
}
END_TEST

START_TEST(an_owner_may_close_from_inside_a_frame_and_gets_no_more_frames)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    end.echo = end.close_on_frame = true;
    raw_send_request(end.far, 1);
    raw_send_request(end.far, 2);
    LOOP_UNTIL(end.event, end.closed_count);
    ck_assert_uint_eq(end.frame_count, 1);
    ck_assert_uint_eq(take_response_id(&end), 1);
    end_done(&end);
}
END_TEST

START_TEST(a_link_may_be_freed_inside_any_of_its_callbacks)
{
    struct end end;

    end_init(&end, (struct link_limits)LIMITS);
    end.free_when_ready = _i == 0;
    end.free_on_frame = _i == 1;
    end.free_when_closed = _i == 2;
    raw_greet(end.far);
    raw_send_request(end.far, 1);
    raw_send_request(end.far, 2);
    shutdown(end.far, SHUT_WR);
    LOOP_UNTIL(end.event, !end.link);
    loop_settle(end.event);
    ck_assert_uint_eq(end.ready_count, 1);
    ck_assert_uint_eq(end.frame_count, (unsigned)_i);
    ck_assert_uint_eq(end.closed_count, _i == 2);
    ck_assert(!raw_drain(end.far, &end.in));
    end_done(&end);
}
END_TEST

START_TEST(a_link_may_be_freed_with_bytes_in_both_directions)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    Wafer__Response response = WAFER__RESPONSE__INIT;
    ck_assert_int_eq(link_send(end.link, &response.base), 0);
    raw_send(end.far, "\x64\x00\x00\x00\x08", 5);
    end.link = link_free(end.link);
    loop_settle(end.event);
    ck_assert_uint_eq(end.closed_count, 0);
    end_done(&end);
}
END_TEST

/* ---- descriptors that come along ----------------------------------------------------------------
 */

static void send_with_descriptor(int fd, const void *bytes, size_t length, int passed)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct iovec part = { .iov_base = (void *)bytes, .iov_len = length };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &passed, sizeof(int));
    ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), (ssize_t)length);
}

START_TEST(descriptors_passed_to_us_are_closed)
{
    owned(buffer_done) struct buffer request = BUFFER_EMPTY;
    struct end end;
    int ends[2];
    char byte;

    end_open(&end, (struct link_limits)LIMITS);
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    raw_append_request(&request, 5);
    send_with_descriptor(end.far, buffer_data(&request), request.length, ends[1]);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), -1); /* on its way: somebody can still write */
    LOOP_UNTIL(end.event, end.frame_count);
    ck_assert_uint_eq(end.last_id, 5);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* nobody holds it any more */
    close(ends[0]);
    end_done(&end);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("link");

    tcase_add_test(tcase, both_sides_say_hello_and_frames_follow);
    tcase_add_test(tcase, two_links_greet_each_other_and_know_who_is_there);
    tcase_add_loop_test(tcase,
                        a_peer_that_breaks_the_rules_gets_our_hello_and_is_closed_with_a_reason, 0,
                        ELEMENTS(peers));
    tcase_add_test(tcase, a_replayed_hello_is_handed_on_as_a_frame_that_no_request_fits);
    tcase_add_loop_test(tcase, a_peer_that_sends_byte_by_byte_has_a_bounded_time_for_a_frame, 0, 2);
    tcase_add_loop_test(tcase, a_silent_peer_is_closed_before_its_hello_and_kept_after_it, 0, 2);
    tcase_add_test(tcase, frames_that_complete_in_time_may_follow_each_other_for_ever);
    tcase_add_test(tcase, the_time_of_a_frame_stands_still_while_its_owner_does_not_read);
    tcase_add_test(tcase, pipelined_requests_are_answered_in_order);
    tcase_add_test(tcase, what_is_sent_in_one_turn_of_the_loop_leaves_in_one_write);
    tcase_add_test(tcase, a_frame_may_be_as_large_as_the_limit);
    tcase_add_test(tcase, a_slow_reader_costs_no_more_than_the_limit_and_loses_whole_messages);
    tcase_add_test(tcase, a_message_larger_than_the_queue_can_never_be_sent);
    tcase_add_test(tcase, a_queue_that_is_full_in_one_turn_uses_the_room_that_the_kernel_has);
    tcase_add_test(tcase, an_owner_that_stops_reading_gets_the_rest_when_it_goes_on);
    tcase_add_test(tcase, a_peer_that_nobody_reads_is_pushed_back_on);
    tcase_add_test(tcase, a_peer_that_goes_away_is_noticed_also_while_nobody_reads);
    tcase_add_test(tcase, requests_of_a_peer_that_left_at_once_are_handed_on);
    tcase_add_test(tcase, answers_given_at_once_reach_a_peer_that_closed_its_sending_side);
    tcase_add_test(tcase, a_peer_that_is_killed_is_a_peer_that_went_away);
    tcase_add_test(tcase, closing_after_send_sends_everything_first);
    tcase_add_test(tcase, a_peer_that_does_not_take_what_is_left_is_closed_in_time);
    tcase_add_test(tcase, an_owner_may_close_from_inside_a_frame_and_gets_no_more_frames);
    tcase_add_loop_test(tcase, a_link_may_be_freed_inside_any_of_its_callbacks, 0, 3);
    tcase_add_test(tcase, a_link_may_be_freed_with_bytes_in_both_directions);
    tcase_add_test(tcase, descriptors_passed_to_us_are_closed);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
