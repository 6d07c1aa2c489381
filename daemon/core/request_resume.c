/* Jobs go on: `wafer resume` of one that is live, or as a new job from one that has ended; and with
 * the same steps, `wafer fallback` and `wafer return`. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"
#include "core/submission.h"

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

/* What the new job starts from: the one that is named, and no other; or, when the choice is left to
 * us, the newest good one, with older ones to fall back on. False: answered. */
static bool find_start(struct request *request, const Wafer__JobState *ended,
                       Wafer__CheckpointState *const *checkpoints, size_t count,
                       struct origins *origins, struct submission *submission)
{
    uint64_t step, epoch;
    bool any;

    if (resume_step(request, ended->id, request->message->resume->from, &any, &step, &epoch) < 0)
        return false;
    if (!any) {
        submission->origin = checkpoint_choose(checkpoints, count, step, epoch);
        if (!submission->origin)
            refuse(request, ended->id, "E_CHECKPOINT", EX_DATAERR, "from",
                   text_format("job %llu has no verified checkpoint at step %llu",
                               (unsigned long long)ended->id, (unsigned long long)step));
        return submission->origin;
    }
    origins_of(request->core, ended, checkpoints, count, origins);
    if (origins->count) {
        submission->origin = origins->states[0];
        submission->older_origins = origins->states + 1;
        submission->older_origin_count = origins->count - 1;
        submission->weights_only = origins->weights_only;
    } else if (ended->origin) {
        refuse(request, ended->id, "E_CHECKPOINT", EX_DATAERR, "from",
               text_format("job %llu has no good checkpoint left, and what it started from is gone "
                           "or damaged: submit it anew to begin at step 0",
                           (unsigned long long)ended->id));
        return false;
    }
    return true;
}

static Wafer__Plan__Resumption *resumption_new(const Wafer__JobState *state,
                                               const Wafer__CheckpointState *from, uint64_t step)
{
    Wafer__Plan__Resumption *resumption = NEW(Wafer__Plan__Resumption);

    wafer__plan__resumption__init(resumption);
    resumption->job = state->id;
    resumption->as_new_job = job_state_is_terminal(state->state);
    if (from) {
        SET(resumption, from_job, from->job);
        SET(resumption, from_step, from->step);
    }
    uint64_t start = from ? from->step : 0;
    SET(resumption, steps_lost, step > start ? step - start : 0);
    return resumption;
}

static void plan_resume_ended(struct request *request, const Wafer__JobState *ended,
                              const struct submission *submission)
{
    const Wafer__JobState state = submission_state(request, submission);
    uint64_t step = ended->has_final_step ? ended->final_step : ended->committed_step;
    Wafer__Plan__Resumption *resumption = resumption_new(ended, submission->origin, step);

    if (submission->weights_only) {
        SET(resumption, weights_only, true);
        SET(resumption, steps_lost, step);
    }
    answer_plan(request, submission->packed, &state, resumption);
}

static void resume_ended(struct request *request, const Wafer__JobState *ended,
                         ProtobufCBinaryData packed, Wafer__CheckpointState *const *checkpoints,
                         size_t count)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    struct job_terms terms;
    struct submission submission = { .terms = &terms,
                                     .packed = packed,
                                     .key = asked->key,
                                     .lineage = ended->lineage,
                                     .resumed_from = ended->id,
                                     .systems_count = asked->systems,
                                     .array_index =
                                         ended->has_array_index ? &ended->array_index : NULL,
                                     .queue = asked->pool ? asked->pool : ended->queue };
    struct origins origins;

    if (!find_start(request, ended, checkpoints, count, &origins, &submission))
        return;
    owned(spec_free) Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, packed.len, packed.data);
    owned(free) uint8_t *bytes = NULL;
    if (!spec) {
        refuse(request, ended->id, "E_INTERNAL", EX_SOFTWARE, NULL,
               text_copy("what the job was submitted with cannot be read"));
        return;
    }
    job_terms(spec, &terms);
    if (asked->key) {
        submission.key_hash = submission_key_hash(request->uid, asked->key);
        submission.body_hash = hash64(packed.data, packed.len) ^ ended->id;
    }
    const char *queue = submission.queue ? submission.queue : terms.queue;
    const struct quota_party party = submission_party(request, spec, queue);
    if (!submission_is_permitted(request, spec, &terms) ||
        (party.pool && !pool_takes_class(request, party.pool, terms.level)) ||
        (asked->key &&
         submission_is_known(request, asked->key, submission.key_hash, submission.body_hash)))
        return;
    if (!spec->limit && quotas_default_limit_us(request->core, &party)) {
        quotas_set_limit(spec, quotas_default_limit_us(request->core, &party));
        job_terms(spec, &terms);
        submission.packed = submission_pack(spec, &bytes);
    }
    if (submission_is_within(request, spec, queue, &submission) &&
        (submission.weights_only || !nothing_to_do(request, &terms, submission.origin))) {
        if (asked->plan)
            plan_resume_ended(request, ended, &submission);
        else
            submission_make(request, &submission);
    }
}

/* Other systems, or another queue, must be within what there may be. False: refused. */
static bool resume_is_within(struct request *request, const struct job *job)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    struct quota_party party = job_party(request->core, job);
    const struct quota_demand demand = {
        .systems = asked->has_systems ? asked->systems
                   : asked->pool      ? job_systems_wanted(job)
                                      : 0,
        .limit_us = asked->pool ? job->spec->terms.limit_us : 0,
    };

    if (asked->pool)
        party.pool = core_pool(request->core, asked->pool);
    return quotas_allow(request, job->state.id, &party, &demand);
}

/* `next`: as it would wait then. */
static void plan_resume_live(struct request *request, struct job *job, const Wafer__JobState *next,
                             const Wafer__CheckpointState *from)
{
    Wafer__Plan__Resumption *resumption = resumption_new(&job->state, from, job_step(job));

    if (job_has_systems(job)) {
        resumption->stops_attempt = true;
        answer_plan_of_running(request, job, resumption);
    } else {
        answer_plan(request, (ProtobufCBinaryData){ job->spec->length, job->spec->packed }, next,
                    resumption);
    }
}

static void resume_live(struct request *request, struct job *job)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    Wafer__JobState next = job->state;
    uint64_t step, epoch, id = job->state.id;
    bool any;

    if (resume_step(request, id, asked->from, &any, &step, &epoch) < 0)
        return;
    if (asked->pool &&
        !pool_takes_class(request, core_pool(request->core, asked->pool), job->spec->terms.level))
        return;
    if (!any && !checkpoint_verified(job, step, epoch)) {
        refuse(request, id, "E_CHECKPOINT", EX_DATAERR, "from",
               text_format("job %llu has no verified checkpoint at step %llu",
                           (unsigned long long)id, (unsigned long long)step));
        return;
    }
    if (!resume_is_within(request, job))
        return;
    bool plans = asked->has_plan && asked->plan;
    if (job_has_systems(job) && !plans)
        requeue(request, job, "resume");
    next = job->state;
    UNSET(&next, resume_from_step);
    UNSET(&next, resume_from_epoch);
    UNSET(&next, resume_asked_epoch);
    if (!any) {
        SET(&next, resume_from_step, step);
        SET(&next, resume_from_epoch, epoch);
        SET(&next, resume_asked_epoch, job->state.epoch);
    }
    if (asked->has_systems)
        SET(&next, systems_count, asked->systems);
    if (!job_has_systems(job)) {
        next.state = WAFER__JOB__STATE__PENDING;
        UNSET(&next, held_by_admin);
        job_end_back_off(&next);
        if (asked->pool)
            next.queue = asked->pool;
    } else if (asked->pool) {
        next.next_queue = asked->pool; /* its systems are of the old one until they are free */
    }
    if (plans) {
        const Wafer__CheckpointState *newest = checkpoint_to_resume(job);
        plan_resume_live(request, job, &next,
                         !any     ? checkpoint_verified(job, step, epoch)
                         : newest ? newest
                                  : origin_to_resume(job));
        return;
    }
    if (asked->has_move && asked->move) {
        owned(free) char *text =
            text_format("to pool %s%s%s", asked->pool, asked->reason ? ": " : "",
                        asked->reason ? asked->reason : "");
        record_change(request, WAFER__RECORD_KIND__JOB_MOVED, job, &next, text);
    } else {
        record_change(request, WAFER__RECORD_KIND__JOB_RELEASED, job, &next, "resume");
    }
    answer_job(request, job);
}

/* The pool that a fallback or a return goes to; NULL: answered. */
static const char *move_pool(struct request *request, const struct job *job)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    const Wafer__FallbackSpec *spec = job->spec->message->fallback;
    const struct pool *now = job_pool(request->core, job);
    const char *pool = asked->pool;

    if (!pool && asked->move == WAFER__RESUME_REQUEST__MOVE__fallback)
        pool = spec ? spec->pool : NULL;
    else if (!pool)
        pool = job->spec->terms.queue ? job->spec->terms.queue : request->core->pools[0].name;
    if (!pool)
        refuse(request, job->state.id, "E_FIELD", EX_DATAERR, "pool",
               text_copy("the job names no fallback pool: --pool NAME does"));
    else if (now && strcmp(now->name, pool) == 0 && !job->state.next_queue)
        refuse(
            request, job->state.id, "E_STATE", EXIT_STATE, NULL,
            text_format("job %llu is in pool %s already", (unsigned long long)job->state.id, pool));
    else
        return pool;
    return NULL;
}

/* The same as a resume, with the pool filled in. */
static void move(struct request *request, struct job *job)
{
    Wafer__Request message = *request->message;
    Wafer__ResumeRequest resume = *request->message->resume;

    resume.pool = (char *)move_pool(request, job);
    if (!resume.pool)
        return;
    message.resume = &resume;
    request->message = &message;
    if (!core_pool(request->core, resume.pool))
        refuse(request, 0, "E_FIELD", EX_DATAERR, "pool",
               text_format("there is no pool '%s' here", resume.pool));
    else
        resume_live(request, job);
}

void on_resume(struct request *request)
{
    const Wafer__ResumeRequest *asked = request->message->resume;
    const struct facts *facts;
    struct job *job = seen_target(request, asked->target, &facts);

    if (!job && !facts)
        return;
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
    bool moves = asked->has_move && asked->move;
    if (moves && (facts || job_state_is_terminal(job->state.state))) {
        refuse(
            request, facts ? facts->state->id : job->state.id, "E_ENDED", EXIT_STATE, NULL,
            text_copy("it has ended: 'wafer resume --pool' goes on from its checkpoint, as a new "
                      "job"));
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
        else if (moves)
            move(request, job);
        else
            resume_live(request, job);
        return;
    }
    /* Ended, and its last checkpoint is still being settled. */
    size_t count;
    owned(free) Wafer__CheckpointState **states = checkpoint_states(job, &count);
    resume_ended(request, &job->state,
                 (ProtobufCBinaryData){ job->spec->length, job->spec->packed }, states, count);
}
