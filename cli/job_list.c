#include "cli/job_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "cli/job_text.h"
#include "cli/table.h"
#include "cli/units.h"
#include "model/job.h"
#include "model/priority.h"

/* Where each column is shown. */
enum place { ALWAYS, ALL_USERS, WIDE };

static const struct {
    struct column column;
    enum place place;
} columns[] = {
    { { "JOBID", 0, 0, false }, ALWAYS },    { { "NAME", 8, 0, false }, ALWAYS },
    { { "USER", 4, 5, false }, ALL_USERS },  { { "PROJECT", 0, 0, false }, WIDE },
    { { "QUEUE", 5, 4, false }, ALWAYS },    { { "PRI", 0, 0, false }, WIDE },
    { { "SYS", 0, 0, true }, ALWAYS },       { { "STATE", 0, 0, false }, ALWAYS },
    { { "PHASE", 7, 2, false }, ALWAYS },    { { "ATTEMPT", 0, 0, true }, WIDE },
    { { "STEP/MAX", 0, 0, false }, ALWAYS }, { { "ELAPSED/LIMIT", 0, 1, false }, ALWAYS },
    { { "ENDS IN", 0, 0, false }, WIDE },    { { "CKPT", 0, 3, false }, ALWAYS },
    { { "SUBMITTED", 0, 0, false }, WIDE },  { { "STARTS BY", 0, 0, false }, WIDE },
    { { "ON", 0, 0, false }, WIDE },         { { "REASON", 9, 0, false }, ALWAYS },
};

/* Lists of one's own jobs do without the user. */
static bool is_shown(const struct command *command, enum place place)
{
    bool is_wide = command->format == FORMAT_WIDE;

    return place == ALWAYS || is_wide ||
           (place == ALL_USERS && command_has(command, FLAG_ALL_USERS));
}

static size_t choose_columns(const struct command *command,
                             struct column ret[static ELEMENTS(columns)])
{
    size_t count = 0;

    for (size_t i = 0; i < ELEMENTS(columns); i++)
        if (is_shown(command, columns[i].place))
            ret[count++] = columns[i].column;
    return count;
}

static void add_time(struct table *table, const Wafer__Job *job)
{
    bool has_run = job->has_elapsed_s && job->elapsed_s > 0;

    table_join(table, STYLE_NONE, has_run ? units_seconds(job->elapsed_s).text : "-",
               job->has_limit_s ? "/" : "",
               job->has_limit_s ? units_seconds(job->limit_s).text : "", NULL);
}

static void add_checkpoint(struct table *table, const Wafer__Job *job, const Wafer__Time *now)
{
    const Wafer__Job__LastCheckpoint *checkpoint = job->checkpoint;

    if (!checkpoint || !checkpoint->has_last_good_step)
        table_cell(table, STYLE_NONE, NULL);
    else if (checkpoint->has_verified && !checkpoint->verified)
        table_cell(table, STYLE_NONE, "unverified");
    else if (now && checkpoint->at && job_state_has_systems(job->state))
        table_format(table, STYLE_NONE, "%s ago",
                     units_ago((now->us - checkpoint->at->us) / SECOND_US).text);
    else
        table_cell(table, STYLE_NONE, "verified");
}

static void add_system_count(struct table *table, const Wafer__Job *job)
{
    if (job->systems && job->systems->n_allocated)
        table_cell(table, STYLE_NONE, units_digits(job->systems->n_allocated).text);
    else if (job->systems && job->systems->has_requested)
        table_cell(table, STYLE_NONE, units_digits(job->systems->requested).text);
    else
        table_cell(table, STYLE_NONE, NULL);
}

static void add_priority(struct table *table, const Wafer__Job *job)
{
    char priority[PRIORITY_TEXT_SIZE];

    if (job->has_priority)
        priority_format(job->priority, priority);
    table_cell(table, STYLE_NONE, job->has_priority ? priority : NULL);
}

static void add_places(struct table *table, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; job->systems && i < job->systems->n_allocated; i++)
        buffer_format(&text, "%s%s", i ? "," : "", job->systems->allocated[i]);
    owned(free) char *places = buffer_text(&text);
    table_cell(table, STYLE_NONE, places);
}

static void add_row(struct table *table, const struct command *command, const Wafer__Job *job,
                    const Wafer__Time *now)
{
    owned(free) char *why = job_why_text(job);
    bool is_wide = command->format == FORMAT_WIDE;

    table_cell(table, STYLE_NONE, job_id_text(job).text);
    table_cell(table, STYLE_NONE, job->name);
    if (is_shown(command, ALL_USERS))
        table_cell(table, STYLE_NONE, job->user);
    if (is_wide)
        table_cell(table, STYLE_NONE, job->project);
    table_cell(table, STYLE_NONE, job->queue);
    if (is_wide)
        add_priority(table, job);
    add_system_count(table, job);
    table_cell(table, job_style(job), job->has_state ? job_state_name(job->state) : NULL);
    table_cell(table, STYLE_NONE, job->has_phase ? job_phase_name(job->phase) : NULL);
    if (is_wide)
        table_format(table, STYLE_NONE, "%" PRIu32, job->attempt);
    table_cell(table, STYLE_NONE, job_step_text(job).text);
    add_time(table, job);
    if (is_wide)
        table_cell(table, STYLE_NONE,
                   job->progress && job->progress->has_eta_s
                       ? units_seconds(job->progress->eta_s).text
                       : NULL);
    add_checkpoint(table, job, now);
    if (is_wide) {
        table_cell(table, STYLE_NONE,
                   job->submitted_at ? units_time(job->submitted_at->us, command->utc).text : NULL);
        const Wafer__Time *start = job->reason ? job->reason->est_start : NULL;
        table_cell(table, STYLE_NONE, start ? units_time(start->us, command->utc).text : NULL);
        add_places(table, job);
    }
    table_cell(table, STYLE_NONE, why);
}

static void add_state_counts(struct buffer *line, const Wafer__JobList *jobs, const char *separator)
{
    size_t counts[JOB_STATES] = { 0 };

    for (size_t i = 0; i < jobs->n_items; i++)
        if (jobs->items[i]->has_state && jobs->items[i]->state < JOB_STATES)
            counts[jobs->items[i]->state]++;
    for (Wafer__Job__State state = 0; state < JOB_STATES; state++) {
        if (!counts[state])
            continue;
        buffer_format(line, "%s%zu ", separator, counts[state]);
        for (const char *name = job_state_name(state); *name; name++)
            buffer_format(line, "%c", tolower((unsigned char)*name));
    }
}

static void add_system_counts(struct buffer *line, const Wafer__SystemList *systems,
                              const char *separator)
{
    size_t busy = 0, drained = 0, down = 0;

    for (size_t i = 0; i < systems->n_items; i++) {
        const Wafer__System *system = systems->items[i];
        busy += system->has_job;
        drained += system->has_drained && system->drained;
        down += system->has_state && system->state != WAFER__SYSTEM__STATE__UP;
    }
    buffer_format(line, "%ssystems %zu/%zu busy", separator, busy, systems->n_items);
    if (drained)
        buffer_format(line, ", %zu drained", drained);
    if (down)
        buffer_format(line, ", %zu down", down);
}

static void print_summary(const struct command *command, const Wafer__JobList *jobs,
                          const Wafer__SystemList *systems)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    const char *separator = command->out.is_utf8 ? " · " : ", ";
    uint64_t total = jobs->has_total ? jobs->total : jobs->n_items;

    buffer_format(&line, "%zu of %" PRIu64 " shown", jobs->n_items, total);
    add_state_counts(&line, jobs, separator);
    if (systems)
        add_system_counts(&line, systems, separator);
    if (jobs->n_items < total)
        buffer_format(&line, "%s--limit shows more", separator);
    owned(free) char *text = buffer_text(&line);
    printf("%s%s%s\n", screen_begin(&command->out, STYLE_FAINT), text,
           screen_end(&command->out, STYLE_FAINT));
}

void job_list_print(const struct command *command, const Wafer__JobList *jobs,
                    const Wafer__SystemList *systems)
{
    struct column chosen[ELEMENTS(columns)];
    size_t count = choose_columns(command, chosen);
    owned(table_free) struct table *table = table_new(chosen, count, &command->out);

    for (size_t i = 0; i < jobs->n_items; i++)
        add_row(table, command, jobs->items[i], jobs->generated_at);
    if (jobs->n_items)
        table_print(table, !command_has(command, FLAG_NO_HEADER));
    print_summary(command, jobs, systems);
}
