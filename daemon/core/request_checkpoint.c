/* Checkpoints as people ask for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

/* ---- checkpoints ---- */

static void answer_checkpoints(struct request *request, Wafer__CheckpointState *const *states,
                               const char *const *details, size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_CHECKPOINTS);
    Wafer__CheckpointList *list = response->checkpoints = NEW(Wafer__CheckpointList);

    wafer__checkpoint_list__init(list);
    list->schema = text_copy("wafer.checkpoint.list/v1");
    list->generated_at = view_time(request->core->now_us);
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
    ret->states = checkpoint_states(ret->job, &ret->count);
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

void on_checkpoint_list(struct request *request)
{
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (choose_all(request, request->message->checkpoint_list->target, &chosen))
        answer_checkpoints(request, chosen.states, NULL, chosen.count);
}

void on_checkpoint_show(struct request *request)
{
    owned(chosen_done) struct chosen chosen = { .job = NULL };

    if (choose_one(request, request->message->checkpoint_show->target, &chosen))
        answer_checkpoints(request, chosen.states, NULL, 1);
}

void on_checkpoint_pin(struct request *request)
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

/* ---- verification ---- */

static size_t verifications_of(const struct core *core, uid_t uid)
{
    size_t count = 0;

    list_foreach (&core->verifications, link)
        count += CONTAINER_OF(link, struct verification, link)->uid == uid;
    return count;
}

/* Somebody asks for it: the answer waits for the verdict. */
void on_checkpoint_verify(struct request *request)
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
    if (verifications_of(request->core, request->uid) >= LIMIT_VERIFICATIONS_PER_UID) {
        refuse(request, state->job, "E_BUSY", EX_TEMPFAIL, NULL,
               text_format("%d verifications of yours are not done yet: try again when one is",
                           LIMIT_VERIFICATIONS_PER_UID));
        return;
    }
    struct verification *verification = NEW(struct verification);
    verification->state = checkpoint_state_new(state);
    verification->client = request->input->request.client;
    verification->request = request->message->id;
    verification->uid = request->uid;
    list_push_tail(&request->core->verifications, &verification->link);
    effect_verify(request->core, state);
}

void verifications_follow(struct core *core, const Wafer__CheckpointState *next)
{
    list_foreach (&core->verifications, link) {
        struct verification *verification = CONTAINER_OF(link, struct verification, link);
        if (verification->state->number != next->number)
            continue;
        Wafer__CheckpointState before = *verification->state;
        checkpoint_state_copy(verification->state, next);
        checkpoint_state_done(&before);
    }
}

/* Of a job that is history, what was found goes there too; who asked is told of in the record. */
static void record_damage(struct core *core, const struct verification *verification,
                          const char *why)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__CheckpointState next = *verification->state;

    next.state = WAFER__CHECKPOINT__STATE__CORRUPT;
    next.detail = (char *)why;
    record.kind = WAFER__RECORD_KIND__CHECKPOINT_CHANGED;
    SET(&record, job, next.job);
    SET(&record, uid, verification->uid);
    record.checkpoint = &next;
    record.text = next.detail;
    core_record(core, &record);
}

static bool is_kept(const Wafer__CheckpointState *state)
{
    return state->state != WAFER__CHECKPOINT__STATE__DELETING &&
           state->state != WAFER__CHECKPOINT__STATE__DELETED;
}

static void answer_verification(struct core *core, const struct verification *verification,
                                const struct input *input)
{
    Wafer__Request message = WAFER__REQUEST__INIT;
    struct input asked = { .type = INPUT_REQUEST };
    struct request request = { .core = core, .input = &asked, .message = &message };
    Wafer__CheckpointState *state = verification->state;
    int error = input->verdict.error;

    message.id = verification->request;
    asked.request.client = verification->client;
    asked.request.subject.uid = verification->uid;
    asked.request.message = &message;
    if (!is_kept(state))
        answer_error(&request, "E_STATE", EXIT_STATE, NULL,
                     text_format("the checkpoint at step %llu was deleted meanwhile",
                                 (unsigned long long)state->step));
    else if (error && !checkpoint_is_damage(error))
        answer_error(&request, "E_IO", error == -EIO || error == -EACCES ? EX_IOERR : EX_TEMPFAIL,
                     NULL,
                     text_format("it cannot be read, and is neither good nor bad for that: %s",
                                 input->verdict.text));
    else
        answer_checkpoints(&request, &state, NULL, 1);
}

void verifications_done(struct core *core, const struct input *input)
{
    list_foreach_safe (&core->verifications, link) {
        struct verification *verification = CONTAINER_OF(link, struct verification, link);
        const Wafer__CheckpointState *state = verification->state;
        if (state->number != input->verdict.checkpoint)
            continue;
        /* In memory it was marked already. One that a live job no longer has was deleted. */
        if (checkpoint_is_damage(input->verdict.error) && is_kept(state) &&
            state->state != WAFER__CHECKPOINT__STATE__CORRUPT && !core_job(core, state->job))
            record_damage(core, verification, input->verdict.text);
        answer_verification(core, verification, input);
        list_remove(link);
        checkpoint_state_done(verification->state);
        free(verification->state);
        free(verification);
    }
}

/* ---- prune ---- */

/* What the job was submitted with. False: answered. */
static bool terms_of(struct request *request, const struct chosen *chosen,
                     Wafer__JobSpec **ret_spec, struct job_terms *ret)
{
    *ret_spec = NULL;
    if (chosen->job) {
        *ret = chosen->job->spec->terms;
        return true;
    }
    const struct facts *facts = request->input->request.facts;
    *ret_spec = wafer__job_spec__unpack(NULL, facts->spec.len, facts->spec.data);
    if (!*ret_spec) {
        refuse(request, facts->state->id, "E_INTERNAL", EX_SOFTWARE, NULL,
               text_copy("what the job was submitted with cannot be read: nothing was deleted"));
        return false;
    }
    job_terms(*ret_spec, ret);
    return true;
}

static void prune(struct request *request, const Wafer__CheckpointState *state)
{
    struct checkpoint *held = core_checkpoint(request->core, state->number);

    if (held)
        checkpoint_delete(request->core, held, "pruned", &request->uid);
    else
        checkpoint_delete_ended(request->core, state, "pruned", &request->uid);
}

/* Every checkpoint that neither the rules of its job keep, nor a pin, nor whoever starts from it.
 */
void on_checkpoint_prune(struct request *request)
{
    const Wafer__CheckpointPruneRequest *asked = request->message->checkpoint_prune;
    owned(chosen_done) struct chosen chosen = { .job = NULL };
    bool dry = asked->has_dry_run && asked->dry_run;
    Wafer__JobSpec *spec;
    struct job_terms terms;

    if (!choose_all(request, asked->target, &chosen) || !terms_of(request, &chosen, &spec, &terms))
        return;
    owned(free) enum retention *decided = memory_new(chosen.count * sizeof(*decided));
    owned(free) char **details = memory_new(chosen.count * sizeof(*details));

    retention_decide(request->core,
                     chosen.job ? &chosen.job->state : request->input->request.facts->state, &terms,
                     chosen.states, chosen.count, decided);
    for (size_t i = 0; i < chosen.count; i++)
        details[i] = decided[i] != RETAINED_NOT ? retention_text(decided[i], &terms)
                                                : text_copy(dry ? "would be deleted" : "deleted");
    answer_checkpoints(request, chosen.states, (const char *const *)details, chosen.count);
    for (size_t i = 0; i < chosen.count; i++) {
        free(details[i]);
        if (decided[i] == RETAINED_NOT && !dry)
            prune(request, chosen.states[i]);
    }
    wafer__job_spec__free_unpacked(spec, NULL);
}
