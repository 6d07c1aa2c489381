/* Deliveries: what webhooks are owed, until they have it.
 *
 * A notification is queued in the step of what it is about, and leaves durable state with the
 * record of its acknowledgement, or of giving up. In between it is tried, with longer and longer
 * waits, in real time: whoever listens does not live at the speed of the cluster. A restart tries
 * all again at once. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "core/state.h"

#define RETRY_FIRST_US INT64_C(1000000)
#define RETRY_MOST_US  HOUR_US
#define TRIES          36 /* their waits add up to a day */

unsigned delivery_count(const struct core *core, uid_t uid)
{
    return (unsigned)(uintptr_t)map_get(&core->delivery_counts, uid);
}

/* ---- what is owed ---- */

static int outcome_event(Wafer__Job__State state)
{
    switch (state) {
    case WAFER__JOB__STATE__SUCCEEDED: return WAFER__NOTIFY_SPEC__EVENT__SUCCEEDED;
    case WAFER__JOB__STATE__FAILED: return WAFER__NOTIFY_SPEC__EVENT__FAILED;
    case WAFER__JOB__STATE__CANCELLED: return WAFER__NOTIFY_SPEC__EVENT__CANCELLED;
    case WAFER__JOB__STATE__TIMEOUT: return WAFER__NOTIFY_SPEC__EVENT__TIMEOUT;
    case WAFER__JOB__STATE__LOST: return WAFER__NOTIFY_SPEC__EVENT__LOST;
    default: return -1;
    }
}

/* What the record means to whoever wants to be told; -1: nothing. */
static int event_of(const struct job *job, const Wafer__Record *record)
{
    Wafer__Job__State next = record->job_state->state;

    if (next == WAFER__JOB__STATE__HELD)
        return job->state.state != next ? WAFER__NOTIFY_SPEC__EVENT__HELD : -1;
    switch (record->kind) {
    case WAFER__RECORD_KIND__JOB_STARTED: return WAFER__NOTIFY_SPEC__EVENT__STARTED;
    case WAFER__RECORD_KIND__JOB_SUSPENDED: return WAFER__NOTIFY_SPEC__EVENT__SUSPENDED;
    case WAFER__RECORD_KIND__ATTEMPT_ENDED: return WAFER__NOTIFY_SPEC__EVENT__REQUEUED;
    case WAFER__RECORD_KIND__JOB_ENDED: return outcome_event(next);
    default: return -1;
    }
}

static const struct core_webhook *find_webhook(const struct core *core, const char *name)
{
    for (size_t i = 0; i < core->config.webhook_count; i++)
        if (strcmp(core->config.webhooks[i].name, name) == 0)
            return &core->config.webhooks[i];
    return NULL;
}

static bool is_on(const Wafer__NotifySpec *rule, int event)
{
    for (size_t i = 0; i < rule->n_on; i++)
        if ((int)rule->on[i] == event)
            return true;
    return false;
}

/* The webhook or URL that a rule of the job means. */
static const char *target_of(const Wafer__JobSpec *spec, const Wafer__NotifySpec *rule)
{
    return strcmp(rule->to, "project") == 0 && spec->project ? spec->project : rule->to;
}

static bool is_url(const char *target)
{
    return strstr(target, "://") != NULL;
}

/* Does the site tell this webhook of it anyway, or an earlier rule of the job? */
static bool is_told(const struct core *core, const Wafer__JobSpec *spec, size_t rule, int event)
{
    const char *target = target_of(spec, spec->notify[rule]);
    const struct core_webhook *webhook = find_webhook(core, target);

    if (webhook && webhook->on >> event & 1)
        return true;
    for (size_t i = 0; i < rule; i++)
        if (is_on(spec->notify[i], event) && strcmp(target_of(spec, spec->notify[i]), target) == 0)
            return true;
    return false;
}

/* "FAILED to ops". Of an address only where it is: its path may be a secret. */
static char *describe(const Wafer__DeliveryState *state)
{
    const char *event =
        protobuf_c_enum_descriptor_get_value(&wafer__notify_spec__event__descriptor, state->event)
            ->name;
    struct url url;

    if (state->webhook)
        return text_format("%s to %s", event, state->webhook);
    owned(free) char *origin = url_parse(state->url, &url, NULL) < 0 ? NULL : url_origin(&url);
    return text_format("%s to %s", event, origin ? origin : "a URL");
}

static void record_delivery(struct core *core, Wafer__RecordKind kind, Wafer__DeliveryState *state,
                            const char *text)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    record.kind = kind;
    SET(&record, job, state->job);
    record.delivery = state->number ? state : NULL;
    record.text = (char *)text;
    core_record(core, &record);
}

static void queue(struct core *core, const struct job *job, int event, const char *target)
{
    Wafer__DeliveryState state = WAFER__DELIVERY_STATE__INIT;

    state.job = job->state.id;
    state.uid = job->state.uid;
    state.event = (Wafer__NotifySpec__Event)event;
    state.at_us = core->now_us;
    if (is_url(target))
        state.url = (char *)target;
    else
        state.webhook = (char *)target;
    owned(free) char *what = describe(&state);
    unsigned count = delivery_count(core, state.uid);
    if (count >= LIMIT_DELIVERIES_PER_UID || map_count(&core->deliveries) >= LIMIT_DELIVERIES) {
        owned(free) char *text = text_format("%s: not sent, %zu wait already (%u of this user)",
                                             what, map_count(&core->deliveries), count);
        record_delivery(core, WAFER__RECORD_KIND__NOTIFY_DROPPED, &state, text);
        return;
    }
    state.number = core->sequence + 1;
    record_delivery(core, WAFER__RECORD_KIND__NOTIFY_QUEUED, &state, what);
    struct delivery *delivery = map_get(&core->deliveries, core->sequence);
    list_push_tail(&core->owed, &delivery->owed_link);
}

void deliveries_owe(struct core *core, const Wafer__Record *draft)
{
    const struct job *job = draft->job_state ? core_job(core, draft->job_state->id) : NULL;
    int event = job ? event_of(job, draft) : -1;

    if (event < 0)
        return;
    for (size_t i = 0; i < core->config.webhook_count; i++)
        if (core->config.webhooks[i].on >> event & 1)
            queue(core, job, event, core->config.webhooks[i].name);
    const Wafer__JobSpec *spec = job->spec->message;
    for (size_t i = 0; i < spec->n_notify; i++)
        if (is_on(spec->notify[i], event) && !is_told(core, spec, i, event))
            queue(core, job, event, target_of(spec, spec->notify[i]));
}

/* ---- tries ---- */

static void send_one(struct core *core, const struct delivery *delivery)
{
    const struct job *job = core_job(core, delivery->state.job);
    struct effect *effect = effect_add(core, EFFECT_NOTIFY);

    effect->job = delivery->state.job;
    effect->delivery = MESSAGE_COPY(&delivery->state);
    effect->view = job ? view_job(core, job) : NULL;
}

void deliveries_send(struct core *core)
{
    list_foreach_safe (&core->owed, link) {
        send_one(core, CONTAINER_OF(link, struct delivery, owed_link));
        list_remove(link);
    }
}

void deliveries_recover(struct core *core)
{
    size_t cursor = 0;

    for (struct delivery *delivery; (delivery = map_next(&core->deliveries, &cursor));)
        send_one(core, delivery);
}

void deliveries_due(struct core *core)
{
    for (struct timer *timer;
         (timer = timers_first(&core->retries)) && timer->due_us <= core->mono_us;) {
        timer_clear(&core->retries, timer);
        send_one(core, CONTAINER_OF(timer, struct delivery, timer));
    }
}

/* Twice as long each time, a quarter more or less: what failed together does not come back
 * together. */
static int64_t retry_wait_us(const Wafer__DeliveryState *state)
{
    int64_t wait_us = RETRY_FIRST_US;

    for (uint32_t i = 1; i < state->failures && wait_us < RETRY_MOST_US; i++)
        wait_us *= 2;
    if (wait_us > RETRY_MOST_US)
        wait_us = RETRY_MOST_US;
    uint64_t chance = random_mix(random_mix(state->number) + state->failures);
    return wait_us - wait_us / 4 + (int64_t)(chance % (uint64_t)(wait_us / 2));
}

static void failed(struct core *core, struct delivery *delivery, const char *what, const char *why)
{
    Wafer__DeliveryState next = delivery->state;

    SET(&next, failures, next.failures + 1);
    if (next.failures >= TRIES) {
        owned(free) char *text =
            text_format("%s: given up after %u tries: %s", what, next.failures, why);
        record_delivery(core, WAFER__RECORD_KIND__NOTIFY_DROPPED, &next, text);
        return;
    }
    int64_t wait_us = retry_wait_us(&next);
    owned(free) char *text =
        text_format("%s: %s; next try in %lld.%lld s", what, why, (long long)(wait_us / 1000000),
                    (long long)(wait_us % 1000000 / 100000));
    record_delivery(core, WAFER__RECORD_KIND__NOTIFY_FAILED, &next, text);
    timer_set(&core->retries, &delivery->timer, core->mono_us + wait_us);
}

void delivery_verdict(struct core *core, const struct input *input)
{
    struct delivery *delivery = map_get(&core->deliveries, input->notified.delivery);

    if (!delivery || delivery->timer.place)
        return; /* no try of it is under way */
    owned(free) char *what = describe(&delivery->state);
    if (input->notified.error < 0)
        failed(core, delivery, what, input->notified.text);
    else
        record_delivery(core, WAFER__RECORD_KIND__NOTIFY_DELIVERED, &delivery->state, what);
}

/* ---- what a job may ask for ---- */

static char *names_of_webhooks(const struct core *core)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < core->config.webhook_count; i++)
        buffer_format(&text, "%s%s", i ? ", " : "", core->config.webhooks[i].name);
    if (!text.length)
        buffer_append_text(&text, "none");
    return buffer_text(&text);
}

char *delivery_refusal(const struct core *core, const Wafer__JobSpec *spec,
                       const Wafer__NotifySpec *rule)
{
    const char *target = target_of(spec, rule);
    struct url url;
    struct diag diag;

    if (is_url(target)) {
        if (url_parse(target, &url, &diag) < 0)
            return text_copy(diag.text);
        if (url_is_allowed(&url, core->config.notify_allow, core->config.notify_allow_count))
            return NULL;
        owned(free) char *origin = url_origin(&url);
        return text_format("the site does not allow that address of %s (its notify_allow lacks it)",
                           origin);
    }
    if (find_webhook(core, target))
        return NULL;
    owned(free) char *names = names_of_webhooks(core);
    return text_format("there is no webhook '%s' here%s (there are: %s)", target,
                       target == rule->to ? "" : ", the job's project", names);
}
