/* What clients ask. Each request has one answer; what is refused leaves a record as well.
 *
 * Who may not act on a job hears the same as if it did not exist. A job that has left memory is
 * known through the facts that the shell attached. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"
#include "model/limits.h"

#define REFUSED_TEXT_BYTES 256

/* ---- answers ---- */

Wafer__Response *response_new(Wafer__Response__BodyCase body)
{
    Wafer__Response *response = NEW(Wafer__Response);

    wafer__response__init(response);
    response->body_case = body;
    return response;
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
    const char *verb = "";
    Wafer__Record record = WAFER__RECORD__INIT;

    const ProtobufCFieldDescriptor *asked = protobuf_c_message_descriptor_get_field(
        &wafer__request__descriptor, request->message->body_case);
    if (asked)
        verb = asked->name;
    owned(free) char *text =
        text_format("%s: %s%s%s", verb, field ? field : "", field ? ": " : "", message);
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
    refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL,
           text_copy("no such job, or not one that you may act on"));
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

bool may_act(const struct request *request, uid_t owner)
{
    return request->is_operator || owner == request->uid;
}

static struct job *find_target(const struct core *core, const Wafer__Target *target, uid_t uid)
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
    return find_target(core, target, uid) != NULL;
}

bool core_owner(const struct core *core, uint64_t id, uid_t *ret)
{
    const struct job *job = core_job(core, id);

    if (job)
        *ret = job->state.uid;
    return job != NULL;
}

const struct facts *facts_of(const struct request *request)
{
    const struct facts *facts = request->input->request.facts;
    return facts && facts->state && facts->view && may_act(request, facts->state->uid) ? facts
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
    struct job *job = find_target(request->core, target, request->uid);
    const struct facts *facts = job ? NULL : facts_of(request);

    if (job && may_act(request, job->state.uid)) {
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
    struct job *job = find_target(request->core, target, request->uid);

    *ret_facts = job ? NULL : facts_of(request);
    if (job && may_act(request, job->state.uid))
        return job;
    if (!*ret_facts)
        refuse_unknown(request);
    return NULL;
}

bool operator_only(struct request *request, const char *what)
{
    if (!request->is_operator)
        refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL, text_format("%s is for operators", what));
    return request->is_operator;
}

/* With a full journal, what only makes it longer has to wait: cancel and release make room, and
 * questions cost nothing. */
static bool needs_room(Wafer__Request__BodyCase body)
{
    switch (body) {
    case WAFER__REQUEST__BODY_SUBMIT:
    case WAFER__REQUEST__BODY_HOLD:
    case WAFER__REQUEST__BODY_REQUEUE:
    case WAFER__REQUEST__BODY_RESUME:
    case WAFER__REQUEST__BODY_CHECKPOINT_VERIFY:
    case WAFER__REQUEST__BODY_CHECKPOINT_PIN:
    case WAFER__REQUEST__BODY_CHECKPOINT_PRUNE:
    case WAFER__REQUEST__BODY_SYSTEM_FAULT:
    case WAFER__REQUEST__BODY_SYSTEM_DRAIN:
    case WAFER__REQUEST__BODY_QUEUE: return true;
    default: return false;
    }
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
    default: return NULL;
    }
}

/* ---- the one place where requests branch ---- */

void request_handle(struct core *core, const struct input *input)
{
    struct request request = {
        .core = core, .input = input, .message = input->request.message, .uid = input->request.uid
    };

    request.is_operator = request.uid == 0 || request.uid == core->config.operator_uid;
    if (core->journal_full && needs_room(request.message->body_case)) {
        refuse(&request, 0, "E_FULL", EX_TEMPFAIL, NULL,
               text_copy("the controller's disk is full: only cancel and release are served; "
                         "try again later"));
        return;
    }
    const char *text = text_of(request.message);
    if (text && strlen(text) > LIMIT_STRING_BYTES) {
        refuse(&request, 0, "E_FIELD", EX_DATAERR, NULL,
               text_format("a reason or key of %zu bytes: at most %d", strlen(text),
                           LIMIT_STRING_BYTES));
        return;
    }
    switch (request.message->body_case) {
    case WAFER__REQUEST__BODY_SUBMIT: on_submit(&request); break;
    case WAFER__REQUEST__BODY_LIST: on_list(&request); break;
    case WAFER__REQUEST__BODY_SHOW: on_show(&request); break;
    case WAFER__REQUEST__BODY_WATCH: on_watch(&request); break;
    case WAFER__REQUEST__BODY_EVENTS: on_events(&request); break;
    case WAFER__REQUEST__BODY_LOGS: on_logs(&request); break;
    case WAFER__REQUEST__BODY_CANCEL: on_cancel(&request); break;
    case WAFER__REQUEST__BODY_HOLD: on_hold(&request); break;
    case WAFER__REQUEST__BODY_RELEASE: on_release(&request); break;
    case WAFER__REQUEST__BODY_REQUEUE: on_requeue(&request); break;
    case WAFER__REQUEST__BODY_RESUME: on_resume(&request); break;
    case WAFER__REQUEST__BODY_CHECKPOINT_LIST: on_checkpoint_list(&request); break;
    case WAFER__REQUEST__BODY_CHECKPOINT_SHOW: on_checkpoint_show(&request); break;
    case WAFER__REQUEST__BODY_CHECKPOINT_VERIFY: on_checkpoint_verify(&request); break;
    case WAFER__REQUEST__BODY_CHECKPOINT_PIN: on_checkpoint_pin(&request); break;
    case WAFER__REQUEST__BODY_CHECKPOINT_PRUNE: on_checkpoint_prune(&request); break;
    case WAFER__REQUEST__BODY_SYSTEM_LIST: on_system_list(&request); break;
    case WAFER__REQUEST__BODY_SYSTEM_SHOW: on_system_show(&request); break;
    case WAFER__REQUEST__BODY_SYSTEM_FAULT: on_system_fault(&request); break;
    case WAFER__REQUEST__BODY_SYSTEM_DRAIN: on_system_drain(&request); break;
    case WAFER__REQUEST__BODY_QUEUE: on_queue(&request); break;
    case WAFER__REQUEST__BODY_VERSION: on_version(&request); break;
    case WAFER__REQUEST__BODY__NOT_SET:
    default:
        refuse(&request, 0, "E_REQUEST", EX_PROTOCOL, NULL,
               text_copy("this controller does not know what was asked for"));
    }
}
