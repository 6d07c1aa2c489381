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

static void print_page(const struct command *command, const Wafer__Plan *plan)
{
    print_job(command, plan);
    print_fit(command, plan);
    if (plan->cost_at_most)
        page_format(command, "cost", "at most %s %s (%s of one system)", plan->cost_at_most->amount,
                    plan->cost_at_most->currency, units_seconds(plan->cost_at_most->system_s).text);
    else
        page_field(command, "cost", "has no bound: the job has no limit");
}

static void print_plain(const Wafer__Plan *plan)
{
    const Wafer__Job *job = plan->explanation->job;
    struct record record = { 0 };

    output_text(&record, plan->starts_now ? "now" : "waits");
    output_text(&record, plan->starts_now ? NULL : job_reason_name(job->reason->code));
    output_text(&record, plan->starts_now ? NULL : job->reason->detail);
    output_time(&record, plan->starts_now ? NULL : job->reason->est_start);
    output_text(&record, plan->cost_at_most ? plan->cost_at_most->amount : NULL);
    output_text(&record, plan->cost_at_most ? plan->cost_at_most->currency : NULL);
    output_end(&record);
}

int run_plan(const struct command *command)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__PlanRequest body = WAFER__PLAN_REQUEST__INIT;
    Wafer__PlanItem item = WAFER__PLAN_ITEM__INIT;
    int exit = spec_read(command, &body.spec);

    if (exit)
        return exit;
    request.body_case = WAFER__REQUEST__BODY_PLAN;
    request.plan = &body;
    exit = connection_ask(command, &request, BIT(WAFER__RESPONSE__BODY_PLAN), &response);
    wafer__job_spec__free_unpacked(body.spec, NULL);
    if (exit)
        return exit;
    user_fill(response->plan->explanation->job);
    item.schema = (char *)"wafer.plan/v1";
    item.item = response->plan;
    if (!output_document(command, &item.base)) {
        if (command->format == FORMAT_PLAIN)
            print_plain(item.item);
        else
            print_page(command, item.item);
    }
    return response->plan->starts_now ? 0 : EXIT_NOTHING_MATCHED;
}
