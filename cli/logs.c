#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cli/connection.h"
#include "cli/log_lines.h"
#include "cli/message.h"
#include "cli/moment.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/text.h"
#include "cli/watch.h"
#include "model/job.h"

static int read_attempt(const struct command *command, Wafer__Target *target)
{
    const char *text = command->values[FLAG_ATTEMPT];
    uint64_t attempt;

    if (!text)
        return 0;
    if (strcmp(text, "all") == 0) {
        target->has_attempt = false;
        return 0;
    }
    if (number_parse_whole(text, UINT32_MAX, &attempt) < 0 || attempt == 0)
        return message_fail(command, EXIT_USAGE, "--attempt: '%s' is no attempt: 1, 2, ... or all",
                            text);
    target->has_attempt = true;
    target->attempt = (uint32_t)attempt;
    return 0;
}

struct log_reader {
    const struct command *command;
    Wafer__LogsRequest *body;
    struct text_filter filter;
    struct log_lines lines; /* --since */
};

static void print_bytes(struct log_reader *reader, const uint8_t *bytes, size_t count)
{
    const struct command *command = reader->command;

    if (!command->out.is_terminal || command_has(command, FLAG_RAW)) {
        fwrite(bytes, 1, count, stdout);
        return;
    }
    size_t length;
    owned(free) char *shown =
        text_filter(&reader->filter, bytes, count, command->out.is_utf8, &length);
    fwrite(shown, 1, length, stdout);
}

static void print_text(struct log_reader *reader, const Wafer__LogChunk *chunk)
{
    owned(buffer_done) struct buffer newer = BUFFER_EMPTY;

    if (!command_has(reader->command, FLAG_SINCE)) {
        print_bytes(reader, chunk->text.data, chunk->text.len);
        return;
    }
    log_lines_take(&reader->lines, chunk->text.data, chunk->text.len, &newer);
    print_bytes(reader, buffer_data(&newer), newer.length);
}

/* Two hours ago are two of the cluster, which any list tells the time of. */
static int read_since(const struct command *command, struct connection *connection, int64_t *ret_us)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ListRequest body = WAFER__LIST_REQUEST__INIT;
    struct moment since;
    int exit = moment_read(command, FLAG_SINCE, &since);

    *ret_us = since.us;
    if (exit || !since.is_ago)
        return exit;
    body.has_limit = true;
    request.body_case = WAFER__REQUEST__BODY_LIST;
    request.list = &body;
    exit = connection_call(connection, &request, BIT(WAFER__RESPONSE__BODY_JOBS), &response);
    if (!exit)
        *ret_us = (response->jobs->generated_at ? response->jobs->generated_at->us : 0) - since.us;
    return exit;
}

static void print_chunk(struct log_reader *reader, const Wafer__LogChunk *chunk)
{
    if (chunk->has_missed_bytes && chunk->missed_bytes)
        message_note(reader->command, "%" PRIu64 " bytes were missed: this reader was too slow",
                     chunk->missed_bytes);
    if (!chunk->has_text || !chunk->text.len)
        return;
    print_text(reader, chunk);
    /* Where a stream that begins again goes on. */
    reader->body->has_from_attempt = reader->body->has_from_offset = chunk->has_offset;
    reader->body->from_attempt = chunk->attempt;
    reader->body->from_offset = chunk->offset + chunk->text.len;
}

static int ask(const struct log_reader *reader, struct connection *connection)
{
    Wafer__Request request = WAFER__REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_LOGS;
    request.logs = reader->body;
    return connection_send(connection, &request);
}

/* A controller that starts again while it is followed is waited for; what came before is not
 * repeated. */
static int ask_again(const struct log_reader *reader, struct connection **connection)
{
    if (!reader->body->follow ||
        connection_reopen(connection, watch_deadline_us(reader->command)) != NEXT_RESPONSE)
        return connection_gone(*connection);
    return ask(reader, *connection);
}

/* Until the stream ends. */
static int print_stream(struct log_reader *reader, struct connection **connection)
{
    const struct command *command = reader->command;
    int exit = ask(reader, *connection);

    for (bool more = true; more && !exit;) {
        owned(response_free) Wafer__Response *response = NULL;
        enum next next = connection_next(*connection, watch_deadline_us(command), &response);

        if (next == NEXT_GONE) {
            exit = ask_again(reader, connection);
            continue;
        }
        if (next == NEXT_DEADLINE)
            return message_fail(command, EXIT_WAIT_TIMEOUT, "nothing new within --timeout");
        if (response->body_case == WAFER__RESPONSE__BODY_ERROR)
            return message_refused(command, response->error);
        if (response->body_case == WAFER__RESPONSE__BODY_LOG)
            print_chunk(reader, response->log);
        if (!output_flush())
            return 0;
        more = response->has_more && response->more;
    }
    return exit;
}

int run_logs(const struct command *command)
{
    owned(connection_close) struct connection *connection = NULL;
    Wafer__LogsRequest body = WAFER__LOGS_REQUEST__INIT;
    struct log_reader reader = { .command = command, .body = &body };
    Wafer__Target target;
    int exit = 0;

    if (!command_is_for_people(command) && command->format != FORMAT_PLAIN)
        return message_fail(command, EXIT_USAGE, "logs are text: leave out '-o %s'",
                            command_setting(command, SETTING_OUTPUT)->value);
    exit = target_read(command, command->targets[0], &target);
    if (!exit)
        exit = read_attempt(command, &target);
    if (!exit)
        exit = command_number(command, FLAG_TAIL, INT64_MAX, &body.tail);
    if (!exit)
        exit = connection_open(command, &connection);
    if (!exit)
        exit = read_since(command, connection, &reader.lines.since_us);
    if (exit)
        return exit;

    body.target = &target;
    body.has_follow = body.follow = command_has(command, FLAG_FOLLOW);
    body.has_tail = command_has(command, FLAG_TAIL);
    exit = print_stream(&reader, &connection);
    log_lines_done(&reader.lines);
    /* One attempt of several has no outcome of its own. */
    if (!exit && command_has(command, FLAG_FOLLOW) && !target.has_attempt)
        exit = watch_outcome(command, &connection, &target);
    return exit;
}
