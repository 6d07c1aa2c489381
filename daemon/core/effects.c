/* Appending effects, and emptying what a caller has carried out. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

void records_clear(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        wafer__record__free_unpacked(records->items[i], NULL);
    free(records->items);
    *records = (struct records){ NULL, 0, 0 };
}

void effects_clear(struct effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        struct effect *effect = &effects->items[i];
        wafer__response__free_unpacked(effect->response, NULL);
        wafer__request__free_unpacked(effect->message, NULL);
        wafer__to_agent__free_unpacked(effect->to_agent, NULL);
        wafer__manifest__free_unpacked(effect->manifest, NULL);
        wafer__delivery_state__free_unpacked(effect->delivery, NULL);
        wafer__reservation_state__free_unpacked(effect->reservation, NULL);
        wafer__job__free_unpacked(effect->view, NULL);
        wafer__attempt_state__free_unpacked(effect->attempt, NULL);
    }
    free(effects->items);
    *effects = (struct effects){ NULL, 0, 0 };
}

struct effect *effect_add(struct core *core, enum effect_type type)
{
    struct effects *effects = core->effects;

    ARRAY_RESERVE(effects->items, effects->count, effects->capacity);
    struct effect *effect = &effects->items[effects->count++];
    *effect =
        (struct effect){ .type = type, .key_sequence = core->sequence, .key_n = core->effect_n++ };
    return effect;
}

void effect_reply(struct core *core, const struct input *input, Wafer__Response *response)
{
    struct effect *effect = effect_add(core, EFFECT_REPLY);

    effect->client = input->request.client;
    effect->request = input->request.message->id;
    effect->uid = input->request.subject.uid;
    effect->response = response;
    response->id = effect->request;
}

void effect_warn(struct core *core, const char *text)
{
    struct effect *last = &core->effects->items[core->effects->count - 1];

    last->response->warning = text_copy(text);
}

void effect_reply_job(struct core *core, const struct input *input, const struct job *job)
{
    Wafer__Response *response = NEW(Wafer__Response);

    wafer__response__init(response);
    response->body_case = WAFER__RESPONSE__BODY_JOB;
    effect_reply(core, input, response);
    /* A live job may be granted its systems at the end of this step: the answer is made then. One
     * that has ended may have left memory by then. */
    if (job_state_is_terminal(job->state.state))
        response->job = view_job(core, job);
    else
        core->effects->items[core->effects->count - 1].job = job->state.id;
}

void effects_answer_jobs(struct core *core)
{
    for (size_t i = core->effects_before; i < core->effects->count; i++) {
        struct effect *effect = &core->effects->items[i];
        if (effect->type == EFFECT_REPLY && effect->job && !effect->response->job)
            effect->response->job = view_job(core, core_job(core, effect->job));
    }
}

void effect_agent(struct core *core, const struct host *host, Wafer__ToAgent *message)
{
    if (!host || !host->link)
        return; /* it is told when it reports again */
    struct effect *effect = effect_add(core, EFFECT_AGENT);
    effect->link = host->link;
    effect->to_agent = MESSAGE_COPY(message);
}

/* What a worker needs to find a checkpoint, and to know it when it sees it. */
static void add_checkpoint(struct core *core, enum effect_type type,
                           const Wafer__CheckpointState *state, const Wafer__JobSpec *spec)
{
    Wafer__Manifest manifest = WAFER__MANIFEST__INIT;
    Wafer__Label label = WAFER__LABEL__INIT;
    Wafer__ResumeState nothing = WAFER__RESUME_STATE__INIT;
    Wafer__CheckpointState written = *state;

    /* The manifest says what was written, whatever has become of it since: the same bytes however
     * often this effect is repeated. */
    written.state = WAFER__CHECKPOINT__STATE__WRITTEN;
    written.has_manifest_digest = written.has_pinned = written.has_resume = false;
    written.detail = NULL;
    manifest.format = 1;
    manifest.checkpoint = &written;
    Wafer__ResumeState *resume =
        wafer__resume_state__unpack(NULL, state->resume.len, state->resume.data);
    manifest.resume = resume ? resume : &nothing;
    label.level = WAFER__LABEL__LEVEL__internal;
    if (spec && spec->data) {
        if (spec->data->has_class_)
            label.level = spec->data->class_;
        label.n_categories = spec->data->n_categories;
        label.categories = spec->data->categories;
    }
    manifest.label = &label;

    struct effect *effect = effect_add(core, type);
    effect->job = state->job;
    effect->checkpoint = state->number;
    effect->manifest = MESSAGE_COPY(&manifest);
    if (state->has_manifest_digest && state->manifest_digest.len == DIGEST_BYTES) {
        effect->has_manifest_digest = true;
        memcpy(effect->manifest_digest, state->manifest_digest.data, DIGEST_BYTES);
    }
    wafer__resume_state__free_unpacked(resume, NULL);
}

void effect_checkpoint(struct core *core, enum effect_type type,
                       const struct checkpoint *checkpoint)
{
    add_checkpoint(core, type, &checkpoint->state, checkpoint->job->spec->message);
}

void effect_verify(struct core *core, const Wafer__CheckpointState *state)
{
    add_checkpoint(core, EFFECT_VERIFY, state, NULL);
}

void effect_delete(struct core *core, const Wafer__CheckpointState *state)
{
    add_checkpoint(core, EFFECT_DELETE, state, NULL);
}

void effect_changed(struct core *core, struct job *job)
{
    if (!core->watched || job->is_changed)
        return;
    job->is_changed = true;
    ARRAY_RESERVE(core->changed, core->changed_count, core->changed_capacity);
    core->changed[core->changed_count++] = job->state.id;
}

void effects_changed(struct core *core)
{
    for (size_t i = 0; i < core->changed_count; i++) {
        struct job *job = core_job(core, core->changed[i]);
        if (!job || !job->is_changed)
            continue; /* it has ended meanwhile, which was told */
        job->is_changed = false;
        struct effect *effect = effect_add(core, EFFECT_CHANGED);
        effect->job = job->state.id;
        effect->uid = job->state.uid;
        effect->removed = job_state_is_terminal(job->state.state);
        effect->view = view_job(core, job);
    }
    core->changed_count = 0;
}
