/* New jobs: `wafer submit`. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/later.h"
#include "base/memory.h"
#include "core/dependencies.h"
#include "core/request.h"
#include "core/reserved.h"
#include "core/submission.h"

ProtobufCBinaryData submission_pack(const Wafer__JobSpec *spec, uint8_t **ret_bytes)
{
    size_t length = wafer__job_spec__get_packed_size(spec);

    *ret_bytes = memory_new(length);
    wafer__job_spec__pack(spec, *ret_bytes);
    return (ProtobufCBinaryData){ length, *ret_bytes };
}

uint64_t submission_key_hash(uid_t uid, const char *key)
{
    owned(free) char *text = text_format("%u:%s", (unsigned)uid, key);
    return hash64(text, strlen(text)) & UINT64_MAX >> 1;
}

bool submission_is_known(struct request *request, const char *text, uint64_t hash, uint64_t body)
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
        answer_view(request, MESSAGE_COPY(facts->view));
    } else {
        Wafer__Job *view = NEW(Wafer__Job); /* it has ended; its id is what the client asks for */
        wafer__job__init(view);
        view->id = key->state.job;
        answer_view(request, view);
    }
    return true;
}

Wafer__JobState submission_state(const struct request *request, const struct submission *submission)
{
    Wafer__JobState state = WAFER__JOB_STATE__INIT;

    state.id = request->core->next_job;
    state.uid = request->uid;
    state.state = submission->held ? WAFER__JOB__STATE__HELD : WAFER__JOB__STATE__PENDING;
    state.submitted_us = request->core->now_us;
    state.lineage = submission->lineage ? submission->lineage : state.id;
    if (submission->resumed_from)
        SET(&state, resumed_from, submission->resumed_from);
    if (submission->origin) {
        state.origin = (Wafer__CheckpointState *)submission->origin;
        state.older_origins = submission->older_origins;
        state.n_older_origins = submission->older_origin_count;
        SET(&state, weights_only, submission->weights_only);
        if (!submission->weights_only)
            SET(&state, committed_step, submission->origin->step);
    }
    if (submission->systems_count)
        SET(&state, systems_count, submission->systems_count);
    state.queue = (char *)submission->queue;
    state.after = submission->after;
    state.n_after = submission->after_count;
    SET(&state, version, 1);
    return state;
}

/* Who hands a job in hears how his budget stands; NULL: nothing to say. */
static char *submission_warning(struct core *core, const struct job *job)
{
    const struct quota_party party = job_party(core, job);

    meters_read(core); /* those that came with this job */
    return meter_warning(core, &party);
}

void submission_make(struct request *request, const struct submission *submission)
{
    struct core *core = request->core;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState state = submission_state(request, submission);
    Wafer__KeyState key = WAFER__KEY_STATE__INIT;
    const struct job_terms *terms = submission->terms;
    uint8_t digest[DIGEST_BYTES] = { 0 }; /* of the spec: the job's own once it is applied */

    state.spec_digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    record.kind = WAFER__RECORD_KIND__JOB_SUBMITTED;
    record.text = submission->held ? (char *)"held" : NULL;
    SET(&record, job, state.id);
    SET(&record, uid, request->uid);
    record.job_state = &state;
    SET(&record, spec, submission->packed);
    if (submission->array_index) {
        SET(&state, array_index, *submission->array_index);
    } else if (terms->array_first <= terms->array_last) {
        SET(&state, array_id, state.id);
        SET(&state, array_index, terms->array_first);
        SET(&record, array_first, terms->array_first);
        SET(&record, array_count, terms->array_last - terms->array_first + 1);
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
    job->spec->checked |= submission->checked;
    effect_changed(core, job);
    owned(free) char *warning = submission_warning(core, job);
    bool is_over = dependency_unmet(job); /* it does not see the end of this step */
    if (is_over)
        answer_view(request, view_job(core, job));
    else
        answer_job(request, job);
    if (warning)
        effect_warn(core, warning);
    if (is_over)
        dependencies_end(core, job);
}

bool priority_is_allowed(struct request *request, uint64_t job, const struct job_terms *terms,
                         bool may_be_urgent)
{
    if (terms->priority >= 100 || may_be_urgent)
        return true;
    refuse(request, job, "E_FIELD", EX_DATAERR, "priority",
           text_copy("p0 is for operators (p1, p2 or p3)"));
    return false;
}

/* Whether the rules let the caller make this job. What he may not is said plainly: it is about
 * himself alone. */
bool submission_is_permitted(struct request *request, const Wafer__JobSpec *spec,
                             const struct job_terms *terms)
{
    struct object object = { .owner = request->uid,
                             .project = spec->project,
                             .level = terms->level };

    request->judged = true;
    if (!rights_permit(request->rights, WAFER__ROLE__ACTION__submit, &object)) {
        object.level = WAFER__LABEL__LEVEL__public;
        bool by_class = rights_permit(request->rights, WAFER__ROLE__ACTION__submit, &object);
        refuse(request, 0, "E_DENIED", EXIT_DENIED, by_class ? "data.class" : "project",
               by_class ? text_format("%s is above your clearance", level_name(terms->level))
                        : text_format("you may not submit %s%s",
                                      spec->project ? "to project "
                                                    : "without a project that "
                                                      "lets you",
                                      spec->project ? spec->project : ""));
        return false;
    }
    return priority_is_allowed(
        request, 0, terms, rights_permit(request->rights, WAFER__ROLE__ACTION__urgent, &object));
}

bool pool_takes_class(struct request *request, const struct pool *pool, Wafer__Label__Level level)
{
    if (pool_takes(pool, level))
        return true;
    owned(buffer_done) struct buffer takes = BUFFER_EMPTY;
    for (int other = WAFER__LABEL__LEVEL__public; other <= WAFER__LABEL__LEVEL__restricted; other++)
        if (pool_takes(pool, other))
            buffer_format(&takes, "%s%s", takes.length ? ", " : "", level_name(other));
    owned(free) char *names = buffer_text(&takes);
    refuse(request, 0, "E_CLASS", EX_DATAERR, "data.class",
           text_format("%s data may not go to pool %s (%s may)", level_name(level), pool->name,
                       *names ? names : "none"));
    return false;
}

/* What is made of data is of its class at least: a job cannot lower that of what it starts from. */
static bool class_covers(struct request *request, Wafer__Label__Level level,
                         Wafer__Label__Level origin)
{
    if (level >= origin)
        return true;
    refuse(request, 0, "E_CLASS", EX_DATAERR, "data.class",
           text_format("the checkpoint is %s: the job must be so at least, and is %s",
                       level_name(origin), level_name(level)));
    return false;
}

/* What the schema says of a spec depends on its bytes alone: those of a job that is still here need
 * no second look. The first error goes out as an answer; true when there was none. */
static bool schema_allows(struct request *request, const Wafer__JobSpec *spec,
                          ProtobufCBinaryData packed)
{
    const struct spec *known = spec_find(request->core, packed.data, packed.len);
    struct bind_errors errors = { .items = NULL };

    if (known && known->checked)
        return true;
    bool good = job_spec_check(spec, NULL, &errors) == 0;
    if (!good)
        refuse(request, 0, "E_FIELD", EX_DATAERR, errors.items[0].field,
               text_copy(errors.items[0].text));
    bind_errors_done(&errors);
    return good;
}

/* Of a job that has `left_us` of its limit to go. False: it cannot be done by then. */
bool deadline_is_ahead(struct request *request, uint64_t job, const struct job_terms *terms,
                       int64_t left_us)
{
    int64_t now_us = request->core->now_us;
    int64_t begin_us = terms->begin_us > now_us ? terms->begin_us : now_us;
    char limit[DURATION_TEXT_SIZE], span[DURATION_TEXT_SIZE];

    if (terms->deadline_us == INT64_MAX)
        return true;
    if (terms->deadline_us <= now_us) {
        refuse(request, job, "E_FIELD", EX_DATAERR, "deadline", text_copy("is past"));
        return false;
    }
    if (left_us == INT64_MAX || later_us(begin_us, left_us) <= terms->deadline_us)
        return true;
    duration_format(left_us, limit);
    duration_format((terms->deadline_us - begin_us) / SECOND_US * SECOND_US, span);
    refuse(request, job, "E_FIELD", EX_DATAERR, "deadline",
           text_format("is %s away%s: a limit of %s does not fit before it", span,
                       begin_us > now_us ? " at its begin" : "", limit));
    return false;
}

/* An impossible fallback is refused now, not at the hour of need. */
static bool fallback_is_possible(struct request *request, const Wafer__JobSpec *spec,
                                 const struct job_terms *terms, const struct pool *own)
{
    const Wafer__FallbackSpec *fallback = spec->fallback;
    const struct pool *pool = fallback ? core_pool(request->core, fallback->pool) : NULL;
    char *why = NULL;

    if (!fallback)
        return true;
    if (!pool)
        why = text_format("there is no pool '%s' here", fallback->pool);
    else if (pool == own)
        why = text_format("%s is the job's own pool", pool->name);
    else if (!pool_takes(pool, terms->level))
        why = text_format("%s data may not go to pool %s", level_name(terms->level), pool->name);
    else if (pool->systems && schedule_widest(request->core, pool).known < terms->systems_min)
        why =
            text_format("pool %s has at most %u systems on a host, and the job needs %u",
                        pool->name, schedule_widest(request->core, pool).known, terms->systems_min);
    if (why)
        refuse(request, 0, "E_FIELD", EX_DATAERR, "fallback.pool", why);
    return !why;
}

static bool may_use_reservation(struct request *request, const struct pool *pool,
                                const struct job_terms *terms)
{
    char *refusal = reserved_refusal(request->core, terms->reservation, pool, request->uid);

    if (refusal)
        refuse(request, 0, "E_FIELD", EX_DATAERR, "reservation", refusal);
    return !refusal;
}

/* Whether this caller may have it run here now: that is asked of each submission. False: answered.
 */
static bool site_allows(struct request *request, const Wafer__JobSpec *spec,
                        const struct job_terms *terms)
{
    if (!submission_is_permitted(request, spec, terms))
        return false;
    if (terms->queue && !core_pool(request->core, terms->queue)) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "queue",
               text_format("there is no queue '%s' here (the first is '%s')", terms->queue,
                           request->core->pools[0].name));
        return false;
    }
    const struct pool *pool =
        terms->queue ? core_pool(request->core, terms->queue) : &request->core->pools[0];
    if (!pool_takes_class(request, pool, terms->level) ||
        !may_use_reservation(request, pool, terms))
        return false;
    if (terms->max_cost_micro && strcmp(spec->stop->max_cost->currency, pool->currency) != 0) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, "stop.max_cost",
               text_format("pool %s is paid for in %s, not in %s", pool->name, pool->currency,
                           spec->stop->max_cost->currency));
        return false;
    }
    if (!fallback_is_possible(request, spec, terms, pool))
        return false;
    for (size_t i = 0; i < spec->n_notify; i++) {
        char *refusal = delivery_refusal(request->core, spec, spec->notify[i]);
        owned(free) char *field = text_format("notify[%zu].to", i);
        if (refusal) {
            refuse(request, 0, "E_FIELD", EX_DATAERR, field, refusal);
            return false;
        }
    }
    return true;
}

const Wafer__CheckpointState *checkpoint_choose(Wafer__CheckpointState *const *checkpoints,
                                                size_t count, uint64_t step, uint64_t epoch)
{
    for (size_t i = count; i-- > 0;)
        if (checkpoints[i]->state == WAFER__CHECKPOINT__STATE__VERIFIED &&
            checkpoints[i]->step == step && (!epoch || checkpoints[i]->fence->epoch == epoch))
            return checkpoints[i];
    return NULL;
}

const Wafer__CheckpointState *checkpoint_verified(const struct job *job, uint64_t step,
                                                  uint64_t epoch)
{
    size_t count;
    owned(free) Wafer__CheckpointState **states = checkpoint_states(job, &count);

    return checkpoint_choose(states, count, step, epoch);
}

/* "JOB@STEP": a verified checkpoint of a job that the caller may read, for one of class `level`.
 * NULL: answered. */
static const Wafer__CheckpointState *named_checkpoint(struct request *request, const char *field,
                                                      const char *text, Wafer__Label__Level level)
{
    const struct facts *facts = request->input->request.facts;
    const Wafer__CheckpointState *found = NULL;
    uint64_t id, step, epoch;

    if (checkpoint_target_parse(text, &id, &step, &epoch) < 0) {
        refuse(request, 0, "E_FIELD", EX_DATAERR, field,
               text_format("'%s' is no checkpoint (JOB@STEP, as in 7@2000)", text));
        return NULL;
    }
    const struct job *job = core_job(request->core, id);
    bool known = job ? may(request, WAFER__ROLE__ACTION__read, job)
                     : facts && facts->state && facts->state->id == id &&
                           may_ended(request, WAFER__ROLE__ACTION__read, facts);
    if (known && !class_covers(request, level, job ? job->spec->terms.level : facts->view->class_))
        return NULL;
    if (known && job)
        found = checkpoint_verified(job, step, epoch);
    else if (known)
        found = checkpoint_choose(facts->checkpoints, facts->checkpoint_count, step, epoch);
    if (!known)
        refuse_unknown(request);
    else if (!found)
        refuse(request, id, "E_CHECKPOINT", EX_DATAERR, field,
               text_format("job %llu has no verified checkpoint at step %llu",
                           (unsigned long long)id, (unsigned long long)step));
    return found;
}

bool nothing_to_do(struct request *request, const struct job_terms *terms,
                   const Wafer__CheckpointState *from)
{
    if (!from || from->step < terms->max_steps)
        return false;
    refuse(request, from->job, "E_FIELD", EX_DATAERR, "resume",
           text_format("nothing to do: the checkpoint is at step %llu, the job ends at %llu",
                       (unsigned long long)from->step, (unsigned long long)terms->max_steps));
    return true;
}

struct quota_party submission_party(const struct request *request, const Wafer__JobSpec *spec,
                                    const char *queue)
{
    return (struct quota_party){ .uid = request->uid,
                                 .project = spec->project,
                                 .pool = queue ? core_pool(request->core, queue)
                                               : &request->core->pools[0] };
}

/* What the job would start from. False: answered. */
static bool find_origin(struct request *request, const struct job_terms *terms,
                        struct submission *submission)
{
    if (terms->init_from) {
        submission->origin =
            named_checkpoint(request, "resume.init_from", terms->init_from, terms->level);
        submission->weights_only = true;
        return submission->origin;
    }
    if (!terms->resume_from || !strchr(terms->resume_from, '@'))
        return true;
    submission->origin = named_checkpoint(request, "resume.from", terms->resume_from, terms->level);
    if (!submission->origin || nothing_to_do(request, terms, submission->origin))
        return false;
    submission->lineage = submission->origin->lineage;
    submission->resumed_from = submission->origin->job;
    return true;
}

/* A copy with the limit that a job without one gets; NULL: it has one, or gets none. */
static Wafer__JobSpec *complete(const struct request *request, const Wafer__JobSpec *spec,
                                const char *queue)
{
    const struct quota_party party = submission_party(request, spec, queue);
    int64_t limit_us = spec->limit ? 0 : quotas_default_limit_us(request->core, &party);

    if (!limit_us)
        return NULL;
    Wafer__JobSpec *completed = MESSAGE_COPY(spec);
    quotas_set_limit(completed, limit_us);
    return completed;
}

bool submission_is_within(struct request *request, const Wafer__JobSpec *spec, const char *queue,
                          const struct submission *submission)
{
    const struct job_terms *terms = submission->terms;
    const struct quota_party party = submission_party(request, spec, queue);
    bool is_array = !submission->array_index && terms->array_first <= terms->array_last;
    const struct quota_demand demand = {
        .systems = submission->systems_count ? submission->systems_count : terms->systems_count,
        .limit_us = terms->limit_us,
        .elements = is_array ? (uint64_t)terms->array_last - terms->array_first + 1 : 1,
    };

    return quotas_allow(request, 0, &party, &demand);
}

/* A new job, and no repetition of one: what depends on the moment. False: answered. */
static bool read_submission(struct request *request, const Wafer__JobSpec *spec,
                            struct submission *submission)
{
    const struct job_terms *terms = submission->terms;

    return submission_is_within(request, spec, spec->queue, submission) &&
           deadline_is_ahead(request, 0, terms, terms->limit_us ? terms->limit_us : INT64_MAX) &&
           find_origin(request, terms, submission) &&
           dependencies_read(request, spec, &submission->after, &submission->after_count);
}

void on_submit(struct request *request)
{
    const Wafer__SubmitRequest *asked = request->message->submit;
    struct job_terms terms;
    struct submission submission = { .terms = &terms,
                                     .key = asked->key,
                                     .held = asked->has_hold && asked->hold };

    owned(free) uint8_t *bytes = NULL;
    const ProtobufCBinaryData packed = submission_pack(asked->spec, &bytes);
    submission.packed = packed;
    if (!schema_allows(request, asked->spec, packed))
        return;
    submission.checked = true;
    job_terms(asked->spec, &terms);
    if (!site_allows(request, asked->spec, &terms))
        return;
    if (asked->key) {
        submission.key_hash = submission_key_hash(request->uid, asked->key);
        submission.body_hash = hash64(bytes, packed.len);
        if (submission_is_known(request, asked->key, submission.key_hash, submission.body_hash))
            return;
    }
    /* Who asks again hears of his job, whatever the time and the limits are by now. */
    owned(spec_free) Wafer__JobSpec *completed = complete(request, asked->spec, asked->spec->queue);
    owned(free) uint8_t *completed_bytes = NULL;
    if (completed) {
        job_terms(completed, &terms);
        submission.packed = submission_pack(completed, &completed_bytes);
    }
    if (!read_submission(request, asked->spec, &submission))
        return;
    submission_make(request, &submission);
    dependencies_free(submission.after, submission.after_count);
}

bool plan_read(struct request *request, const Wafer__JobSpec *spec, struct planned *ret)
{
    struct job_terms terms;
    struct submission submission = { .terms = &terms };
    owned(spec_free) Wafer__JobSpec *completed = complete(request, spec, spec->queue);
    owned(free) uint8_t *bytes = NULL;
    const ProtobufCBinaryData packed = submission_pack(completed ? completed : spec, &bytes);

    if (!schema_allows(request, spec, packed))
        return false;
    job_terms(completed ? completed : spec, &terms);
    if (!site_allows(request, spec, &terms) || !read_submission(request, spec, &submission))
        return false;
    *ret = (struct planned){ .packed = { packed.len, TAKE(bytes) },
                             .resumed_from = submission.resumed_from,
                             .after = submission.after,
                             .after_count = submission.after_count };
    return true;
}
