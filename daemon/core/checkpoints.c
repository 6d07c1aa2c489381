/* Checkpoints: from the first shard to the last deletion.
 *
 *     WRITING -> WRITTEN -> COMMITTED -> VERIFIED -> DELETING -> DELETED
 *        \-> INCOMPLETE ------------------------------^
 *                               \-> CORRUPT ----------^
 *
 * WRITTEN is the agent's word that all shards are in the vault; COMMITTED that the manifest is;
 * only the record of that makes it something to resume from, once it was read back. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

typedef Wafer__CheckpointState State;

/* What cannot be read is read again, ever more seldom. A job that waits to start from it goes on
 * from an older one after so many tries: a cause that may pass may also stay. */
#define VERIFY_AGAIN_FIRST_US (10 * (int64_t)1000000)
#define VERIFY_AGAIN_MAX_US   (600 * (int64_t)1000000)
enum { VERIFY_TRIES_AWAITED = 6 };

static struct checkpoint *of_link(struct list *link)
{
    return CONTAINER_OF(link, struct checkpoint, link);
}

static bool is_in(const struct checkpoint *checkpoint, Wafer__Checkpoint__State state)
{
    return checkpoint->state.state == state;
}

bool checkpoint_is_given_up(const Wafer__JobState *job, const State *state)
{
    if (!job->has_resume_from_step || state->fence->epoch > job->resume_asked_epoch)
        return false;
    if (state->step != job->resume_from_step)
        return state->step > job->resume_from_step;
    return job->resume_from_epoch && state->fence->epoch != job->resume_from_epoch;
}

uint64_t checkpoint_committed_without(const struct job *job, const struct checkpoint *lost)
{
    for (struct list *link = job->checkpoints.previous; link != &job->checkpoints;
         link = link->previous)
        if (of_link(link) != lost && !checkpoint_is_given_up(&job->state, &of_link(link)->state) &&
            (is_in(of_link(link), WAFER__CHECKPOINT__STATE__VERIFIED) ||
             is_in(of_link(link), WAFER__CHECKPOINT__STATE__COMMITTED)))
            return of_link(link)->state.step;
    const State *origin = job->state.weights_only ? NULL : origin_to_resume(job);
    return origin ? origin->step : 0;
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
        uint64_t step = checkpoint_committed_without(job, checkpoint);
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
        const State *state = &of_link(link)->state;
        if (state->state == WAFER__CHECKPOINT__STATE__VERIFIED &&
            !checkpoint_is_given_up(&job->state, state))
            return state;
    }
    return NULL;
}

bool checkpoint_named_is_lost(const struct job *job)
{
    const State *state = checkpoint_to_resume(job);

    return job->state.has_resume_from_step &&
           !(state && (state->step == job->state.resume_from_step ||
                       state->fence->epoch > job->state.resume_asked_epoch));
}

/* Not one that is being deleted: a deletion that fails is tried again at the next start of the
 * controller, and until then nothing else may hang on it. */
bool checkpoint_is_awaited(const struct job *job)
{
    list_foreach (&job->checkpoints, link)
        if (is_in(of_link(link), WAFER__CHECKPOINT__STATE__WRITTEN) ||
            (is_in(of_link(link), WAFER__CHECKPOINT__STATE__COMMITTED) &&
             of_link(link)->verify_failures < VERIFY_TRIES_AWAITED))
            return true;
    return false;
}

/* ---- deletion, damage ---- */

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

static void mark_corrupt(struct core *core, struct checkpoint *checkpoint, const char *why)
{
    if (is_in(checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED) ||
        is_in(checkpoint, WAFER__CHECKPOINT__STATE__COMMITTED))
        change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__CORRUPT, why, NULL);
}

/* Of a job that is history, as another job that starts from it holds it. */
static void mark_corrupt_ended(struct core *core, const State *origin, const char *why)
{
    State next = *origin;
    owned(free) char *text =
        text_format("step %llu is CORRUPT: %s", (unsigned long long)next.step, why);

    next.state = WAFER__CHECKPOINT__STATE__CORRUPT;
    next.detail = (char *)why;
    record_checkpoint(core, &next, text, NULL);
}

bool checkpoint_unreadable(struct core *core, struct job *job, const char *why)
{
    uint64_t number = job->state.resume_checkpoint;
    struct checkpoint *held = core_checkpoint(core, number);
    bool is_own = held && held->job == job;
    const State *origin = is_own ? NULL : origin_numbered(job, number);

    if (held)
        mark_corrupt(core, held, why);
    else if (origin && origin->state == WAFER__CHECKPOINT__STATE__VERIFIED &&
             !core_job(core, origin->job))
        mark_corrupt_ended(core, origin, why);
    return origin ? origin_to_resume(job) != NULL : !checkpoint_named_is_lost(job);
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

/* What an attempt wrote that is over, and that nobody knows of: its word came too late. */
static void drop_unknown(struct core *core, const struct job *job,
                         const Wafer__CheckpointReport *report)
{
    State state = WAFER__CHECKPOINT_STATE__INIT;

    state.job = job->state.id;
    state.lineage = job->state.lineage;
    state.fence = report->fence;
    state.step = report->step;
    effect_delete(core, &state);
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
                                 !is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITTEN))) {
            /* Known already, or of an attempt that is over: either way it need not ask again. */
            acknowledge(core, host, report->job, report->fence, report->step,
                        checkpoint && checkpoint->state.has_manifest_digest);
            if (job && !checkpoint && report->fence->epoch < job->state.epoch)
                drop_unknown(core, job, report);
        }
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

/* The verdict may be the last thing that keeps an ended job in memory. So what retention then drops
 * is chosen before; it goes after: never an older one before the newer is known to be good. */
static void verified(struct core *core, struct checkpoint *checkpoint)
{
    size_t count;
    State **dropped = retention_drops(core, checkpoint, &count);

    change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__VERIFIED, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        struct checkpoint *held = core_checkpoint(core, dropped[i]->number);
        if (held)
            checkpoint_delete(core, held, "no longer kept", NULL);
        else
            checkpoint_delete_ended(core, dropped[i], "no longer kept", NULL);
        wafer__checkpoint_state__free_unpacked(dropped[i], NULL);
    }
    free(dropped);
}

bool checkpoint_is_damage(int error)
{
    return error == -EBADMSG || error == -ENOENT;
}

static void verify_later(struct core *core, struct checkpoint *checkpoint)
{
    int64_t wait_us = VERIFY_AGAIN_FIRST_US;

    if (checkpoint->timer.place)
        return; /* a client asked meanwhile: that is no try of ours */
    for (unsigned i = 0; i < checkpoint->verify_failures && wait_us < VERIFY_AGAIN_MAX_US; i++)
        wait_us *= 2;
    if (++checkpoint->verify_failures == VERIFY_TRIES_AWAITED)
        core->pass_wanted = true;
    timer_set(&core->timers, &checkpoint->timer,
              core->now_us + (wait_us < VERIFY_AGAIN_MAX_US ? wait_us : VERIFY_AGAIN_MAX_US));
}

static void on_verified(struct core *core, struct checkpoint *checkpoint, int error,
                        const char *why)
{
    bool is_open = is_in(checkpoint, WAFER__CHECKPOINT__STATE__COMMITTED);

    if (checkpoint_is_damage(error))
        mark_corrupt(core, checkpoint, why);
    else if (error && is_open)
        verify_later(core, checkpoint);
    else if (is_open)
        verified(core, checkpoint);
}

static void on_manifest(struct core *core, struct checkpoint *checkpoint, const struct input *input)
{
    struct job *job = checkpoint->job;
    const char *why = input->verdict.text;

    if (!is_in(checkpoint, WAFER__CHECKPOINT__STATE__WRITTEN))
        return;
    if (!input->verdict.error) {
        committed(core, checkpoint, input->verdict.manifest_digest);
        return;
    }
    acknowledge(core, job_host(core, job), job->state.id, checkpoint->state.fence,
                checkpoint->state.step, false);
    /* An ended job would leave memory with this, and nothing would know of the shards any more. */
    if (job_state_is_terminal(job->state.state))
        checkpoint_delete(core, checkpoint, why, NULL);
    else
        change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__INCOMPLETE, why, NULL);
}

void checkpoint_verdict(struct core *core, const struct input *input)
{
    struct checkpoint *checkpoint = core_checkpoint(core, input->verdict.checkpoint);

    /* None: of a job that is history, or the verdict of a repeated effect. */
    switch (input->type) {
    case INPUT_MANIFEST:
        if (checkpoint)
            on_manifest(core, checkpoint, input);
        break;
    case INPUT_VERIFIED:
        if (checkpoint)
            on_verified(core, checkpoint, input->verdict.error, input->verdict.text);
        verifications_done(core, input);
        break;
    case INPUT_DELETED:
        /* What could not be deleted stays listed; the next start tries again. */
        if (checkpoint && is_in(checkpoint, WAFER__CHECKPOINT__STATE__DELETING) &&
            !input->verdict.error)
            change_state(core, checkpoint, WAFER__CHECKPOINT__STATE__DELETED, NULL, NULL);
        break;
    default: assert(false);
    }
}
