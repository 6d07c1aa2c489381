#include "cli/job_filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/message.h"

#define LOOK_AT 10000 /* jobs at most: what the controller gives at once */

static int read_sort(const struct command *command, struct job_filter *ret)
{
    const struct setting *sort = command_setting(command, SETTING_SORT);
    const char *nearest;

    if (!sort->value)
        return 0;
    ret->descends = sort->value[0] == '-';
    if (item_key_parse(&wafer__job__descriptor, sort->value + ret->descends, &ret->key, &nearest) <
        0)
        return message_fail(command, setting_exit(sort), "%s: there is no key '%s': %s%s",
                            sort->origin, sort->value + ret->descends,
                            nearest ? "did you mean " : "the keys are those of -o json",
                            nearest ? nearest : "");
    ret->sorts = true;
    return 0;
}

static int read_labels(const struct command *command, struct job_filter *ret)
{
    ret->labels = command->labels;
    ret->label_count = command->label_count;
    for (size_t i = 0; i < ret->label_count; i++)
        if (!strchr(ret->labels[i], '=') || ret->labels[i][0] == '=')
            return message_fail(command, EXIT_USAGE, "--label: '%s' is no KEY=VALUE",
                                ret->labels[i]);
    return 0;
}

bool job_filter_is_given(const struct job_filter *filter)
{
    return filter->label_count || filter->since.is_given || filter->sorts;
}

int job_filter_read(const struct command *command, struct job_filter *ret,
                    Wafer__ListRequest *request)
{
    uint64_t limit = 0;
    int exit = read_labels(command, ret);

    if (!exit)
        exit = moment_read(command, FLAG_SINCE, &ret->since);
    if (!exit)
        exit = read_sort(command, ret);
    if (!exit)
        exit = command_number(command, FLAG_COUNT, UINT32_MAX, &limit);
    ret->limit = command_has(command, FLAG_COUNT) ? limit : UINT64_MAX;
    request->has_limit = command_has(command, FLAG_COUNT);
    request->limit = (uint32_t)limit;
    if (job_filter_is_given(ret)) {
        request->has_limit = true;
        request->limit = LOOK_AT;
    }
    return exit;
}

void job_filter_done(struct job_filter *filter)
{
    item_key_done(&filter->key);
}

static bool has_label(const Wafer__Job *job, const char *label)
{
    size_t length = strcspn(label, "=");

    for (size_t i = 0; i < job->n_labels; i++)
        if (strlen(job->labels[i]->key) == length &&
            memcmp(job->labels[i]->key, label, length) == 0 &&
            strcmp(job->labels[i]->value, label + length + 1) == 0)
            return true;
    return false;
}

bool job_filter_shows(const struct job_filter *filter, const Wafer__Job *job,
                      const Wafer__Time *now)
{
    for (size_t i = 0; i < filter->label_count; i++)
        if (!has_label(job, filter->labels[i]))
            return false;
    return moment_is_before(&filter->since, job->submitted_at, now);
}

static int compare(const void *a, const void *b, void *userdata)
{
    const struct job_filter *filter = userdata;
    const Wafer__Job *one = *(Wafer__Job *const *)a, *other = *(Wafer__Job *const *)b;
    int unset;
    int order = item_key_compare(&filter->key, &one->base, &other->base, &unset);

    if (filter->descends && !unset)
        order = -order;
    return order ? order : one->id < other->id ? -1 : one->id > other->id;
}

void job_filter_sort(const struct job_filter *filter, Wafer__Job **jobs, size_t count)
{
    if (filter->sorts && count > 1)
        qsort_r(jobs, count, sizeof(*jobs), compare, (void *)filter);
}

/* Never hide that something may be missing. */
static void warn(const struct command *command, Wafer__JobList *list)
{
    if (!list->has_total || list->total <= list->n_items)
        return;
    char *text = text_format("only %zu of %" PRIu64 " jobs were looked at: --state or --queue "
                             "leaves fewer",
                             list->n_items, list->total);
    message_note(command, "%s", text);
    list->warnings = memory_resize(list->warnings, list->n_warnings + 1, sizeof(*list->warnings));
    list->warnings[list->n_warnings++] = text;
}

void job_filter_apply(const struct command *command, const struct job_filter *filter,
                      Wafer__JobList *list)
{
    size_t kept = 0;

    if (!job_filter_is_given(filter))
        return;
    warn(command, list);
    for (size_t i = 0; i < list->n_items; i++) {
        if (job_filter_shows(filter, list->items[i], list->generated_at))
            list->items[kept++] = list->items[i];
        else
            wafer__job__free_unpacked(list->items[i], NULL);
    }
    list->n_items = kept;
    list->has_total = list->has_truncated = true;
    list->total = kept;
    job_filter_sort(filter, list->items, kept);
    while (list->n_items > filter->limit)
        wafer__job__free_unpacked(list->items[--list->n_items], NULL);
    list->truncated = list->n_items < list->total;
}
