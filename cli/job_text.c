#include "cli/job_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/output.h"
#include "model/job.h"

#define STEPS_WIDTH 9 /* of "999k/9.9M" */

struct unit_text job_id_text(const Wafer__Job *job)
{
    struct unit_text ret;

    if (job->has_array_id && job->has_array_index)
        snprintf(ret.text, sizeof(ret.text), "%" PRIu64 "_%" PRIu32, job->array_id,
                 job->array_index);
    else
        return units_digits(job->id);
    return ret;
}

unsigned job_percent(const Wafer__Job *job)
{
    const Wafer__Job__Progress *progress = job->progress;

    if (!progress || !progress->has_step || !progress->has_max_steps || !progress->max_steps)
        return 0;
    if (progress->step >= progress->max_steps)
        return 100;
    return (unsigned)((double)progress->step / (double)progress->max_steps * 100);
}

struct unit_text job_step_text(const Wafer__Job *job)
{
    const Wafer__Job__Progress *progress = job->progress;
    struct unit_text ret;

    if (!progress || !progress->has_step) {
        snprintf(ret.text, sizeof(ret.text), "-");
        return ret;
    }
    if (!progress->has_max_steps)
        return units_count(progress->step);
    char *end = stpcpy(ret.text, units_count(progress->step).text);
    end = stpcpy(stpcpy(end, "/"), units_count(progress->max_steps).text);
    while (end < ret.text + STEPS_WIDTH)
        *end++ = ' ';
    snprintf(end, (size_t)(ret.text + sizeof(ret.text) - end), " %3u%%", job_percent(job));
    return ret;
}

enum style job_style(const Wafer__Job *job)
{
    switch (job->state) {
    case WAFER__JOB__STATE__SUCCEEDED: return STYLE_GOOD;
    case WAFER__JOB__STATE__FAILED:
    case WAFER__JOB__STATE__TIMEOUT:
    case WAFER__JOB__STATE__LOST: return STYLE_BAD;
    case WAFER__JOB__STATE__STARTING:
    case WAFER__JOB__STATE__RUNNING:
    case WAFER__JOB__STATE__STOPPING: return STYLE_ACTIVE;
    default: return STYLE_NONE;
    }
}

char *job_why_text(const Wafer__Job *job)
{
    const char *code = NULL, *detail = NULL;

    if (job->reason) {
        code = job_reason_name(job->reason->code);
        detail = job->reason->detail;
    } else if (job->has_cause && job->cause != WAFER__CAUSE__NO_CAUSE &&
               (job_state_is_terminal(job->state) || job->state == WAFER__JOB__STATE__STOPPING)) {
        code = cause_name(job->cause);
        detail = job->detail;
    }
    bool has_detail = detail && *detail;
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    buffer_append_text(&text, code ? code : "");
    buffer_append_text(&text, has_detail ? ": " : "");
    buffer_append_text(&text, has_detail ? detail : "");
    return buffer_text(&text);
}

/* id name user queue state phase reason attempt step max_steps systems elapsed_s limit_s
 * checkpoint_step submitted_at title */
static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Job *job = (const Wafer__Job *)item;
    const Wafer__Job__Progress *progress = job->progress;
    struct record record = { 0 };
    const char *reason = job->reason                    ? job_reason_name(job->reason->code)
                         : job->has_cause && job->cause ? cause_name(job->cause)
                                                        : NULL;

    output_number(&record, true, job->id);
    output_text(&record, job->name);
    output_text(&record, job->user);
    output_text(&record, job->queue);
    output_text(&record, job->has_state ? job_state_name(job->state) : NULL);
    output_text(&record, job->has_phase ? job_phase_name(job->phase) : NULL);
    output_text(&record, reason);
    output_number(&record, job->has_attempt, job->attempt);
    output_number(&record, progress && progress->has_step, progress ? progress->step : 0);
    output_number(&record, progress && progress->has_max_steps, progress ? progress->max_steps : 0);
    output_number(&record, job->systems && job->systems->has_requested,
                  job->systems ? job->systems->requested : 0);
    output_number(&record, job->has_elapsed_s, (uint64_t)job->elapsed_s);
    output_number(&record, job->has_limit_s, (uint64_t)job->limit_s);
    output_number(&record, job->checkpoint && job->checkpoint->has_last_good_step,
                  job->checkpoint ? job->checkpoint->last_good_step : 0);
    output_time(&record, job->submitted_at);
    output_text(&record, job->title);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(job_id_text((const Wafer__Job *)item).text);
}

const struct noun job_noun = {
    .item_schema = "wafer.job/v1",
    .list_schema = "wafer.job.list/v1",
    .type = &wafer__job__descriptor,
    .envelope = &wafer__job_item__descriptor,
    .name = name_of,
    .plain = print_plain,
};

size_t response_jobs(const Wafer__Response *response, Wafer__Job ***ret)
{
    if (response->body_case == WAFER__RESPONSE__BODY_JOBS) {
        *ret = response->jobs->items;
        return response->jobs->n_items;
    }
    if (response->body_case == WAFER__RESPONSE__BODY_JOB) {
        *ret = (Wafer__Job **)&response->job;
        return 1;
    }
    return 0;
}
