#include "cli/list_poll.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/list_watch.h"
#include "cli/output.h"

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

static bool is_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t size = protobuf_c_message_get_packed_size(a);

    if (protobuf_c_message_get_packed_size(b) != size)
        return false;
    owned(free) uint8_t *one = memory_new(size + 1);
    owned(free) uint8_t *other = memory_new(size + 1);
    protobuf_c_message_pack(a, one);
    protobuf_c_message_pack(b, other);
    return memcmp(one, other, size) == 0;
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
        if ((before && is_same(before, items[i])) ||
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

int list_poll(const struct command *command, const struct noun *noun,
              struct connection **connection, Wafer__Request *request, uint64_t body,
              void (*print)(const struct command *command, const ProtobufCMessage *list))
{
    struct poller poller = { .command = command, .noun = noun, .print = print };
    int64_t interval_us;
    int exit = list_watch_interval(command, &interval_us);

    while (!exit) {
        Wafer__Response *response = NULL;
        exit = connection_call_again(connection, request, body, &response);
        if (exit)
            break;
        if (list_is_drawn(command))
            show_list(&poller, response);
        else
            tell_changes(&poller, response);
        if (poller.last)
            response_free(poller.last);
        poller.last = response;
        if (!output_flush())
            break;
        connection_pause(*connection, interval_us);
    }
    if (poller.last)
        response_free(poller.last);
    return exit;
}
