#include "render.h"

#define NAME(type, value)                                                                          \
    protobuf_c_enum_descriptor_get_value(&wafer__##type##__descriptor, value)->name

static void number(struct buffer *text, const char *key, uint64_t value)
{
    buffer_format(text, " %s=%llu", key, (unsigned long long)value);
}

static void render_job(struct buffer *text, const Wafer__JobState *job)
{
    buffer_format(text, " %s", NAME(job__state, job->state));
    number(text, "epoch", job->epoch);
    number(text, "attempt", job->attempt);
    for (size_t i = 0; i < job->n_systems; i++)
        buffer_format(text, "%s%u", i ? "," : " systems=", job->systems[i]);
    if (job->has_resume_checkpoint)
        number(text, "resume", job->resume_step);
    if (job->failures)
        number(text, "failures", job->failures);
    if (job->launch_refusals)
        number(text, "refusals", job->launch_refusals);
    if (job->has_not_before_us)
        buffer_format(text, " not_before=%llds", (long long)(job->not_before_us / 1000000));
    if (job->has_stop_deadline_us)
        buffer_format(text, " deadline=%llds", (long long)(job->stop_deadline_us / 1000000));
    if (job->cost_micro)
        number(text, "cost_micro", (uint64_t)job->cost_micro);
}

void render_record(struct buffer *text, const Wafer__Record *record)
{
    buffer_format(text, "%18s%s", "", NAME(record_kind, record->kind));
    if (record->has_job)
        number(text, "job", record->job);
    if (record->job_state)
        render_job(text, record->job_state);
    if (record->checkpoint) {
        number(text, "checkpoint", record->checkpoint->number);
        number(text, "step", record->checkpoint->step);
        buffer_format(text, " %s", NAME(checkpoint__state, record->checkpoint->state));
        if (record->checkpoint->pinned)
            buffer_append_text(text, " pinned");
    }
    if (record->system)
        buffer_format(text, " system=%s %s%s", record->system->name,
                      NAME(system__state, record->system->state),
                      record->system->drained ? " drained" : "");
    if (record->host)
        buffer_format(text, " host=%s boot=%s", record->host->name, record->host->boot_id);
    if (record->queue)
        buffer_format(text, " queue=%s%s", record->queue->name,
                      record->queue->stopped ? " stopped" : "");
    if (record->reservation)
        buffer_format(text, " reservation=%s windows=%zu", record->reservation->name,
                      record->reservation->n_windows);
    if (record->has_next_job)
        number(text, "next_job", record->next_job);
    if (record->delivery) {
        number(text, "delivery", record->delivery->number);
        if (record->delivery->failures)
            number(text, "failures", record->delivery->failures);
    }
    if (record->array_count)
        number(text, "array_count", record->array_count);
    if (record->has_cause)
        buffer_format(text, " %s", NAME(cause, record->cause));
    else if (record->job_state && record->job_state->has_cause)
        buffer_format(text, " %s", NAME(cause, record->job_state->cause));
    if (record->text)
        buffer_format(text, " \"%s\"", record->text);
    buffer_append_text(text, "\n");
}

static void render_view(struct buffer *text, const Wafer__Job *view)
{
    number(text, "job", view->id);
    if (view->has_state)
        buffer_format(text, " %s", NAME(job__state, view->state));
    if (view->reason)
        buffer_format(text, " %s", NAME(job__reason, view->reason->code));
}

static void render_explanation(struct buffer *text, const Wafer__Explanation *explanation)
{
    const Wafer__Job__WaitReason *reason = explanation->job->reason;

    render_view(text, explanation->job);
    if (reason && reason->code == WAFER__JOB__REASON__ReservationConflict)
        buffer_format(text, " \"%s\"", reason->detail); /* it says which limit would fit */
    if (reason && reason->est_start)
        buffer_format(text, " start=%llds", (long long)(reason->est_start->us / 1000000));
    if (explanation->has_position)
        buffer_format(text, " position=%llu/%llu", (unsigned long long)explanation->position,
                      (unsigned long long)explanation->queued);
    for (size_t i = 0; i < explanation->n_terms; i++) {
        const Wafer__Explanation__Term *term = explanation->terms[i];
        buffer_format(text, "\n                    %s %lld x %u = %lld", term->name,
                      (long long)term->factor->micro, term->weight,
                      (long long)term->product->micro);
    }
    for (size_t i = 0; i < explanation->n_systems; i++) {
        const Wafer__Explanation__SystemUse *use = explanation->systems[i];
        buffer_format(text, "\n%20s%s %s", "", use->system,
                      NAME(explanation__system_use__use, use->use));
        if (use->has_job)
            number(text, "job", use->job);
        if (use->until)
            buffer_format(text, " until=%llds", (long long)(use->until->us / 1000000));
        if (use->reason)
            buffer_format(text, " \"%s\"", use->reason);
    }
    for (size_t i = 0; i < explanation->n_checks; i++)
        buffer_format(text, "\n%20s%s %s: %s", "", explanation->checks[i]->holds ? "also" : "not",
                      NAME(job__reason, explanation->checks[i]->reason),
                      explanation->checks[i]->text);
    for (size_t i = 0; i < explanation->n_advice; i++)
        buffer_format(text, "\n%20s%s: %s", "", explanation->advice[i]->text,
                      explanation->advice[i]->command ? explanation->advice[i]->command : "-");
}

static void render_plan(struct buffer *text, const Wafer__Plan *plan)
{
    const Wafer__Plan__Resumption *resumption = plan->resumption;

    buffer_append_text(text, plan->starts_now ? " starts" : " waits");
    if (!resumption) {
        render_view(text, plan->explanation->job);
        return;
    }
    number(text, "resumes", resumption->job);
    buffer_append_text(text, resumption->as_new_job ? " anew" : "");
    buffer_append_text(text, resumption->stops_attempt ? " stopping it" : "");
    if (resumption->has_from_step)
        buffer_format(text, " from=%llu@%llu", (unsigned long long)resumption->from_job,
                      (unsigned long long)resumption->from_step);
    number(text, "lost", resumption->steps_lost);
    render_view(text, plan->explanation->job);
}

static void render_reservation(struct buffer *text, const Wafer__Reservation *reservation)
{
    buffer_format(text, " %s count=%u", reservation->name, reservation->count);
    for (size_t i = 0; i < reservation->n_windows; i++)
        buffer_format(text, " %lld-%llds", (long long)(reservation->windows[i]->from->us / 1000000),
                      (long long)(reservation->windows[i]->until->us / 1000000));
    for (size_t i = 0; i < reservation->n_running; i++)
        number(text, "running", reservation->running[i]);
}

static void render_reply(struct buffer *text, const Wafer__Response *reply)
{
    buffer_append_text(text, "reply");
    switch (reply->body_case) {
    case WAFER__RESPONSE__BODY_ERROR:
        buffer_format(text, " %s %u \"%s\"", reply->error->code, reply->error->exit,
                      reply->error->message);
        break;
    case WAFER__RESPONSE__BODY_JOB: render_view(text, reply->job); break;
    case WAFER__RESPONSE__BODY_SHOW: render_view(text, reply->show->job); break;
    case WAFER__RESPONSE__BODY_CHECKPOINTS:
        for (size_t i = 0; i < reply->checkpoints->n_items; i++) {
            const Wafer__Checkpoint *item = reply->checkpoints->items[i];
            buffer_format(text, " %s %s%s%s%s", item->id, NAME(checkpoint__state, item->state),
                          item->detail ? " \"" : "", item->detail ? item->detail : "",
                          item->detail ? "\"" : "");
        }
        break;
    case WAFER__RESPONSE__BODY_PLAN: render_plan(text, reply->plan); break;
    case WAFER__RESPONSE__BODY_RESERVATIONS:
        for (size_t i = 0; i < reply->reservations->n_items; i++)
            render_reservation(text, reply->reservations->items[i]);
        break;
    default: break;
    }
}

static void render_fence(struct buffer *text, uint64_t job, const Wafer__Fence *fence)
{
    number(text, "job", job);
    number(text, "epoch", fence->epoch);
}

static void render_agent(struct buffer *text, const Wafer__ToAgent *message)
{
    if (message->welcome)
        buffer_append_text(text, "welcome");
    if (message->welcome && message->welcome->has_echo_us)
        number(text, "echo", (uint64_t)message->welcome->echo_us);
    if (message->clock)
        buffer_append_text(text, "clock");
    if (message->start) {
        buffer_append_text(text, "start");
        render_fence(text, message->start->job, message->start->fence);
        for (size_t i = 0; i < message->start->n_systems; i++)
            buffer_format(text, "%s%s", i ? "," : " systems=", message->start->systems[i]);
        if (message->start->resume)
            number(text, "resume", message->start->resume->step);
        if (message->start->weights_only)
            buffer_append_text(text, " weights_only");
    }
    if (message->stop) {
        buffer_append_text(text, "stop");
        render_fence(text, message->stop->job, message->stop->fence);
        buffer_format(text, "%s%s %s", message->stop->save ? " save" : "",
                      message->stop->now ? " now" : "", NAME(cause, message->stop->cause));
    }
    if (message->ended_ack) {
        buffer_append_text(text, "ended_ack");
        render_fence(text, message->ended_ack->job, message->ended_ack->fence);
    }
    if (message->checkpoint_ack) {
        buffer_append_text(text, "checkpoint_ack");
        render_fence(text, message->checkpoint_ack->job, message->checkpoint_ack->fence);
        number(text, "step", message->checkpoint_ack->step);
        if (!message->checkpoint_ack->committed)
            buffer_append_text(text, " dropped");
    }
    if (message->fault)
        buffer_format(text, "fault system=%s", message->fault->system);
}

void render_effect(struct buffer *text, const struct effect *effect)
{
    buffer_format(text, "%10s", "");
    switch (effect->type) {
    case EFFECT_REPLY: render_reply(text, effect->response); break;
    case EFFECT_HISTORY:
        buffer_append_text(text, "history");
        if (effect->response && effect->response->body_case == WAFER__RESPONSE__BODY_EXPLANATION)
            render_explanation(text, effect->response->explanation);
        break;
    case EFFECT_SUBSCRIBE: buffer_append_text(text, "subscribe"); break;
    case EFFECT_LOGS: buffer_append_text(text, "logs"); break;
    case EFFECT_AGENT: render_agent(text, effect->to_agent); break;
    case EFFECT_DROP_LINK:
        buffer_append_text(text, "drop"), number(text, "link", effect->link);
        break;
    case EFFECT_COMMIT_MANIFEST:
        buffer_append_text(text, "commit"), number(text, "checkpoint", effect->checkpoint);
        break;
    case EFFECT_VERIFY:
        buffer_append_text(text, "verify"), number(text, "checkpoint", effect->checkpoint);
        break;
    case EFFECT_DELETE:
        buffer_append_text(text, "delete"), number(text, "checkpoint", effect->checkpoint);
        break;
    case EFFECT_NOTIFY:
        buffer_append_text(text, "notify"), number(text, "delivery", effect->delivery->number);
        buffer_format(text, " %s to %s%s", NAME(notify_spec__event, effect->delivery->event),
                      effect->delivery->webhook ? effect->delivery->webhook : effect->delivery->url,
                      effect->view ? "" : " from history");
        break;
    case EFFECT_CALENDAR:
        buffer_format(text, "calendar reservation=%s", effect->reservation->name);
        break;
    case EFFECT_CHANGED:
        buffer_append_text(text, "changed"), number(text, "job", effect->job);
        break;
    case EFFECT_STARTED:
        buffer_append_text(text, "started"), number(text, "job", effect->entry->number);
        break;
    }
    buffer_append_text(text, "\n");
}
