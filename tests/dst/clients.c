/* People: what they ask, and what they were promised. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "engine/effects.h"
#include "model/job.h"
#include "world.h"

#define JOBS_MAX    30
#define PATIENCE_US (5 * SECOND_US)
#define ANSWER_US   (60 * SECOND_US) /* on a good day */
#define KEY_KEPT_US (24 * HOUR_US)   /* after the end of its job */

struct promise {       /* an acknowledged submission, and an acknowledged cancel of it */
    uint64_t job, key; /* key 0: none */
    unsigned client;
    bool cancelled;
    uint8_t *request; /* packed: what asked for it with a key */
    size_t length;
};

static struct promise *promise_of(struct world *world, uint64_t job)
{
    for (size_t i = 0; i < world->promise_count; i++)
        if (world->promises[i].job == job)
            return &world->promises[i];
    return NULL;
}

/* ---- asking ---- */

static void ask(struct world *world, unsigned number)
{
    struct client *client = &world->clients[number];

    if (!world->controller.core)
        return;
    if (world->controller.frozen) { /* it lies in its socket */
        struct event *event = world_add(world, ASKED, 0);
        event->number = number;
        event->bytes = memory_copy(client->request, client->length);
        event->length = client->length;
        event->life = client->life = world->controller.life;
        client->asked_us = world->now_us;
        return;
    }
    Wafer__Request *request = wafer__request__unpack(NULL, client->length, client->request);
    const ProtobufCFieldDescriptor *verb =
        protobuf_c_message_descriptor_get_field(&wafer__request__descriptor, request->body_case);
    world_trace(world, "client %u asks: %s", number, verb->name);
    client->life = world->controller.life;
    client->asked_us = world->now_us;
    if (!controller_request(world, number, request))
        client->life = UINT64_MAX; /* not sent yet */
    wafer__request__free_unpacked(request, NULL);
}

/* Takes `request`. */
static void begin(struct world *world, unsigned number, Wafer__Request *request)
{
    struct client *client = &world->clients[number];

    client->id = request->id = world->next_request++;
    client->length = wafer__request__get_packed_size(request);
    client->request = memory_new(client->length);
    wafer__request__pack(request, client->request);
    wafer__request__free_unpacked(request, NULL);
    ask(world, number);
}

#define BODY(request, NAME, name, type)                                                            \
    ((request)->body_case = WAFER__REQUEST__BODY_##NAME,                                           \
     (request)->name = MESSAGE_NEW(type, name##_request))

static uint64_t some_job(struct world *world)
{
    return 1 + world_below(world, world->controller.ledger.last_job + 1);
}

/* One that is about to start from a checkpoint which is not its newest; or the other. */
static uint64_t some_starting_job(struct world *world, uint64_t other)
{
    const struct ledger *ledger = &world->controller.ledger;

    for (uint64_t id = 1; id <= ledger->last_job; id++) {
        const struct ledger_job *job = ledger_job(ledger, id);
        if (job && job->state->state == WAFER__JOB__STATE__STARTING &&
            job->state->has_resume_checkpoint && job->checkpoint_count > 1 &&
            job->checkpoints[job->checkpoint_count - 1]->number != job->state->resume_checkpoint)
            return id;
    }
    return other;
}

static Wafer__Target *target(uint64_t job)
{
    Wafer__Target *target = MESSAGE_NEW(Wafer__Target, target);

    SET_FIELD(target, job, job);
    return target;
}

static Wafer__CheckpointTarget *checkpoint_target(struct world *world, uint64_t id)
{
    Wafer__CheckpointTarget *target = MESSAGE_NEW(Wafer__CheckpointTarget, checkpoint_target);
    const struct ledger_job *job = ledger_job(&world->controller.ledger, id);

    target->job = id;
    if (job && job->checkpoint_count)
        SET_FIELD(target, step, job->checkpoints[world_below(world, job->checkpoint_count)]->step);
    return target;
}

static void make_submit(struct world *world, Wafer__Request *request)
{
    Wafer__SubmitRequest *submit = BODY(request, SUBMIT, submit, Wafer__SubmitRequest);

    submit->spec = spec_make(world);
    if (!world_one_in(world, 3))
        submit->key = text_format("k%llu", (unsigned long long)world->next_key++);
    if (world_one_in(world, 10))
        SET_FIELD(submit, hold, true);
}

static void make_resume(struct world *world, Wafer__Request *request, uint64_t id)
{
    Wafer__ResumeRequest *resume = BODY(request, RESUME, resume, Wafer__ResumeRequest);
    const struct ledger_job *job = ledger_job(&world->controller.ledger, id);

    resume->target = target(id);
    if (job && job->checkpoint_count && world_one_in(world, 2))
        resume->from = text_format(
            "%llu",
            (unsigned long long)job->checkpoints[world_below(world, job->checkpoint_count)]->step);
    if (world_one_in(world, 3))
        SET_FIELD(resume, systems, (uint32_t)world_between(world, 1, 2));
    if (world_one_in(world, 3))
        resume->pool = text_copy(world_one_in(world, 2) ? "gpu" : "wafer");
    if (world_one_in(world, 2))
        resume->key = text_format("k%llu", (unsigned long long)world->next_key++);
}

static void make_drain(struct world *world, Wafer__Request *request)
{
    Wafer__SystemDrainRequest *drain =
        BODY(request, SYSTEM_DRAIN, system_drain, Wafer__SystemDrainRequest);
    const struct host *host = &world->hosts[world_below(world, world->host_count)];

    drain->name =
        text_format("%s%u", host->prefixes[0], 1 + (unsigned)world_below(world, host->wafers));
    drain->drained = world_one_in(world, 2);
}

static void make_queue(struct world *world, Wafer__Request *request, bool stopped)
{
    Wafer__QueueRequest *queue = BODY(request, QUEUE, queue, Wafer__QueueRequest);

    queue->name = text_copy(world_one_in(world, 2) ? "gpu" : "wafer");
    queue->stopped = stopped;
}

/* Something at random. */
static Wafer__Request *make(struct world *world, uid_t uid)
{
    Wafer__Request *request = MESSAGE_NEW(Wafer__Request, request);
    uint64_t job = some_job(world);

    switch (world_below(world, 24)) {
    case 0: {
        Wafer__CancelRequest *cancel = BODY(request, CANCEL, cancel, Wafer__CancelRequest);
        cancel->target = target(job);
        if (world_one_in(world, 4))
            SET_FIELD(cancel, now, true);
        break;
    }
    case 1: BODY(request, HOLD, hold, Wafer__HoldRequest)->target = target(job); break;
    case 2:
    case 3: BODY(request, RELEASE, release, Wafer__ReleaseRequest)->target = target(job); break;
    case 4:
    case 5: BODY(request, REQUEUE, requeue, Wafer__RequeueRequest)->target = target(job); break;
    case 6:
    case 7: make_resume(world, request, job); break;
    case 8: {
        Wafer__CheckpointPinRequest *pin =
            BODY(request, CHECKPOINT_PIN, checkpoint_pin, Wafer__CheckpointPinRequest);
        pin->target = checkpoint_target(world, job);
        pin->pinned = world_one_in(world, 2);
        break;
    }
    case 9:
        job = some_starting_job(world, job);
        BODY(request, CHECKPOINT_PRUNE, checkpoint_prune, Wafer__CheckpointPruneRequest)->target =
            target(job);
        break;
    case 10:
        BODY(request, CHECKPOINT_VERIFY, checkpoint_verify, Wafer__CheckpointVerifyRequest)
            ->target = checkpoint_target(world, job);
        break;
    case 11: make_drain(world, request); break;
    case 12: make_queue(world, request, world_one_in(world, 3)); break;
    case 13: BODY(request, SHOW, show, Wafer__ShowRequest)->target = target(job); break;
    case 14:
        BODY(request, LIST, list, Wafer__ListRequest);
        if (uid == 0) {
            SET_FIELD(request->list, all_users, true);
            SET_FIELD(request->list, watch, true);
        }
        break;
    case 15:
        BODY(request, CHECKPOINT_LIST, checkpoint_list, Wafer__CheckpointListRequest)->target =
            target(job);
        break;
    case 16: BODY(request, SYSTEM_LIST, system_list, Wafer__SystemListRequest); break;
    default:
        if (world->controller.ledger.last_job < JOBS_MAX)
            make_submit(world, request);
        else
            BODY(request, LIST, list, Wafer__ListRequest);
    }
    return request;
}

/* ---- on a good day: the operator lets everything go its way ---- */

static bool never_fits(struct world *world, const struct ledger_job *job)
{
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, job->spec.len, job->spec.data);
    const char *queue = job->state->queue ? job->state->queue : spec->queue;
    uint32_t wanted =
        job->state->has_systems_count ? job->state->systems_count : spec->systems->count;
    uint32_t most = 0;

    for (unsigned i = 0; i < world->host_count; i++) {
        const struct host *host = &world->hosts[i];
        uint32_t has = queue && strcmp(queue, "gpu") == 0 ? host->gpus : host->wafers;
        most = has > most ? has : most;
    }
    wafer__job_spec__free_unpacked(spec, NULL);
    return wanted > most;
}

/* Only a stop that arrives ends it. */
static bool is_endless(const struct ledger_job *job)
{
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, job->spec.len, job->spec.data);
    bool endless = spec->workload->steps->value == ENDLESS_STEPS;

    wafer__job_spec__free_unpacked(spec, NULL);
    return endless;
}

static Wafer__Request *make_help(struct world *world)
{
    Wafer__Request *request = MESSAGE_NEW(Wafer__Request, request);
    const struct ledger *ledger = &world->controller.ledger;

    if (world_one_in(world, 4)) {
        make_queue(world, request, false);
        return request;
    }
    for (int i = 0; i < LEDGER_SYSTEMS; i++)
        if (ledger->systems[i].drained) {
            BODY(request, SYSTEM_DRAIN, system_drain, Wafer__SystemDrainRequest)->name =
                text_copy(ledger->systems[i].name);
            return request;
        }
    for (uint64_t id = 1; id <= ledger->last_job; id++) {
        const struct ledger_job *job = ledger_job(ledger, id);
        if (!job || job->ended)
            continue;
        if ((never_fits(world, job) && !job->state->n_systems) ||
            (is_endless(job) && job->state->state != WAFER__JOB__STATE__STOPPING)) {
            Wafer__CancelRequest *cancel = BODY(request, CANCEL, cancel, Wafer__CancelRequest);
            cancel->target = target(job->state->has_array_id ? job->state->array_id : id);
            if (job->state->has_array_id)
                SET_FIELD(cancel->target, index, job->index);
            return request;
        }
        if (job->state->state == WAFER__JOB__STATE__HELD) {
            BODY(request, RELEASE, release, Wafer__ReleaseRequest)->target = target(id);
            return request;
        }
    }
    BODY(request, LIST, list, Wafer__ListRequest);
    SET_FIELD(request->list, all_users, true);
    return request;
}

/* ---- answers ---- */

static void keep_promise(struct world *world, unsigned client, const Wafer__Request *request,
                         uint64_t job)
{
    const char *text = request->body_case == WAFER__REQUEST__BODY_SUBMIT ? request->submit->key
                                                                         : request->resume->key;
    uint64_t key = text ? strtoull(text + 1, NULL, 10) : 0;

    for (size_t i = 0; key && i < world->promise_count; i++)
        if (world->promises[i].key == key && world->promises[i].job != job)
            world_fail(world, "one key, two jobs: %llu and %llu",
                       (unsigned long long)world->promises[i].job, (unsigned long long)job);
    if (promise_of(world, job))
        return;
    ARRAY_RESERVE(world->promises, world->promise_count, world->promise_capacity);
    world->promises[world->promise_count] =
        (struct promise){ .job = job, .key = key, .client = client };
    if (key && request->body_case == WAFER__REQUEST__BODY_SUBMIT) {
        struct promise *promise = &world->promises[world->promise_count];
        promise->length = wafer__request__get_packed_size(request);
        promise->request = memory_new(promise->length);
        wafer__request__pack(request, promise->request);
    }
    world->promise_count++;
}

void client_reply(struct world *world, unsigned number, uint64_t id,
                  const Wafer__Response *response)
{
    struct client *client = &world->clients[number];

    if (!client->request || client->id != id)
        return; /* an answer to what it no longer asks */
    Wafer__Request *request = wafer__request__unpack(NULL, client->length, client->request);
    world_trace(world, "client %u hears: %s", number,
                response->body_case == WAFER__RESPONSE__BODY_ERROR ? response->error->message
                                                                   : "done");
    for (size_t i = 0; world->calm && response->body_case == WAFER__RESPONSE__BODY_JOBS &&
                       i < response->jobs->n_items;
         i++) {
        const Wafer__Job *job = response->jobs->items[i];
        world_trace(world, "  job %llu is %s%s%s", (unsigned long long)job->id,
                    job_state_name(job->state), job->reason ? ": " : "",
                    job->reason && job->reason->detail ? job->reason->detail : "");
    }
    if (response->body_case == WAFER__RESPONSE__BODY_JOBS && request->list->watch)
        watch_begin(world, response->jobs);
    if (response->body_case == WAFER__RESPONSE__BODY_JOB) {
        const Wafer__Job *job = response->job;
        if (request->body_case == WAFER__REQUEST__BODY_SUBMIT)
            keep_promise(world, number, request, job->id);
        struct promise *promise = promise_of(world, job->id);
        if (request->body_case == WAFER__REQUEST__BODY_CANCEL && promise &&
            (job->state == WAFER__JOB__STATE__STOPPING ||
             job->state == WAFER__JOB__STATE__CANCELLED))
            promise->cancelled = true;
    }
    client->answer = response->body_case == WAFER__RESPONSE__BODY_JOB ? response->job->id : 0;
    wafer__request__free_unpacked(request, NULL);
    free(TAKE(client->request));
}

/* A record of the job was lost, and what it said with it: a cancel may be. */
void clients_isolated(struct world *world, uint64_t job)
{
    struct promise *promise = promise_of(world, job);

    if (promise)
        promise->cancelled = false;
}

/* ---- turns ---- */

static bool may_repeat(const struct client *client)
{
    Wafer__Request *request = wafer__request__unpack(NULL, client->length, client->request);
    bool may = request->body_case != WAFER__REQUEST__BODY_SUBMIT || request->submit->key;

    wafer__request__free_unpacked(request, NULL);
    return may;
}

static void wait_on(struct world *world, unsigned number)
{
    struct client *client = &world->clients[number];
    bool lost = client->life != world->controller.life;
    bool asked_in_calm = world->calm && client->asked_us > world->calm_us;

    if (client->life == UINT64_MAX) {
        ask(world, number);
    } else if (lost || world->now_us - client->asked_us > PATIENCE_US) {
        /* Nobody knows what became of it. */
        if (!lost && asked_in_calm && world->now_us - client->asked_us > ANSWER_US)
            world_fail(world, "client %u gets no answer", number);
        if (!lost && asked_in_calm)
            return;
        if (may_repeat(client))
            ask(world, number);
        else
            free(TAKE(client->request));
    }
}

void client_acts(struct world *world, unsigned number)
{
    struct client *client = &world->clients[number];

    world_add(world, CLIENT_ACTS,
              world->calm                ? SECOND_US
              : world->controller.frozen ? world_between(world, MS_US, PATIENCE_US)
                                         : world_between(world, MS_US, SECOND_US / 2))
        ->number = number;
    if (!world->controller.core)
        return;
    if (client->request)
        wait_on(world, number);
    else if (!world->calm)
        begin(world, number, make(world, client->uid));
    else if (client->uid == 0)
        begin(world, number, make_help(world));
}

void clients_check(struct world *world)
{
    for (size_t i = 0; i < world->promise_count; i++) {
        const struct promise *promise = &world->promises[i];
        const struct ledger_job *job = ledger_job(&world->controller.history, promise->job);
        if (!job) /* I1 */
            world_fail(world, "job %llu was acknowledged and is gone",
                       (unsigned long long)promise->job);
        if (promise->cancelled && job->ended && job->state->state != WAFER__JOB__STATE__CANCELLED)
            world_fail(world, "the cancel of job %llu was acknowledged, and it is %s",
                       (unsigned long long)promise->job, job_state_name(job->state->state));
    }
}

/* All have ended, all that they held is free, all that was written is on the disk. */
void clients_finish(struct world *world, bool *ret_done)
{
    const struct controller *controller = &world->controller;

    *ret_done = false;
    if (!controller->core || controller->durable != controller->count)
        return;
    for (uint64_t id = 1; id <= controller->history.last_job; id++)
        if (ledger_job(&controller->history, id) && (!ledger_job(&controller->history, id)->ended ||
                                                     ledger_job(&controller->history, id)->owed))
            return;
    for (unsigned i = 0; i < world->host_count; i++)
        if (world->hosts[i].running_count || world->hosts[i].open_count ||
            !world->hosts[i].welcomed)
            return;
    *ret_done = true;
}

/* ---- keys ---- */

static bool is_behind(const struct world *world)
{
    int64_t due_us;

    controller_next(world, &due_us);
    return !world->controller.core || due_us <= world->now_us;
}

/* The world sleeps until then; what it is told is the job of the promise, or another. */
static uint64_t ask_again(struct world *world, size_t n, int64_t at_us)
{
    const struct promise *promise = &world->promises[n];
    unsigned asker = promise->client;
    struct client *client = &world->clients[asker];
    Wafer__Request *request = wafer__request__unpack(NULL, promise->length, promise->request);

    world->now_us = at_us;
    world_trace(world, "a long time later");
    if (world_one_in(world, 2) && world->controller.core)
        controller_crash(world);
    while (is_behind(world)) /* what fell due meanwhile comes first */
        world_step(world);
    free(TAKE(client->request));
    begin(world, asker, request);
    while (client->request)
        world_step(world);
    return client->answer;
}

/* What waits for a verdict keeps its job in memory, and with it the key: a deletion that failed
 * until the next start, which tries again. */
static bool is_kept(const struct ledger_job *job)
{
    for (size_t i = 0; i < job->checkpoint_count; i++)
        switch (job->checkpoints[i]->state) {
        case WAFER__CHECKPOINT__STATE__WRITTEN:
        case WAFER__CHECKPOINT__STATE__COMMITTED:
        case WAFER__CHECKPOINT__STATE__DELETING: return true;
        default: break;
        }
    return false;
}

void clients_use_old_key(struct world *world)
{
    const struct ledger *ledger = &world->controller.history;
    int64_t first_us = INT64_MAX, last_us = 0;
    bool kept = false;

    if (!world->promise_count)
        return;
    /* By its number: an answer makes a promise, and their array may move. */
    size_t n = world_below(world, world->promise_count);
    uint64_t id_promised = world->promises[n].job;
    const struct ledger_job *job = ledger_job(ledger, id_promised);
    if (!world->promises[n].request || !job->state->has_key_hash)
        return;
    for (uint64_t id = 1; id <= ledger->last_job; id++) {
        const struct ledger_job *other = ledger_job(ledger, id);
        if (!other || other->state->key_hash != job->state->key_hash)
            continue;
        first_us = other->state->ended_us < first_us ? other->state->ended_us : first_us;
        last_us = other->state->ended_us > last_us ? other->state->ended_us : last_us;
        kept |= is_kept(other);
    }
    if (ask_again(world, n, first_us + KEY_KEPT_US - ANSWER_US) != id_promised)
        world_fail(world, "the key of job %llu is forgotten within a day of its end",
                   (unsigned long long)id_promised);
    world->promises[n].key = 0;
    if (!kept && ask_again(world, n, last_us + KEY_KEPT_US + SECOND_US) == id_promised)
        world_fail(world, "the key of job %llu is still known a day after its end",
                   (unsigned long long)id_promised);
}

void clients_done(struct world *world)
{
    for (size_t i = 0; i < world->promise_count; i++)
        free(world->promises[i].request);

    for (unsigned i = 0; i < CLIENTS; i++)
        free(world->clients[i].request);
    free(world->promises);
}
