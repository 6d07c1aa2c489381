#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "model/job.h"
#include "model/priority.h"

struct ledger_job *ledger_job(const struct ledger *ledger, uint64_t id)
{
    return map_get(&ledger->jobs, id);
}

const Wafer__CheckpointState *ledger_checkpoint(const struct ledger *ledger, uint64_t id,
                                                uint64_t number)
{
    const struct ledger_job *job = ledger_job(ledger, id);

    for (size_t i = 0; job && i < job->checkpoint_count; i++)
        if (job->checkpoints[i]->number == number)
            return job->checkpoints[i];
    return NULL;
}

void ledger_done(struct ledger *ledger)
{
    size_t cursor = 0;

    for (struct ledger_job *job; (job = map_next(&ledger->jobs, &cursor));) {
        for (size_t i = 0; i < job->checkpoint_count; i++)
            wafer__checkpoint_state__free_unpacked(job->checkpoints[i], NULL);
        wafer__job_state__free_unpacked(job->state, NULL);
        wafer__job__free_unpacked(job->view, NULL);
        free(job->checkpoints);
        free(job->lost_now);
        free(job->spec.data);
        free(job);
    }
    map_done(&ledger->jobs);
    *ledger = (struct ledger){ .last_job = 0 };
}

static const char *submitted(struct ledger *ledger, const Wafer__Record *record)
{
    uint32_t count = record->has_array_count ? record->array_count : 1;

    size_t cursor = 0;
    for (struct ledger_job *job; (job = map_next(&ledger->jobs, &cursor));)
        if (record->job_state->has_key_hash && job->state->has_key_hash &&
            job->state->key_hash == record->job_state->key_hash)
            return "one key, two jobs"; /* I1 */
    for (uint32_t i = 0; i < count; i++) {
        struct ledger_job *job = NEW(struct ledger_job);
        job->id = record->job + i;
        if (job->id <= ledger->last_job) {
            free(job);
            return "the number of a job was given out again";
        }
        job->told = -1;
        job->index = record->job_state->array_index + i;
        job->spec.len = record->spec.len;
        job->spec.data = memory_copy(record->spec.data, record->spec.len);
        job->state = MESSAGE_COPY(record->job_state);
        job->state->id = job->id;
        map_put(&ledger->jobs, job->id, job);
        ledger->last_job = job->id;
    }
    return NULL;
}

/* What an attempt may need of one other job, by the definitions of wafer-job(5). */
static bool is_met(Wafer__Job__After__Kind kind, const struct ledger_job *other)
{
    bool succeeded = other->state->state == WAFER__JOB__STATE__SUCCEEDED;

    switch (kind) {
    case WAFER__JOB__AFTER__KIND__afterok: return succeeded;
    case WAFER__JOB__AFTER__KIND__afterany: return other->ended;
    case WAFER__JOB__AFTER__KIND__afternotok: return other->ended && !succeeded;
    /* The word that it began may have come with the word that it is done; or it was lost, once it
     * had been heeded. */
    case WAFER__JOB__AFTER__KIND__afterstart:
        return other->state->has_first_started_us || succeeded || other->lost;
    default: return false;
    }
}

/* Of each element of an array; of one of them where the failure of some is waited for, once all
 * have ended. */
static bool is_met_by_all(const struct ledger *ledger, const Wafer__DependencyState *after)
{
    bool any = false;

    for (uint64_t id = after->job; id <= ledger->last_job; id++) {
        const struct ledger_job *other = ledger_job(ledger, id);
        if (!other || (id != after->job && (!after->array || !other->state->has_array_id ||
                                            other->state->array_id != after->job)))
            break;
        if (other->unsure)
            return true; /* nobody can say */
        bool met = is_met(after->kind, other);
        any |= met;
        if (!met && (after->kind != WAFER__JOB__AFTER__KIND__afternotok || !other->ended))
            return false;
    }
    return any;
}

/* I13: what does not work, or is not to be used, is never granted. I8: an attempt starts from what
 * was verified. I11: not before it is known what it can start from. */
static const char *granted(const struct ledger *ledger, const struct ledger_job *job,
                           const Wafer__JobState *state)
{
    for (size_t i = 0; i < job->checkpoint_count; i++) {
        const Wafer__CheckpointState *checkpoint = job->checkpoints[i];
        if (checkpoint->state == WAFER__CHECKPOINT__STATE__WRITTEN ||
            checkpoint->state == WAFER__CHECKPOINT__STATE__COMMITTED)
            return "an attempt starts while a checkpoint awaits its verdict";
        if (state->has_resume_checkpoint && checkpoint->number == state->resume_checkpoint &&
            checkpoint->state != WAFER__CHECKPOINT__STATE__VERIFIED)
            return "an attempt starts from a checkpoint that is not verified";
    }
    for (size_t i = 0; i < state->n_after; i++)
        if (!is_met_by_all(ledger, state->after[i]))
            return "an attempt starts before what its job waits for";
    for (size_t i = 0; i < state->n_systems; i++) {
        const struct ledger_system *system = &ledger->systems[state->systems[i]];
        if (system->state != WAFER__SYSTEM__STATE__UP)
            return "a system was granted that is not up";
        if (system->drained)
            return "a system was granted that is drained";
    }
    return NULL;
}

static uint32_t priority_of(const struct ledger_job *job)
{
    Wafer__JobSpec *spec = wafer__job_spec__unpack(NULL, job->spec.len, job->spec.data);
    uint32_t priority = spec->priority ? spec->priority->value : PRIORITY_DEFAULT;

    wafer__job_spec__free_unpacked(spec, NULL);
    return priority;
}

/* Only for a job that is more urgent and waits, and not twice in a row for the same. */
static const char *preempted(const struct ledger *ledger, const struct ledger_job *job,
                             const Wafer__JobState *next)
{
    const struct ledger_job *by = ledger_job(ledger, next->preempted_for);

    if (!by || by->state->state != WAFER__JOB__STATE__PENDING)
        return "a job is stopped for one that does not wait";
    if (priority_of(by) >= priority_of(job))
        return "a job is stopped for one that is no more urgent";
    if (job->state->has_preempted_for && job->state->preempted_for == by->id)
        return "a job is stopped twice for the same one";
    return NULL;
}

/* What it was isolated for is all that is lost of it. */
static bool is_covered(const struct ledger_job *job, const Wafer__Record *isolation)
{
    size_t covered = 0;

    for (size_t i = 0; i < job->lost_count; i++)
        for (size_t k = 0; k < isolation->n_lost; k++)
            covered += job->lost_now[i] == isolation->lost[k];
    return covered == job->lost_count;
}

static const char *changed(struct ledger *ledger, const Wafer__Record *record)
{
    const Wafer__JobState *next = record->job_state;
    struct ledger_job *job = ledger_job(ledger, next->id);

    if (!job)
        return "a job changed that was never submitted";
    if (job->ended)
        return "a job changed that had ended"; /* I4 */
    if (record->kind == WAFER__RECORD_KIND__JOB_GRANTED) {
        if (next->epoch <= job->state->epoch)
            return "an epoch does not rise"; /* I3 */
        const char *wrong = granted(ledger, job, next);
        if (wrong && !job->unsure)
            return wrong;
    } else if (next->epoch != job->state->epoch && !job->unsure &&
               record->kind != WAFER__RECORD_KIND__JOB_ISOLATED) {
        return "an epoch changed without a grant";
    }
    if (next->state == WAFER__JOB__STATE__STOPPING && next->cause == WAFER__CAUSE__PREEMPTED &&
        job->state->state != WAFER__JOB__STATE__STOPPING) {
        const char *wrong = preempted(ledger, job, next);
        if (wrong && !job->unsure)
            return wrong;
    }
    /* I7: the committed step only rises, but with a record that says why. */
    if (next->committed_step < job->state->committed_step && !job->unsure &&
        record->kind != WAFER__RECORD_KIND__JOB_GRANTED &&
        !(record->checkpoint && record->checkpoint->state == WAFER__CHECKPOINT__STATE__CORRUPT))
        return "a committed step fell";
    if (record->kind == WAFER__RECORD_KIND__JOB_ISOLATED && is_covered(job, record))
        job->unsure = false;
    job->ended = job_state_is_terminal(next->state);
    wafer__job_state__free_unpacked(job->state, NULL);
    job->state = MESSAGE_COPY(next);
    return NULL;
}

void ledger_skip(struct ledger *ledger, uint64_t sequence, uint64_t id)
{
    struct ledger_job *job = ledger_job(ledger, id);

    if (!job)
        return;
    if (!job->unsure)
        job->lost_count = 0;
    job->unsure = job->lost = true;
    ARRAY_RESERVE(job->lost_now, job->lost_count, job->lost_capacity);
    job->lost_now[job->lost_count++] = sequence;
}

static bool is_before(const Wafer__CheckpointState *a, const Wafer__CheckpointState *b)
{
    return a->step != b->step ? a->step < b->step : a->fence->epoch < b->fence->epoch;
}

static const char *checkpoint(struct ledger *ledger, const Wafer__CheckpointState *next)
{
    struct ledger_job *job = ledger_job(ledger, next->job);
    size_t place = 0;

    if (!job)
        return "a checkpoint of a job that was never submitted";
    if (next->state == WAFER__CHECKPOINT__STATE__DELETING &&
        job->state->state == WAFER__JOB__STATE__STARTING && job->state->has_resume_checkpoint &&
        job->state->resume_checkpoint == next->number)
        return "what an attempt starts from is deleted";
    for (size_t i = 0; i < job->checkpoint_count; i++) {
        if (job->checkpoints[i]->number != next->number)
            continue;
        wafer__checkpoint_state__free_unpacked(job->checkpoints[i], NULL);
        memmove(job->checkpoints + i, job->checkpoints + i + 1,
                (--job->checkpoint_count - i) * sizeof(*job->checkpoints));
    }
    if (next->state == WAFER__CHECKPOINT__STATE__DELETED)
        return NULL;
    ARRAY_RESERVE(job->checkpoints, job->checkpoint_count, job->checkpoint_capacity);
    while (place < job->checkpoint_count && is_before(job->checkpoints[place], next))
        place++;
    memmove(job->checkpoints + place + 1, job->checkpoints + place,
            (job->checkpoint_count++ - place) * sizeof(*job->checkpoints));
    job->checkpoints[place] = MESSAGE_COPY(next);
    return NULL;
}

static const char *delivery(struct ledger *ledger, const Wafer__Record *record)
{
    struct ledger_job *job = ledger_job(ledger, record->delivery->job);

    if (record->kind == WAFER__RECORD_KIND__NOTIFY_QUEUED) {
        job->owed++;
        job->told = (int)record->delivery->event;
    } else if (job->owed == 0) {
        return "a notification is acknowledged that nobody is owed";
    } else if (record->kind == WAFER__RECORD_KIND__NOTIFY_DELIVERED) {
        job->owed--;
    }
    return NULL;
}

/* What ends is told, in the step in which it does. */
static const char *untold(const struct ledger *ledger, const Wafer__JobState *state)
{
    static const int events[] = {
        [WAFER__JOB__STATE__SUCCEEDED] = WAFER__NOTIFY_SPEC__EVENT__SUCCEEDED,
        [WAFER__JOB__STATE__FAILED] = WAFER__NOTIFY_SPEC__EVENT__FAILED,
        [WAFER__JOB__STATE__CANCELLED] = WAFER__NOTIFY_SPEC__EVENT__CANCELLED,
        [WAFER__JOB__STATE__TIMEOUT] = WAFER__NOTIFY_SPEC__EVENT__TIMEOUT,
    };
    bool is_told = (size_t)state->state < ELEMENTS(events) && events[state->state];

    return is_told && ledger_job(ledger, state->id)->told != events[state->state]
               ? "a job ends, and no webhook is told"
               : NULL;
}

static void system_changed(struct ledger *ledger, const Wafer__SystemState *next)
{
    struct ledger_system *system = &ledger->systems[next->number % LEDGER_SYSTEMS];

    snprintf(system->name, sizeof(system->name), "%s", next->name);
    system->state = next->state;
    system->drained = next->has_drained && next->drained;
}

static void key_forgotten(struct ledger *ledger, uint64_t hash)
{
    size_t cursor = 0;

    for (struct ledger_job *job; (job = map_next(&ledger->jobs, &cursor));)
        if (job->state->key_hash == hash)
            job->state->has_key_hash = false;
}

const char *ledger_add(struct ledger *ledger, const Wafer__Record *record)
{
    const char *wrong = NULL;

    if (record->kind == WAFER__RECORD_KIND__JOB_SUBMITTED)
        wrong = submitted(ledger, record);
    else if (record->job_state)
        wrong = changed(ledger, record);
    if (!wrong && record->kind == WAFER__RECORD_KIND__JOB_ENDED)
        wrong = untold(ledger, record->job_state);
    if (!wrong && record->delivery)
        wrong = delivery(ledger, record);
    if (record->view && ledger_job(ledger, record->view->id)) {
        struct ledger_job *job = ledger_job(ledger, record->view->id);
        wafer__job__free_unpacked(job->view, NULL);
        job->view = MESSAGE_COPY(record->view);
    }
    if (!wrong && record->checkpoint)
        wrong = checkpoint(ledger, record->checkpoint);
    if (record->system)
        system_changed(ledger, record->system);
    if (record->kind == WAFER__RECORD_KIND__KEY_FORGOTTEN)
        key_forgotten(ledger, record->key->hash);
    return wrong;
}
