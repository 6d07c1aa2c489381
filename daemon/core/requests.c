/* What clients ask. Each request has one answer; what is refused leaves a record as well.
 *
 * Who may not act on a job hears the same as if it did not exist. A job that has left memory is
 * known through the facts that the shell attached. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/state.h"

#define EXIT_STATE  2 /* nothing matched: the job is not in a state for that */
#define EXIT_DENIED 77

#define LIST_DEFAULT 1000
#define LIST_MAX     200000

struct request {
    struct core *core;
    const struct input *input;
    const Wafer__Request *message;
    uid_t uid;
    bool is_operator;
};

/* ---- answers ---- */

static Wafer__Response *response_new(Wafer__Response__BodyCase body)
{
    Wafer__Response *response = NEW(Wafer__Response);

    wafer__response__init(response);
    response->body_case = body;
    return response;
}

static Wafer__Time *time_new(int64_t us)
{
    Wafer__Time *time = NEW(Wafer__Time);
    wafer__time__init(time);
    time->us = us;
    return time;
}

/* Takes `message`. `job` 0: about none. */
static void refuse(struct request *request, uint64_t job, const char *code, uint32_t exit,
                   const char *field, char *message)
{
    const char *verb = "";
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_ERROR);

    response->error = NEW(Wafer__Error);
    wafer__error__init(response->error);
    response->error->code = text_copy(code);
    response->error->exit = exit;
    response->error->field = text_copy(field);
    response->error->message = message;

    const ProtobufCFieldDescriptor *asked = protobuf_c_message_descriptor_get_field(
        &wafer__request__descriptor, request->message->body_case);
    if (asked)
        verb = asked->name;
    owned(free) char *text =
        text_format("%s: %s%s%s", verb, field ? field : "", field ? ": " : "", message);
    record.kind = WAFER__RECORD_KIND__REFUSED;
    SET(&record, uid, request->uid);
    if (job)
        SET(&record, job, job);
    record.text = text;
    /* With a full journal only what frees room is written: this answer stands without its record.
     */
    if (!request->core->journal_full)
        core_record(request->core, &record);
    effect_reply(request->core, request->input, response);
}

static void refuse_unknown(struct request *request)
{
    refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL,
           text_copy("no such job, or not one that you may act on"));
}

static void answer_view(struct request *request, Wafer__Job *view)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOB);
    response->job = view;
    effect_reply(request->core, request->input, response);
}

static void answer_job(struct request *request, const struct job *job)
{
    answer_view(request, view_job(request->core, job));
}

static Wafer__Job *view_copy(const Wafer__Job *view)
{
    size_t length = wafer__job__get_packed_size(view);
    owned(free) uint8_t *packed = memory_new(length);

    wafer__job__pack(view, packed);
    return wafer__job__unpack(NULL, length, packed);
}

static Wafer__Request *request_copy(const Wafer__Request *message)
{
    size_t length = wafer__request__get_packed_size(message);
    owned(free) uint8_t *packed = memory_new(length);

    wafer__request__pack(message, packed);
    return wafer__request__unpack(NULL, length, packed);
}

static struct effect *hand_on(struct request *request, enum effect_type type, uint64_t job)
{
    struct effect *effect = effect_add(request->core, type);

    effect->client = request->input->request.client;
    effect->request = request->message->id;
    effect->uid = request->uid;
    effect->job = job;
    effect->message = request_copy(request->message);
    return effect;
}

/* ---- targets ---- */

static bool may_act(const struct request *request, uid_t owner)
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

static const struct facts *facts_of(const struct request *request)
{
    const struct facts *facts = request->input->request.facts;
    return facts && facts->state && facts->view && may_act(request, facts->state->uid) ? facts
                                                                                       : NULL;
}

/* The live job that the request names; NULL after the request was answered. */
static struct job *live_target(struct request *request, const Wafer__Target *target)
{
    struct job *job = find_target(request->core, target, request->uid);
    const struct facts *facts = job ? NULL : facts_of(request);

    if (job && may_act(request, job->state.uid)) {
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

/* A whole array is named by its id alone. */
static struct array *array_target(const struct request *request, const Wafer__Target *target)
{
    return target->has_job && !target->has_index ? map_get(&request->core->arrays, target->job)
                                                 : NULL;
}

static void record_change(struct request *request, Wafer__RecordKind kind, struct job *job,
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

/* ---- submit ---- */

static uint64_t key_hash(uid_t uid, const char *key)
{
    owned(free) char *text = text_format("%u:%s", (unsigned)uid, key);
    return hash64(text, strlen(text)) & UINT64_MAX >> 1;
}

/* A repeated request gets the job that it made the first time. True: it was answered. */
static bool answer_key(struct request *request, const char *text, uint64_t hash, uint64_t body)
{
    const struct key *key = core_key(request->core, hash);

    if (!key)
        return false;
    const struct job *job = core_job(request->core, key->state.job);
    const struct facts *facts = request->input->request.facts;
    if (key->state.body_hash != body) {
        refuse(request, 0, "E_KEY", EX_DATAERR, "key",
               text_format("'%s' was used for another request, job %llu", text,
                           (unsigned long long)key->state.job));
    } else if (job) {
        answer_job(request, job);
    } else if (facts && facts->view && facts->view->id == key->state.job) {
        answer_view(request, view_copy(facts->view));
    } else {
        Wafer__Job *view = NEW(Wafer__Job); /* it has ended; its id is what the client asks for */
        wafer__job__init(view);
        view->id = key->state.job;
        answer_view(request, view);
    }
    return true;
}

struct submission {
    const Wafer__JobSpec *spec;
    ProtobufCBinaryData packed;
    const char *key;
    uint64_t key_hash, body_hash;
    bool held;
    uint64_t lineage, resumed_from; /* 0: its own; none */
    const Wafer__CheckpointState *origin;
    bool weights_only;
    uint32_t systems_count; /* 0: as in the spec */
    const char *queue;      /* NULL: as in the spec */
};

static void submit(struct request *request, const struct submission *submission)
{
    struct core *core = request->core;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState state = WAFER__JOB_STATE__INIT;
    Wafer__KeyState key = WAFER__KEY_STATE__INIT;
    struct job_terms terms;
    uint8_t digest[DIGEST_BYTES] = { 0 }; /* of the spec: the job's own once it is applied */

    job_terms(submission->spec, &terms);
    state.id = core->next_job;
    state.uid = request->uid;
    state.state = submission->held ? WAFER__JOB__STATE__HELD : WAFER__JOB__STATE__PENDING;
    state.spec_digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    state.submitted_us = core->now_us;
    state.lineage = submission->lineage ? submission->lineage : state.id;
    if (submission->resumed_from)
        SET(&state, resumed_from, submission->resumed_from);
    if (submission->origin) {
        state.origin = (Wafer__CheckpointState *)submission->origin;
        SET(&state, weights_only, submission->weights_only);
        if (!submission->weights_only)
            SET(&state, committed_step, submission->origin->step);
    }
    if (submission->systems_count)
        SET(&state, systems_count, submission->systems_count);
    state.queue = (char *)submission->queue;
    SET(&state, version, 1);

    record.kind = WAFER__RECORD_KIND__JOB_SUBMITTED;
    SET(&record, job, state.id);
    SET(&record, uid, request->uid);
    record.job_state = &state;
    SET(&record, spec, submission->packed);
    if (terms.array_first <= terms.array_last) {
        SET(&state, array_id, state.id);
        SET(&state, array_index, terms.array_first);
        SET(&record, array_first, terms.array_first);
        SET(&record, array_count, terms.array_last - terms.array_first + 1);
    }
    if (submission->key) {
        key.hash = submission->key_hash;
        key.job = state.id;
        key.body_hash = submission->body_hash;
        record.key = &key;
        SET(&state, key_hash, key.hash);
    }
    uint64_t id = state.id;
    core_record(core, &record);
    struct job *job = core_job(core, id);
    effect_changed(core, job);
    answer_job(request, job);
}

/* The first error of a spec, as an answer; true when there was none. */
static bool spec_is_good(struct request *request, const Wafer__JobSpec *spec)
{
    struct bind_errors errors = { .items = NULL };
    struct job_terms terms;
    bool good = job_spec_check(spec, NULL, &errors) == 0;

    if (!good)
        refuse(request, 0, "E_FIELD", EX_DATAERR, errors.items[0].field,
               text_copy(errors.items[0].text));
    bind_errors_done(&errors);
    if (!good)
        return false;
    job_terms(spec, &terms);
    if (terms.priority < 100 && !request->is_operator) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "priority",
               text_copy("p0 is for operators (p1, p2 or p3)"));
        return false;
    }
    if (terms.queue && !core_pool(request->core, terms.queue)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "queue",
               text_format("there is no queue '%s' here (the first is '%s')", terms.queue,
                           request->core->pools[0].name));
        return false;
    }
    return true;
}

/* The newest verified of `count` checkpoints by rising steps, at or below `step`. */
static const Wafer__CheckpointState *choose(Wafer__CheckpointState *const *checkpoints,
                                            size_t count, bool any, uint64_t step, uint64_t epoch)
{
    for (size_t i = count; i-- > 0;)
        if (checkpoints[i]->state == WAFER__CHECKPOINT__STATE__VERIFIED &&
            (any || checkpoints[i]->step == step) &&
            (!epoch || checkpoints[i]->fence->epoch == epoch))
            return checkpoints[i];
    return NULL;
}

static const Wafer__CheckpointState *choose_live(const struct job *job, bool any, uint64_t step,
                                                 uint64_t epoch)
{
    for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
         link = link->previous) {
        const Wafer__CheckpointState *state = &CONTAINER_OF(link, struct checkpoint, link)->state;
        if (state->state == WAFER__CHECKPOINT__STATE__VERIFIED && (any || state->step == step) &&
            (!epoch || state->fence->epoch == epoch))
            return state;
    }
    return NULL;
}

/* "JOB@STEP": a verified checkpoint of a job that the caller may act on. NULL: answered. */
static const Wafer__CheckpointState *named_checkpoint(struct request *request, const char *field,
                                                      const char *text)
{
    const struct facts *facts = facts_of(request);
    const Wafer__CheckpointState *found = NULL;
    uint64_t id, step, epoch;

    if (checkpoint_target_parse(text, &id, &step, &epoch) < 0) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, field,
               text_format("'%s' is no checkpoint (JOB@STEP, as in 7@2000)", text));
        return NULL;
    }
    const struct job *job = core_job(request->core, id);
    bool known = job ? may_act(request, job->state.uid) : facts && facts->state->id == id;
    if (known && job)
        found = choose_live(job, false, step, epoch);
    else if (known)
        found = choose(facts->checkpoints, facts->checkpoint_count, false, step, epoch);
    if (!known)
        refuse_unknown(request);
    else if (!found)
        refuse(request, id, "E_CHECKPOINT", EX_DATAERR, field,
               text_format("job %llu has no verified checkpoint at step %llu",
                           (unsigned long long)id, (unsigned long long)step));
    return found;
}

static bool nothing_to_do(struct request *request, const struct job_terms *terms,
                          const Wafer__CheckpointState *from)
{
    if (!from || from->step < terms->max_steps)
        return false;
    refuse(request, from->job, "E_FIELD", EX_DATAERR, "resume",
           text_format("nothing to do: the checkpoint is at step %llu, the job ends at %llu",
                       (unsigned long long)from->step, (unsigned long long)terms->max_steps));
    return true;
}

static void on_submit(struct request *request)
{
    const Wafer__SubmitRequest *asked = request->message->submit;
    struct submission submission = { .spec = asked->spec,
                                     .key = asked->key,
                                     .held = asked->has_hold && asked->hold };
    struct job_terms terms;

    if (request->core->journal_full) {
        refuse(request, 0, "E_FULL", EX_TEMPFAIL, NULL,
               text_copy("the controller's disk is full: only cancel and release are served; "
                         "try again later"));
        return;
    }
    if (!spec_is_good(request, asked->spec))
        return;
    job_terms(asked->spec, &terms);

    size_t length = wafer__job_spec__get_packed_size(asked->spec);
    owned(free) uint8_t *packed = memory_new(length);
    wafer__job_spec__pack(asked->spec, packed);
    submission.packed = (ProtobufCBinaryData){ length, packed };
    if (asked->key) {
        submission.key_hash = key_hash(request->uid, asked->key);
        submission.body_hash = hash64(packed, length);
        if (answer_key(request, asked->key, submission.key_hash, submission.body_hash))
            return;
    }
    if (terms.init_from) {
        submission.origin = named_checkpoint(request, "resume.init_from", terms.init_from);
        submission.weights_only = true;
        if (!submission.origin)
            return;
    } else if (terms.resume_from && strchr(terms.resume_from, '@')) {
        submission.origin = named_checkpoint(request, "resume.from", terms.resume_from);
        if (!submission.origin || nothing_to_do(request, &terms, submission.origin))
            return;
        submission.lineage = submission.origin->lineage;
        submission.resumed_from = submission.origin->job;
    }
    submit(request, &submission);
}

/* ---- what exists ---- */

static void show_view(struct request *request, Wafer__Job *view, const struct spec *spec)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_SHOW);

    response->show = NEW(Wafer__ShowResponse);
    wafer__show_response__init(response->show);
    response->show->job = view;
    response->show->spec = wafer__job_spec__unpack(NULL, spec->length, spec->packed);
    effect_reply(request->core, request->input, response);
}

/* A job that the caller may see, live or ended and still here; NULL with *ret_facts: in history;
 * NULL and no facts: answered. */
static struct job *seen_target(struct request *request, const Wafer__Target *target,
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

static void on_show(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->show->target, &facts);

    if (job)
        show_view(request, view_job(request->core, job), job->spec);
    else if (facts)
        hand_on(request, EFFECT_HISTORY, facts->state->id);
}

static void on_watch(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->watch->target, &facts);

    if (facts)
        answer_view(request, view_copy(facts->view));
    if (!job)
        return;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOB);
    bool ended = job_state_is_terminal(job->state.state);
    response->job = view_job(request->core, job);
    SET(response, more, !ended);
    effect_reply(request->core, request->input, response);
    if (!ended)
        hand_on(request, EFFECT_SUBSCRIBE, job->state.id);
}

static void on_logs(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->logs->target, &facts);

    if (job)
        hand_on(request, EFFECT_LOGS, job->state.id)->view = view_job(request->core, job);
    else if (facts)
        hand_on(request, EFFECT_LOGS, facts->state->id)->view = view_copy(facts->view);
}

static void on_events(struct request *request)
{
    const Wafer__EventsRequest *asked = request->message->events;
    const struct facts *facts = NULL;
    uint64_t id = 0;

    if (asked->target) {
        struct job *job = seen_target(request, asked->target, &facts);
        if (!job && !facts)
            return;
        id = job ? job->state.id : facts->state->id;
    }
    hand_on(request, asked->has_follow && asked->follow ? EFFECT_SUBSCRIBE : EFFECT_HISTORY, id);
}

static bool is_listed(const struct request *request, const struct job *job)
{
    const Wafer__ListRequest *asked = request->message->list;
    const struct pool *pool = job_pool(request->core, job);

    if (job->state.uid != request->uid && !(asked->all_users && request->is_operator))
        return false;
    if (asked->queue && (!pool || strcmp(pool->name, asked->queue) != 0))
        return false;
    if (!asked->n_states)
        return !job_state_is_terminal(job->state.state) || asked->ended;
    for (size_t i = 0; i < asked->n_states; i++)
        if (asked->states[i] == job->state.state)
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    uint64_t one = (*(struct job *const *)a)->state.id, other = (*(struct job *const *)b)->state.id;
    return one < other ? -1 : one > other;
}

static void on_list(struct request *request)
{
    const Wafer__ListRequest *asked = request->message->list;
    size_t limit = asked->has_limit ? asked->limit : LIST_DEFAULT;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_JOBS);
    Wafer__JobList *list = response->jobs = NEW(Wafer__JobList);
    struct job **jobs = memory_new(map_count(&request->core->jobs) * sizeof(*jobs));
    size_t count = 0, cursor = 0;

    if (limit > LIST_MAX)
        limit = LIST_MAX;
    for (struct job *job; (job = map_next(&request->core->jobs, &cursor));)
        if (is_listed(request, job))
            jobs[count++] = job;
    qsort(jobs, count, sizeof(*jobs), by_id);

    wafer__job_list__init(list);
    list->schema = text_copy("wafer.job.list/v1");
    list->generated_at = time_new(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, count > limit);
    list->n_items = count < limit ? count : limit;
    list->items = memory_new(list->n_items * sizeof(*list->items));
    for (size_t i = 0; i < list->n_items; i++)
        list->items[i] = view_job(request->core, jobs[i]);
    free(jobs);

    if (asked->has_watch && asked->watch) {
        SET(response, more, true);
        effect_reply(request->core, request->input, response);
        hand_on(request, EFFECT_SUBSCRIBE, 0);
    } else if (asked->has_ended && asked->ended) {
        hand_on(request, EFFECT_HISTORY, 0)->response = response;
    } else {
        effect_reply(request->core, request->input, response);
    }
}

/* ---- changes ---- */

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

static void on_cancel(struct request *request)
{
    const Wafer__Target *target = request->message->cancel->target;
    struct array *array = array_target(request, target);
    struct job *job = live_target(request, target);

    if (!job)
        return;
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
            answer_view(request, view_copy(records->items[i]->view));
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
    SET(&next, held_by_admin, request->is_operator && job->state.uid != request->uid);
    record_change(request, WAFER__RECORD_KIND__JOB_HELD, job, &next, reason);
}

static void on_hold(struct request *request)
{
    struct array *array = array_target(request, request->message->hold->target);
    struct job *job = live_target(request, request->message->hold->target);

    if (!job)
        return;
    if (array) {
        list_foreach (&array->elements, link) {
            struct job *element = CONTAINER_OF(link, struct job, array_link);
            if (element->state.state == WAFER__JOB__STATE__PENDING)
                hold(request, element);
        }
    } else if (job->state.state == WAFER__JOB__STATE__PENDING) {
        hold(request, job);
    } else if (job->state.state != WAFER__JOB__STATE__HELD) {
        refuse(request, job->state.id, "E_STATE", EXIT_STATE, NULL,
               text_format("job %llu is %s: only a waiting job can be held (requeue or cancel it)",
                           (unsigned long long)job->state.id, job_state_name(job->state.state)));
        return;
    }
    answer_job(request, job);
}

static bool may_release(const struct request *request, const struct job *job)
{
    /* What an operator held, an operator lets go. A limit of retries is the owner's own matter. */
    bool by_limit = job->state.has_cause && (job->state.cause == WAFER__CAUSE__RETRY_LIMIT ||
                                             job->state.cause == WAFER__CAUSE__LAUNCH_REFUSED);
    return request->is_operator || !job->state.held_by_admin || by_limit;
}

static void release(struct request *request, struct job *job)
{
    Wafer__JobState next = job->state;

    next.state = WAFER__JOB__STATE__PENDING;
    next.detail = NULL;
    UNSET(&next, held_by_admin);
    UNSET(&next, cause);
    UNSET(&next, failures);
    UNSET(&next, launch_refusals);
    UNSET(&next, not_before_us);
    record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, NULL);
}

static void on_release(struct request *request)
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

static void requeue(struct request *request, struct job *job, const char *reason)
{
    if (job_has_systems(job)) {
        attempt_stop(request->core, job, WAFER__CAUSE__REQUEUED, false, job->spec->terms.grace_us,
                     reason, &request->uid);
        return;
    }
    Wafer__JobState next = job->state; /* it waits already: no longer for a back-off */
    UNSET(&next, not_before_us);
    record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, reason);
}

static void on_requeue(struct request *request)
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

/* ---- resume ---- */

/* `from` of a resume: auto, STEP or JOB@STEP of the same job. -EINVAL after an answer. */
static int resume_step(struct request *request, uint64_t job, const char *from, bool *ret_any,
                       uint64_t *ret_step, uint64_t *ret_epoch)
{
    uint64_t named = job;
    char *end;

    *ret_any = !from || strcmp(from, "auto") == 0;
    *ret_step = *ret_epoch = 0;
    if (*ret_any)
        return 0;
    if (*from >= '0' && *from <= '9' && !strchr(from, '@')) {
        *ret_step = strtoull(from, &end, 10);
        if (!*end)
            return 0;
    } else if (checkpoint_target_parse(from, &named, ret_step, ret_epoch) == 0 && named == job) {
        return 0;
    }
    refuse(request, job, "E_FIELD", EX_DATAERR, "from",
           text_format("'%s' is neither auto, nor a step, nor a checkpoint of job %llu", from,
                       (unsigned long long)job));
    return -1;
}

static void resume_ended(struct request *request, const Wafer__JobState *ended,
                         ProtobufCBinaryData packed, Wafer__CheckpointState *const *checkpoints,
                         size_t count)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    struct submission submission = { .packed = packed,
                                     .key = asked->key,
                                     .lineage = ended->lineage,
                                     .resumed_from = ended->id,
                                     .systems_count = asked->systems,
                                     .queue = asked->pool ? asked->pool : ended->queue };
    struct job_terms terms;
    uint64_t step, epoch;
    bool any;

    if (resume_step(request, ended->id, asked->from, &any, &step, &epoch) < 0)
        return;
    submission.origin = choose(checkpoints, count, any, step, epoch);
    if (!submission.origin && any && ended->origin) {
        submission.origin = ended->origin;
        submission.weights_only = ended->weights_only;
    }
    if (!submission.origin && !any) {
        refuse(request, ended->id, "E_CHECKPOINT", EX_DATAERR, "from",
               text_format("job %llu has no verified checkpoint at step %llu",
                           (unsigned long long)ended->id, (unsigned long long)step));
        return;
    }
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, packed.len, packed.data);
    if (!spec) {
        refuse(request, ended->id, "E_INTERNAL", EX_SOFTWARE, NULL,
               text_copy("what the job was submitted with cannot be read"));
        return;
    }
    submission.spec = spec;
    job_terms(spec, &terms);
    if (asked->key) {
        submission.key_hash = key_hash(request->uid, asked->key);
        submission.body_hash = hash64(packed.data, packed.len) ^ ended->id;
    }
    if ((!asked->key ||
         !answer_key(request, asked->key, submission.key_hash, submission.body_hash)) &&
        (submission.weights_only || !nothing_to_do(request, &terms, submission.origin)))
        submit(request, &submission);
    wafer__job_spec__free_unpacked(spec, NULL);
}

static void resume_live(struct request *request, struct job *job)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    Wafer__JobState next = job->state;
    uint64_t step, epoch, id = job->state.id;
    bool any;

    if (resume_step(request, id, asked->from, &any, &step, &epoch) < 0)
        return;
    if (!any && !choose_live(job, false, step, epoch)) {
        refuse(request, id, "E_CHECKPOINT", EX_DATAERR, "from",
               text_format("job %llu has no verified checkpoint at step %llu",
                           (unsigned long long)id, (unsigned long long)step));
        return;
    }
    if (job_has_systems(job))
        requeue(request, job, "resume");
    next = job->state;
    if (!any)
        SET(&next, resume_from_step, step);
    if (asked->has_systems)
        SET(&next, systems_count, asked->systems);
    if (!job_has_systems(job)) {
        next.state = WAFER__JOB__STATE__PENDING;
        UNSET(&next, not_before_us);
        UNSET(&next, held_by_admin);
        UNSET(&next, failures);
        UNSET(&next, launch_refusals);
        if (asked->pool)
            next.queue = asked->pool;
    } else if (asked->pool) {
        next.next_queue = asked->pool; /* its systems are of the old one until they are free */
    }
    record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, "resume");
    answer_job(request, job);
}

static void on_resume(struct request *request)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    const struct facts *facts;
    struct job *job = seen_target(request, asked->target, &facts);

    if (!job && !facts)
        return;
    if (request->core->journal_full) {
        refuse(request, 0, "E_FULL", EX_TEMPFAIL, NULL,
               text_copy("the controller's disk is full: try again later"));
        return;
    }
    if (asked->pool && !core_pool(request->core, asked->pool)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "pool",
               text_format("there is no pool '%s' here", asked->pool));
        return;
    }
    if (asked->has_systems && (asked->systems < 1 || asked->systems > LIMIT_SYSTEMS)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "systems",
               text_format("%u is not between 1 and %d", asked->systems, LIMIT_SYSTEMS));
        return;
    }
    if (facts) {
        resume_ended(request, facts->state, facts->spec, facts->checkpoints,
                     facts->checkpoint_count);
        return;
    }
    if (!job_state_is_terminal(job->state.state)) {
        if (job->state.state == WAFER__JOB__STATE__HELD && !may_release(request, job))
            refuse(request, job->state.id, "E_DENIED", EXIT_DENIED, NULL,
                   text_format("job %llu is held by an operator: ask one",
                               (unsigned long long)job->state.id));
        else if (job->state.state == WAFER__JOB__STATE__STOPPING)
            refuse(request, job->state.id, "E_STATE", EX_TEMPFAIL, NULL,
                   text_format("job %llu is being stopped: try again when it has",
                               (unsigned long long)job->state.id));
        else
            resume_live(request, job);
        return;
    }
    /* Ended, and its last checkpoint is still being settled. */
    size_t count = 0;
    owned(free) Wafer__CheckpointState **states = NULL;
    list_foreach (&job->checkpoints, link) {
        states = memory_resize(states, count + 1, sizeof(Wafer__CheckpointState *));
        states[count++] = &CONTAINER_OF(link, struct checkpoint, link)->state;
    }
    resume_ended(request, &job->state,
                 (ProtobufCBinaryData){ job->spec->length, job->spec->packed }, states, count);
}

/* ---- checkpoints ---- */

static void answer_checkpoints(struct request *request, Wafer__CheckpointState *const *states,
                               const char *const *details, size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_CHECKPOINTS);
    Wafer__CheckpointList *list = response->checkpoints = NEW(Wafer__CheckpointList);

    wafer__checkpoint_list__init(list);
    list->schema = text_copy("wafer.checkpoint.list/v1");
    list->generated_at = time_new(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, false);
    list->n_items = count;
    list->items = memory_new(count * sizeof(*list->items));
    for (size_t i = 0; i < count; i++) {
        list->items[i] = view_checkpoint(states[i]);
        if (details && details[i]) {
            free(list->items[i]->detail);
            list->items[i]->detail = text_copy(details[i]);
        }
    }
    effect_reply(request->core, request->input, response);
}

struct chosen { /* checkpoints of one job */
    struct job *job;
    Wafer__CheckpointState **states;
    size_t count;
};

static void chosen_done(struct chosen *chosen)
{
    free(chosen->states);
}

static void chosen_donep(struct chosen *chosen)
{
    chosen_done(chosen);
}

/* All checkpoints of the job that is named, in memory or in history. False: answered. */
static bool choose_all(struct request *request, const Wafer__Target *target, struct chosen *ret)
{
    const struct facts *facts;

    *ret = (struct chosen){ .job = seen_target(request, target, &facts) };
    if (!ret->job && !facts)
        return false;
    if (facts) {
        ret->states =
            memory_copy(facts->checkpoints, facts->checkpoint_count * sizeof(*ret->states));
        ret->count = facts->checkpoint_count;
        return true;
    }
    list_foreach (&ret->job->checkpoints, link) {
        ret->states = memory_resize(ret->states, ret->count + 1, sizeof(*ret->states));
        ret->states[ret->count++] = &CONTAINER_OF(link, struct checkpoint, link)->state;
    }
    return true;
}

/* The one that JOB@STEP[.EPOCH] names; of several epochs the newest. False: answered. */
static bool choose_one(struct request *request, const Wafer__CheckpointTarget *named,
                       struct chosen *ret)
{
    Wafer__Target target = WAFER__TARGET__INIT;
    Wafer__CheckpointState *found = NULL;

    SET(&target, job, named->job);
    if (!choose_all(request, &target, ret))
        return false;
    for (size_t i = 0; i < ret->count; i++)
        if ((!named->has_step || ret->states[i]->step == named->step) &&
            (!named->has_epoch || ret->states[i]->fence->epoch == named->epoch))
            found = ret->states[i];
    if (found) {
        ret->states[0] = found;
        ret->count = 1;
        return true;
    }
    refuse(request, named->job, "E_CHECKPOINT", EXIT_STATE, NULL,
           text_format("job %llu has no checkpoint at step %llu", (unsigned long long)named->job,
                       (unsigned long long)named->step));
    return false;
}

static void on_checkpoint_list(struct request *request)
{
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (choose_all(request, request->message->checkpoint_list->target, &chosen))
        answer_checkpoints(request, chosen.states, NULL, chosen.count);
}

static void on_checkpoint_show(struct request *request)
{
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (choose_one(request, request->message->checkpoint_show->target, &chosen))
        answer_checkpoints(request, chosen.states, NULL, 1);
}

static void on_checkpoint_pin(struct request *request)
{
    const Wafer__CheckpointPinRequest *asked = request->message->checkpoint_pin;
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (!choose_one(request, asked->target, &chosen))
        return;
    Wafer__CheckpointState next = *chosen.states[0];
    if (next.state == WAFER__CHECKPOINT__STATE__DELETING) {
        refuse(request, next.job, "E_STATE", EXIT_STATE, NULL,
               text_copy("that checkpoint is being deleted"));
        return;
    }
    Wafer__Record record = WAFER__RECORD__INIT;
    owned(free) char *text = text_format("step %llu is %s", (unsigned long long)next.step,
                                         asked->pinned ? "pinned" : "no longer pinned");
    SET(&next, pinned, asked->pinned);
    record.kind = WAFER__RECORD_KIND__CHECKPOINT_CHANGED;
    SET(&record, job, next.job);
    SET(&record, uid, request->uid);
    record.checkpoint = &next;
    record.text = text;
    core_record(request->core, &record);
    Wafer__CheckpointState *states[] = { &next };
    struct checkpoint *now = core_checkpoint(request->core, next.number);
    if (now)
        states[0] = &now->state;
    answer_checkpoints(request, states, NULL, 1);
}

/* A verification that somebody asked for: the answer waits for the verdict. */
static void on_checkpoint_verify(struct request *request)
{
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (!choose_one(request, request->message->checkpoint_verify->target, &chosen))
        return;
    const Wafer__CheckpointState *state = chosen.states[0];
    if (!state->has_manifest_digest || state->manifest_digest.len != DIGEST_BYTES) {
        refuse(request, state->job, "E_STATE", EXIT_STATE, NULL,
               text_format("the checkpoint at step %llu was never complete",
                           (unsigned long long)state->step));
        return;
    }
    struct verification *verification = NEW(struct verification);
    verification->state = checkpoint_state_new(state);
    verification->client = request->input->request.client;
    verification->request = request->message->id;
    list_push_tail(&request->core->verifications, &verification->link);
    effect_verify(request->core, state);
}

void verifications_done(struct core *core, const struct input *input)
{
    list_foreach_safe (&core->verifications, link) {
        struct verification *verification = CONTAINER_OF(link, struct verification, link);
        if (verification->state->number != input->verdict.checkpoint)
            continue;
        const struct checkpoint *now = core_checkpoint(core, input->verdict.checkpoint);
        Wafer__CheckpointState state = now ? now->state : *verification->state;
        if (input->verdict.error) {
            state.state = WAFER__CHECKPOINT__STATE__CORRUPT;
            state.detail = (char *)input->verdict.text;
        }
        if (!now && state.state != verification->state->state) {
            /* Of a job that is history: what was found goes there too. */
            Wafer__Record record = WAFER__RECORD__INIT;
            record.kind = WAFER__RECORD_KIND__CHECKPOINT_CHANGED;
            SET(&record, job, state.job);
            record.checkpoint = &state;
            record.text = state.detail;
            core_record(core, &record);
        }
        Wafer__Request message = WAFER__REQUEST__INIT;
        struct input asked = { .type = INPUT_REQUEST };
        message.id = verification->request;
        asked.request.client = verification->client;
        asked.request.message = &message;
        struct request request = { .core = core, .input = &asked, .message = &message };
        Wafer__CheckpointState *states[] = { &state };
        answer_checkpoints(&request, states, NULL, 1);
        list_remove(link);
        checkpoint_state_done(verification->state);
        free(verification->state);
        free(verification);
    }
}

/* Every checkpoint that its job does not need to go on: all but the newest verified one. */
static void on_checkpoint_prune(struct request *request)
{
    const Wafer__CheckpointPruneRequest *asked = request->message->checkpoint_prune;
    owned(chosen_done) struct chosen chosen = { .job = NULL };
    size_t newest = SIZE_MAX;

    if (!choose_all(request, asked->target, &chosen))
        return;
    for (size_t i = 0; i < chosen.count; i++)
        if (chosen.states[i]->state == WAFER__CHECKPOINT__STATE__VERIFIED)
            newest = i;
    owned(free) const char **details = memory_new(chosen.count * sizeof(*details));
    owned(free) uint64_t *numbers = memory_new(chosen.count * sizeof(*numbers));
    for (size_t i = 0; i < chosen.count; i++) {
        const Wafer__CheckpointState *state = chosen.states[i];
        const struct checkpoint *live = core_checkpoint(request->core, state->number);
        if (i == newest)
            details[i] = "kept: the newest that was verified";
        else if (live && checkpoint_kept_because(request->core, live))
            details[i] = checkpoint_kept_because(request->core, live);
        else if (state->has_pinned && state->pinned)
            details[i] = "kept: pinned";
        else if (checkpoint_is_origin(request->core, state->number))
            details[i] = "kept: another job starts from it";
        else if (!checkpoint_is_settled(state))
            details[i] = "kept: it is being written, verified or deleted";
        else {
            details[i] = asked->has_dry_run && asked->dry_run ? "would be deleted" : "deleted";
            numbers[i] = state->number;
        }
    }
    answer_checkpoints(request, chosen.states, details, chosen.count);
    if (asked->has_dry_run && asked->dry_run)
        return;
    for (size_t i = 0; i < chosen.count; i++) {
        if (!numbers[i])
            continue;
        struct checkpoint *live = core_checkpoint(request->core, numbers[i]);
        if (live)
            checkpoint_delete(request->core, live, "pruned", &request->uid);
        else
            checkpoint_delete_ended(request->core, chosen.states[i], &request->uid);
    }
}

/* ---- systems and queues ---- */

static void answer_system(struct request *request, struct system *const *systems, size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_SYSTEMS);
    Wafer__SystemList *list = response->systems = NEW(Wafer__SystemList);

    wafer__system_list__init(list);
    list->schema = text_copy("wafer.system.list/v1");
    list->generated_at = time_new(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, false);
    list->n_items = count;
    list->items = memory_new(count * sizeof(*list->items));
    for (size_t i = 0; i < count; i++) {
        list->items[i] = view_system(request->core, systems[i]);
        if (list->items[i]->has_job && !may_act(request, systems[i]->job->state.uid))
            UNSET(list->items[i], job);
    }
    effect_reply(request->core, request->input, response);
}

static int by_number(const void *a, const void *b)
{
    uint32_t one = (*(struct system *const *)a)->state.number;
    uint32_t other = (*(struct system *const *)b)->state.number;
    return one < other ? -1 : one > other;
}

static void on_system_list(struct request *request)
{
    const struct map *map = &request->core->systems;
    owned(free) struct system **systems = memory_new(map_count(map) * sizeof(*systems));
    size_t count = 0, cursor = 0;

    for (struct system *system; (system = map_next(map, &cursor));)
        systems[count++] = system;
    qsort(systems, count, sizeof(*systems), by_number);
    answer_system(request, systems, count);
}

static struct system *system_target(struct request *request, const char *name)
{
    struct system *system = core_system_named(request->core, name);

    if (!system)
        refuse(request, 0, "E_SYSTEM", EXIT_STATE, NULL,
               text_format("there is no system '%s'", name));
    return system;
}

static bool operator_only(struct request *request, const char *what)
{
    if (!request->is_operator)
        refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL, text_format("%s is for operators", what));
    return request->is_operator;
}

static void on_system_show(struct request *request)
{
    struct system *system = system_target(request, request->message->system_show->name);

    if (system)
        answer_system(request, &system, 1);
}

static void on_system_fault(struct request *request)
{
    const Wafer__SystemFaultRequest *asked = request->message->system_fault;

    if (!operator_only(request, "a fault"))
        return;
    struct system *system = system_target(request, asked->name);
    if (!system)
        return;
    if (!system->host->link) {
        refuse(request, 0, "E_STATE", EX_TEMPFAIL, NULL,
               text_format("the host of %s is not connected", asked->name));
        return;
    }
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__InjectFault fault = WAFER__INJECT_FAULT__INIT;
    fault.system = asked->name;
    fault.kind = asked->has_heal && asked->heal ? WAFER__INJECT_FAULT__KIND__HEAL
                                                : WAFER__INJECT_FAULT__KIND__CRASH;
    fault.for_ = asked->for_;
    message.fault = &fault;
    effect_agent(request->core, system->host, &message);
    answer_system(request, &system, 1);
}

static void on_system_drain(struct request *request)
{
    const Wafer__SystemDrainRequest *asked = request->message->system_drain;

    if (!operator_only(request, "draining a system"))
        return;
    struct system *system = system_target(request, asked->name);
    if (!system)
        return;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__SystemState next = system->state;
    SET(&next, drained, asked->drained);
    next.reason = asked->reason;
    next.since_us = request->core->now_us;
    record.kind = WAFER__RECORD_KIND__SYSTEM_CHANGED;
    record.system = &next;
    SET(&record, uid, request->uid);
    owned(free) char *text =
        text_format("%s is %s%s%s", next.name, asked->drained ? "drained" : "no longer drained",
                    asked->reason ? ": " : "", asked->reason ? asked->reason : "");
    record.text = text;
    core_record(request->core, &record);
    answer_system(request, &system, 1);
}

static void on_queue(struct request *request)
{
    const Wafer__QueueRequest *asked = request->message->queue;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__QueueState next = WAFER__QUEUE_STATE__INIT;

    if (!operator_only(request, "stopping or starting a queue"))
        return;
    if (!core_pool(request->core, asked->name)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "queue",
               text_format("there is no queue '%s' here", asked->name));
        return;
    }
    next.name = asked->name;
    next.stopped = asked->stopped;
    record.kind = WAFER__RECORD_KIND__QUEUE_CHANGED;
    record.queue = &next;
    SET(&record, uid, request->uid);
    owned(free) char *text =
        text_format("queue %s is %s", asked->name, asked->stopped ? "stopped" : "started");
    record.text = text;
    core_record(request->core, &record);
    answer_system(request, NULL, 0);
}

static void on_version(struct request *request)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_VERSION);

    response->version = NEW(Wafer__VersionItem);
    wafer__version_item__init(response->version);
    response->version->schema = text_copy("wafer.version/v1");
    response->version->client = text_copy("");
    effect_reply(request->core, request->input, response);
}

/* ---- the one place where requests branch ---- */

void request_handle(struct core *core, const struct input *input)
{
    struct request request = {
        .core = core, .input = input, .message = input->request.message, .uid = input->request.uid
    };

    request.is_operator = request.uid == 0 || request.uid == core->operator_uid;
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
