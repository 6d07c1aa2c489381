#include <stdio.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/job_page.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "cli/user.h"
#include "model/bind.h"

struct shown {
    const struct command *command;
    Wafer__Response **responses; /* NULL: refused, and told */
    size_t count;
};

static int print_spec(const struct shown *shown, const Wafer__JobSpec *spec)
{
    if (!spec)
        return message_fail(shown->command, EXIT_DENIED,
                            "what this job is made of is content: it is not shown to you");
    if (shown->command->format == FORMAT_NDJSON ||
        (shown->command->format == FORMAT_JSON && shown->count > 1)) {
        output_json_line(&spec->base);
    } else if (shown->command->format == FORMAT_JSON) {
        output_json(&spec->base);
    } else {
        owned(free) char *text = bind_yaml_text(&spec->base);
        printf("%s%s", shown->count > 1 ? "---\n" : "", text);
    }
    return 0;
}

static int print_specs(const struct shown *shown)
{
    int exit = 0;

    for (size_t i = 0; i < shown->count; i++) {
        int failed = shown->responses[i] ? print_spec(shown, shown->responses[i]->show->spec) : 0;
        exit = exit ? exit : failed;
    }
    return exit;
}

/* For scripts: one job is an item, several are a list. */
static bool print_formatted(const struct shown *shown)
{
    Wafer__JobList list = WAFER__JOB_LIST__INIT;
    bool is_printed = true;

    list.items = memory_new(shown->count * sizeof(*list.items));
    for (size_t i = 0; i < shown->count; i++)
        if (shown->responses[i])
            list.items[list.n_items++] = shown->responses[i]->show->job;
    if (list.n_items == 1 && shown->count == 1)
        is_printed = noun_print_item(shown->command, &job_noun, &list.items[0]->base, false);
    else if (list.n_items)
        is_printed = noun_print_list(shown->command, &job_noun, &list.base);
    free(list.schema);
    if (list.generated_at)
        wafer__time__free_unpacked(list.generated_at, NULL);
    free(list.items);
    return is_printed;
}

static void print_pages(const struct shown *shown)
{
    for (size_t i = 0, printed = 0; i < shown->count; i++) {
        if (!shown->responses[i])
            continue;
        if (printed++)
            putchar('\n');
        job_page_print(shown->command, shown->responses[i]->show);
    }
}

static int show_targets(struct shown *shown, const struct targets *targets,
                        struct connection *connection)
{
    int worst = 0;

    for (size_t i = 0; i < targets->count && !connection_is_broken(connection); i++) {
        Wafer__Request request = WAFER__REQUEST__INIT;
        Wafer__ShowRequest body = WAFER__SHOW_REQUEST__INIT;

        body.target = &targets->items[i];
        request.body_case = WAFER__REQUEST__BODY_SHOW;
        request.show = &body;
        int failed = connection_call(connection, &request, BIT(WAFER__RESPONSE__BODY_SHOW),
                                     &shown->responses[i]);
        if (!failed)
            user_fill(shown->responses[i]->show->job);
        worst = worst ? worst : failed;
    }
    return worst;
}

int run_show(const struct command *command)
{
    owned(targets_done) struct targets targets = { .count = 0 };
    owned(connection_close) struct connection *connection = NULL;
    struct shown shown = { .command = command };

    if (command_has(command, FLAG_ATTEMPTS))
        return report_attempts(command);
    int exit = noun_check_columns(command, &job_noun), failed = 0;

    if (!exit)
        exit = targets_read(command, &targets);
    if (!exit)
        exit = connection_open(command, &connection);
    if (exit)
        return exit;

    shown.count = targets.count;
    shown.responses = memory_new(shown.count * sizeof(*shown.responses));
    exit = show_targets(&shown, &targets, connection);
    if (command_has(command, FLAG_SPEC))
        failed = print_specs(&shown);
    else if (!print_formatted(&shown))
        print_pages(&shown);
    for (size_t i = 0; i < shown.count; i++)
        if (shown.responses[i])
            response_free(shown.responses[i]);
    free(shown.responses);
    return exit ? exit : failed;
}
