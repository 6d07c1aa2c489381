/* schema — JSON Schemas of what is read and printed, made from the same descriptors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "client.pb-c.h"
#include "job.pb-c.h"
#include "model/bind.h"
#include "platform.pb-c.h"
#include "policy.pb-c.h"
#include "site.pb-c.h"
#include "view.pb-c.h"

static const struct {
    const char *name;
    const ProtobufCMessageDescriptor *type;
    const char *kind; /* of a file */
} schemas[] = {
    { "job-file", &wafer__job_spec__descriptor, "Job" },
    { "site-file", &wafer__site__descriptor, "Site" },
    { "platform-file", &wafer__platform__descriptor, "Platform" },
    { "roles-file", &wafer__roles__descriptor, "Roles" },
    { "scheduling-file", &wafer__scheduling__descriptor, "Scheduling" },
    { "client-file", &wafer__client__descriptor, "Client" },
    { "wafer.job/v1", &wafer__job_item__descriptor, NULL },
    { "wafer.job.list/v1", &wafer__job_list__descriptor, NULL },
    { "wafer.event/v1", &wafer__event_item__descriptor, NULL },
    { "wafer.event.list/v1", &wafer__event_list__descriptor, NULL },
    { "wafer.checkpoint/v1", &wafer__checkpoint_item__descriptor, NULL },
    { "wafer.checkpoint.list/v1", &wafer__checkpoint_list__descriptor, NULL },
    { "wafer.system/v1", &wafer__system_item__descriptor, NULL },
    { "wafer.system.list/v1", &wafer__system_list__descriptor, NULL },
    { "wafer.setting/v1", &wafer__setting_item__descriptor, NULL },
    { "wafer.setting.list/v1", &wafer__setting_list__descriptor, NULL },
    { "wafer.queue/v1", &wafer__queue_item__descriptor, NULL },
    { "wafer.queue.list/v1", &wafer__queue_list__descriptor, NULL },
    { "wafer.quota/v1", &wafer__quota_item__descriptor, NULL },
    { "wafer.quota.list/v1", &wafer__quota_list__descriptor, NULL },
    { "wafer.reservation/v1", &wafer__reservation_item__descriptor, NULL },
    { "wafer.reservation.list/v1", &wafer__reservation_list__descriptor, NULL },
    { "wafer.report/v1", &wafer__report_list__descriptor, NULL },
    { "wafer.explain/v1", &wafer__explanation_item__descriptor, NULL },
    { "wafer.plan/v1", &wafer__plan_item__descriptor, NULL },
    { "wafer.diff/v1", &wafer__difference_list__descriptor, NULL },
    { "wafer.doctor/v1", &wafer__doctor__descriptor, NULL },
    { "wafer.replay/v1", &wafer__replay__descriptor, NULL },
    { "wafer.whoami/v1", &wafer__whoami_item__descriptor, NULL },
    { "wafer.removal/v1", &wafer__removal__descriptor, NULL },
    { "wafer.version/v1", &wafer__version_item__descriptor, NULL },
    { "wafer.error/v1", &wafer__error_item__descriptor, NULL },
};

static void print_schema(size_t which)
{
    const char *constants[5] = { NULL };
    bool is_file = schemas[which].kind != NULL;

    if (is_file) {
        constants[0] = "apiVersion";
        constants[1] = "wafer/v1";
        constants[2] = "kind";
        constants[3] = schemas[which].kind;
    } else if (protobuf_c_message_descriptor_get_field_by_name(schemas[which].type, "schema")) {
        constants[0] = "schema";
        constants[1] = schemas[which].name;
    }
    json_t *schema = bind_schema(schemas[which].type,
                                 is_file ? BIND_SCHEMA_FILE : BIND_SCHEMA_OUTPUT, constants);
    json_object_set_new(schema, "title", json_string(schemas[which].name));
    owned(free) char *text = json_dumps(schema, JSON_INDENT(2));
    puts(text);
    json_decref(schema);
}

int run_schema(const struct command *command)
{
    const char *names[ELEMENTS(schemas) + 1] = { NULL };

    for (size_t i = 0; i < ELEMENTS(schemas); i++) {
        names[i] = schemas[i].name;
        if (!command->target_count) {
            output_line(command, "%s", schemas[i].name);
        } else if (strcmp(schemas[i].name, command->targets[0]) == 0) {
            print_schema(i);
            return 0;
        }
    }
    if (!command->target_count)
        return 0;
    const char *nearest = bind_nearest(command->targets[0], names);
    return message_fail(command, EXIT_USAGE, "there is no schema '%s': %s%s", command->targets[0],
                        nearest ? "did you mean " : "'wafer schema' lists them",
                        nearest ? nearest : "");
}
