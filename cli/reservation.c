/* reservation — the verbs of `wafer resv`. */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/connection.h"
#include "cli/list_poll.h"
#include "cli/message.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cli/user.h"
#include "model/calendar.h"

static const Wafer__Time *next_from(const Wafer__Reservation *item)
{
    return item->n_windows ? item->windows[0]->from : NULL;
}

static const Wafer__Time *next_until(const Wafer__Reservation *item)
{
    return item->n_windows ? item->windows[0]->until : NULL;
}

/* "s1,s2", "host h1", "all of wafer". */
static char *places_of(const Wafer__Reservation *item)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < item->n_systems; i++)
        buffer_format(&text, "%s%s", text.length ? "," : "", item->systems[i]);
    for (size_t i = 0; i < item->n_hosts; i++)
        buffer_format(&text, "%shost %s", text.length ? "," : "", item->hosts[i]);
    if (!text.length)
        buffer_format(&text, "all of %s", item->pool ? item->pool : "the pool");
    return buffer_text(&text);
}

static char *users_of(const Wafer__Reservation *item)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < item->n_uids; i++)
        buffer_format(&text, "%s%s", i ? "," : "", user_name(item->uids[i]));
    return buffer_text(&text);
}

static void print_plain(const ProtobufCMessage *message)
{
    const Wafer__Reservation *item = (const Wafer__Reservation *)message;
    owned(free) char *places = places_of(item);
    owned(free) char *users = users_of(item);
    owned(free) char *when = item->calendar ? calendar_text(item->calendar) : NULL;
    struct record record = { 0 };

    output_text(&record, item->name);
    output_text(&record, item->pool);
    output_text(&record, places);
    output_number(&record, item->has_count, item->count);
    output_text(&record, users);
    output_time(&record, next_from(item));
    output_time(&record, next_until(item));
    output_text(&record, when);
    output_text(&record, item->reason);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(((const Wafer__Reservation *)item)->name);
}

static char *sentence_of(const ProtobufCMessage *message)
{
    const Wafer__Reservation *item = (const Wafer__Reservation *)message;
    char from[TIMESTAMP_TEXT_SIZE] = "never";

    if (next_from(item))
        timestamp_format(next_from(item)->us, from);
    return text_format("reservation %s: next window %s", item->name, from);
}

const struct noun reservation_noun = {
    .item_schema = "wafer.reservation/v1",
    .list_schema = "wafer.reservation.list/v1",
    .type = &wafer__reservation__descriptor,
    .envelope = &wafer__reservation_item__descriptor,
    .name = name_of,
    .plain = print_plain,
    .sentence = sentence_of,
};

static void cell_time(struct table *table, const struct command *command, const Wafer__Time *time)
{
    table_cell(table, STYLE_NONE, time ? units_time(time->us, command->utc).text : NULL);
}

static void print_table(const struct command *command, const ProtobufCMessage *message)
{
    const Wafer__ReservationList *list = (const Wafer__ReservationList *)message;
    static const struct column columns[] = {
        { "NAME", 0, 0, false },    { "SYSTEMS", 16, 0, false }, { "FOR", 12, 3, false },
        { "NEXT", 0, 0, false },    { "UNTIL", 0, 2, false },    { "WHEN", 16, 4, false },
        { "REASON", 16, 5, false },
    };
    owned(table_free) struct table *table = table_new(columns, ELEMENTS(columns), &command->out);

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Reservation *item = list->items[i];
        owned(free) char *places = places_of(item);
        owned(free) char *users = users_of(item);
        owned(free) char *when = item->calendar ? calendar_text(item->calendar) : NULL;
        table_cell(table, STYLE_NONE, item->name);
        table_cell(table, STYLE_NONE, places);
        table_cell(table, STYLE_NONE, item->n_uids ? users : "maintenance");
        cell_time(table, command, next_from(item));
        cell_time(table, command, next_until(item));
        table_cell(table, STYLE_NONE, when);
        table_cell(table, STYLE_NONE, item->reason);
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
    output_line(command, "%zu reservation%s", list->n_items, list->n_items == 1 ? "" : "s");
}

int run_resv_ls(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationListRequest body = WAFER__RESERVATION_LIST_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_RESERVATION_LIST;
    request.reservation_list = &body;
    return list_poll(command, &reservation_noun, &request, BIT(WAFER__RESPONSE__BODY_RESERVATIONS),
                     print_table);
}

static int call_for_one(const struct command *command, Wafer__Request *request,
                        void (*print)(const struct command *, const Wafer__Reservation *))
{
    owned(response_free) Wafer__Response *response = NULL;
    int exit = noun_check_columns(command, &reservation_noun);

    if (!exit)
        exit = connection_ask(command, request, BIT(WAFER__RESPONSE__BODY_RESERVATIONS), &response);
    for (size_t i = 0; !exit && i < response->reservations->n_items; i++) {
        const Wafer__Reservation *item = response->reservations->items[i];
        if (!noun_print_item(command, &reservation_noun, &item->base, false) &&
            !command_has(command, FLAG_QUIET))
            print(command, item);
    }
    return exit;
}

/* ---- new ---- */

static void print_new(const struct command *command, const Wafer__Reservation *item)
{
    owned(free) char *places = places_of(item);
    owned(free) char *when = item->calendar ? calendar_text(item->calendar) : NULL;

    output_line(command, "reservation %s: %s, %s (%" PRIu32 " system%s)", item->name, places,
                when ? when : "-", item->count, item->count == 1 ? "" : "s");
    for (size_t i = 0; i < item->n_running; i++)
        output_line(command, "job %" PRIu64 " runs there and goes on to its end", item->running[i]);
}

/* The words of a flag between commas; the array and its first word are the caller's. */
static char **words_of(const struct command *command, enum flag_id flag, size_t *ret_count)
{
    const char *text = command->values[flag];
    char *rest = text_copy(text ? text : ""), **words = NULL;
    size_t capacity = 0;

    *ret_count = 0;
    for (char *word; (word = strsep(&rest, ","));) {
        ARRAY_RESERVE(words, *ret_count, capacity);
        words[(*ret_count)++] = word;
    }
    if (!text)
        *ret_count = 0;
    return words;
}

static void words_free(char **words)
{
    if (words)
        free(words[0]);
    free(words);
}
OWNED_DEFINE(words_free, char **);

static int find_uid(const struct command *command, const char *name, uint32_t *ret)
{
    const struct passwd *user = getpwnam(name);
    uint64_t number;

    if (user)
        *ret = user->pw_uid;
    else if (number_parse_whole(name, UINT32_MAX - 1, &number) == 0)
        *ret = (uint32_t)number;
    else
        return message_fail(command, EXIT_USAGE, "--users: there is no user '%s'", name);
    return 0;
}

static int find_value(const struct command *command, enum flag_id flag,
                      const ProtobufCEnumDescriptor *type, const char *word, int *ret)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(type, word);
    owned(buffer_done) struct buffer names = BUFFER_EMPTY;

    for (size_t i = 0; i < type->n_values; i++)
        buffer_format(&names, "%s%s", i ? ", " : "", type->values[i].name);
    owned(free) char *known = buffer_text(&names);
    if (!value)
        return message_fail(command, EXIT_USAGE, "--%s: '%s' is none of %s", flags[flag].name, word,
                            known);
    *ret = value->value;
    return 0;
}

/* What the flags say of when; `days` has room for all that --on names. */
static int read_calendar(const struct command *command, Wafer__Calendar *calendar,
                         Wafer__Calendar__Weekday *days, char *const *on, size_t on_count)
{
    int exit = 0, value = WAFER__CALENDAR__EVERY__once;

    calendar->start = (char *)command->values[FLAG_WINDOW_START];
    calendar->zone = (char *)command->values[FLAG_ZONE];
    if (!calendar->start || !command_has(command, FLAG_WINDOW))
        return message_fail(command, EXIT_USAGE, "when: --start TIME and --for DUR say it");
    exit = command_duration(command, FLAG_WINDOW, &calendar->duration->us);
    if (!exit && command_has(command, FLAG_EVERY))
        exit = find_value(command, FLAG_EVERY, &wafer__calendar__every__descriptor,
                          command->values[FLAG_EVERY], &value);
    calendar->every = (Wafer__Calendar__Every)value;
    calendar->on = days;
    for (size_t i = 0; !exit && i < on_count; i++) {
        exit = find_value(command, FLAG_ON, &wafer__calendar__weekday__descriptor, on[i], &value);
        days[calendar->n_on++] = (Wafer__Calendar__Weekday)value;
    }
    if (!exit && command_has(command, FLAG_UNTIL)) {
        struct diag diag;
        if (timestamp_parse(command->values[FLAG_UNTIL], &calendar->until->us, &diag) < 0)
            return message_fail(command, EXIT_USAGE, "--until: %s", diag.text);
    } else {
        calendar->until = NULL;
    }
    return exit;
}

int run_resv_new(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationNewRequest body = WAFER__RESERVATION_NEW_REQUEST__INIT;
    Wafer__Calendar calendar = WAFER__CALENDAR__INIT;
    Wafer__Duration duration = WAFER__DURATION__INIT;
    Wafer__Time until = WAFER__TIME__INIT;
    size_t on_count, user_count;
    owned(words_free) char **on = words_of(command, FLAG_ON, &on_count);
    owned(words_free) char **users = words_of(command, FLAG_USERS, &user_count);
    owned(words_free) char **systems = words_of(command, FLAG_OF_SYSTEMS, &body.n_systems);
    owned(words_free) char **hosts = words_of(command, FLAG_HOSTS, &body.n_hosts);
    owned(free) Wafer__Calendar__Weekday *days = memory_new((on_count + 1) * sizeof(*days));
    owned(free) uint32_t *uids = memory_new((user_count + 1) * sizeof(*uids));

    calendar.duration = &duration;
    calendar.until = &until;
    int exit = read_calendar(command, &calendar, days, on, on_count);
    for (size_t i = 0; !exit && i < user_count; i++)
        exit = find_uid(command, users[i], &uids[i]);
    if (exit)
        return exit;
    body.name = (char *)command->targets[0];
    body.pool = (char *)command->values[FLAG_OF_POOL];
    body.systems = systems;
    body.hosts = hosts;
    body.uids = uids;
    body.n_uids = user_count;
    body.calendar = &calendar;
    body.reason = (char *)command->values[FLAG_REASON];
    body.has_force = body.force = command_has(command, FLAG_FORCE);
    request.body_case = WAFER__REQUEST__BODY_RESERVATION_NEW;
    request.reservation_new = &body;
    return call_for_one(command, &request, print_new);
}

/* ---- rm ---- */

static void print_removed(const struct command *command, const Wafer__Reservation *item)
{
    output_line(command, "reservation %s: removed", item->name);
}

int run_resv_rm(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationRemoveRequest body = WAFER__RESERVATION_REMOVE_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_RESERVATION_REMOVE;
    request.reservation_remove = &body;
    return call_for_one(command, &request, print_removed);
}
