/* Cancel, hold, release, requeue. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

/* ---- changes ---- */

void record_change(struct request *request, Wafer__RecordKind kind, struct job *job,
                   Wafer__JobState *next, const char *text)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    record.kind = kind;
    record.job_state = next;
    record.text = (char *)text;
    SET(&record, job, next->id);
    SET(&record, uid, request->uid);
    SET(next, version, next->version + 1);
    core_record(request->core, &record);
    effect_changed(request->core, job);
}

static void cancel(struct request *request, struct job *job)
{
    const Wafer__CancelRequest *asked = request->message->cancel;
    bool now = asked->has_now && asked->now;
    int64_t grace_us = asked->grace ? asked->grace->us : job->spec->terms.grace_us;
    const char *text = asked->reason;

    if (job_has_systems(job))
        attempt_stop(request->core, job, WAFER__CAUSE__CANCELLED, now, grace_us, text,
                     &request->uid);
    else
        job_end(request->core, job, WAFER__JOB__STATE__CANCELLED, WAFER__CAUSE__CANCELLED, text,
                &request->uid);
}

void on_cancel(struct request *request)
{
    const Wafer__Target *target = request->message->cancel->target;
    struct array *array = array_target(request, target);
    struct job *job = live_target(request, target);

    if (!job)
        return;
    if (request->message->cancel->has_dry_run && request->message->cancel->dry_run) {
        answer_job(request, job); /* it lives, and who asks may cancel it */
        return;
    }
    uint64_t id = job->state.id;
    if (array) {
        list_foreach_safe (&array->elements, link) {
            struct job *element = CONTAINER_OF(link, struct job, array_link);
            /* The array itself goes with its last element. */
            bool last = link_next == &array->elements;
            if (!job_state_is_terminal(element->state.state))
                cancel(request, element);
            if (last)
                break;
        }
    } else {
        cancel(request, job);
    }
    job = core_job(request->core, id);
    if (job) {
        answer_job(request, job);
        return;
    }
    /* It is final and gone from memory: the record that ended it holds what people see. */
    const struct records *records = request->core->records;
    for (size_t i = records->count; i-- > 0;)
        if (records->items[i]->view && records->items[i]->view->id == id) {
            answer_view(request, MESSAGE_COPY(records->items[i]->view));
            return;
        }
    assert(false);
}

static void hold(struct request *request, struct job *job)
{
    Wafer__JobState next = job->state;
    const char *reason = request->message->hold->reason;

    next.state = WAFER__JOB__STATE__HELD;
    next.detail = (char *)reason;
    SET(&next, held_by_admin, job->state.uid != request->uid);
    UNSET(&next, cause); /* of its last attempt; a hold by a person is no limit of retries */
    record_change(request, WAFER__RECORD_KIND__JOB_HELD, job, &next, reason);
}

/* An operator holds what its owner could release by himself. */
static bool makes_it_theirs(const struct request *request, const struct job *job)
{
    return job->state.state == WAFER__JOB__STATE__HELD && job->state.uid != request->uid &&
           job->state.cause != WAFER__CAUSE__JOURNAL_UNREADABLE;
}

void on_hold(struct request *request)
{
    struct array *array = array_target(request, request->message->hold->target);
    struct job *job = live_target(request, request->message->hold->target);

    if (!job)
        return;
    if (array) {
        list_foreach (&array->elements, link) {
            struct job *element = CONTAINER_OF(link, struct job, array_link);
            if (element->state.state == WAFER__JOB__STATE__PENDING ||
                makes_it_theirs(request, element))
                hold(request, element);
        }
    } else if (job->state.state == WAFER__JOB__STATE__PENDING || makes_it_theirs(request, job)) {
        hold(request, job);
    } else if (job->state.state != WAFER__JOB__STATE__HELD) {
        refuse(request, job->state.id, "E_STATE", EXIT_STATE, NULL,
               text_format("job %llu is %s: only a waiting job can be held (requeue or cancel it)",
                           (unsigned long long)job->state.id, job_state_name(job->state.state)));
        return;
    }
    answer_job(request, job);
}

bool may_release(const struct request *request, const struct job *job)
{
    /* What an operator held, an operator lets go. A limit of retries is the owner's own matter. */
    bool by_limit = job->state.has_cause && (job->state.cause == WAFER__CAUSE__RETRY_LIMIT ||
                                             job->state.cause == WAFER__CAUSE__LAUNCH_REFUSED);
    return is_for_all(request) || !job->state.held_by_admin || by_limit;
}

static void release(struct request *request, struct job *job)
{
    Wafer__JobState next = job->state;

    next.state = WAFER__JOB__STATE__PENDING;
    next.detail = NULL;
    UNSET(&next, held_by_admin);
    UNSET(&next, cause);
    job_end_back_off(&next);
    record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, NULL);
}

void on_release(struct request *request)
{
    struct array *array = array_target(request, request->message->release->target);
    struct job *job = live_target(request, request->message->release->target);

    if (!job)
        return;
    if (array) {
        list_foreach (&array->elements, link) {
            struct job *element = CONTAINER_OF(link, struct job, array_link);
            if (element->state.state == WAFER__JOB__STATE__HELD && may_release(request, element))
                release(request, element);
        }
    } else if (job->state.state != WAFER__JOB__STATE__HELD) {
        refuse(request, job->state.id, "E_STATE", EXIT_STATE, NULL,
               text_format("job %llu is %s, not held", (unsigned long long)job->state.id,
                           job_state_name(job->state.state)));
        return;
    } else if (!may_release(request, job)) {
        refuse(request, job->state.id, "E_DENIED", EXIT_DENIED, NULL,
               text_format("job %llu is held by an operator: ask one",
                           (unsigned long long)job->state.id));
        return;
    } else {
        release(request, job);
    }
    answer_job(request, job);
}

void requeue(struct request *request, struct job *job, const char *reason)
{
    if (job_has_systems(job)) {
        attempt_stop(request->core, job, WAFER__CAUSE__REQUEUED, false, job->spec->terms.grace_us,
                     reason, &request->uid);
        return;
    }
    Wafer__JobState next = job->state; /* it waits already: no longer for a back-off */
    if (next.failures || next.launch_refusals)
        UNSET(&next, not_before_us);
    record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, reason);
}

void on_requeue(struct request *request)
{
    const Wafer__RequeueRequest *asked = request->message->requeue;
    struct job *job = live_target(request, asked->target);

    if (!job)
        return;
    if (job->state.state == WAFER__JOB__STATE__HELD) {
        refuse(request, job->state.id, "E_STATE", EXIT_STATE, NULL,
               text_format("job %llu is held: release it", (unsigned long long)job->state.id));
        return;
    }
    requeue(request, job, asked->reason);
    answer_job(request, job);
}
