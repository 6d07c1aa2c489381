#include "webhooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "daemon.h"
#include "model/bind.h"
#include "model/message.h"
#include "notify/notify.h"
#include "webhook_settings.h"

#define ID_SIZE 33 /* 128 bits in hex */

struct sending {
    struct notify_post post;
    struct list link; /* webhooks->sendings */
    Wafer__DeliveryState *delivery;
    Wafer__Job *view; /* NULL: it is history */
    char *url;        /* a copy: the site file may change before its turn has come */
    char id[ID_SIZE];
};

struct webhooks {
    struct daemon *daemon;
    struct notify *notify;
    struct list sendings;
};

/* The same for each try, and another for each notification of any controller: sequences begin
 * anew in every state directory, but not at the same microsecond. */
static void make_id(const Wafer__DeliveryState *delivery, char ret[static ID_SIZE])
{
    owned(free) char *text =
        text_format("%llu.%lld.%llu", (unsigned long long)delivery->number,
                    (long long)delivery->at_us, (unsigned long long)delivery->job);
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    digest_of(text, strlen(text), &digest);
    digest_hex(&digest, hex);
    memcpy(ret, hex, ID_SIZE - 1);
    ret[ID_SIZE - 1] = '\0';
}

static void sending_free(struct sending *sending)
{
    list_remove(&sending->link);
    wafer__delivery_state__free_unpacked(sending->delivery, NULL);
    wafer__job__free_unpacked(sending->view, NULL);
    free(sending->url);
    free(sending);
}

/* ---- what is sent ---- */

/* Its place in the site file; false: that no longer knows it. */
static bool find_webhook(const struct settings *settings, const char *name, size_t *ret)
{
    for (size_t i = 0; i < settings->webhook_count; i++)
        if (strcmp(settings->webhooks[i].name, name) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

/* The site file may have changed since the job was submitted, or since this began to wait for its
 * turn. The secret is the one that holds now. */
static int check_target(const struct webhooks *webhooks, struct sending *sending, struct diag *diag)
{
    const struct settings *settings = webhooks->daemon->settings;
    const Wafer__DeliveryState *delivery = sending->delivery;
    struct url url;
    size_t place;

    if (delivery->webhook) {
        if (!find_webhook(settings, delivery->webhook, &place))
            return diag_fail(diag, -ENOENT, "the site has no webhook '%s' any more",
                             delivery->webhook);
        if (strcmp(settings->site->webhooks[place]->url, sending->url) != 0)
            return diag_fail(diag, -EAGAIN, "webhook '%s' has another address now",
                             delivery->webhook);
        sending->post.secret = settings->secrets[place];
    }
    if (delivery->url &&
        (url_parse(delivery->url, &url, NULL) < 0 ||
         !url_is_allowed(&url, settings->notify_allow, settings->notify_allow_count)))
        return diag_fail(diag, -EACCES, "the site does not allow that address any more");
    return 0;
}

static int recall_job(struct webhooks *webhooks, struct sending *sending, struct diag *diag)
{
    struct store_job job;

    if (sending->view)
        return 0;
    int r = store_history_job(webhooks->daemon->store, sending->delivery->job, &job, diag);
    if (r < 0)
        return r;
    sending->view = TAKE(job.view);
    store_job_done(&job);
    return 0;
}

static int on_body(void *userdata, struct notify_post *post, char **ret, struct diag *diag)
{
    struct sending *sending = CONTAINER_OF(post, struct sending, post);
    Wafer__Notification notification = WAFER__NOTIFICATION__INIT;
    Wafer__Time at = WAFER__TIME__INIT;
    int r = check_target(userdata, sending, diag);

    if (r >= 0)
        r = recall_job(userdata, sending, diag);
    if (r < 0)
        return r;
    at.us = sending->delivery->at_us;
    notification.schema = (char *)"wafer.notification/v1";
    notification.id = sending->id;
    notification.at = &at;
    notification.event = sending->delivery->event;
    notification.job = sending->view;
    *ret = bind_json_text(&notification.base, false);
    return 0;
}

static void on_done(void *userdata, struct notify_post *post, int error, const char *text)
{
    struct webhooks *webhooks = userdata;
    struct sending *sending = CONTAINER_OF(post, struct sending, post);
    struct input input = {
        .type = INPUT_NOTIFIED,
        .notified = { .delivery = sending->delivery->number, .error = error, .text = text }
    };

    daemon_step(webhooks->daemon, &input);
    sending_free(sending);
}

void webhooks_send(struct webhooks *webhooks, const struct effect *effect)
{
    const struct settings *settings = webhooks->daemon->settings;
    const Wafer__DeliveryState *delivery = effect->delivery;
    struct sending *sending = NEW(struct sending);
    size_t place;

    sending->delivery = MESSAGE_COPY(delivery);
    sending->view = effect->view ? MESSAGE_COPY(effect->view) : NULL;
    make_id(delivery, sending->id);
    list_push_tail(&webhooks->sendings, &sending->link);
    sending->post.id = sending->id;
    if (delivery->url)
        sending->url = text_copy(delivery->url);
    else if (find_webhook(settings, delivery->webhook, &place))
        sending->url = text_copy(settings->site->webhooks[place]->url);
    else
        sending->url = text_copy(""); /* which is found out when its turn has come */
    sending->post.url = sending->url;
    notify_post(webhooks->notify, &sending->post);
}

/* ---- all of it ---- */

int webhooks_new(struct daemon *daemon, struct webhooks **ret, struct diag *diag)
{
    static const struct notify_ops ops = { .body = on_body, .done = on_done };
    owned(webhooks_free) struct webhooks *webhooks = NEW(struct webhooks);

    webhooks->daemon = daemon;
    list_init(&webhooks->sendings);
    int r = webhook_settings_have_secrets(daemon->settings, diag);
    if (r < 0)
        return r;
    struct notify_config config = { .agent = "waferd/" PACKAGE_VERSION,
                                    .timeout_ms = NOTIFY_TIMEOUT_MS };
    r = notify_new(daemon->event, &config, &ops, webhooks, &webhooks->notify, diag);
    if (r < 0)
        return r;
    *ret = TAKE(webhooks);
    return 0;
}

struct webhooks *webhooks_free(struct webhooks *webhooks)
{
    if (!webhooks)
        return NULL;
    notify_free(webhooks->notify);
    list_foreach_safe (&webhooks->sendings, link)
        sending_free(CONTAINER_OF(link, struct sending, link));
    free(webhooks);
    return NULL;
}
