/* Checkpoints: from the first shard to the last deletion.
 *
 *     WRITING -> WRITTEN -> COMMITTED -> VERIFIED -> DELETING -> DELETED
 *        \-> INCOMPLETE ------------------------------^
 *                               \-> CORRUPT ----------^
 *
 * WRITTEN is the agent's word that all shards are in the vault; COMMITTED that the manifest is;
 * only the record of that makes it something to resume from, once it was read back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

typedef Wafer__CheckpointState State;

static struct checkpoint *of_link(struct list *link)
{
    return CONTAINER_OF(link, struct checkpoint, link);
}

static bool is_in(const struct checkpoint *checkpoint, Wafer__Checkpoint__State state)
{
    return checkpoint->state.state == state;
}

/* A person who resumes from a step gives up what was written beyond it until then: it is no longer
 * something to go back to by ourselves. */
static bool is_given_up(const struct job *job, const State *state)
{
    if (!job->state.has_resume_from_step || state->fence->epoch > job->state.resume_asked_epoch)
        return false;
    if (state->step != job->state.resume_from_step)
        return state->step > job->state.resume_from_step;
    return job->state.resume_from_epoch && state->fence->epoch != job->state.resume_from_epoch;
}

/* The newest step that the job could go back to if this checkpoint were not there. */
static uint64_t committed_without(const struct job *job, const struct checkpoint *lost)
{
    for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
         link = link->previous)
        if (of_link(link) != lost && !is_given_up(job, &of_link(link)->state) &&
            (is_in(of_link(link), WAFER__CHECKPOINT__STATE__VERIFIED) ||
             is_in(of_link(link), WAFER__CHECKPOINT__STATE__COMMITTED)))
            return of_link(link)->state.step;
    return job->state.origin && !job->state.weights_only ? job->state.origin->step : 0;
}

static void record_checkpoint(struct core *core, const State *next, const char *text,
                              const uid_t *uid)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__Job *view = NULL;
    Wafer__JobState state;

    record.kind = WAFER__RECORD_KIND__CHECKPOINT_CHANGED;
    SET(&record, job, next->job);
    record.checkpoint = (State *)next;
    record.text = (char *)text;
    if (uid)
        SET(&record, uid, *uid);

    struct job *job = core_job(core, next->job);
    struct checkpoint *checkpoint = core_checkpoint(core, next->number);
    if (job && checkpoint && job_state_is_terminal(job->state.state)) {
        /* The job has ended and may leave memory with this record: history gets what is now true
         * of its newest checkpoint. */
        Wafer__Checkpoint__State before = checkpoint->state.state;
        checkpoint->state.state = next->state;
        record.view = view = view_job(core, job);
        checkpoint->state.state = before;
    } else if (job && checkpoint && next->state == WAFER__CHECKPOINT__STATE__CORRUPT) {
        /* What was committed with it is not: an attempt that reached no more has not progressed,
         * or a store that spoils all that it takes would let its jobs try for ever. */
        uint64_t step = committed_without(job, checkpoint);
        state = job->state;
        if (state.committed_step > step) {
            SET(&state, committed_step, step);
            SET(&state, version, state.version + 1);
            record.job_state = &state;
        }
    }
    core_record(core, &record);
    if (view)
        wafer__job__free_unpacked(view, NULL);
    job = core_job(core, next->job);
    if (job)
        effect_changed(core, job);
}

static void change_state(struct core *core, struct checkpoint *checkpoint,
                         Wafer__Checkpoint__State state, const char *detail, const uid_t *uid)
{
    State next = checkpoint->state;
    owned(free) char *text = text_format(
        "step %llu is %s%s%s", (unsigned long long)next.step,
        protobuf_c_enum_descriptor_get_value(&wafer__checkpoint__state__descriptor, state)->name,
        detail ? ": " : "", detail ? detail : "");

    next.state = state;
    next.detail = (char *)detail;
    record_checkpoint(core, &next, text, uid);
}

const State *checkpoint_to_resume(const struct job *job)
{
    for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
         link = link->previous) {
        const struct checkpoint *checkpoint = of_link(link);
        if (is_in(checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED) &&
            !is_given_up(job, &checkpoint->state))
            return &checkpoint->state;
    }
    return NULL;
}

/* Not one that is being deleted: a deletion that fails is tried again at the next start of the
 * controller, and until then nothing else may hang on it. */
bool checkpoint_is_awaited(const struct job *job)
{
    list_foreach (&job->checkpoints, link)
        if (is_in(of_link(link), WAFER__CHECKPOINT__STATE__WRITTEN) ||
            is_in(of_link(link), WAFER__CHECKPOINT__STATE__COMMITTED))
            return true;
    return false;
}

/* ---- retention ---- */

bool checkpoint_is_origin(const struct core *core, uint64_t number)
{
    size_t cursor = 0;

    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        if (job->state.origin && job->state.origin->number == number)
            return true;
    return false;
}

const char *checkpoint_kept_because(const struct core *core, const struct checkpoint *checkpoint)
{
    const struct job *job = checkpoint->job;

    if (checkpoint->state.has_pinned && checkpoint->state.pinned)
        return "pinned";
    if (job_has_systems(job) && job->state.has_resume_checkpoint &&
        job->state.resume_checkpoint == checkpoint->state.number &&
        job->state.state == WAFER__JOB__STATE__STARTING)
        return "an attempt starts from it";
    if (job->state.has_resume_from_step && checkpoint_to_resume(job) == &checkpoint->state)
        return "the next attempt starts from it";
    return checkpoint_is_origin(core, checkpoint->state.number) ? "another job starts from it"
                                                                : NULL;
}

static bool is_better(const struct job *job, const struct checkpoint *a, const struct checkpoint *b)
{
    return job->spec->terms.best_is_max ? a->state.metric_micro > b->state.metric_micro
                                        : a->state.metric_micro < b->state.metric_micro;
}

/* Among the best N by the metric; of equals, the older. */
static bool is_among_best(const struct job *job, const struct checkpoint *checkpoint)
{
    uint32_t ahead = 0;

    if (!job->spec->terms.keep_best || !checkpoint->state.has_metric_micro)
        return false;
    list_foreach (&job->checkpoints, link) {
        const struct checkpoint *other = of_link(link);
        if (other == checkpoint || !other->state.has_metric_micro ||
            !is_in(other, WAFER__CHECKPOINT__STATE__VERIFIED))
            continue;
        ahead +=
            is_better(job, other, checkpoint) ||
            (!is_better(job, checkpoint, other) && other->state.number < checkpoint->state.number);
    }
    return ahead < job->spec->terms.keep_best;
}

/* Is this verified checkpoint still wanted, with so many verified ones of higher steps? */
static bool is_wanted(const struct core *core, const struct checkpoint *checkpoint, uint32_t newer)
{
    const struct job_terms *terms = &checkpoint->job->spec->terms;

    /* The newest stays whatever the rules say: there must be one to resume from. */
    return newer == 0 || newer < terms->keep_last ||
           (terms->keep_every_steps && checkpoint->state.step % terms->keep_every_steps == 0) ||
           is_among_best(checkpoint->job, checkpoint) ||
           checkpoint_kept_because(core, checkpoint) != NULL;
}

/* Is the next one down from the newest no longer kept? The counts are of the steps above it: what
 * was given up has a count of its own, or its higher steps would push out what the job now writes.
 */
static bool is_dropped(const struct core *core, const struct job *job, struct list *link,
                       uint32_t counts[static 2])
{
    const struct checkpoint *checkpoint = of_link(link);
    uint32_t *newer = &counts[is_given_up(job, &checkpoint->state)];

    if (!is_in(checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED))
        return false;
    /* Of one step written twice, the later epoch is the one that counts. */
    bool repeated = link->next != &job->checkpoints &&
                    of_link(link->next)->state.step == checkpoint->state.step &&
                    is_in(of_link(link->next), WAFER__CHECKPOINT__STATE__VERIFIED);
    bool dropped = repeated ? !checkpoint_kept_because(core, checkpoint)
                            : !is_wanted(core, checkpoint, *newer);
    *newer += !repeated;
    return dropped;
}

void checkpoint_retain(struct core *core, struct job *job)
{
    uint32_t newer[2] = { 0, 0 };

    /* From the newest down; numeric order is the list's. Changing a state leaves the list alone. */
    for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
         link = link->previous)
        if (is_dropped(core, job, link, newer))
            checkpoint_delete(core, of_link(link), "no longer kept", NULL);
}

void checkpoint_delete(struct core *core, struct checkpoint *checkpoint, const char *why,
                       const uid_t *uid)
{
    change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__DELETING, why, uid);
    effect_checkpoint(core, EFFECT_DELETE, checkpoint);
}

void checkpoint_delete_ended(struct core *core, const State *state, const char *why,
                             const uid_t *uid)
{
    State next = *state;
    owned(free) char *text =
        text_format("step %llu is DELETED: %s", (unsigned long long)next.step, why);

    /* Nothing in memory can wait for the verdict: history forgets it, then its bytes go. */
    next.state = WAFER__CHECKPOINT__STATE__DELETED;
    record_checkpoint(core, &next, text, uid);
    effect_delete(core, state);
}

void checkpoint_mark_corrupt(struct core *core, struct checkpoint *checkpoint, const char *why)
{
    if (is_in(checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED) ||
        is_in(checkpoint, WAFER__CHECKPOINT__STATE__COMMITTED))
        change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__CORRUPT, why, NULL);
}

void checkpoint_begun_lost(struct core *core, struct job *job)
{
    list_foreach_safe (&job->checkpoints, link)
        if (is_in(of_link(link), WAFER__CHECKPOINT__STATE__WRITING))
            change_state(core, of_link(link), WAFER__CHECKPOINT__STATE__INCOMPLETE,
                         "its attempt ended while it was written", NULL);
}

void checkpoint_drop_incomplete(struct core *core, struct job *job)
{
    list_foreach_safe (&job->checkpoints, link)
        if (is_in(of_link(link), WAFER__CHECKPOINT__STATE__INCOMPLETE))
            checkpoint_delete(core, of_link(link), "it was never complete", NULL);
}

/* ---- what agents report ---- */

static struct checkpoint *find(struct job *job, uint64_t step, uint64_t epoch)
{
    list_foreach (&job->checkpoints, link)
        if (of_link(link)->state.step == step && of_link(link)->state.fence->epoch == epoch)
            return of_link(link);
    return NULL;
}

static void acknowledge(struct core *core, struct host *host, uint64_t job,
                        const Wafer__Fence *fence, uint64_t step, bool committed)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__CheckpointAck ack = WAFER__CHECKPOINT_ACK__INIT;

    ack.job = job;
    ack.fence = (Wafer__Fence *)fence;
    ack.step = step;
    ack.committed = committed;
    message.checkpoint_ack = &ack;
    effect_agent(core, host, &message);
}

static void begun(struct core *core, struct job *job, const Wafer__CheckpointReport *report)
{
    State next = WAFER__CHECKPOINT_STATE__INIT;

    /* A half written one of the same step is replaced by this. */
    list_foreach_safe (&job->checkpoints, link)
        if (of_link(link)->state.step == report->step &&
            is_in(of_link(link), WAFER__CHECKPOINT__STATE__INCOMPLETE))
            checkpoint_delete(core, of_link(link), "written anew", NULL);
    next.number = core->next_checkpoint;
    next.job = job->state.id;
    next.lineage = job->state.lineage;
    next.fence = report->fence;
    next.attempt = job->state.attempt;
    next.step = report->step;
    next.state = WAFER__CHECKPOINT__STATE__WRITING;
    next.created_us = core->now_us;
    owned(free) char *text = text_format("step %llu begun", (unsigned long long)report->step);
    record_checkpoint(core, &next, text, NULL);
}

static bool shards_are_sane(const Wafer__CheckpointReport *report)
{
    for (size_t i = 0; i < report->n_shards; i++)
        if (report->shards[i]->digest.len != DIGEST_BYTES || report->shards[i]->bytes < 0)
            return false;
    return report->n_shards > 0;
}

static void written(struct core *core, struct checkpoint *checkpoint,
                    const Wafer__CheckpointReport *report)
{
    State next = checkpoint->state;
    uint8_t *packed = NULL;

    next.state = WAFER__CHECKPOINT__STATE__WRITTEN;
    next.shards = report->shards;
    next.n_shards = report->n_shards;
    if (report->has_metric_micro)
        SET(&next, metric_micro, report->metric_micro);
    if (report->resume) {
        size_t length = wafer__resume_state__get_packed_size(report->resume);
        packed = memory_new(length);
        wafer__resume_state__pack(report->resume, packed);
        SET(&next, resume, ((ProtobufCBinaryData){ length, packed }));
    }
    owned(free) char *text =
        text_format("step %llu written, %zu shards", (unsigned long long)next.step, next.n_shards);
    record_checkpoint(core, &next, text, NULL);
    effect_checkpoint(core, EFFECT_COMMIT_MANIFEST, checkpoint);
    free(packed);
}

void checkpoint_reported(struct core *core, struct host *host,
                         const Wafer__CheckpointReport *report)
{
    struct job *job = core_job(core, report->job);
    bool live = job && job_has_systems(job) && job_host(core, job) == host &&
                report->fence->term == core->term && report->fence->epoch == job->state.epoch;
    struct checkpoint *checkpoint = job ? find(job, report->step, report->fence->epoch) : NULL;

    if (live && job->state.state == WAFER__JOB__STATE__STARTING)
        attempt_started(core, job); /* its own word for that was lost */
    switch (report->kind) {
    case WAFER__CHECKPOINT_REPORT__KIND__BEGUN:
        if (live && !checkpoint)
            begun(core, job, report);
        break;
    case WAFER__CHECKPOINT_REPORT__KIND__FAILED:
        if (live && checkpoint && is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITING))
            change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__INCOMPLETE, report->detail,
                         NULL);
        break;
    case WAFER__CHECKPOINT_REPORT__KIND__WRITTEN:
        if (live && !checkpoint) { /* the word that it began was lost */
            begun(core, job, report);
            checkpoint = find(job, report->step, report->fence->epoch);
        }
        if (live && checkpoint && shards_are_sane(report) &&
            (is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITING) ||
             is_in(checkpoint, WAFER__CHECKPOINT__STATE__INCOMPLETE)))
            written(core, checkpoint, report);
        else if (!checkpoint || (!is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITING) &&
                                 !is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITTEN)))
            /* Known already, or of an attempt that is over: either way it need not ask again. */
            acknowledge(core, host, report->job, report->fence, report->step,
                        checkpoint && checkpoint->state.has_manifest_digest);
        break;
    default: break; /* a newer agent's: not for us */
    }
}

/* ---- what workers find ---- */

static void committed(struct core *core, struct checkpoint *checkpoint, const uint8_t *digest)
{
    struct job *job = checkpoint->job;
    Wafer__Record record = WAFER__RECORD__INIT;
    State next = checkpoint->state;
    Wafer__JobState state = job->state;

    next.state = WAFER__CHECKPOINT__STATE__COMMITTED;
    next.detail = NULL;
    SET(&next, manifest_digest, ((ProtobufCBinaryData){ DIGEST_BYTES, (uint8_t *)digest }));
    owned(free) char *text = text_format("step %llu committed", (unsigned long long)next.step);
    record.kind = WAFER__RECORD_KIND__CHECKPOINT_CHANGED;
    SET(&record, job, next.job);
    record.checkpoint = &next;
    record.text = text;
    if (!job_state_is_terminal(state.state) && next.fence->epoch == state.epoch &&
        next.step > state.committed_step) {
        SET(&state, committed_step, next.step);
        SET(&state, version, state.version + 1);
        record.job_state = &state;
    }
    core_record(core, &record);
    acknowledge(core, job_host(core, job), next.job, checkpoint->state.fence, next.step, true);
    effect_checkpoint(core, EFFECT_VERIFY, checkpoint);
    effect_changed(core, job);
}

/* The verdict may be the last thing that keeps an ended job in memory. What retention then drops
 * is chosen before, and goes after it: never an older one before the newer is known to be good. */
static void verified(struct core *core, struct checkpoint *checkpoint)
{
    struct job *job = checkpoint->job;
    State **dropped = NULL;
    size_t count = 0, capacity = 0;
    uint32_t newer[2] = { 0, 0 };

    if (job_state_is_terminal(job->state.state) && job->unsettled == 1) {
        checkpoint->state.state = WAFER__CHECKPOINT__STATE__VERIFIED;
        for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
             link = link->previous)
            if (is_dropped(core, job, link, newer)) {
                ARRAY_RESERVE(dropped, count, capacity);
                dropped[count++] = checkpoint_state_new(&of_link(link)->state);
            }
        checkpoint->state.state = WAFER__CHECKPOINT__STATE__COMMITTED;
    }
    change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        checkpoint_delete_ended(core, dropped[i], "no longer kept", NULL);
        wafer__checkpoint_state__free_unpacked(dropped[i], NULL);
    }
    free(dropped);
}

void checkpoint_verdict(struct core *core, const struct input *input)
{
    struct checkpoint *checkpoint = core_checkpoint(core, input->verdict.checkpoint);
    int error = input->verdict.error;
    const char *why = input->verdict.text;

    if (!checkpoint) { /* of a job that is history, or the verdict of a repeated effect */
        verifications_done(core, input);
        return;
    }
    struct job *job = checkpoint->job;
    uint64_t id = job->state.id;

    switch (input->type) {
    case INPUT_MANIFEST:
        if (!is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITTEN))
            return;
        if (!error) {
            committed(core, checkpoint, input->verdict.manifest_digest);
            return;
        }
        acknowledge(core, job_host(core, job), id, checkpoint->state.fence, checkpoint->state.step,
                    false);
        change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__INCOMPLETE, why, NULL);
        break;
    case INPUT_VERIFIED:
        if (error && !is_in(checkpoint, WAFER__CHECKPOINT__STATE__DELETING))
            checkpoint_mark_corrupt(core, checkpoint, why);
        else if (is_in(checkpoint, WAFER__CHECKPOINT__STATE__COMMITTED))
            verified(core, checkpoint);
        job = core_job(core, id);
        if (job && !error)
            checkpoint_retain(core, job);
        verifications_done(core, input);
        break;
    case INPUT_DELETED:
        if (!is_in(checkpoint, WAFER__CHECKPOINT__STATE__DELETING))
            return;
        /* What could not be deleted stays listed; the next start tries again. */
        if (!error)
            change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__DELETED, NULL, NULL);
        break;
    default: assert(false);
    }
}
