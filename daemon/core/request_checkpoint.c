/* Checkpoints as people ask for them. */
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

/* A verification that somebody asked for: the answer waits for the verdict. */
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
        if (!now && !core_job(core, state.job) && state.state != verification->state->state) {
            /* Of a job that is history: what was found goes there too. One that a live job no
             * longer has was deleted while it was read. */
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
void on_checkpoint_prune(struct request *request)
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
            checkpoint_delete_ended(request->core, chosen.states[i], "pruned", &request->uid);
    }
}
