/* Systems and queues. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

/* ---- systems and queues ---- */

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

static struct system *system_target(struct request *request, const char *name)
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
    next.reason = asked->reason;
    next.since_us = request->core->now_us;
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

void on_queue(struct request *request)
{
    const Wafer__QueueRequest *asked = request->message->queue;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__QueueState next = WAFER__QUEUE_STATE__INIT;

    if (!core_pool(request->core, asked->name)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "queue",
               text_format("there is no queue '%s' here", asked->name));
        return;
    }
    next.name = asked->name;
    next.stopped = asked->stopped;
    record.kind = WAFER__RECORD_KIND__QUEUE_CHANGED;
    record.queue = &next;
    SET(&record, uid, request->uid);
    owned(free) char *text =
        text_format("queue %s is %s", asked->name, asked->stopped ? "stopped" : "started");
    record.text = text;
    core_record(request->core, &record);
    answer_system(request, NULL, 0);
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
