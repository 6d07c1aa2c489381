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

START_TEST(both_sides_say_hello_and_frames_follow)
{
    struct end end;

    end_open(&end, (struct link_limits)LIMITS);
    ck_assert_str_eq(end.peer_program, "raw 0.1.0");
    end.echo = true;
    raw_send_request(end.far, 7);
    LOOP_UNTIL(end.event, end.frame_count);
    loop_settle(end.event);
    raw_drain(end.far, &end.in);
    Wafer__Response *response = (Wafer__Response *)raw_take(&end.in, &wafer__response__descriptor);
    ck_assert_ptr_nonnull(response);
    ck_assert_uint_eq(response->id, 7);
    wafer__response__free_unpacked(response, NULL);
    end_done(&end);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("link");

    tcase_add_test(tcase, both_sides_say_hello_and_frames_follow);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
