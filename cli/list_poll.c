#include "cli/list_poll.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/list_watch.h"
#include "cli/output.h"
#include "model/message.h"

struct poller {
    const struct command *command;
    const struct noun *noun;
    void (*print)(const struct command *command, const ProtobufCMessage *list);
    Wafer__Response *last; /* what was told */
};

/* Whatever its body is, it is a message and a list. */
static ProtobufCMessage *list_of(const Wafer__Response *response)
{
    return (ProtobufCMessage *)response->error;
}

static ProtobufCMessage **items_of(const Wafer__Response *response, size_t *ret_count)
{
    *ret_count = 0;
    return response ? noun_items(list_of(response), ret_count) : NULL;
}

static ProtobufCMessage *find_item(const struct poller *poller, const Wafer__Response *response,
                                   const ProtobufCMessage *wanted)
{
    size_t count;
    ProtobufCMessage **items = items_of(response, &count);
    owned(free) char *name = poller->noun->name(wanted);

    for (size_t i = 0; i < count; i++) {
        owned(free) char *other = poller->noun->name(items[i]);
        if (strcmp(name, other) == 0)
            return items[i];
    }
    return NULL;
}

static void tell_gone(const struct poller *poller, const ProtobufCMessage *item)
{
    owned(free) char *name = poller->noun->name(item);
    Wafer__Removal removal = WAFER__REMOVAL__INIT;

    removal.event = (char *)"removed";
    removal.name = name;
    if (command_is_json(poller->command))
        output_json_line(&removal.base);
}

static void tell_changes(const struct poller *poller, const Wafer__Response *response)
{
    size_t count;
    ProtobufCMessage **items = items_of(response, &count);

    for (size_t i = 0; i < count; i++) {
        const ProtobufCMessage *before = find_item(poller, poller->last, items[i]);
        if ((before && message_is_equal(before, items[i])) ||
            noun_print_item(poller->command, poller->noun, items[i], true))
            continue;
        owned(free) char *sentence = poller->noun->sentence(items[i]);
        output_line(poller->command, "%s", sentence);
    }
    items = items_of(poller->last, &count);
    for (size_t i = 0; i < count; i++)
        if (!find_item(poller, response, items[i]))
            tell_gone(poller, items[i]);
}

static void show_list(const struct poller *poller, Wafer__Response *response)
{
    ProtobufCMessage *list = list_of(response);

    screen_clear(&poller->command->out);
    if (!noun_print_list(poller->command, poller->noun, list))
        poller->print(poller->command, list);
}

static int watch(struct poller *poller, struct connection **connection, Wafer__Request *request,
                 bit_set body)
{
    int64_t interval_us;
    int exit = list_watch_interval(poller->command, &interval_us);

    while (!exit) {
        Wafer__Response *response = NULL;
        exit = connection_call_again(connection, request, body, &response);
        if (exit)
            break;
        if (list_is_drawn(poller->command))
            show_list(poller, response);
        else
            tell_changes(poller, response);
        if (poller->last)
            response_free(poller->last);
        poller->last = response;
        if (!output_flush())
            break;
        connection_pause(*connection, interval_us);
    }
    if (poller->last)
        response_free(poller->last);
    return exit;
}

int list_poll(const struct command *command, const struct noun *noun, Wafer__Request *request,
              bit_set body,
              void (*print)(const struct command *command, const ProtobufCMessage *list))
{
    struct poller poller = { .command = command, .noun = noun, .print = print };
    owned(connection_close) struct connection *connection = NULL;
    owned(response_free) Wafer__Response *response = NULL;
    int exit = noun_check_columns(command, noun);

    if (!exit)
        exit = connection_open(command, &connection);
    if (!exit && command_has(command, FLAG_WATCH))
        return watch(&poller, &connection, request, body);
    if (!exit)
        exit = connection_call(connection, request, body, &response);
    if (!exit && !noun_print_list(command, noun, list_of(response)))
        print(command, list_of(response));
    return exit;
}
