#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/connection.h"
#include "cli/event_line.h"
#include "cli/message.h"
#include "cli/moment.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "cli/watch.h"

#define NEWEST_MAX 10000 /* what the controller gives at once */

struct reader {
    const struct command *command;
    uint64_t last_sequence; /* what was shown already: a stream that begins again repeats it */
    bool has_ended;         /* the job that is followed */
    struct moment since;
    Wafer__EventsRequest *body;
};

static void print_new(struct reader *reader, const Wafer__EventList *events)
{
    const struct command *command = reader->command;

    for (size_t i = 0; i < events->n_items; i++) {
        const Wafer__Event *event = events->items[i];
        if (event->sequence <= reader->last_sequence)
            continue;
        reader->last_sequence = event->sequence;
        reader->has_ended |= reader->body->target && strcmp(event->kind, "JOB_ENDED") == 0;
        if (!noun_print_item(command, &event_noun, &event->base, true))
            event_line_print(command, event, "", !reader->body->target);
    }
}

/* Take out what was before --since. */
static void leave_older(const struct reader *reader, Wafer__EventList *events)
{
    size_t kept = 0;

    for (size_t i = 0; i < events->n_items; i++) {
        if (moment_is_before(&reader->since, events->items[i]->at, events->generated_at))
            events->items[kept++] = events->items[i];
        else
            wafer__event__free_unpacked(events->items[i], NULL);
    }
    if (events->n_items != kept)
        events->has_total = false;
    events->n_items = kept;
}

static int send_request(struct reader *reader, struct connection *connection)
{
    Wafer__Request request = WAFER__REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_EVENTS;
    request.events = reader->body;
    return connection_send(connection, &request);
}

/* All there are, as one document or a record each. */
static int print_once(struct reader *reader, struct connection *connection)
{
    owned(response_free) Wafer__Response *response = NULL;
    int exit = send_request(reader, connection);

    if (!exit)
        exit = connection_receive(connection, &response);
    if (exit)
        return exit;
    if (response->body_case != WAFER__RESPONSE__BODY_EVENTS)
        return message_fail(reader->command, EXIT_PROTOCOL, "the controller sent no events");
    leave_older(reader, response->events);
    if (!noun_print_list(reader->command, &event_noun, &response->events->base))
        print_new(reader, response->events);
    return 0;
}

static int follow(struct reader *reader, struct connection **connection)
{
    int exit = send_request(reader, *connection);

    while (!exit && output_flush()) {
        owned(response_free) Wafer__Response *response = NULL;
        enum next next = connection_next(*connection, -1, &response);

        if (next == NEXT_GONE) {
            next = connection_reopen(connection, -1);
            if (next == NEXT_GONE)
                return connection_gone(*connection);
            exit = send_request(reader, *connection);
            continue;
        }
        if (response->body_case == WAFER__RESPONSE__BODY_ERROR)
            return message_refused(reader->command, response->error);
        if (response->has_missed && response->missed)
            message_note(reader->command,
                         "%" PRIu64 " events were missed: this reader was too slow",
                         response->missed);
        if (response->body_case == WAFER__RESPONSE__BODY_EVENTS) {
            leave_older(reader, response->events);
            print_new(reader, response->events);
        }
        if (!response->has_more || !response->more || reader->has_ended)
            break;
    }
    if (!output_flush() || exit || !reader->body->target)
        return exit;
    return watch_outcome(reader->command, connection, reader->body->target);
}

int run_events(const struct command *command)
{
    owned(connection_close) struct connection *connection = NULL;
    Wafer__EventsRequest body = WAFER__EVENTS_REQUEST__INIT;
    struct reader reader = { .command = command, .body = &body };
    Wafer__Target target;
    uint64_t limit = NEWEST_MAX;
    int exit = command_number(command, FLAG_COUNT, UINT32_MAX, &limit);

    if (!exit)
        exit = moment_read(command, FLAG_SINCE, &reader.since);
    if (!exit)
        exit = noun_check_columns(command, &event_noun);
    if (!exit && command->target_count) {
        exit = target_read(command, command->targets[0], &target);
        body.target = &target;
    }
    if (!exit)
        exit = connection_open(command, &connection);
    if (exit)
        return exit;
    body.has_limit = command_has(command, FLAG_COUNT) || reader.since.is_given;
    body.limit = (uint32_t)limit;
    body.has_follow = body.follow = command_has(command, FLAG_FOLLOW);
    return body.follow ? follow(&reader, &connection) : print_once(&reader, connection);
}
