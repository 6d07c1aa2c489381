/* report — where the time of jobs went, for people (Markdown), programs (JSON) and sheets (CSV). */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "cli/connection.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/targets.h"
#include "cli/units.h"
#include "cli/user.h"
#include "model/job.h"

#define UNKNOWN "n/a" /* never 0 */

/* The causes of time, in order; `of` those above. */
static const struct cause {
    const char *title, *column;
    size_t has, value;
} causes[] = {
#define CAUSE(title, field)                                                                        \
    {                                                                                              \
        title, #field, offsetof(Wafer__TimeSplit, has_##field), offsetof(Wafer__TimeSplit, field)  \
    }
    CAUSE("held", held_s),
    CAUSE("in the queue", queue_s),
    CAUSE("back-off after failures", backoff_s),
    CAUSE("launch", launch_s),
    CAUSE("compile", compile_s),
    CAUSE("load", load_s),
    CAUSE("execute", execute_s),
    CAUSE("checkpoint", checkpoint_s),
    CAUSE("clean-up", cleanup_s),
    CAUSE("with systems, not known", unknown_s),
    CAUSE("all", total_s),
    CAUSE("lost: of execute, done again", lost_s),
#undef CAUSE
};

static bool split_get(const Wafer__TimeSplit *split, const struct cause *cause, int64_t *ret_s)
{
    if (!split || !*(const protobuf_c_boolean *)((const char *)split + cause->has))
        return false;
    *ret_s = *(const int64_t *)((const char *)split + cause->value);
    return true;
}

static struct unit_text seconds_text(const Wafer__TimeSplit *split, const struct cause *cause,
                                     bool plain)
{
    struct unit_text ret = { UNKNOWN };
    int64_t seconds;

    if (split_get(split, cause, &seconds) && plain)
        snprintf(ret.text, sizeof(ret.text), "%" PRId64, seconds);
    else if (split_get(split, cause, &seconds))
        ret = units_seconds(seconds);
    return ret;
}

static struct unit_text count_text(bool has, uint64_t count)
{
    struct unit_text ret = { UNKNOWN };

    if (has)
        snprintf(ret.text, sizeof(ret.text), "%" PRIu64, count);
    return ret;
}

static char *systems_text(const Wafer__Attempt *attempt)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < attempt->n_systems; i++)
        buffer_format(&text, "%s%s", i ? " " : "", attempt->systems[i]);
    return buffer_text(&text);
}

static char *cost_text(const Wafer__Job__Cost *cost)
{
    if (!cost || !cost->amount)
        return text_copy(UNKNOWN);
    return text_format("%s%s %s", cost->estimated ? "about " : "", cost->amount,
                       cost->currency ? cost->currency : "");
}

static const char *end_text(const Wafer__Attempt *attempt)
{
    return !attempt->ended_at   ? "goes on"
           : attempt->has_cause ? cause_name(attempt->cause)
                                : UNKNOWN;
}

/* ---- Markdown ---- */

static void print_times(const struct command *command, const Wafer__JobReport *report)
{
    output_line(command, "| time | |");
    output_line(command, "|:-----|--:|");
    for (size_t i = 0; i < ELEMENTS(causes); i++)
        output_line(command, "| %s | %s |", causes[i].title,
                    seconds_text(report->time, &causes[i], false).text);
}

static void print_attempts(const struct command *command, const Wafer__JobReport *report)
{
    owned(buffer_done) struct buffer head = BUFFER_EMPTY, rule = BUFFER_EMPTY;

    for (size_t i = 0; i < ELEMENTS(causes); i++) {
        buffer_format(&head, " %.*s |", (int)strlen(causes[i].column) - 2, causes[i].column);
        buffer_append_text(&rule, "--:|");
    }
    owned(free) char *columns = buffer_text(&head), *lines = buffer_text(&rule);
    output_line(command, "| attempt | systems | steps | steps lost |%s cost | end |", columns);
    output_line(command, "|--:|:--|--:|--:|%s--:|:--|", lines);
    for (size_t i = 0; i < report->n_attempts; i++) {
        const Wafer__Attempt *attempt = report->attempts[i];
        owned(buffer_done) struct buffer line = BUFFER_EMPTY;
        owned(free) char *systems = systems_text(attempt), *cost = cost_text(attempt->cost);

        buffer_format(&line, "| %s | %s | %s to %s | %s |",
                      attempt->attempt ? count_text(true, attempt->attempt).text : "-", systems,
                      count_text(attempt->has_first_step, attempt->first_step).text,
                      count_text(attempt->has_last_step, attempt->last_step).text,
                      count_text(attempt->has_steps_lost, attempt->steps_lost).text);
        for (size_t j = 0; j < ELEMENTS(causes); j++)
            buffer_format(&line, " %s |", seconds_text(attempt->time, &causes[j], false).text);
        buffer_format(&line, " %s | %s |", cost, end_text(attempt));
        owned(free) char *text = buffer_text(&line);
        output_line(command, "%s", text);
    }
}

static void print_markdown(const struct command *command, const Wafer__JobReport *report)
{
    const Wafer__Job *job = report->job;
    owned(free) char *cost = cost_text(job->cost), *why = job_why_text(job);

    output_line(command, "# job %s %s: %s", job_id_text(job).text, job->name ? job->name : "-",
                job->has_state ? job_state_name(job->state) : "-");
    output_line(command, "%s", "");
    output_line(command, "- submitted %s by %s",
                job->submitted_at ? units_time(job->submitted_at->us, command->utc).text : UNKNOWN,
                job->user ? job->user : "-");
    if (job->ended_at)
        output_line(command, "- ended %s", units_time(job->ended_at->us, command->utc).text);
    if (*why)
        output_line(command, "- %s", why);
    if (job->progress && job->progress->has_step)
        output_line(command, "- step %" PRIu64 " of %s, %s steps lost", job->progress->step,
                    count_text(job->progress->has_max_steps, job->progress->max_steps).text,
                    count_text(report->has_steps_lost, report->steps_lost).text);
    output_line(command, "- %zu attempt%s, cost %s", report->n_attempts,
                report->n_attempts == 1 ? "" : "s", cost);
    if (report->attempts_unknown)
        output_line(command,
                    "- %" PRIu32 " earlier attempts were not kept: their part is not known",
                    report->attempts_unknown);
    output_line(command, "%s", "");
    print_times(command, report);
    if (!report->n_attempts)
        return;
    output_line(command, "%s", "");
    print_attempts(command, report);
}

/* ---- fields of a line: CSV, and plain ---- */

struct line {
    bool is_plain;
    struct record record; /* of plain */
    bool has_fields;      /* of CSV */
};

static void put(struct line *line, const char *text)
{
    const char *value = text && *text ? text : UNKNOWN;

    if (line->is_plain) {
        output_text(&line->record, value);
        return;
    }
    bool quoted = strpbrk(value, ",\"\r\n") != NULL;
    fputs(line->has_fields ? "," : "", stdout);
    fputs(quoted ? "\"" : "", stdout);
    for (; *value; value++) {
        if (*value == '"')
            putchar('"');
        putchar(*value);
    }
    fputs(quoted ? "\"" : "", stdout);
    line->has_fields = true;
}

static void end_line(struct line *line)
{
    if (line->is_plain)
        output_end(&line->record);
    else
        fputs("\r\n", stdout);
    line->has_fields = false;
}

static void put_time(struct line *line, const Wafer__Time *time)
{
    char text[TIMESTAMP_TEXT_SIZE];

    if (time)
        timestamp_format(time->us, text);
    put(line, time ? text : NULL);
}

static void put_split(struct line *line, const Wafer__TimeSplit *split)
{
    for (size_t i = 0; i < ELEMENTS(causes); i++)
        put(line, seconds_text(split, &causes[i], true).text);
}

static void put_cost(struct line *line, const Wafer__Job__Cost *cost)
{
    put(line, cost ? cost->amount : NULL);
    put(line, cost ? cost->currency : NULL);
}

static void put_attempt(struct line *line, const Wafer__Job *job, const Wafer__Attempt *attempt)
{
    owned(free) char *systems = systems_text(attempt);

    put(line, job_id_text(job).text);
    put(line, job->name);
    put(line, count_text(attempt->has_attempt, attempt->attempt).text);
    put(line, attempt->pool);
    put(line, systems);
    put_time(line, attempt->granted_at);
    put_time(line, attempt->started_at);
    put_time(line, attempt->ended_at);
    put(line, attempt->has_cause ? cause_name(attempt->cause) : NULL);
    put(line, count_text(attempt->has_first_step, attempt->first_step).text);
    put(line, count_text(attempt->has_last_step, attempt->last_step).text);
    put(line, count_text(attempt->has_steps_lost, attempt->steps_lost).text);
    put_split(line, attempt->time);
    put_cost(line, attempt->cost);
    end_line(line);
}

static void put_all(struct line *line, const Wafer__JobReport *report)
{
    const Wafer__Job *job = report->job;

    put(line, job_id_text(job).text);
    put(line, job->name);
    put(line, "all");
    put(line, job->pool);
    put(line, NULL);
    put_time(line, job->submitted_at);
    put_time(line, job->started_at);
    put_time(line, job->ended_at);
    put(line, job->has_cause ? cause_name(job->cause) : NULL);
    put(line, NULL);
    put(line, count_text(job->progress && job->progress->has_step,
                         job->progress ? job->progress->step : 0)
                  .text);
    put(line, count_text(report->has_steps_lost, report->steps_lost).text);
    put_split(line, report->time);
    put_cost(line, job->cost);
    end_line(line);
}

static void print_lines(const Wafer__ReportList *list, bool is_plain)
{
    struct line line = { .is_plain = is_plain };

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__JobReport *report = list->items[i];
        for (size_t j = 0; j < report->n_attempts; j++)
            put_attempt(&line, report->job, report->attempts[j]);
        put_all(&line, report);
    }
}

static void print_csv(const Wafer__ReportList *list)
{
    fputs("job,name,attempt,pool,systems,granted_at,started_at,ended_at,cause,first_step,last_step,"
          "steps_lost",
          stdout);
    for (size_t i = 0; i < ELEMENTS(causes); i++)
        printf(",%s", causes[i].column);
    fputs(",cost,currency\r\n", stdout);
    print_lines(list, false);
}

/* ---- a table of attempts, for show ---- */

static const struct column attempt_columns[] = {
    { "JOBID", 0, 0, false },   { "ATTEMPT", 0, 0, true },  { "POOL", 5, 3, false },
    { "SYSTEMS", 8, 2, false }, { "STARTED", 0, 1, false }, { "HELD", 0, 4, true },
    { "STEPS", 0, 0, true },    { "LOST", 0, 0, true },     { "END", 21, 0, false },
};

static int64_t held_s(const Wafer__Attempt *attempt, const Wafer__Time *now)
{
    const Wafer__Time *end = attempt->ended_at ? attempt->ended_at : now;

    return attempt->granted_at && end ? (end->us - attempt->granted_at->us) / 1000000 : 0;
}

static void add_attempt(struct table *table, const struct command *command,
                        const Wafer__JobReport *report, const Wafer__Attempt *attempt,
                        const Wafer__Time *now)
{
    owned(free) char *systems = systems_text(attempt);
    const Wafer__Time *started = attempt->started_at;
    bool has_detail = attempt->detail && *attempt->detail;

    table_cell(table, STYLE_NONE, job_id_text(report->job).text);
    table_cell(table, STYLE_NONE,
               attempt->attempt ? count_text(true, attempt->attempt).text : NULL);
    table_cell(table, STYLE_NONE, attempt->pool);
    table_cell(table, STYLE_NONE, systems);
    table_cell(table, STYLE_NONE, started ? units_time(started->us, command->utc).text : NULL);
    table_cell(table, STYLE_NONE, units_seconds(held_s(attempt, now)).text);
    table_format(table, STYLE_NONE, "%s to %s",
                 count_text(attempt->has_first_step, attempt->first_step).text,
                 count_text(attempt->has_last_step, attempt->last_step).text);
    table_cell(table, STYLE_NONE, count_text(attempt->has_steps_lost, attempt->steps_lost).text);
    table_format(table, STYLE_NONE, "%s%s%s", end_text(attempt), has_detail ? ": " : "",
                 has_detail ? attempt->detail : "");
}

static void print_attempt_table(const struct command *command, const Wafer__ReportList *list)
{
    owned(table_free) struct table *table =
        table_new(attempt_columns, ELEMENTS(attempt_columns), &command->out);
    bool is_complete = true;

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__JobReport *report = list->items[i];
        for (size_t j = 0; j < report->n_attempts; j++)
            add_attempt(table, command, report, report->attempts[j], list->generated_at);
        is_complete &= !report->attempts_unknown;
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
    if (!is_complete)
        output_line(command, "%s", "earlier attempts were not kept");
}

/* ---- the verb ---- */

enum report_format {
    REPORT_MARKDOWN,
    REPORT_JSON,
    REPORT_CSV,
    REPORT_PLAIN,
    REPORT_ATTEMPTS, /* a table of them alone */
};

static enum report_format format_of(const struct command *command, enum report_format people)
{
    bool is_document = command_is_json(command) || command->format == FORMAT_YAML;

    return is_document ? REPORT_JSON : command->format == FORMAT_PLAIN ? REPORT_PLAIN : people;
}

static int read_format(const struct command *command, enum report_format *ret)
{
    const char *name = command->values[FLAG_FORMAT];

    *ret = format_of(command, REPORT_MARKDOWN);
    if (!name)
        return 0;
    if (strcmp(name, "md") == 0)
        *ret = REPORT_MARKDOWN;
    else if (strcmp(name, "json") == 0)
        *ret = REPORT_JSON;
    else if (strcmp(name, "csv") == 0)
        *ret = REPORT_CSV;
    else
        return message_fail(command, EXIT_USAGE, "--format: unknown format '%s': md, json or csv",
                            name);
    return 0;
}

static void print_reports(const struct command *command, Wafer__ReportList *list,
                          enum report_format format)
{
    switch (format) {
    case REPORT_JSON:
        output_envelope("wafer.report/v1", &list->schema, &list->generated_at);
        list->has_total = list->has_truncated = true;
        list->total = list->n_items;
        if (!output_document(command, &list->base))
            output_json(&list->base);
        break;
    case REPORT_ATTEMPTS: print_attempt_table(command, list); break;
    case REPORT_CSV: print_csv(list); break;
    case REPORT_PLAIN: print_lines(list, true); break;
    case REPORT_MARKDOWN:
        for (size_t i = 0; i < list->n_items; i++) {
            if (i)
                output_line(command, "%s", "");
            print_markdown(command, list->items[i]);
        }
        break;
    }
}

static int ask(struct connection *connection, Wafer__Target *target, Wafer__ReportList *list)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReportRequest body = WAFER__REPORT_REQUEST__INIT;

    body.target = target;
    request.body_case = WAFER__REQUEST__BODY_REPORT;
    request.report = &body;
    int exit = connection_call(connection, &request, BIT(WAFER__RESPONSE__BODY_REPORT), &response);
    if (exit)
        return exit;
    user_fill(response->report->job);
    list->items[list->n_items++] = TAKE(response->report);
    response->body_case = WAFER__RESPONSE__BODY__NOT_SET;
    return 0;
}

static int report(const struct command *command, enum report_format format)
{
    owned(targets_done) struct targets targets = { .count = 0 };
    owned(connection_close) struct connection *connection = NULL;
    Wafer__ReportList *list = NEW(Wafer__ReportList);
    int exit = targets_read(command, &targets);

    wafer__report_list__init(list);
    if (!exit)
        exit = connection_open(command, &connection);
    if (!exit)
        list->items = memory_new(targets.count * sizeof(*list->items) + 1);
    /* The first that cannot be had ends it: a report that leaves one out is a wrong one. */
    for (size_t i = 0; i < targets.count && !exit; i++)
        exit = ask(connection, &targets.items[i], list);
    if (!exit)
        print_reports(command, list, format);
    if (!list->schema)
        list->schema = text_copy("");
    wafer__report_list__free_unpacked(list, NULL);
    return exit;
}

int run_report(const struct command *command)
{
    enum report_format format;
    int exit = read_format(command, &format);

    return exit ? exit : report(command, format);
}

int report_attempts(const struct command *command)
{
    return report(command, format_of(command, REPORT_ATTEMPTS));
}
