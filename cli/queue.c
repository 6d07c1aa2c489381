/* queue — the verbs of `wafer queue`. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/list_poll.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/units.h"

static const char *state_name(const Wafer__Queue *queue)
{
    return queue->stopped ? "stopped" : "started";
}

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Queue *queue = (const Wafer__Queue *)item;
    struct record record = { 0 };

    output_text(&record, queue->name);
    output_text(&record, queue->pool);
    output_text(&record, queue->platform);
    output_text(&record, state_name(queue));
    output_number(&record, queue->has_pending, queue->pending);
    output_number(&record, queue->has_held, queue->held);
    output_number(&record, queue->has_running, queue->running);
    output_number(&record, queue->has_systems, queue->systems);
    output_number(&record, queue->has_busy, queue->busy);
    output_number(&record, queue->has_free, queue->free);
    output_number(&record, queue->has_drained, queue->drained);
    output_number(&record, queue->has_down, queue->down);
    output_time(&record, queue->since);
    output_text(&record, queue->reason);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(((const Wafer__Queue *)item)->name);
}

static char *sentence_of(const ProtobufCMessage *item)
{
    const Wafer__Queue *queue = (const Wafer__Queue *)item;

    return text_format("queue %s: %s, %" PRIu64 " pending, %" PRIu64 " held, %" PRIu64 " running",
                       queue->name, state_name(queue), queue->pending, queue->held, queue->running);
}

const struct noun queue_noun = {
    .item_schema = "wafer.queue/v1",
    .list_schema = "wafer.queue.list/v1",
    .type = &wafer__queue__descriptor,
    .envelope = &wafer__queue_item__descriptor,
    .name = name_of,
    .plain = print_plain,
    .sentence = sentence_of,
};

static void print_table(const struct command *command, const ProtobufCMessage *message)
{
    const Wafer__QueueList *list = (const Wafer__QueueList *)message;
    static const struct column columns[] = {
        { "QUEUE", 0, 0, false },   { "PLATFORM", 8, 4, false }, { "STATE", 0, 0, false },
        { "PENDING", 0, 0, true },  { "HELD", 0, 3, true },      { "RUNNING", 0, 0, true },
        { "SYSTEMS", 0, 2, false }, { "MAX LIMIT", 0, 5, true }, { "REASON", 16, 0, false },
    };
    owned(table_free) struct table *table = table_new(columns, ELEMENTS(columns), &command->out);

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Queue *queue = list->items[i];

        table_cell(table, STYLE_NONE, queue->name);
        table_cell(table, STYLE_NONE, queue->platform);
        table_cell(table, queue->stopped ? STYLE_BAD : STYLE_NONE, state_name(queue));
        table_format(table, STYLE_NONE, "%" PRIu64, queue->pending);
        table_format(table, STYLE_NONE, "%" PRIu64, queue->held);
        table_format(table, STYLE_NONE, "%" PRIu64, queue->running);
        table_format(table, STYLE_NONE, "%" PRIu32 " of %" PRIu32 " free", queue->free,
                     queue->systems);
        table_cell(table, STYLE_NONE,
                   queue->has_limit_max_s ? units_seconds(queue->limit_max_s).text : NULL);
        table_cell(table, STYLE_NONE, queue->reason);
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
    output_line(command, "%zu queue%s", list->n_items, list->n_items == 1 ? "" : "s");
}

static void print_page(const struct command *command, const Wafer__Queue *queue)
{
    page_heading(command, queue->stopped ? STYLE_BAD : STYLE_NONE, "queue %s  %s", queue->name,
                 state_name(queue));
    page_field(command, "pool", queue->pool);
    page_field(command, "platform", queue->platform);
    if (queue->since)
        page_time(command, "since", queue->since);
    if (queue->reason)
        page_field(command, "reason", queue->reason);
    page_format(command, "jobs", "%" PRIu64 " pending, %" PRIu64 " held, %" PRIu64 " running",
                queue->pending, queue->held, queue->running);
    page_format(command, "systems",
                "%" PRIu32 " = %" PRIu32 " busy + %" PRIu32 " free + %" PRIu32 " drained + %" PRIu32
                " down",
                queue->systems, queue->busy, queue->free, queue->drained, queue->down);
    if (queue->has_systems_max)
        page_format(command, "at once", "%" PRIu32 " systems", queue->systems_max);
    if (queue->has_pending_max)
        page_format(command, "waiting", "at most %" PRIu32 " jobs", queue->pending_max);
    if (queue->has_array_max)
        page_format(command, "arrays", "of at most %" PRIu32 " elements", queue->array_max);
    if (queue->has_limit_max_s)
        page_format(command, "limit", "at most %s", units_seconds(queue->limit_max_s).text);
    if (queue->has_limit_default_s)
        page_format(command, "default", "limit of %s", units_seconds(queue->limit_default_s).text);
}

static void print_change(const struct command *command, const Wafer__Queue *queue)
{
    if (!command_has(command, FLAG_QUIET))
        output_line(command, "queue %s: %s%s%s", queue->name, state_name(queue),
                    queue->reason ? ": " : "", queue->reason ? queue->reason : "");
}

static int call_for_one(const struct command *command, Wafer__Request *request,
                        void (*print)(const struct command *, const Wafer__Queue *))
{
    owned(response_free) Wafer__Response *response = NULL;
    int exit = noun_check_columns(command, &queue_noun);

    if (!exit)
        exit = connection_ask(command, request, BIT(WAFER__RESPONSE__BODY_QUEUES), &response);
    for (size_t i = 0; !exit && i < response->queues->n_items; i++) {
        const Wafer__Queue *queue = response->queues->items[i];
        if (!noun_print_item(command, &queue_noun, &queue->base, false))
            print(command, queue);
    }
    return exit;
}

int run_queue_ls(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__QueueListRequest body = WAFER__QUEUE_LIST_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_QUEUE_LIST;
    request.queue_list = &body;
    return list_poll(command, &queue_noun, &request, BIT(WAFER__RESPONSE__BODY_QUEUES),
                     print_table);
}

int run_queue_show(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__QueueListRequest body = WAFER__QUEUE_LIST_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    request.body_case = WAFER__REQUEST__BODY_QUEUE_LIST;
    request.queue_list = &body;
    return call_for_one(command, &request, print_page);
}

static int change(const struct command *command, bool stopped)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__QueueRequest body = WAFER__QUEUE_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    body.stopped = stopped;
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_QUEUE;
    request.queue = &body;
    return call_for_one(command, &request, print_change);
}

int run_queue_stop(const struct command *command)
{
    return change(command, true);
}

int run_queue_start(const struct command *command)
{
    return change(command, false);
}
