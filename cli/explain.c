/* explain — why a job waits or has ended, in a screen; the facts are the controller's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/explanation.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/targets.h"
#include "cli/units.h"
#include "cli/user.h"
#include "model/job.h"

static void page_text(const struct command *command, const char *name, struct buffer *value)
{
    owned(free) char *text = buffer_text(value);

    page_field(command, name, text);
}

static void print_heading(const struct command *command, const Wafer__Explanation *explanation)
{
    const Wafer__Job *job = explanation->job;
    const Wafer__Job__WaitReason *reason = job->reason;
    owned(free) char *why = job_why_text(job);

    page_heading(command, job->state < JOB_STATES ? job_style(job) : STYLE_NONE, "%s %s %s%s%s",
                 job_id_text(job).text, job->name ? job->name : "-",
                 job->has_state ? job_state_name(job->state) : "-", job->has_phase ? " " : "",
                 job->has_phase ? job_phase_name(job->phase) : "");
    if (*why)
        page_field(command, reason ? "reason" : "cause", why);
    else if (job->detail && *job->detail)
        page_field(command, "detail", job->detail);
    if (reason && reason->since)
        page_time(command, "since", reason->since);
    for (size_t i = 0; reason && i < reason->n_blockers; i++)
        if (reason->blockers[i]->has_id)
            page_format(command, "blocked by", "%s %" PRIu64, reason->blockers[i]->kind,
                        reason->blockers[i]->id);
}

static char *start_text(const struct command *command, const Wafer__Job *job)
{
    const Wafer__Job__WaitReason *reason = job->reason;

    if (!reason || !reason->est_start)
        return text_copy("n/a");
    return text_format("by %s%s%s%s", units_time(reason->est_start->us, command->utc).text,
                       reason->est_basis ? " (" : "", reason->est_basis ? reason->est_basis : "",
                       reason->est_basis ? ")" : "");
}

/* score  1020.0 = fair_share 0.9200 x 1000 + age 1.0000 x 100 + ... */
static void print_score(const struct command *command, const Wafer__Explanation *explanation)
{
    owned(buffer_done) struct buffer sum = BUFFER_EMPTY;

    if (!explanation->score)
        return;
    buffer_format(&sum, "%s =", units_decimal(explanation->score->micro, 1).text);
    for (size_t i = 0; i < explanation->n_terms; i++) {
        const Wafer__Explanation__Term *term = explanation->terms[i];
        buffer_format(&sum, "%s %s %s x %" PRIu32, i ? " +" : "", term->name,
                      units_decimal(term->factor->micro, 4).text, term->weight);
    }
    page_text(command, "score", &sum);
    for (size_t i = 0; i < explanation->n_terms; i++)
        if (explanation->terms[i]->weight && explanation->terms[i]->text)
            page_format(command, "", "%s: %s", explanation->terms[i]->name,
                        explanation->terms[i]->text);
}

static void print_start(const struct command *command, const Wafer__Explanation *explanation)
{
    owned(free) char *start = start_text(command, explanation->job);

    if (!explanation->job->reason)
        return;
    if (explanation->has_position)
        page_format(command, "position", "%" PRIu64 " of %" PRIu64, explanation->position,
                    explanation->queued);
    print_score(command, explanation);
    page_field(command, "start", start);
}

static void print_attempts(const struct command *command, const Wafer__Explanation *explanation)
{
    for (size_t i = 0; i < explanation->n_attempts; i++) {
        const Wafer__Attempt *attempt = explanation->attempts[i];
        owned(buffer_done) struct buffer value = BUFFER_EMPTY;

        if (attempt->attempt)
            buffer_format(&value, "%" PRIu32 ": ", attempt->attempt);
        else
            buffer_append_text(&value, "not started: ");
        for (size_t j = 0; j < attempt->n_systems && j < SYSTEMS_TOLD; j++)
            buffer_format(&value, "%s%s", j ? " " : "on ", attempt->systems[j]);
        buffer_format(&value, ", step %" PRIu64 " to %" PRIu64, attempt->first_step,
                      attempt->last_step);
        if (attempt->steps_lost)
            buffer_format(&value, ", %" PRIu64 " lost", attempt->steps_lost);
        buffer_format(&value, ", %s",
                      !attempt->ended_at   ? "goes on"
                      : attempt->has_cause ? cause_name(attempt->cause)
                                           : "n/a");
        if (attempt->detail && *attempt->detail)
            buffer_format(&value, ": %s", attempt->detail);
        page_text(command, i ? "" : "attempts", &value);
    }
}

static void print_page(const struct command *command, const Wafer__Explanation *explanation)
{
    print_heading(command, explanation);
    explanation_print_systems(command, explanation);
    explanation_print_checks(command, explanation, true, "also");
    explanation_print_checks(command, explanation, false, "not because");
    print_start(command, explanation);
    print_attempts(command, explanation);
    explanation_print_advice(command, explanation, "you can");
}

/* --system */
static void print_fit(const struct command *command, const Wafer__Explanation *explanation)
{
    const Wafer__Job *job = explanation->job;
    const Wafer__Explanation__SystemFit *fit = explanation->fit;

    page_heading(command, job->state < JOB_STATES ? job_style(job) : STYLE_NONE, "%s %s %s",
                 job_id_text(job).text, job->name ? job->name : "-",
                 job->has_state ? job_state_name(job->state) : "-");
    page_format(command, "system", "%s of pool %s, on host %s", fit->system,
                fit->pool ? fit->pool : "-", fit->host);
    for (size_t i = 0; i < fit->n_obstacles; i++)
        page_field(command, i ? "" : "not there", fit->obstacles[i]);
    if (!fit->n_obstacles)
        page_field(command, "fits", job->reason ? "it could start there" : "it runs there");
}

static void print_plain(const Wafer__Explanation *explanation)
{
    const Wafer__Job *job = explanation->job;
    struct record record = { 0 };

    output_number(&record, true, job->id);
    output_text(&record, job->has_state ? job_state_name(job->state) : NULL);
    output_text(&record, job->reason      ? job_reason_name(job->reason->code)
                         : job->has_cause ? cause_name(job->cause)
                                          : NULL);
    output_text(&record, job->reason ? job->reason->detail : job->detail);
    output_time(&record, job->reason ? job->reason->since : job->ended_at);
    output_number(&record, explanation->has_position, explanation->position);
    output_number(&record, explanation->has_queued, explanation->queued);
    output_time(&record, job->reason ? job->reason->est_start : NULL);
    for (size_t i = 0; explanation->fit && i < explanation->fit->n_obstacles; i++)
        output_text(&record, explanation->fit->obstacles[i]);
    output_end(&record);
}

/* --fix: the commands alone, one a line; what no command does is told on the side. */
static int print_fixes(const struct command *command, const Wafer__Explanation *explanation)
{
    size_t count = 0;

    for (size_t i = 0; i < explanation->n_advice; i++) {
        const Wafer__Explanation__Advice *advice = explanation->advice[i];
        if (advice->command)
            output_line(command, "%s", advice->command);
        else
            message_note(command, "%s", advice->text);
        count += advice->command != NULL;
    }
    return count ? 0 : EXIT_NOTHING_MATCHED;
}

static int print_start_alone(const struct command *command, const Wafer__Explanation *explanation)
{
    const Wafer__Job *job = explanation->job;
    owned(free) char *start = start_text(command, job);

    output_line(command, "%s",
                job->started_at && !job->reason ? units_time(job->started_at->us, command->utc).text
                                                : start);
    return 0;
}

int run_explain(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ExplainRequest body = WAFER__EXPLAIN_REQUEST__INIT;
    Wafer__ExplanationItem item = WAFER__EXPLANATION_ITEM__INIT;
    Wafer__Target target;
    int exit = target_read(command, command->targets[0], &target);

    if (!exit && command_has(command, FLAG_START) + command_has(command, FLAG_FIX) +
                         command_has(command, FLAG_ON_SYSTEM) >
                     1)
        exit = message_fail(command, EXIT_USAGE, "--start, --fix or --system: one of them");
    body.target = &target;
    body.system = (char *)command->values[FLAG_ON_SYSTEM];
    request.body_case = WAFER__REQUEST__BODY_EXPLAIN;
    request.explain = &body;
    if (!exit)
        exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_EXPLANATION), &response);
    if (exit)
        return exit;
    user_fill(response->explanation->job);
    item.schema = (char *)"wafer.explain/v1";
    item.item = response->explanation;
    if (output_document(command, &item.base))
        return 0;
    if (command->format == FORMAT_PLAIN)
        print_plain(item.item);
    else if (command_has(command, FLAG_FIX))
        return print_fixes(command, item.item);
    else if (command_has(command, FLAG_START))
        return print_start_alone(command, item.item);
    else if (item.item->fit)
        print_fit(command, item.item);
    else
        print_page(command, item.item);
    return 0;
}
