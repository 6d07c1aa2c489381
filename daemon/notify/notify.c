#include "notify/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/memory.h"
#include "notify/transfers.h"

/* The posts to one origin. */
struct lane {
    struct list link; /* notify->lanes */
    char *origin;
    struct list waiting; /* post->link */
    unsigned active;
};

/* One try. */
struct
try {
    struct list link; /* notify->tries */
    struct notify *notify;
    struct lane *lane;
    struct notify_post *post;
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    size_t response_bytes;
    bool acknowledged;
    char error[CURL_ERROR_SIZE];
};

struct notify {
    const struct notify_ops *ops;
    void *userdata;
    char *agent;
    long timeout_ms;
    struct transfers *transfers;
    sd_event_source *turn; /* something may begin */
    struct list lanes;     /* the one that has waited longest for its turn first */
    struct list tries;
    unsigned active;
};

/* ---- lanes ---- */

static struct lane *lane_of(struct notify *notify, const char *text)
{
    struct url url;
    char *origin = url_parse(text, &url, NULL) < 0 ? text_copy("") : url_origin(&url);

    list_foreach (&notify->lanes, link) {
        struct lane *lane = CONTAINER_OF(link, struct lane, link);
        if (strcmp(lane->origin, origin) == 0) {
            free(origin);
            return lane;
        }
    }
    struct lane *lane = NEW(struct lane);
    lane->origin = origin;
    list_init(&lane->waiting);
    list_push_tail(&notify->lanes, &lane->link);
    return lane;
}

static void lane_free(struct lane *lane)
{
    list_remove(&lane->link);
    free(lane->origin);
    free(lane);
}

static void wake(struct notify *notify)
{
    sd_event_source_set_enabled(notify->turn, SD_EVENT_ONESHOT);
}

/* ---- one try ---- */

static void try_free(struct try *try)
{
    list_remove(&try->link);
    curl_easy_cleanup(try->easy);
    curl_slist_free_all(try->headers);
    free(try->body);
    free(try);
}

/* Its place is free again. */
static void leave(struct notify *notify, struct lane *lane)
{
    notify->active--;
    if (--lane->active == 0 && list_is_empty(&lane->waiting))
        lane_free(lane);
    wake(notify);
}

static size_t on_header(char *line, size_t size, size_t count, void *userdata)
{
    struct try *try = userdata;
    long status = 0;

    if (size * count <= 2 && (*line == '\r' || *line == '\n')) { /* the end of a head */
        curl_easy_getinfo(try->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status >= 200 && status <= 299)
            try->acknowledged = true;
    }
    return size * count;
}

static size_t on_response(char *bytes, size_t size, size_t count, void *userdata)
{
    struct try *try = userdata;

    /* A short one is read to its end, so that the connection can serve again. */
    try->response_bytes += size * count;
    return try->response_bytes <= NOTIFY_RESPONSE_MAX ? size * count : 0;
}

static void add_header(struct try *try, char *line)
{
    try->headers = curl_slist_append(try->headers, line);
    free(line);
}

static void add_headers(struct try *try)
{
    int64_t now_s = time(NULL);
    char signature[SECRET_SIGNATURE_SIZE];

    add_header(try, text_copy("Content-Type: application/json"));
    add_header(try, text_copy("Expect:")); /* a wait for nothing */
    add_header(try, text_format("webhook-id: %s", try->post->id));
    add_header(try, text_format("webhook-timestamp: %" PRId64, now_s));
    if (try->post->secret) {
        secret_sign(try->post->secret, try->post->id, now_s, try->body, signature);
        add_header(try, text_format("webhook-signature: %s", signature));
    }
}

/* What libcurl makes of an address must be what was compared with the site's list. */
static int check_url(const char *text, struct diag *diag)
{
    struct url url;
    char *host = NULL, *port = NULL, *scheme = NULL;
    int r = url_parse(text, &url, diag);

    if (r < 0)
        return r;
    CURLU *other = curl_url();
    owned(free) char *wanted_port = text_format("%u", url.port);
    if (curl_url_set(other, CURLUPART_URL, text, 0) ||
        curl_url_get(other, CURLUPART_SCHEME, &scheme, 0) ||
        curl_url_get(other, CURLUPART_HOST, &host, 0) ||
        curl_url_get(other, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ||
        strcasecmp(scheme, url.is_https ? "https" : "http") != 0 ||
        strcasecmp(host, url.host) != 0 || strcmp(port, wanted_port) != 0)
        r = diag_fail(diag, -EINVAL, "libcurl reads its URL as that of another host");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(other);
    return r;
}

static void set_options(struct try *try)
{
    CURL *easy = try->easy;

    /* The file of all authorities takes longer to read than a turn of the loop may: of their
     * directory only those are read that are asked for. */
    if (curl_version_info(CURLVERSION_NOW)->capath)
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
    curl_easy_setopt(easy, CURLOPT_URL, try->post->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, try->notify->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy acknowledges nothing */
    curl_easy_setopt(easy, CURLOPT_USERAGENT, try->notify->agent);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, try->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, try->body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(try->body));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, try->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, try);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, try);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_response);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, try);
}

static int begin(struct try *try, struct diag *diag)
{
    struct notify *notify = try->notify;
    int r = check_url(try->post->url, diag);

    if (r >= 0)
        r = notify->ops->body(notify->userdata, try->post, &try->body, diag);
    if (r < 0)
        return r;
    try->easy = curl_easy_init();
    if (!try->easy)
        return diag_fail(diag, -ENOMEM, "libcurl cannot be set up");
    add_headers(try);
    set_options(try);
    return transfers_add(notify->transfers, try->easy, diag);
}

static void start(struct notify *notify, struct lane *lane)
{
    struct try *try = NEW(struct try);
    struct diag diag;

    try->notify = notify;
    try->lane = lane;
    try->post = CONTAINER_OF(lane->waiting.next, struct notify_post, link);
    list_remove(&try->post->link);
    list_push_tail(&notify->tries, &try->link);
    lane->active++;
    notify->active++;
    int r = begin(try, &diag);
    if (r >= 0)
        return;
    struct notify_post *post = try->post;
    try_free(try);
    leave(notify, lane);
    notify->ops->done(notify->userdata, post, r, diag.text);
}

static int explain(const struct try *try, CURLcode result, struct diag *diag)
{
    long status = 0;

    if (try->acknowledged)
        return 0;
    curl_easy_getinfo(try->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result == CURLE_OPERATION_TIMEDOUT)
        return diag_fail(diag, -ETIMEDOUT, "no answer within %ld.%ld s",
                         try->notify->timeout_ms / 1000, try->notify->timeout_ms % 1000 / 100);
    if (result != CURLE_OK && result != CURLE_WRITE_ERROR)
        return diag_fail(diag, -EIO, "%s", *try->error ? try->error : curl_easy_strerror(result));
    if (status >= 200 && status <= 299)
        return diag_fail(diag, -EIO, "the response was cut off in its head");
    return diag_fail(diag, -EPROTO, "HTTP status %ld%s", status,
                     status >= 300 && status <= 399 ? " (redirects are not followed)" : "");
}

static void on_done(void *userdata, CURL *easy, CURLcode result)
{
    struct notify *notify = userdata;
    struct diag diag = { "" };
    struct try *try;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&try);
    struct notify_post *post = try->post;
    struct lane *lane = try->lane;
    int error = explain(try, result, &diag);
    try_free(try);
    leave(notify, lane);
    notify->ops->done(notify->userdata, post, error, diag.text);
}

/* ---- turns ---- */

/* A lane that may begin one more post, and is now the last in line; NULL: none. */
static struct lane *next_lane(struct notify *notify)
{
    list_foreach (&notify->lanes, link) {
        struct lane *lane = CONTAINER_OF(link, struct lane, link);
        if (lane->active < NOTIFY_PER_ORIGIN && !list_is_empty(&lane->waiting)) {
            list_remove(link);
            list_push_tail(&notify->lanes, link);
            return lane;
        }
    }
    return NULL;
}

static int on_turn(sd_event_source *source, void *userdata)
{
    struct notify *notify = userdata;

    for (struct lane *lane; notify->active < NOTIFY_AT_ONCE && (lane = next_lane(notify));)
        start(notify, lane);
    return 0;
}

void notify_post(struct notify *notify, struct notify_post *post)
{
    list_push_tail(&lane_of(notify, post->url)->waiting, &post->link);
    wake(notify);
}

/* ---- all of it ---- */

int notify_new(sd_event *event, const struct notify_config *config, const struct notify_ops *ops,
               void *userdata, struct notify **ret, struct diag *diag)
{
    owned(notify_free) struct notify *notify = NEW(struct notify);

    list_init(&notify->lanes);
    list_init(&notify->tries);
    notify->ops = ops;
    notify->userdata = userdata;
    notify->agent = text_copy(config->agent);
    notify->timeout_ms = config->timeout_ms;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return diag_fail(diag, -ENOMEM, "libcurl cannot be set up");
    int r = transfers_new(event, on_done, notify, &notify->transfers, diag);
    if (r < 0)
        return r;
    r = sd_event_add_defer(event, &notify->turn, on_turn, notify);
    if (r >= 0)
        r = sd_event_source_set_enabled(notify->turn, SD_EVENT_OFF);
    if (r < 0)
        return diag_fail(diag, r, "no event source for webhooks: %s", strerror(-r));
    *ret = TAKE(notify);
    return 0;
}

struct notify *notify_free(struct notify *notify)
{
    if (!notify)
        return NULL;
    list_foreach_safe (&notify->tries, link) {
        struct try *try = CONTAINER_OF(link, struct try, link);
        transfers_remove(notify->transfers, try->easy);
        try_free(try);
    }
    list_foreach_safe (&notify->lanes, link)
        lane_free(CONTAINER_OF(link, struct lane, link));
    sd_event_source_disable_unref(notify->turn);
    transfers_free(notify->transfers);
    free(notify->agent);
    free(notify);
    return NULL;
}
