/* quota — what users, projects and queues use of what they may. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/list_poll.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cli/user.h"

static const char *kind_name(const Wafer__Quota *quota)
{
    switch (quota->kind) {
    case WAFER__QUOTA__KIND__USER: return "user";
    case WAFER__QUOTA__KIND__PROJECT: return "project";
    case WAFER__QUOTA__KIND__QUEUE: return "queue";
    case _WAFER__QUOTA__KIND_IS_INT_SIZE: break;
    }
    return NULL;
}

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Quota *quota = (const Wafer__Quota *)item;
    struct record record = { 0 };

    output_text(&record, kind_name(quota));
    output_text(&record, quota->name);
    output_number(&record, quota->has_running, quota->running);
    output_number(&record, quota->has_systems_used, quota->systems_used);
    output_number(&record, quota->has_systems_max, quota->systems_max);
    output_number(&record, quota->has_pending, quota->pending);
    output_number(&record, quota->has_pending_max, quota->pending_max);
    output_number(&record, quota->has_array_max, quota->array_max);
    output_number(&record, quota->has_limit_max_s, (uint64_t)quota->limit_max_s);
    output_number(&record, quota->has_limit_default_s, (uint64_t)quota->limit_default_s);
    output_number(&record, quota->has_system_s, (uint64_t)quota->system_s);
    output_number(&record, quota->has_system_max_s, (uint64_t)quota->system_max_s);
    output_number(&record, quota->has_system_window_s, (uint64_t)quota->system_window_s);
    output_text(&record, quota->cost);
    output_text(&record, quota->budget_soft);
    output_text(&record, quota->budget_hard);
    output_text(&record, quota->currency);
    output_number(&record, quota->has_budget_window_s, (uint64_t)quota->budget_window_s);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    const Wafer__Quota *quota = (const Wafer__Quota *)item;

    return text_format("%s %s", kind_name(quota), quota->name);
}

const struct noun quota_noun = {
    .item_schema = "wafer.quota/v1",
    .list_schema = "wafer.quota.list/v1",
    .type = &wafer__quota__descriptor,
    .envelope = &wafer__quota_item__descriptor,
    .name = name_of,
    .plain = print_plain,
};

static void cell_of_most(struct table *table, uint64_t used, bool is_limited, uint64_t most)
{
    if (is_limited)
        table_format(table, used >= most ? STYLE_BAD : STYLE_NONE, "%" PRIu64 " of %" PRIu64, used,
                     most);
    else
        table_format(table, STYLE_NONE, "%" PRIu64, used);
}

static void cell_of_seconds(struct table *table, bool is_limited, int64_t seconds)
{
    table_cell(table, STYLE_NONE, is_limited ? units_seconds(seconds).text : NULL);
}

#define DAY_S 86400

static void cell_of_hours(struct table *table, const Wafer__Quota *quota)
{
    if (!quota->has_system_s)
        table_cell(table, STYLE_NONE, NULL);
    else
        table_format(table, quota->system_s >= quota->system_max_s ? STYLE_BAD : STYLE_NONE,
                     "%" PRIi64 " of %" PRIi64 " in %" PRIi64 "d", quota->system_s / 3600,
                     quota->system_max_s / 3600, quota->system_window_s / DAY_S);
}

static void cell_of_money(struct table *table, const Wafer__Quota *quota)
{
    if (!quota->cost)
        table_cell(table, STYLE_NONE, NULL);
    else
        table_format(table, STYLE_NONE, "%s of %s %s in %" PRIi64 "d", quota->cost,
                     quota->budget_hard ? quota->budget_hard : quota->budget_soft, quota->currency,
                     quota->budget_window_s / DAY_S);
}

static void print_table(const struct command *command, const Wafer__QuotaList *list)
{
    static const struct column columns[] = {
        { "KIND", 0, 0, false },     { "NAME", 8, 0, false },   { "SYSTEMS", 0, 0, true },
        { "RUNNING", 0, 0, true },   { "PENDING", 0, 0, true }, { "ARRAY", 0, 3, true },
        { "MAX LIMIT", 0, 2, true }, { "DEFAULT", 0, 4, true }, { "HOURS", 0, 1, true },
        { "SPENT", 0, 1, true },
    };
    owned(table_free) struct table *table = table_new(columns, ELEMENTS(columns), &command->out);

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Quota *quota = list->items[i];

        table_cell(table, STYLE_NONE, kind_name(quota));
        table_cell(table, STYLE_NONE, quota->name);
        cell_of_most(table, quota->systems_used, quota->has_systems_max, quota->systems_max);
        table_format(table, STYLE_NONE, "%" PRIu64, quota->running);
        cell_of_most(table, quota->pending, quota->has_pending_max, quota->pending_max);
        if (quota->has_array_max)
            table_format(table, STYLE_NONE, "%" PRIu32, quota->array_max);
        else
            table_cell(table, STYLE_NONE, NULL);
        cell_of_seconds(table, quota->has_limit_max_s, quota->limit_max_s);
        cell_of_seconds(table, quota->has_limit_default_s, quota->limit_default_s);
        cell_of_hours(table, quota);
        cell_of_money(table, quota);
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
}

/* A user of this machine, by name or number, a project, or both. */
static void name_party(const char *name, Wafer__QuotaShowRequest *ret)
{
    const struct passwd *entry = getpwnam(name);
    char *end;
    unsigned long uid = strtoul(name, &end, 10);

    ret->project = (char *)name;
    ret->has_uid = entry || (*name >= '0' && *name <= '9' && !*end && uid < UINT32_MAX);
    ret->uid = entry ? entry->pw_uid : (uint32_t)uid;
}

int run_quota_show(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__QuotaShowRequest body = WAFER__QUOTA_SHOW_REQUEST__INIT;

    if (command->target_count)
        name_party(command->targets[0], &body);
    request.body_case = WAFER__REQUEST__BODY_QUOTA_SHOW;
    request.quota_show = &body;
    int exit = noun_check_columns(command, &quota_noun);
    if (!exit)
        exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_QUOTAS), &response);
    if (exit)
        return exit;
    for (size_t i = 0; i < response->quotas->n_items; i++)
        user_fill_quota(response->quotas->items[i]);
    if (!noun_print_list(command, &quota_noun, &response->quotas->base))
        print_table(command, response->quotas);
    return 0;
}
