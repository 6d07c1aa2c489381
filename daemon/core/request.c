/* What clients ask. Each request has one answer; what is refused leaves a record as well.
 *
 * Who may not act on a job hears the same as if it did not exist. A job that has left memory is
 * known through the facts that the shell attached. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"
#include "model/limits.h"

#define REFUSED_TEXT_BYTES 256

#define MEMBER(message, offset, type) (*(type const *)((const char *)(message) + (offset)))

/* ---- answers ---- */

Wafer__Response *response_new(Wafer__Response__BodyCase body)
{
    Wafer__Response *response = NEW(Wafer__Response);

    wafer__response__init(response);
    response->body_case = body;
    return response;
}

/* The target that was asked for, as it was written: an auditor wants to know what somebody tried.
 */
static char *asked_text(const Wafer__Request *message)
{
    const ProtobufCFieldDescriptor *body =
        protobuf_c_message_descriptor_get_field(&wafer__request__descriptor, message->body_case);
    const ProtobufCMessage *asked = body ? MEMBER(message, body->offset, ProtobufCMessage *) : NULL;
    const ProtobufCFieldDescriptor *field =
        asked ? protobuf_c_message_descriptor_get_field_by_name(asked->descriptor, "target") : NULL;
    const ProtobufCMessage *named = field ? MEMBER(asked, field->offset, ProtobufCMessage *) : NULL;

    if (!named)
        return text_format("%s", body ? body->name : "");
    if (named->descriptor == &wafer__checkpoint_target__descriptor) {
        const Wafer__CheckpointTarget *target = (const Wafer__CheckpointTarget *)named;
        return text_format("%s %llu@%llu", body->name, (unsigned long long)target->job,
                           (unsigned long long)target->step);
    }
    const Wafer__Target *target = (const Wafer__Target *)named;
    if (!target->has_job)
        return text_format("%s %.*s", body->name, LIMIT_NAME_BYTES,
                           target->name ? target->name : "");
    return target->has_index ? text_format("%s %llu_%u", body->name,
                                           (unsigned long long)target->job, target->index)
                             : text_format("%s %llu", body->name, (unsigned long long)target->job);
}

/* What was asked for may be as long as a request: of it a record, and an answer, keep the
 * beginning. The cut falls between two characters. */
static void cut(char *text, size_t limit)
{
    static const char dots[] = "...";

    if (strlen(text) <= limit)
        return;
    size_t length = limit - strlen(dots);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    memcpy(text + length, dots, sizeof(dots));
}

void answer_error(struct request *request, const char *code, uint32_t exit, const char *field,
                  char *message)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_ERROR);

    response->error = NEW(Wafer__Error);
    wafer__error__init(response->error);
    response->error->code = text_copy(code);
    response->error->exit = exit;
    response->error->field = text_copy(field);
    cut(message, LIMIT_STRING_BYTES);
    response->error->message = message;
    effect_reply(request->core, request->input, response);
}

/* Takes `message`. `job` 0: about none. */
void refuse(struct request *request, uint64_t job, const char *code, uint32_t exit,
            const char *field, char *message)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    request->judged = true;
    owned(free) char *asked = asked_text(request->message);
    owned(free) char *text =
        text_format("%s: %s%s%s", asked, field ? field : "", field ? ": " : "", message);
    cut(text, REFUSED_TEXT_BYTES);
    record.kind = WAFER__RECORD_KIND__REFUSED;
    SET(&record, uid, request->uid);
    if (job)
        SET(&record, job, job);
    record.text = text;
    /* With a full journal only what frees room is written: this answer stands without its record.
     */
    if (!request->core->journal_full)
        core_record(request->core, &record);
    answer_error(request, code, exit, field, message);
}

void refuse_unknown(struct request *request)
{
    refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL, text_copy(NO_SUCH_JOB));
}

void answer_view(struct request *request, Wafer__Job *view)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOB);
    response->job = view;
    effect_reply(request->core, request->input, response);
}

void answer_job(struct request *request, const struct job *job)
{
    effect_reply_job(request->core, request->input, job);
}

struct effect *hand_on(struct request *request, enum effect_type type, uint64_t job)
{
    struct effect *effect = effect_add(request->core, type);

    effect->client = request->input->request.client;
    effect->request = request->message->id;
    effect->uid = request->uid;
    effect->job = job;
    effect->message = MESSAGE_COPY(request->message);
    return effect;
}

/* ---- targets ---- */

static struct object job_object(const struct job *job)
{
    return (struct object){ .owner = job->state.uid,
                            .project = job->spec->message ? job->spec->message->project : NULL,
                            .level = job->spec->terms.level };
}

bool permits(struct request *request, const struct job *job)
{
    request->judged = true;
    return may(request, request->action, job);
}

bool may(const struct request *request, Wafer__Role__Action action, const struct job *job)
{
    const struct object object = job_object(job);
    return rights_permit(request->rights, action, &object);
}

bool may_ended(const struct request *request, Wafer__Role__Action action, const struct facts *facts)
{
    const struct object object = { .owner = facts->state->uid,
                                   .project = facts->view->project,
                                   .level = facts->view->class_ };

    return rights_permit(request->rights, action, &object);
}

bool is_for_all(const struct request *request)
{
    return rights_reach_all(request->rights, request->action);
}

struct job *job_named(const struct core *core, const Wafer__Target *target, uid_t uid)
{
    if (!target->has_job) {
        struct job *newest = NULL;
        size_t cursor = 0;
        for (struct job *job; target->name && (job = map_next(&core->jobs, &cursor));)
            if (job->state.uid == uid && strcmp(job->spec->message->name, target->name) == 0 &&
                (!newest || job->state.id > newest->state.id))
                newest = job;
        return newest;
    }
    struct job *job = core_job(core, target->job);
    struct array *array = map_get(&core->arrays, target->job);
    if (!target->has_index)
        return job     ? job
               : array ? CONTAINER_OF(array->elements.next, struct job, array_link)
                       : NULL;
    if (!array)
        return NULL;
    list_foreach (&array->elements, link) {
        job = CONTAINER_OF(link, struct job, array_link);
        if (job->state.array_index == target->index)
            return job;
    }
    return NULL;
}

bool core_knows(const struct core *core, const Wafer__Target *target, uid_t uid)
{
    return job_named(core, target, uid) != NULL;
}

bool core_knows_array(const struct core *core, uint64_t array)
{
    return map_get(&core->arrays, array) != NULL;
}

bool core_object(const struct core *core, uint64_t id, struct object *ret)
{
    const struct job *job = core_job(core, id);

    if (job)
        *ret = job_object(job);
    return job != NULL;
}

const struct facts *facts_of(struct request *request)
{
    const struct facts *facts = request->input->request.facts;

    request->judged = true;
    return facts && facts->state && facts->view && may_ended(request, request->action, facts)
               ? facts
               : NULL;
}

/* A whole array is named by its id alone. */
struct array *array_target(const struct request *request, const Wafer__Target *target)
{
    return target->has_job && !target->has_index ? map_get(&request->core->arrays, target->job)
                                                 : NULL;
}

/* The live job that the request names; NULL after the request was answered. */
struct job *live_target(struct request *request, const Wafer__Target *target)
{
    struct job *job = job_named(request->core, target, request->uid);
    const struct facts *facts = job ? NULL : facts_of(request);

    if (job && permits(request, job)) {
        /* The first of an array may have ended while others live: they are meant too. */
        struct array *array = array_target(request, target);
        if (array && job_state_is_terminal(job->state.state))
            list_foreach (&array->elements, link) {
                struct job *element = CONTAINER_OF(link, struct job, array_link);
                if (!job_state_is_terminal(element->state.state))
                    return element;
            }
        if (!job_state_is_terminal(job->state.state))
            return job;
        refuse(request, job->state.id, "E_ENDED", EXIT_STATE, NULL,
               text_format("job %llu has already ended: %s", (unsigned long long)job->state.id,
                           job_state_name(job->state.state)));
    } else if (facts) {
        refuse(request, facts->state->id, "E_ENDED", EXIT_STATE, NULL,
               text_format("job %llu has already ended: %s", (unsigned long long)facts->state->id,
                           job_state_name(facts->state->state)));
    } else {
        refuse_unknown(request);
    }
    return NULL;
}

/* A job that the caller may see, live or ended and still here; NULL with *ret_facts: in history;
 * NULL and no facts: answered. */
struct job *seen_target(struct request *request, const Wafer__Target *target,
                        const struct facts **ret_facts)
{
    struct job *job = job_named(request->core, target, request->uid);

    *ret_facts = job ? NULL : facts_of(request);
    if (job && permits(request, job))
        return job;
    if (!*ret_facts)
        refuse_unknown(request);
    return NULL;
}

/* Texts that go into records, and into each element of an array: as long as any string may be. */
static const char *text_of(const Wafer__Request *message)
{
    switch (message->body_case) {
    case WAFER__REQUEST__BODY_SUBMIT: return message->submit->key;
    case WAFER__REQUEST__BODY_RESUME: return message->resume->key;
    case WAFER__REQUEST__BODY_CANCEL: return message->cancel->reason;
    case WAFER__REQUEST__BODY_HOLD: return message->hold->reason;
    case WAFER__REQUEST__BODY_REQUEUE: return message->requeue->reason;
    case WAFER__REQUEST__BODY_SYSTEM_DRAIN: return message->system_drain->reason;
    case WAFER__REQUEST__BODY_QUEUE: return message->queue->reason;
    case WAFER__REQUEST__BODY_RESERVATION_NEW: return message->reservation_new->reason;
    case WAFER__REQUEST__BODY_RESERVATION_REMOVE: return message->reservation_remove->reason;
    default: return NULL;
    }
}

/* ---- the one place where requests branch ---- */

enum about {
    ABOUT_NOTHING, /* of nobody's business: what anybody may ask */
    ABOUT_JOB,     /* the handler asks the rules about the job that is named or made */
    ABOUT_EACH,    /* about each that might be shown */
    ABOUT_POOL,    /* about what has no owner: asked here */
};

/* What a request is to the rules, and who handles it. */
struct verb {
    void (*handle)(struct request *request);
    enum about about;
    Wafer__Role__Action action;
    bool makes_journal_longer; /* with a full journal it has to wait: cancel and release make room,
                                * and questions cost nothing */
};

#define MAY(name) WAFER__ROLE__ACTION__##name

static struct verb verb_of(Wafer__Request__BodyCase body)
{
    switch (body) { /* no default: adding a request makes the compiler point here */
    case WAFER__REQUEST__BODY_SUBMIT:
        return (struct verb){ on_submit, ABOUT_JOB, MAY(submit), true };
    case WAFER__REQUEST__BODY_LIST: return (struct verb){ on_list, ABOUT_EACH, MAY(show), false };
    case WAFER__REQUEST__BODY_SHOW: return (struct verb){ on_show, ABOUT_JOB, MAY(show), false };
    case WAFER__REQUEST__BODY_WATCH: return (struct verb){ on_watch, ABOUT_JOB, MAY(show), false };
    case WAFER__REQUEST__BODY_EVENTS:
        return (struct verb){ on_events, ABOUT_EACH, MAY(show), false };
    case WAFER__REQUEST__BODY_LOGS: return (struct verb){ on_logs, ABOUT_JOB, MAY(read), false };
    case WAFER__REQUEST__BODY_CANCEL:
        return (struct verb){ on_cancel, ABOUT_JOB, MAY(cancel), false };
    case WAFER__REQUEST__BODY_HOLD: return (struct verb){ on_hold, ABOUT_JOB, MAY(hold), true };
    case WAFER__REQUEST__BODY_RELEASE:
        return (struct verb){ on_release, ABOUT_JOB, MAY(release), false };
    case WAFER__REQUEST__BODY_REQUEUE:
        return (struct verb){ on_requeue, ABOUT_JOB, MAY(requeue), true };
    case WAFER__REQUEST__BODY_RESUME:
        return (struct verb){ on_resume, ABOUT_JOB, MAY(resume), true };
    case WAFER__REQUEST__BODY_CHECKPOINT_LIST:
        return (struct verb){ on_checkpoint_list, ABOUT_JOB, MAY(read), false };
    case WAFER__REQUEST__BODY_CHECKPOINT_SHOW:
        return (struct verb){ on_checkpoint_show, ABOUT_JOB, MAY(read), false };
    case WAFER__REQUEST__BODY_CHECKPOINT_VERIFY:
        return (struct verb){ on_checkpoint_verify, ABOUT_JOB, MAY(checkpoint), true };
    case WAFER__REQUEST__BODY_CHECKPOINT_PIN:
        return (struct verb){ on_checkpoint_pin, ABOUT_JOB, MAY(checkpoint), true };
    case WAFER__REQUEST__BODY_CHECKPOINT_PRUNE:
        return (struct verb){ on_checkpoint_prune, ABOUT_JOB, MAY(checkpoint), true };
    case WAFER__REQUEST__BODY_SYSTEM_LIST:
        return (struct verb){ on_system_list, ABOUT_POOL, MAY(systems), false };
    case WAFER__REQUEST__BODY_SYSTEM_SHOW:
        return (struct verb){ on_system_show, ABOUT_POOL, MAY(systems), false };
    case WAFER__REQUEST__BODY_SYSTEM_FAULT:
        return (struct verb){ on_system_fault, ABOUT_POOL, MAY(operate), true };
    case WAFER__REQUEST__BODY_SYSTEM_DRAIN:
        return (struct verb){ on_system_drain, ABOUT_POOL, MAY(operate), true };
    case WAFER__REQUEST__BODY_QUEUE:
        return (struct verb){ on_queue, ABOUT_POOL, MAY(queues), true };
    case WAFER__REQUEST__BODY_VERSION:
        return (struct verb){ on_version, ABOUT_NOTHING, MAY(show), false };
    case WAFER__REQUEST__BODY_UPDATE:
        return (struct verb){ on_update, ABOUT_JOB, MAY(update), true };
    case WAFER__REQUEST__BODY_QUEUE_LIST:
        return (struct verb){ on_queue_list, ABOUT_POOL, MAY(systems), false };
    case WAFER__REQUEST__BODY_REPORT:
        return (struct verb){ on_report, ABOUT_JOB, MAY(show), false };
    case WAFER__REQUEST__BODY_WHOAMI:
        return (struct verb){ on_whoami, ABOUT_NOTHING, MAY(show), false };
    case WAFER__REQUEST__BODY_QUOTA_SHOW:
        return (struct verb){ on_quota_show, ABOUT_EACH, MAY(show), false };
    case WAFER__REQUEST__BODY_EXPLAIN:
        return (struct verb){ on_explain, ABOUT_JOB, MAY(show), false };
    case WAFER__REQUEST__BODY_PLAN: return (struct verb){ on_plan, ABOUT_JOB, MAY(submit), false };
    case WAFER__REQUEST__BODY_RESERVATION_LIST:
        return (struct verb){ on_reservation_list, ABOUT_POOL, MAY(systems), false };
    case WAFER__REQUEST__BODY_RESERVATION_NEW:
        return (struct verb){ on_reservation_new, ABOUT_POOL, MAY(reserve), true };
    case WAFER__REQUEST__BODY_RESERVATION_REMOVE:
        return (struct verb){ on_reservation_remove, ABOUT_POOL, MAY(reserve), true };
    case WAFER__REQUEST__BODY__NOT_SET:
    case _WAFER__REQUEST__BODY__CASE_IS_INT_SIZE: break;
    }
    return (struct verb){ .handle = NULL };
}

static bool is_short_enough(struct request *request)
{
    const char *text = text_of(request->message);

    if (!text || strlen(text) <= LIMIT_STRING_BYTES)
        return true;
    refuse(
        request, 0, "E_FIELD", EX_DATAERR, NULL,
        text_format("a reason or key of %zu bytes: at most %d", strlen(text), LIMIT_STRING_BYTES));
    return false;
}

void request_handle(struct core *core, const struct input *input)
{
    const struct verb verb = verb_of(input->request.message->body_case);
    struct request request = { .core = core,
                               .input = input,
                               .message = input->request.message,
                               .uid = input->request.subject.uid,
                               .action = verb.action,
                               .rights = &core->rights };

    access_rights(core->access, &input->request.subject, core->now_us, &core->rights);
    core->asking = &core->rights;
    core->asking_role = input->request.subject.role;
    if (core->asking_role && !core->rights.count) {
        refuse(&request, 0, "E_DENIED", EXIT_DENIED, NULL,
               text_format("you do not have the role '%s' (wafer whoami)", core->asking_role));
        return;
    }
    if (!verb.handle) {
        refuse(&request, 0, "E_REQUEST", EX_PROTOCOL, NULL,
               text_copy("this controller does not know what was asked for"));
        return;
    }
    if (core->journal_full && verb.makes_journal_longer) {
        refuse(&request, 0, "E_FULL", EX_TEMPFAIL, NULL,
               text_copy("the controller's disk is full: only cancel and release are served; "
                         "try again later"));
        return;
    }
    if (!is_short_enough(&request))
        return;
    if (verb.about == ABOUT_POOL && !rights_permit(request.rights, verb.action, NULL)) {
        refuse(&request, 0, "E_DENIED", EXIT_DENIED, NULL,
               text_copy("that takes a role which you do not have (wafer whoami)"));
        return;
    }
    verb.handle(&request);
    assert(request.judged || verb.about != ABOUT_JOB);
}
