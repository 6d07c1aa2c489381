#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/run.h"
#include "config.h"

static void print(const struct command *command, const Wafer__VersionItem *server)
{
    Wafer__VersionItem item = WAFER__VERSION_ITEM__INIT;

    item.schema = (char *)"wafer.version/v1";
    item.client = (char *)PACKAGE_VERSION;
    item.server = server ? server->server : NULL;
    item.has_protocol = server && server->has_protocol;
    item.protocol = server ? server->protocol : 0;
    if (output_document(command, &item.base))
        return;
    if (command->format == FORMAT_PLAIN) {
        struct record record = { 0 };
        output_text(&record, item.client);
        output_text(&record, item.server);
        output_number(&record, item.has_protocol, item.protocol);
        output_end(&record);
    } else {
        output_line(command, "wafer  %s", item.client);
        if (item.has_protocol)
            output_line(command, "waferd %s  protocol %" PRIu32, item.server, item.protocol);
        else
            output_line(command, "waferd %s", item.server ? item.server : "-");
    }
}

/* The client's own version is shown even when the controller cannot be asked. */
int run_version(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__VersionRequest body = WAFER__VERSION_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_VERSION;
    request.version = &body;
    int exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_VERSION), &response);
    print(command, response ? response->version : NULL);
    return exit;
}
