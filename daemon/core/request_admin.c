/* Systems and queues. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

/* ---- systems ---- */

static void answer_system(struct request *request, struct system *const *systems, size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_SYSTEMS);
    Wafer__SystemList *list = response->systems = NEW(Wafer__SystemList);

    wafer__system_list__init(list);
    list->schema = text_copy("wafer.system.list/v1");
    list->generated_at = view_time(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, false);
    list->n_items = count;
    list->items = memory_new(count * sizeof(*list->items));
    for (size_t i = 0; i < count; i++) {
        list->items[i] = view_system(request->core, systems[i]);
        if (list->items[i]->has_job && !may(request, WAFER__ROLE__ACTION__show, systems[i]->job))
            UNSET(list->items[i], job);
    }
    effect_reply(request->core, request->input, response);
}

static int by_number(const void *a, const void *b)
{
    uint32_t one = (*(struct system *const *)a)->state.number;
    uint32_t other = (*(struct system *const *)b)->state.number;
    return one < other ? -1 : one > other;
}

void on_system_list(struct request *request)
{
    const struct map *map = &request->core->systems;
    owned(free) struct system **systems = memory_new(map_count(map) * sizeof(*systems));
    size_t count = 0, cursor = 0;

    for (struct system *system; (system = map_next(map, &cursor));)
        systems[count++] = system;
    qsort(systems, count, sizeof(*systems), by_number);
    answer_system(request, systems, count);
}

struct system *system_target(struct request *request, const char *name)
{
    struct system *system = core_system_named(request->core, name);

    if (!system)
        refuse(request, 0, "E_SYSTEM", EXIT_STATE, NULL,
               text_format("there is no system '%s'", name));
    return system;
}

void on_system_show(struct request *request)
{
    struct system *system = system_target(request, request->message->system_show->name);

    if (system)
        answer_system(request, &system, 1);
}

void on_system_fault(struct request *request)
{
    const Wafer__SystemFaultRequest *asked = request->message->system_fault;

    struct system *system = system_target(request, asked->name);
    if (!system)
        return;
    if (!system->host->link) {
        refuse(request, 0, "E_STATE", EX_TEMPFAIL, NULL,
               text_format("the host of %s is not connected", asked->name));
        return;
    }
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__InjectFault fault = WAFER__INJECT_FAULT__INIT;
    /* Its state changes with what the agent then says; who did it is known from here. */
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__SystemState next = system->state;
    owned(free) char *text = text_format(
        "%s: %s", asked->name, asked->has_heal && asked->heal ? "healed" : "a crash is injected");
    record.kind = WAFER__RECORD_KIND__SYSTEM_CHANGED;
    record.system = &next;
    record.text = text;
    SET(&record, uid, request->uid);
    core_record(request->core, &record);
    fault.system = asked->name;
    fault.kind = asked->has_heal && asked->heal ? WAFER__INJECT_FAULT__KIND__HEAL
                                                : WAFER__INJECT_FAULT__KIND__CRASH;
    fault.for_ = asked->for_;
    message.fault = &fault;
    effect_agent(request->core, system->host, &message);
    answer_system(request, &system, 1);
}

void on_system_drain(struct request *request)
{
    const Wafer__SystemDrainRequest *asked = request->message->system_drain;

    struct system *system = system_target(request, asked->name);
    if (!system)
        return;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__SystemState next = system->state;
    SET(&next, drained, asked->drained);
    /* Why it is drained outlives what becomes of its state meanwhile. */
    next.drain_reason = asked->drained ? asked->reason : NULL;
    UNSET(&next, drained_us);
    if (asked->drained)
        SET(&next, drained_us, request->core->now_us);
    record.kind = WAFER__RECORD_KIND__SYSTEM_CHANGED;
    record.system = &next;
    SET(&record, uid, request->uid);
    owned(free) char *text =
        text_format("%s is %s%s%s", next.name, asked->drained ? "drained" : "no longer drained",
                    asked->reason ? ": " : "", asked->reason ? asked->reason : "");
    record.text = text;
    core_record(request->core, &record);
    answer_system(request, &system, 1);
}

/* ---- queues ---- */

static void count_jobs(const struct core *core, const struct pool *pool, Wafer__Queue *ret)
{
    size_t cursor = 0;

    ret->has_pending = ret->has_held = ret->has_running = true;
    for (struct job *job; (job = map_next(&core->jobs, &cursor));) {
        if (job_pool(core, job) != pool)
            continue;
        ret->pending += job->state.state == WAFER__JOB__STATE__PENDING;
        ret->held += job->state.state == WAFER__JOB__STATE__HELD;
        ret->running += job_has_systems(job);
    }
}

static void count_systems(const struct core *core, const struct pool *pool, Wafer__Queue *ret)
{
    size_t cursor = 0;

    ret->has_systems = ret->has_busy = ret->has_free = ret->has_drained = ret->has_down = true;
    for (struct system *system; (system = map_next(&core->systems, &cursor));) {
        if (system->pool != pool)
            continue;
        ret->systems++;
        if (system->job)
            ret->busy++;
        else if (system->state.drained)
            ret->drained++;
        else if (system->state.state == WAFER__SYSTEM__STATE__UP)
            ret->free++;
        else
            ret->down++;
    }
}

static Wafer__Queue *view_queue(const struct core *core, const struct pool *pool)
{
    Wafer__Queue *view = NEW(Wafer__Queue);

    wafer__queue__init(view);
    view->name = text_copy(pool->name);
    view->pool = text_copy(pool->name);
    view->platform = text_copy(pool->platform);
    SET(view, stopped, pool->stopped);
    for (size_t i = 0; i < core->queue_count; i++) {
        const Wafer__QueueState *state = &core->queues[i].state;
        if (strcmp(state->name, pool->name) != 0)
            continue;
        view->reason = text_copy(state->reason);
        if (state->has_since_us)
            view->since = view_time(state->since_us);
    }
    const struct quota_limits *limits = &pool->quota.limits;
    if (limits->systems != QUOTA_UNLIMITED)
        SET(view, systems_max, limits->systems);
    if (limits->pending != QUOTA_UNLIMITED)
        SET(view, pending_max, limits->pending);
    if (limits->array != QUOTA_UNLIMITED)
        SET(view, array_max, limits->array);
    if (limits->limit_max_us != INT64_MAX)
        SET(view, limit_max_s, limits->limit_max_us / SECOND_US);
    if (limits->limit_default_us)
        SET(view, limit_default_s, limits->limit_default_us / SECOND_US);
    count_jobs(core, pool, view);
    count_systems(core, pool, view);
    return view;
}

static void answer_queues(struct request *request, const struct pool *pools, size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_QUEUES);
    Wafer__QueueList *list = response->queues = NEW(Wafer__QueueList);

    wafer__queue_list__init(list);
    list->schema = text_copy("wafer.queue.list/v1");
    list->generated_at = view_time(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, false);
    list->n_items = count;
    list->items = memory_new(count * sizeof(*list->items));
    for (size_t i = 0; i < count; i++)
        list->items[i] = view_queue(request->core, &pools[i]);
    effect_reply(request->core, request->input, response);
}

static struct pool *queue_target(struct request *request, const char *name)
{
    struct pool *pool = core_pool(request->core, name);

    if (!pool)
        refuse(request, 0, "E_QUEUE", EXIT_STATE, "queue",
               text_format("there is no queue '%s' here", name));
    return pool;
}

void on_queue_list(struct request *request)
{
    const char *name = request->message->queue_list->name;
    const struct pool *pool = name ? queue_target(request, name) : request->core->pools;

    if (pool)
        answer_queues(request, pool, name ? 1 : request->core->pool_count);
}

void on_queue(struct request *request)
{
    const Wafer__QueueRequest *asked = request->message->queue;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__QueueState next = WAFER__QUEUE_STATE__INIT;

    const struct pool *pool = queue_target(request, asked->name);
    if (!pool)
        return;
    next.name = asked->name;
    next.stopped = asked->stopped;
    next.reason = asked->stopped ? asked->reason : NULL;
    SET(&next, since_us, request->core->now_us);
    record.kind = WAFER__RECORD_KIND__QUEUE_CHANGED;
    record.queue = &next;
    SET(&record, uid, request->uid);
    owned(free) char *text =
        text_format("queue %s is %s%s%s", asked->name, asked->stopped ? "stopped" : "started",
                    next.reason ? ": " : "", next.reason ? next.reason : "");
    record.text = text;
    core_record(request->core, &record);
    answer_queues(request, pool, 1);
}

/* Each once, though several bindings may give it. */
static void add_roles(const struct rights *rights, Wafer__Whoami *ret)
{
    ret->roles = memory_new(rights->count * sizeof(*ret->roles) + 1);
    for (size_t i = 0; i < rights->count; i++) {
        const char *role = rights_role(rights, i);
        bool known = false;
        for (size_t j = 0; j < ret->n_roles && !known; j++)
            known = strcmp(ret->roles[j], role) == 0;
        if (!known)
            ret->roles[ret->n_roles++] = text_copy(role);
    }
}

/* What the rules of the site say of this user. */
static void add_quota(const struct request *request, Wafer__Whoami__Limits *ret)
{
    const struct quota_party party = { .uid = request->uid };
    struct quota_limits limits[QUOTA_KINDS];

    quotas_limits(request->core, &party, limits);
    const struct quota_limits *own = &limits[QUOTA_USER];
    if (own->systems != QUOTA_UNLIMITED)
        SET(ret, systems_at_once, own->systems);
    if (own->pending != QUOTA_UNLIMITED)
        SET(ret, pending, own->pending);
    if (own->array < ret->array_elements)
        ret->array_elements = own->array;
    if (own->limit_max_us != INT64_MAX)
        SET(ret, limit_max_s, own->limit_max_us / SECOND_US);
    if (own->limit_default_us)
        SET(ret, limit_default_s, own->limit_default_us / SECOND_US);
}

void on_whoami(struct request *request)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_WHOAMI);
    Wafer__Whoami *view = response->whoami = NEW(Wafer__Whoami);

    wafer__whoami__init(view);
    SET(view, uid, request->uid);
    SET(view, gid, request->input->request.subject.gid);
    add_roles(request->rights, view);
    view->role = text_copy(request->input->request.subject.role);
    SET(view, clearance, rights_clearance(request->rights));
    view->limits = NEW(Wafer__Whoami__Limits);
    wafer__whoami__limits__init(view->limits);
    SET(view->limits, connections, LIMIT_CONNECTIONS_PER_UID);
    SET(view->limits, job_file_bytes, LIMIT_JOB_FILE_BYTES);
    SET(view->limits, array_elements, LIMIT_ARRAY_ELEMENTS);
    SET(view->limits, systems, LIMIT_SYSTEMS);
    SET(view->limits, string_bytes, LIMIT_STRING_BYTES);
    add_quota(request, view->limits);
    effect_reply(request->core, request->input, response);
}

void on_version(struct request *request)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_VERSION);

    response->version = NEW(Wafer__VersionItem);
    wafer__version_item__init(response->version);
    response->version->schema = text_copy("wafer.version/v1");
    response->version->client = text_copy("");
    response->version->server = text_copy(request->core->config.version);
    SET(response->version, protocol, request->core->config.protocol);
    effect_reply(request->core, request->input, response);
}
