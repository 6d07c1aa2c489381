/* system — the verbs of `wafer system`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/list_poll.h"
#include "cli/message.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/units.h"
#include "model/bind.h"

static const char *state_name(const Wafer__System *system)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&wafer__system__state__descriptor, (int)system->state);

    return system->has_state && value ? value->name : "-";
}

static enum style state_style(const Wafer__System *system)
{
    return system->has_state && system->state != WAFER__SYSTEM__STATE__UP ? STYLE_BAD : STYLE_NONE;
}

/* Why it is drained, and why it is in the state that it is in: both are worth knowing. */
static char *why_text(const Wafer__System *system)
{
    bool drained = system->drain_reason && *system->drain_reason;
    bool other = system->reason && *system->reason;

    return text_format("%s%s%s", drained ? system->drain_reason : "", drained && other ? "; " : "",
                       other ? system->reason : "");
}

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__System *system = (const Wafer__System *)item;
    owned(free) char *why = why_text(system);
    struct record record = { 0 };

    output_text(&record, system->name);
    output_text(&record, system->pool);
    output_text(&record, system->platform);
    output_text(&record, system->host);
    output_text(&record, state_name(system));
    output_text(&record, system->has_drained ? system->drained ? "yes" : "no" : NULL);
    output_number(&record, system->has_job, system->job);
    output_time(&record, system->since);
    output_text(&record, why);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(((const Wafer__System *)item)->name);
}

static char *sentence_of(const ProtobufCMessage *item)
{
    const Wafer__System *system = (const Wafer__System *)item;
    owned(free) char *why = why_text(system);
    owned(free) char *job = system->has_job ? text_format(", job %" PRIu64, system->job) : NULL;

    return text_format("system %s: %s%s%s%s%s", system->name, state_name(system),
                       system->drained ? " drained" : "", job ? job : "", *why ? ": " : "", why);
}

const struct noun system_noun = {
    .item_schema = "wafer.system/v1",
    .list_schema = "wafer.system.list/v1",
    .type = &wafer__system__descriptor,
    .envelope = &wafer__system_item__descriptor,
    .name = name_of,
    .plain = print_plain,
    .sentence = sentence_of,
};

static void print_table(const struct command *command, const ProtobufCMessage *message)
{
    const Wafer__SystemList *list = (const Wafer__SystemList *)message;
    static const struct column columns[] = {
        { "SYSTEM", 0, 0, false }, { "POOL", 8, 0, false },    { "PLATFORM", 8, 0, false },
        { "HOST", 8, 2, false },   { "STATE", 0, 0, false },   { "JOB", 0, 0, true },
        { "SINCE", 0, 1, false },  { "REASON", 16, 0, false },
    };
    owned(table_free) struct table *table = table_new(columns, ELEMENTS(columns), &command->out);
    size_t busy = 0;

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__System *system = list->items[i];
        owned(free) char *why = why_text(system);

        busy += system->has_job;
        table_cell(table, STYLE_NONE, system->name);
        table_cell(table, STYLE_NONE, system->pool);
        table_cell(table, STYLE_NONE, system->platform);
        table_cell(table, STYLE_NONE, system->host);
        table_format(table, state_style(system), "%s%s", state_name(system),
                     system->drained ? " drained" : "");
        if (system->has_job)
            table_format(table, STYLE_NONE, "%" PRIu64, system->job);
        else
            table_cell(table, STYLE_NONE, NULL);
        table_cell(table, STYLE_NONE,
                   system->since ? units_time(system->since->us, command->utc).text : NULL);
        table_cell(table, STYLE_NONE, why);
    }
    if (list->n_items)
        table_print(table, !command_has(command, FLAG_NO_HEADER));
    output_line(command, "%zu system%s, %zu busy", list->n_items, list->n_items == 1 ? "" : "s",
                busy);
}

static void print_page(const struct command *command, const Wafer__System *system)
{
    page_heading(command, state_style(system), "system %s  %s%s", system->name, state_name(system),
                 system->drained ? " drained" : "");
    page_field(command, "pool", system->pool);
    page_field(command, "platform", system->platform);
    page_field(command, "host", system->host);
    page_time(command, "since", system->since);
    if (system->has_job)
        page_format(command, "job", "%" PRIu64, system->job);
    if (system->reason)
        page_field(command, "reason", system->reason);
    if (system->drained) {
        page_time(command, "drained", system->drained_at);
        page_field(command, "", system->drain_reason);
    }
    if (system->has_speed)
        page_format(command, "speed", "%.1f cluster seconds a second", system->speed);
}

/* The host acts on an order after this answer, so the state is the one before it. */
static void print_order(const struct command *command, const Wafer__System *system,
                        const char *order)
{
    bool has_reason = system->reason && *system->reason;

    if (!command_has(command, FLAG_QUIET))
        output_line(command, "system %s: %s ordered, was %s%s%s", system->name, order,
                    state_name(system), has_reason ? ": " : "", has_reason ? system->reason : "");
}

static void print_crash(const struct command *command, const Wafer__System *system)
{
    print_order(command, system, "crash");
}

static void print_heal(const struct command *command, const Wafer__System *system)
{
    print_order(command, system, "heal");
}

/* What runs there goes on. */
static void print_drain(const struct command *command, const Wafer__System *system)
{
    owned(free) char *job =
        system->has_job ? text_format("; job %" PRIu64 " runs there to its end", system->job)
                        : NULL;

    if (!command_has(command, FLAG_QUIET))
        output_line(
            command, "system %s: %s%s%s%s", system->name,
            system->drained ? "drained" : "no longer drained", system->drain_reason ? ": " : "",
            system->drain_reason ? system->drain_reason : "", job && system->drained ? job : "");
}

static int call_for_one(const struct command *command, Wafer__Request *request,
                        void (*print)(const struct command *, const Wafer__System *))
{
    owned(response_free) Wafer__Response *response = NULL;
    int exit = noun_check_columns(command, &system_noun);

    if (!exit)
        exit = connection_ask(command, request, BIT(WAFER__RESPONSE__BODY_SYSTEMS), &response);
    for (size_t i = 0; !exit && i < response->systems->n_items; i++) {
        const Wafer__System *system = response->systems->items[i];
        if (!noun_print_item(command, &system_noun, &system->base, false))
            print(command, system);
    }
    return exit;
}

int run_system_ls(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemListRequest body = WAFER__SYSTEM_LIST_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_SYSTEM_LIST;
    request.system_list = &body;
    return list_poll(command, &system_noun, &request, BIT(WAFER__RESPONSE__BODY_SYSTEMS),
                     print_table);
}

int run_system_show(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemShowRequest body = WAFER__SYSTEM_SHOW_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    request.body_case = WAFER__REQUEST__BODY_SYSTEM_SHOW;
    request.system_show = &body;
    return call_for_one(command, &request, print_page);
}

int run_system_fault(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemFaultRequest body = WAFER__SYSTEM_FAULT_REQUEST__INIT;
    Wafer__Duration duration = WAFER__DURATION__INIT;

    if (strcmp(command->targets[1], "crash") != 0)
        return message_fail(command, EXIT_USAGE, "'%s' is no fault of this version: crash",
                            command->targets[1]);
    int exit = command_duration(command, FLAG_FOR, &duration.us);
    if (exit)
        return exit;
    body.name = (char *)command->targets[0];
    if (command_has(command, FLAG_FOR))
        body.for_ = &duration;
    request.body_case = WAFER__REQUEST__BODY_SYSTEM_FAULT;
    request.system_fault = &body;
    return call_for_one(command, &request, print_crash);
}

int run_system_heal(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemFaultRequest body = WAFER__SYSTEM_FAULT_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    body.has_heal = body.heal = true;
    request.body_case = WAFER__REQUEST__BODY_SYSTEM_FAULT;
    request.system_fault = &body;
    return call_for_one(command, &request, print_heal);
}

static int drain(const struct command *command, bool drained)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemDrainRequest body = WAFER__SYSTEM_DRAIN_REQUEST__INIT;

    body.name = (char *)command->targets[0];
    body.drained = drained;
    body.reason = (char *)command->values[FLAG_REASON];
    request.body_case = WAFER__REQUEST__BODY_SYSTEM_DRAIN;
    request.system_drain = &body;
    return call_for_one(command, &request, print_drain);
}

int run_system_drain(const struct command *command)
{
    return drain(command, true);
}

int run_system_undrain(const struct command *command)
{
    return drain(command, false);
}
