#include "cli/job_page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/event_line.h"
#include "cli/job_text.h"
#include "cli/page.h"
#include "cli/units.h"
#include "model/job.h"
#include "model/priority.h"

/* Fields of a page are often made of several parts, some of which are not known. */
static void add_part(struct buffer *value, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_part(struct buffer *value, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *part = text_vformat(format, arguments);
    va_end(arguments);
    if (value->length)
        buffer_append_text(value, ", ");
    buffer_append_text(value, part);
}

static void print_parts(const struct command *command, const char *name, struct buffer *value)
{
    owned(free) char *text = buffer_text(value);

    page_field(command, name, text);
}

static void print_heading(const struct command *command, const Wafer__Job *job)
{
    page_heading(command, job->state < JOB_STATES ? job_style(job) : STYLE_NONE,
                 "job %s  %s  %s%s%s", job_id_text(job).text, job->name ? job->name : "-",
                 job->has_state ? job_state_name(job->state) : "-", job->has_phase ? " " : "",
                 job->has_phase ? job_phase_name(job->phase) : "");
    if (job->title && *job->title)
        page_field(command, "title", job->title);
}

static void print_owner(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    add_part(&value, "%s", job->user ? job->user : "-");
    if (job->project)
        add_part(&value, "project %s", job->project);
    if (job->queue)
        add_part(&value, "queue %s", job->queue);
    if (job->has_priority) {
        char priority[PRIORITY_TEXT_SIZE];
        priority_format(job->priority, priority);
        add_part(&value, "priority %s", priority);
    }
    print_parts(command, "owner", &value);
}

static void print_reason(const struct command *command, const Wafer__Job *job)
{
    const Wafer__Job__WaitReason *reason = job->reason;
    owned(buffer_done) struct buffer blockers = BUFFER_EMPTY;
    owned(free) char *why = job_why_text(job);

    if (!*why)
        return;
    page_field(command, reason ? "waits for" : "cause", why);
    if (!reason)
        return;
    if (reason->since)
        page_time(command, "since", reason->since);
    for (size_t i = 0; i < reason->n_blockers; i++) {
        const Wafer__Job__Blocker *blocker = reason->blockers[i];
        if (blocker->has_id)
            add_part(&blockers, "%s %" PRIu64, blocker->kind, blocker->id);
        else
            add_part(&blockers, "%s %s", blocker->kind, blocker->name ? blocker->name : "");
    }
    if (blockers.length)
        print_parts(command, "blocked by", &blockers);
    if (reason->est_start)
        page_format(command, "starts", "%s%s%s%s",
                    units_time(reason->est_start->us, command->utc).text,
                    reason->est_basis ? " (" : "", reason->est_basis ? reason->est_basis : "",
                    reason->est_basis ? ")" : "");
}

static const char *name_of(const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

    return found ? found->name : "-";
}

static void print_conditions(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    if (job->begin_at)
        page_time(command, "begins", job->begin_at);
    if (job->deadline_at)
        page_time(command, "deadline", job->deadline_at);
    for (size_t i = 0; i < job->n_after; i++) {
        const Wafer__Job__After *after = job->after[i];
        add_part(&value, "%s %s%" PRIu64 " (%s)",
                 name_of(&wafer__job__after__kind__descriptor, (int)after->kind),
                 after->array ? "array " : "", after->job,
                 name_of(&wafer__job__after__status__descriptor, (int)after->status));
    }
    if (value.length)
        print_parts(command, "after", &value);
}

static void print_systems(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;
    const Wafer__Job__Systems *systems = job->systems;

    if (systems && systems->has_requested)
        add_part(&value, "%" PRIu32, systems->requested);
    if (systems && systems->has_min && systems->min != systems->requested)
        add_part(&value, "at least %" PRIu32, systems->min);
    if (systems && systems->n_allocated)
        add_part(&value, "on %s", systems->allocated[0]);
    for (size_t i = 1; systems && i < systems->n_allocated; i++)
        buffer_format(&value, " %s", systems->allocated[i]);
    if (job->pool)
        add_part(&value, "pool %s", job->pool);
    if (job->platform)
        add_part(&value, "platform %s", job->platform);
    print_parts(command, "systems", &value);
}

static void print_progress(const struct command *command, const Wafer__Job *job)
{
    const Wafer__Job__Progress *progress = job->progress;
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    if (!progress || !progress->has_step)
        return;
    add_part(&value, "step %s", units_grouped(progress->step).text);
    if (progress->has_max_steps)
        buffer_format(&value, " of %s (%u%%)", units_grouped(progress->max_steps).text,
                      job_percent(job));
    if (progress->has_eta_s)
        add_part(&value, "ends in %s", units_seconds(progress->eta_s).text);
    print_parts(command, "progress", &value);

    if (progress->loss)
        add_part(&value, "loss %s", units_decimal(progress->loss->micro, 4).text);
    if (progress->samples_per_s)
        add_part(&value, "%s samples/s", units_decimal(progress->samples_per_s->micro, 1).text);
    if (progress->has_tokens_per_s)
        add_part(&value, "%s tokens/s", units_grouped(progress->tokens_per_s).text);
    if (value.length)
        print_parts(command, "", &value);
}

static void print_checkpoint(const struct command *command, const Wafer__Job *job)
{
    const Wafer__Job__LastCheckpoint *checkpoint = job->checkpoint;
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    if (!checkpoint || !checkpoint->has_last_good_step)
        return;
    if (checkpoint->last_good_id)
        add_part(&value, "%s", checkpoint->last_good_id);
    add_part(&value, "step %s", units_grouped(checkpoint->last_good_step).text);
    add_part(&value, "%s", checkpoint->verified ? "verified" : "not verified yet");
    if (checkpoint->has_bytes)
        add_part(&value, "%s", units_bytes(checkpoint->bytes).text);
    print_parts(command, "checkpoint", &value);
    if (checkpoint->at)
        page_time(command, "", checkpoint->at);
}

static void print_attempts(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    if (job->has_attempt)
        add_part(&value, "%" PRIu32, job->attempt);
    if (job->has_steps_lost && job->steps_lost)
        add_part(&value, "%s steps lost", units_grouped(job->steps_lost).text);
    if (job->has_resumed_from)
        add_part(&value, "goes on from job %" PRIu64, job->resumed_from);
    print_parts(command, "attempt", &value);
}

static void print_times(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    page_time(command, "submitted", job->submitted_at);
    if (job->started_at)
        page_time(command, "started", job->started_at);
    if (job->ended_at)
        page_time(command, "ended", job->ended_at);
    if (job->has_elapsed_s)
        add_part(&value, "%s", units_seconds(job->elapsed_s).text);
    if (job->has_limit_s)
        add_part(&value, "of at most %s", units_seconds(job->limit_s).text);
    if (job->has_total_run_s && job->total_run_s != job->elapsed_s)
        add_part(&value, "%s over all attempts", units_seconds(job->total_run_s).text);
    if (value.length)
        print_parts(command, "run time", &value);
    if (job->cost && job->cost->amount)
        page_format(command, "cost", "%s%s %s", job->cost->estimated ? "about " : "",
                    job->cost->amount, job->cost->currency ? job->cost->currency : "");
}

static void print_result(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    if (job->exit && job->exit->has_code)
        add_part(&value, "exit code %" PRId32, job->exit->code);
    if (job->exit && job->exit->has_signal)
        add_part(&value, "signal %" PRId32, job->exit->signal);
    if (job->exit && job->exit->has_first_failure)
        add_part(&value, "first on rank %" PRIu32, job->exit->first_failure);
    if (job->result && job->result->has_final_step)
        add_part(&value, "final step %s", units_grouped(job->result->final_step).text);
    if (job->result && job->result->metric)
        add_part(&value, "metric %s", units_decimal(job->result->metric->micro, 4).text);
    if (job->result && job->result->target)
        add_part(&value, "target %s%s", units_decimal(job->result->target->micro, 4).text,
                 !job->result->has_target_met ? ""
                 : job->result->target_met    ? " met"
                                              : " not met");
    if (value.length)
        print_parts(command, "result", &value);
    if (job->result && job->result->state_digest)
        page_field(command, "digest", job->result->state_digest);
}

static void print_labels(const struct command *command, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer value = BUFFER_EMPTY;

    for (size_t i = 0; i < job->n_labels; i++)
        add_part(&value, "%s=%s", job->labels[i]->key, job->labels[i]->value);
    if (value.length)
        print_parts(command, "labels", &value);
}

void job_page_print(const struct command *command, const Wafer__ShowResponse *show)
{
    const Wafer__Job *job = show->job;

    print_heading(command, job);
    print_owner(command, job);
    print_reason(command, job);
    print_conditions(command, job);
    print_systems(command, job);
    print_progress(command, job);
    print_checkpoint(command, job);
    print_attempts(command, job);
    print_times(command, job);
    print_result(command, job);
    print_labels(command, job);
    if (show->n_events)
        page_heading(command, STYLE_NONE, "newest events");
    for (size_t i = 0; i < show->n_events; i++)
        event_line_print(command, show->events[i], "  ", false);
}
