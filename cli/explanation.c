#include "cli/explanation.h"

#include <inttypes.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/page.h"
#include "cli/units.h"

static void page_text(const struct command *command, const char *name, struct buffer *value)
{
    owned(free) char *text = buffer_text(value);

    page_field(command, name, text);
}

static size_t count_use(const Wafer__Explanation *explanation,
                        Wafer__Explanation__SystemUse__Use use)
{
    size_t count = 0;

    for (size_t i = 0; i < explanation->n_systems; i++)
        count += explanation->systems[i]->use == use;
    return count;
}

static void tell_use(const struct command *command, const Wafer__Explanation__SystemUse *use,
                     struct buffer *value)
{
    bool is_kept = use->use == WAFER__EXPLANATION__SYSTEM_USE__USE__KEPT;

    buffer_format(value, "%s", use->system);
    if (use->has_job)
        buffer_format(value, " %s job %" PRIu64, is_kept ? "for" : "by", use->job);
    if (use->until)
        buffer_format(value, " until %s at most", units_time(use->until->us, command->utc).text);
    if (use->reason && *use->reason)
        buffer_format(value, ": %s", use->reason);
    if (use->since)
        buffer_format(value, ", since %s", units_time(use->since->us, command->utc).text);
}

static void print_use(const struct command *command, const Wafer__Explanation *explanation,
                      Wafer__Explanation__SystemUse__Use which, const char *name)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;
    size_t told = 0, count = count_use(explanation, which);

    if (count == 0)
        return;
    buffer_format(&value, "%zu %s", count, name);
    for (size_t i = 0; i < explanation->n_systems && told < SYSTEMS_TOLD; i++) {
        if (explanation->systems[i]->use != which)
            continue;
        buffer_append_text(&value, told++ ? "; " : " (");
        tell_use(command, explanation->systems[i], &value);
    }
    buffer_append_text(&value, count > told ? "; ...)" : ")");
    page_text(command, "", &value);
}

void explanation_print_systems(const struct command *command, const Wafer__Explanation *explanation)
{
    const Wafer__Job__Systems *systems = explanation->job->systems;

    if (!explanation->n_systems)
        return;
    page_format(command, "systems", "needs %" PRIu32 "; pool %s has %zu",
                systems ? systems->requested : 0,
                explanation->job->pool ? explanation->job->pool : "-", explanation->n_systems);
    print_use(command, explanation, WAFER__EXPLANATION__SYSTEM_USE__USE__FREE, "free");
    print_use(command, explanation, WAFER__EXPLANATION__SYSTEM_USE__USE__BUSY, "busy");
    print_use(command, explanation, WAFER__EXPLANATION__SYSTEM_USE__USE__KEPT, "kept");
    print_use(command, explanation, WAFER__EXPLANATION__SYSTEM_USE__USE__DRAINED, "drained");
    print_use(command, explanation, WAFER__EXPLANATION__SYSTEM_USE__USE__DOWN, "down");
}

void explanation_print_checks(const struct command *command, const Wafer__Explanation *explanation,
                              bool holds, const char *name)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    for (size_t i = 0; i < explanation->n_checks; i++)
        if (explanation->checks[i]->holds == holds)
            buffer_format(&value, "%s%s", value.length ? ", " : "", explanation->checks[i]->text);
    if (value.length)
        page_text(command, name, &value);
}

void explanation_print_advice(const struct command *command, const Wafer__Explanation *explanation,
                              const char *name)
{
    for (size_t i = 0; i < explanation->n_advice; i++) {
        const Wafer__Explanation__Advice *advice = explanation->advice[i];
        page_format(command, i ? "" : name, "%s%s%s", advice->text, advice->command ? ": " : "",
                    advice->command ? advice->command : "");
    }
}
