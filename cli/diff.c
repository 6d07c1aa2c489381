/* diff — what differs between two jobs: in what was asked for, and in what came of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "model/bind.h"
#include "model/job.h"

#define SECTIONS (WAFER__DIFFERENCE__SECTION__cost + 1)

/* One value of a job. */
struct leaf {
    Wafer__Difference__Section section;
    char *path, *text;
};

struct leaves {
    struct leaf *items;
    size_t count, capacity;
};

static void leaves_donep(struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++) {
        free(leaves->items[i].path);
        free(leaves->items[i].text);
    }
    free(leaves->items);
}

static void add(struct leaves *leaves, Wafer__Difference__Section section, char *path,
                const char *text)
{
    ARRAY_RESERVE(leaves->items, leaves->count, leaves->capacity);
    leaves->items[leaves->count++] = (struct leaf){ section, path, text_copy(text) };
}

static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static void add_of_spec(void *userdata, const char *path, const char *text)
{
    const char *rest;

    if (after(path, "data."))
        add(userdata, WAFER__DIFFERENCE__SECTION__data, text_copy(path), text);
    else if ((rest = after(path, "program.env.")))
        add(userdata, WAFER__DIFFERENCE__SECTION__env, text_format("env.%s", rest), text);
    else
        add(userdata, WAFER__DIFFERENCE__SECTION__spec, text_format("spec.%s", path), text);
}

/* Of the job as people see it only what came of it: when it ran and who it is always differ. */
static void add_of_job(void *userdata, const char *path, const char *text)
{
    static const char *const whole[] = { "attempt",    "state",    "cause", "total_run_s",
                                         "steps_lost", "platform", "pool" };
    const char *rest = after(path, "progress.");

    if (!rest)
        rest = after(path, "result.");
    if (after(path, "cost."))
        add(userdata, WAFER__DIFFERENCE__SECTION__cost, text_copy(path), text);
    else if (rest)
        add(userdata, WAFER__DIFFERENCE__SECTION__metrics, text_format("metrics.%s", rest), text);
    for (size_t i = 0; i < ELEMENTS(whole); i++)
        if (strcmp(path, whole[i]) == 0)
            add(userdata, WAFER__DIFFERENCE__SECTION__metrics, text_format("metrics.%s", path),
                text);
}

static int by_path(const void *a, const void *b)
{
    const struct leaf *one = a, *other = b;

    if (one->section != other->section)
        return one->section < other->section ? -1 : 1;
    return strcmp(one->path, other->path);
}

/* ---- the comparison ---- */

static void compare(const struct leaf *a, const struct leaf *b, bool all,
                    Wafer__DifferenceList *ret)
{
    const struct leaf *either = a ? a : b;
    bool equal = a && b && strcmp(a->text, b->text) == 0;

    if (equal)
        ret->equal++;
    else
        ret->different++;
    if (equal && !all)
        return;
    Wafer__Difference *difference = ret->items[ret->n_items++] = NEW(Wafer__Difference);
    wafer__difference__init(difference);
    difference->section = either->section;
    difference->path = text_copy(either->path);
    difference->a = a ? text_copy(a->text) : NULL;
    difference->b = b ? text_copy(b->text) : NULL;
    difference->equal = equal;
}

/* `only` -1: every section. */
static void compare_all(struct leaves *a, struct leaves *b, int only, bool all,
                        Wafer__DifferenceList *ret)
{
    size_t i = 0, j = 0;

    if (a->count > 1)
        qsort(a->items, a->count, sizeof(*a->items), by_path);
    if (b->count > 1)
        qsort(b->items, b->count, sizeof(*b->items), by_path);
    ret->items = memory_new((a->count + b->count) * sizeof(*ret->items) + 1);
    while (i < a->count || j < b->count) {
        const struct leaf *one = i < a->count ? &a->items[i] : NULL;
        const struct leaf *other = j < b->count ? &b->items[j] : NULL;
        int order = !one ? 1 : !other ? -1 : by_path(one, other);

        i += order <= 0;
        j += order >= 0;
        if (only >= 0 && (int)(order <= 0 ? one : other)->section != only)
            continue;
        compare(order <= 0 ? one : NULL, order >= 0 ? other : NULL, all, ret);
    }
}

/* ---- how it is shown ---- */

/* What a number became, beside both; "" where there is nothing to say. */
static char *change_text(const Wafer__Difference *difference)
{
    int64_t a_micro, b_micro;
    bool measured = difference->section == WAFER__DIFFERENCE__SECTION__metrics ||
                    difference->section == WAFER__DIFFERENCE__SECTION__cost;

    if (!measured || difference->equal || !difference->a || !difference->b ||
        decimal_parse(difference->a, &a_micro, NULL) < 0 ||
        decimal_parse(difference->b, &b_micro, NULL) < 0 || a_micro <= 0)
        return text_copy("");
    return text_format("  (%+.1f%%)", ((double)b_micro / (double)a_micro - 1) * 100);
}

static void print_lines(const struct command *command, const Wafer__DifferenceList *list)
{
    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Difference *difference = list->items[i];
        owned(free) char *change = change_text(difference);
        const char *a = difference->a ? difference->a : "-", *b = difference->b;

        if (difference->equal)
            output_line(command, "%s  %s", difference->path, a);
        else
            output_line(command, "%s  %s %s %s%s", difference->path, a,
                        command->out.is_utf8 ? "\u2192" : "->", b ? b : "-", change);
    }
    if (command_has(command, FLAG_EQUAL))
        output_line(command, "%" PRIu64 " differ, %" PRIu64 " are equal", list->different,
                    list->equal);
    else
        output_line(command, "%" PRIu64 " differ, %" PRIu64 " equal ones hidden (--all)",
                    list->different, list->equal);
}

static const char *section_name(Wafer__Difference__Section section)
{
    return protobuf_c_enum_descriptor_get_value(&wafer__difference__section__descriptor,
                                                (int)section)
        ->name;
}

static void print_plain(const Wafer__DifferenceList *list)
{
    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Difference *difference = list->items[i];
        struct record record = { 0 };

        output_text(&record, section_name(difference->section));
        output_text(&record, difference->path);
        output_text(&record, difference->a);
        output_text(&record, difference->b);
        output_text(&record, difference->equal ? "yes" : "no");
        output_end(&record);
    }
}

/* ---- the verb ---- */

static int read_only(const struct command *command, int *ret)
{
    const char *name = command->values[FLAG_ONLY];

    *ret = -1;
    for (int i = 0; name && i < (int)SECTIONS; i++)
        if (strcmp(name, section_name((Wafer__Difference__Section)i)) == 0)
            *ret = i;
    if (name && *ret < 0)
        return message_fail(command, EXIT_USAGE,
                            "--only: there is no section '%s': spec, data, env, metrics or cost",
                            name);
    return 0;
}

static int collect(const struct command *command, struct connection *connection, const char *text,
                   struct leaves *ret, uint64_t *ret_job)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ShowRequest body = WAFER__SHOW_REQUEST__INIT;
    Wafer__Target target;
    int exit = target_read(command, text, &target);

    if (exit)
        return exit;
    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_SHOW;
    request.show = &body;
    exit = connection_call(connection, &request, BIT(WAFER__RESPONSE__BODY_SHOW), &response);
    if (exit)
        return exit;
    if (response->show->spec)
        bind_leaves(&response->show->spec->base, add_of_spec, ret);
    bind_leaves(&response->show->job->base, add_of_job, ret);
    *ret_job = response->show->job->id;
    return 0;
}

static int print(const struct command *command, const Wafer__DifferenceList *list)
{
    if (command->format == FORMAT_PLAIN)
        print_plain(list);
    else if (!output_document(command, &list->base) && !command_has(command, FLAG_QUIET))
        print_lines(command, list);
    return list->different ? EXIT_DIFFERENT : 0;
}

int run_diff(const struct command *command)
{
    owned(connection_close) struct connection *connection = NULL;
    owned(leaves_done) struct leaves a = { .count = 0 }, b = { .count = 0 };
    Wafer__DifferenceList *list = NULL;
    int only;
    int exit = read_only(command, &only);

    if (!exit)
        exit = connection_open(command, &connection);
    if (exit)
        return exit;
    list = NEW(Wafer__DifferenceList);
    wafer__difference_list__init(list);
    list->schema = text_copy("wafer.diff/v1");
    list->has_a = list->has_b = list->has_different = list->has_equal = true;
    exit = collect(command, connection, command->targets[0], &a, &list->a);
    if (!exit)
        exit = collect(command, connection, command->targets[1], &b, &list->b);
    if (!exit) {
        compare_all(&a, &b, only, command_has(command, FLAG_EQUAL), list);
        exit = print(command, list);
    }
    wafer__difference_list__free_unpacked(list, NULL);
    return exit;
}
