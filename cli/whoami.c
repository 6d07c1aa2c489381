#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/units.h"
#include "cli/user.h"

static char *join(char *const *texts, size_t count, const char *between)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < count; i++)
        buffer_format(&text, "%s%s", i ? between : "", texts[i]);
    return buffer_text(&text);
}

static const char *clearance_name(const Wafer__Whoami *who)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&wafer__label__level__descriptor, (int)who->clearance);

    return who->has_clearance && value ? value->name : NULL;
}

static void print_plain(const Wafer__Whoami *who)
{
    owned(free) char *names = join(who->groups, who->n_groups, ",");
    owned(free) char *roles = join(who->roles, who->n_roles, ",");
    struct record record = { 0 };

    output_number(&record, who->has_uid, who->uid);
    output_text(&record, who->user);
    output_number(&record, who->has_gid, who->gid);
    output_text(&record, names);
    output_text(&record, roles);
    output_text(&record, clearance_name(who));
    output_text(&record, who->role);
    output_end(&record);
}

static void print_page(const struct command *command, const Wafer__Whoami *who)
{
    owned(free) char *names = join(who->groups, who->n_groups, ", ");
    owned(free) char *roles = join(who->roles, who->n_roles, ", ");
    const Wafer__Whoami__Limits *limits = who->limits;

    page_heading(command, STYLE_NONE, "%s  uid %" PRIu32 "  gid %" PRIu32, who->user, who->uid,
                 who->gid);
    page_field(command, "groups", names);
    page_field(command, "roles", roles);
    if (who->role)
        page_field(command, "acts as", who->role);
    if (who->has_clearance)
        page_field(command, "clearance", clearance_name(who));
    if (limits)
        page_format(command, "limits",
                    "%" PRIu32 " connections, job files of %" PRIu64 " bytes, arrays of %" PRIu32
                    ", %" PRIu32 " systems a job",
                    limits->connections, limits->job_file_bytes, limits->array_elements,
                    limits->systems);
    if (limits && limits->has_systems_at_once)
        page_format(command, "at once", "%" PRIu32 " systems", limits->systems_at_once);
    if (limits && limits->has_pending)
        page_format(command, "waiting", "at most %" PRIu32 " jobs", limits->pending);
    if (limits && limits->has_limit_max_s)
        page_format(command, "limit", "at most %s a job", units_seconds(limits->limit_max_s).text);
    if (limits && limits->has_limit_default_s)
        page_format(command, "default", "limit of %s", units_seconds(limits->limit_default_s).text);
}

int run_whoami(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__WhoamiRequest body = WAFER__WHOAMI_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_WHOAMI;
    request.whoami = &body;
    int exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_WHOAMI), &response);
    if (exit)
        return exit;

    Wafer__WhoamiItem item = WAFER__WHOAMI_ITEM__INIT;
    response->whoami->user = text_copy(user_name(response->whoami->uid));
    user_fill_groups(response->whoami);
    item.schema = (char *)"wafer.whoami/v1";
    item.item = response->whoami;
    if (output_document(command, &item.base))
        return 0;
    if (command->format == FORMAT_PLAIN)
        print_plain(item.item);
    else
        print_page(command, item.item);
    return 0;
}
