#include "notify/transfers.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/memory.h"

struct transfers {
    sd_event *event;
    CURLM *multi;
    sd_event_source *timer;
    transfers_done_fn done;
    void *userdata;
};

/* ---- the loop's side ---- */

/* After each action, or a transfer that has ended is never noticed. */
static void drain(struct transfers *transfers)
{
    int left;

    for (CURLMsg *message; (message = curl_multi_info_read(transfers->multi, &left));) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result; /* the message goes with the handle */
        curl_multi_remove_handle(transfers->multi, easy);
        transfers->done(transfers->userdata, easy, result);
    }
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct transfers *transfers = userdata;
    int action = 0, running;

    if (events & (EPOLLIN | EPOLLHUP))
        action |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        action |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        action |= CURL_CSELECT_ERR;
    curl_multi_socket_action(transfers->multi, fd, action, &running);
    drain(transfers);
    return 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct transfers *transfers = userdata;
    int running;

    curl_multi_socket_action(transfers->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    drain(transfers);
    return 0;
}

/* ---- libcurl's side ---- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *of_socket)
{
    struct transfers *transfers = userdata;
    sd_event_source *source = of_socket;
    uint32_t events = 0;

    if (what == CURL_POLL_REMOVE) {
        /* The descriptor is closed next, and its number may come back at once. */
        sd_event_source_disable_unref(source);
        curl_multi_assign(transfers->multi, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN)
        events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        events |= EPOLLOUT;
    if (source)
        return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
    if (sd_event_add_io(transfers->event, &source, fd, events, on_io, transfers) < 0)
        return -1;
    curl_multi_assign(transfers->multi, fd, source);
    return 0;
}

/* Also a wait of 0 is left to the loop: libcurl must not be called from here. */
static int on_timer(CURLM *multi, long wait_ms, void *userdata)
{
    struct transfers *transfers = userdata;

    if (wait_ms < 0)
        return sd_event_source_set_enabled(transfers->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
    if (sd_event_source_set_time_relative(transfers->timer, (uint64_t)wait_ms * 1000) < 0)
        return -1;
    return sd_event_source_set_enabled(transfers->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

/* ---- all of it ---- */

int transfers_new(sd_event *event, transfers_done_fn done, void *userdata, struct transfers **ret,
                  struct diag *diag)
{
    owned(transfers_free) struct transfers *transfers = NEW(struct transfers);

    transfers->done = done;
    transfers->userdata = userdata;
    transfers->event = sd_event_ref(event);
    transfers->multi = curl_multi_init();
    if (!transfers->multi)
        return diag_fail(diag, -ENOMEM, "libcurl cannot be set up");
    int r =
        sd_event_add_time(event, &transfers->timer, CLOCK_MONOTONIC, 0, 1000, on_time, transfers);
    if (r >= 0)
        r = sd_event_source_set_enabled(transfers->timer, SD_EVENT_OFF);
    if (r < 0)
        return diag_fail(diag, r, "no timer for transfers: %s", strerror(-r));
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETDATA, transfers);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERDATA, transfers);
    *ret = TAKE(transfers);
    return 0;
}

struct transfers *transfers_free(struct transfers *transfers)
{
    if (!transfers)
        return NULL;
    curl_multi_cleanup(transfers->multi); /* removes the sources of idle connections */
    sd_event_source_disable_unref(transfers->timer);
    sd_event_unref(transfers->event);
    free(transfers);
    return NULL;
}

int transfers_add(struct transfers *transfers, CURL *easy, struct diag *diag)
{
    CURLMcode r = curl_multi_add_handle(transfers->multi, easy);

    return r ? diag_fail(diag, -EIO, "libcurl: %s", curl_multi_strerror(r)) : 0;
}

void transfers_remove(struct transfers *transfers, CURL *easy)
{
    curl_multi_remove_handle(transfers->multi, easy);
}
