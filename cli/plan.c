/* plan - what would become of a job file, on a page; nothing is handed in. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/explanation.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/plan_page.h"
#include "cli/run.h"
#include "cli/spec.h"
#include "cli/units.h"
#include "cli/user.h"
#include "model/job.h"
#include "model/priority.h"

static void print_job(const struct command *command, const Wafer__Plan *plan)
{
    const Wafer__Job *job = plan->explanation->job;
    struct job_terms terms;
    char priority[PRIORITY_TEXT_SIZE];

    job_terms(plan->spec, &terms);
    priority_format(terms.priority, priority);
    page_heading(command, STYLE_NONE, "plan  %s", plan->spec->name);
    page_format(
        command, "job", "%" PRIu32 " system%s%s, queue %s, priority %s, limit %s, class %s%s",
        terms.systems_count, terms.systems_count == 1 ? "" : "s",
        terms.systems_min < terms.systems_count ? " (a restart may do with fewer)" : "",
        job->queue ? job->queue : "-", priority,
        job->has_limit_s ? units_seconds(job->limit_s).text : "none", level_name(terms.level),
        job->has_resumed_from ? ", goes on from a checkpoint" : "");
    if (terms.array_first <= terms.array_last)
        page_format(command, "array", "%" PRIu32 " elements; this is about the first",
                    terms.array_last - terms.array_first + 1);
}

static void print_fit(const struct command *command, const Wafer__Plan *plan)
{
    const Wafer__Job *job = plan->explanation->job;
    owned(free) char *why = job_why_text(job);

    if (plan->resumption && plan->resumption->stops_attempt) {
        page_field(command, "fit", "would wait: its attempt is stopped first");
        return;
    }
    if (plan->starts_now) {
        page_field(command, "fit", "would start now");
        return;
    }
    page_format(command, "fit", "would wait: %s", why);
    if (job->reason && job->reason->est_start)
        page_format(command, "start", "by %s (%s)",
                    units_time(job->reason->est_start->us, command->utc).text,
                    job->reason->est_basis ? job->reason->est_basis : "-");
    for (size_t i = 0; i < plan->n_stops; i++)
        page_format(command, i ? "" : "would stop", "job %" PRIu64 ", which is less urgent",
                    plan->stops[i]);
    explanation_print_systems(command, plan->explanation);
    explanation_print_checks(command, plan->explanation, true, "also");
    explanation_print_advice(command, plan->explanation, "hint");
}

static void print_resumption(const struct command *command,
                             const Wafer__Plan__Resumption *resumption)
{
    owned(buffer_done) struct buffer classes = BUFFER_EMPTY;

    page_format(command, "resumes", "job %" PRIu64 "%s", resumption->job,
                resumption->as_new_job ? ", as a new job" : "");
    if (resumption->has_from_step)
        page_format(command, "from", "checkpoint %" PRIu64 "@%" PRIu64 "%s", resumption->from_job,
                    resumption->from_step,
                    resumption->has_weights_only && resumption->weights_only
                        ? ", its weights alone: the steps begin at 0"
                    : resumption->stops_attempt ? ", or one that the stop saves"
                                                : "");
    else
        page_field(command, "from", "the beginning: there is no good checkpoint");
    page_format(command, "lost", "%s%" PRIu64 " steps are made again",
                resumption->stops_attempt ? "at most " : "", resumption->steps_lost);
    for (size_t i = 0; i < resumption->n_pool_classes; i++)
        buffer_format(&classes, "%s%s", i ? ", " : "", level_name(resumption->pool_classes[i]));
    owned(free) char *text = buffer_text(&classes);
    page_field(command, "pool takes", text);
}

static const char *kind_name(const Wafer__Quota *quota)
{
    return quota->kind == WAFER__QUOTA__KIND__USER      ? "user"
           : quota->kind == WAFER__QUOTA__KIND__PROJECT ? "project"
                                                        : "queue";
}

/* What would be used with the job, to its limit. */
static void print_quota(const struct command *command, const Wafer__Plan *plan,
                        const Wafer__Quota *quota, bool is_first)
{
    const Wafer__Job__Cost *most = plan->cost_at_most;
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    if (quota->has_systems_max)
        buffer_format(
            &text, "%" PRIu32 " -> %" PRIu32 " of %" PRIu32 " systems", quota->systems_used,
            quota->systems_used + plan->explanation->job->systems->requested, quota->systems_max);
    if (quota->has_system_max_s && most)
        buffer_format(&text,
                      "%s%" PRIi64 " -> %" PRIi64 " of %" PRIi64 " system-hours in %" PRIi64 "d",
                      text.length ? ", " : "", quota->system_s / 3600,
                      (quota->system_s + most->system_s) / 3600, quota->system_max_s / 3600,
                      quota->system_window_s / 86400);
    else if (quota->has_system_max_s)
        buffer_format(&text, "%s%" PRIi64 " of %" PRIi64 " system-hours in %" PRIi64 "d",
                      text.length ? ", " : "", quota->system_s / 3600, quota->system_max_s / 3600,
                      quota->system_window_s / 86400);
    if (quota->cost)
        buffer_format(&text, "%s%s of %s %s in %" PRIi64 "d", text.length ? ", " : "", quota->cost,
                      quota->budget_hard ? quota->budget_hard : quota->budget_soft, quota->currency,
                      quota->budget_window_s / 86400);
    owned(free) char *used = buffer_text(&text);
    page_format(command, is_first ? "quota" : "", "%s %s: %s", kind_name(quota), quota->name, used);
}

static void print_page(const struct command *command, const Wafer__Plan *plan)
{
    print_job(command, plan);
    if (plan->resumption)
        print_resumption(command, plan->resumption);
    print_fit(command, plan);
    for (size_t i = 0; i < plan->n_quotas; i++)
        print_quota(command, plan, plan->quotas[i], i == 0);
    if (plan->cost_at_most)
        page_format(command, "cost", "at most %s %s (%s of one system)", plan->cost_at_most->amount,
                    plan->cost_at_most->currency, units_seconds(plan->cost_at_most->system_s).text);
    else
        page_field(command, "cost", "has no bound: the job has no limit");
}

static void print_plain(const Wafer__Plan *plan)
{
    /* None of what would start now, nor of what still runs. */
    const Wafer__Job__WaitReason *reason = plan->starts_now ? NULL : plan->explanation->job->reason;
    const Wafer__Plan__Resumption *resumption = plan->resumption;
    struct record record = { 0 };

    output_text(&record, plan->starts_now ? "now" : "waits");
    output_text(&record, reason ? job_reason_name(reason->code) : NULL);
    output_text(&record, reason ? reason->detail : NULL);
    output_time(&record, reason ? reason->est_start : NULL);
    output_text(&record, plan->cost_at_most ? plan->cost_at_most->amount : NULL);
    output_text(&record, plan->cost_at_most ? plan->cost_at_most->currency : NULL);
    if (resumption) {
        output_number(&record, resumption->has_from_job, resumption->from_job);
        output_number(&record, resumption->has_from_step, resumption->from_step);
        output_number(&record, resumption->has_steps_lost, resumption->steps_lost);
    }
    output_end(&record);
}

int plan_print(const struct command *command, Wafer__Plan *plan)
{
    Wafer__PlanItem item = WAFER__PLAN_ITEM__INIT;

    user_fill(plan->explanation->job);
    for (size_t i = 0; i < plan->n_quotas; i++)
        user_fill_quota(plan->quotas[i]);
    item.schema = (char *)"wafer.plan/v1";
    item.item = plan;
    if (!output_document(command, &item.base)) {
        if (command->format == FORMAT_PLAIN)
            print_plain(plan);
        else
            print_page(command, plan);
    }
    return plan->starts_now ? 0 : EXIT_NOTHING_MATCHED;
}

int run_plan(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__PlanRequest body = WAFER__PLAN_REQUEST__INIT;
    int exit = spec_read(command, &body.spec);

    if (exit)
        return exit;
    request.body_case = WAFER__REQUEST__BODY_PLAN;
    request.plan = &body;
    exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_PLAN), &response);
    wafer__job_spec__free_unpacked(body.spec, NULL);
    return exit ? exit : plan_print(command, response->plan);
}
