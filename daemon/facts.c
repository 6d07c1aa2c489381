#include "facts.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "model/job.h"

static void target_job(Wafer__Target *target, uint64_t job)
{
    *target = (Wafer__Target)WAFER__TARGET__INIT;
    target->has_job = true;
    target->job = job;
}

/* The job that a request is about. */
static bool main_target(const Wafer__Request *request, Wafer__Target *ret)
{
    const Wafer__Target *target = NULL;
    const Wafer__CheckpointTarget *checkpoint = NULL;

    switch (request->body_case) {
    case WAFER__REQUEST__BODY_SHOW: target = request->show->target; break;
    case WAFER__REQUEST__BODY_WATCH: target = request->watch->target; break;
    case WAFER__REQUEST__BODY_EVENTS: target = request->events->target; break;
    case WAFER__REQUEST__BODY_LOGS: target = request->logs->target; break;
    case WAFER__REQUEST__BODY_CANCEL: target = request->cancel->target; break;
    case WAFER__REQUEST__BODY_HOLD: target = request->hold->target; break;
    case WAFER__REQUEST__BODY_RELEASE: target = request->release->target; break;
    case WAFER__REQUEST__BODY_REQUEUE: target = request->requeue->target; break;
    case WAFER__REQUEST__BODY_RESUME: target = request->resume->target; break;
    case WAFER__REQUEST__BODY_EXPLAIN: target = request->explain->target; break;
    case WAFER__REQUEST__BODY_REPORT: target = request->report->target; break;
    case WAFER__REQUEST__BODY_UPDATE: target = request->update->target; break;
    case WAFER__REQUEST__BODY_CHECKPOINT_LIST: target = request->checkpoint_list->target; break;
    case WAFER__REQUEST__BODY_CHECKPOINT_PRUNE: target = request->checkpoint_prune->target; break;
    case WAFER__REQUEST__BODY_CHECKPOINT_SHOW: checkpoint = request->checkpoint_show->target; break;
    case WAFER__REQUEST__BODY_CHECKPOINT_VERIFY:
        checkpoint = request->checkpoint_verify->target;
        break;
    case WAFER__REQUEST__BODY_CHECKPOINT_PIN: checkpoint = request->checkpoint_pin->target; break;
    default: return false; /* these name no job */
    }
    if (checkpoint)
        target_job(ret, checkpoint->job);
    else if (target)
        *ret = *target;
    return target || checkpoint;
}

/* The job whose checkpoint a new one is to start from. */
static bool origin_target(const Wafer__Request *request, Wafer__Target *ret)
{
    const char *texts[2] = { NULL, NULL };
    uint64_t job, step, epoch;

    if (request->body_case == WAFER__REQUEST__BODY_RESUME) {
        texts[0] = request->resume->from;
    } else if (request->body_case == WAFER__REQUEST__BODY_SUBMIT && request->submit->spec->resume) {
        texts[0] = request->submit->spec->resume->from;
        texts[1] = request->submit->spec->resume->init_from;
    }
    for (size_t i = 0; i < 2; i++) {
        if (texts[i] && checkpoint_target_parse(texts[i], &job, &step, &epoch) == 0) {
            target_job(ret, job);
            return true;
        }
    }
    return false;
}

bool facts_wanted(const struct core *core, const Wafer__Request *request, uid_t uid,
                  Wafer__Target *ret)
{
    if (main_target(request, ret) && !core_knows(core, ret, uid))
        return true;
    return origin_target(request, ret) && !core_knows(core, ret, uid);
}

/* -ENOENT: history has no job `id`, or it is no element of `array`. */
static int array_member(struct store *store, uint64_t array, uint64_t id, uint32_t *ret_index)
{
    struct store_job job;
    struct diag diag;
    int r = store_history_job(store, id, &job, &diag);

    if (r < 0)
        return r;
    r = job.state->has_array_id && job.state->array_id == array ? 0 : -ENOENT;
    *ret_index = job.state->array_index;
    store_job_done(&job);
    return r;
}

/* 7_3 is the element with index 3 of the array whose first element is job 7; numbers rise with
 * indices. Any element tells where the indices begin: the first one, if it has ended; else it is
 * what most arrays have, 0 or 1. */
static int array_element(struct store *store, const Wafer__Target *target, uint64_t *ret)
{
    uint64_t tries[] = { target->job, target->job + target->index,
                         target->job + target->index - 1 };
    uint32_t index;

    for (size_t i = 0; i < ELEMENTS(tries); i++) {
        int r = array_member(store, target->job, tries[i], &index);
        if (r == -ENOENT)
            continue;
        if (r == 0)
            *ret = tries[i] + target->index - index;
        return r;
    }
    return -ENOENT;
}

int facts_job(struct store *store, const Wafer__Target *target, uid_t uid, uint64_t *ret)
{
    if (target->name)
        return store_history_name(store, uid, target->name, ret);
    if (!target->has_job || target->job > INT64_MAX)
        return -ENOENT;
    if (target->has_index)
        return array_element(store, target, ret);
    *ret = target->job;
    return 0;
}

/* What a job holds of a checkpoint of another is as of its own end: what has become of it since? */
static int refresh_origin(struct store *store, Wafer__CheckpointState *origin, struct diag *diag)
{
    Wafer__CheckpointState **checkpoints;
    size_t count;
    int r = store_history_checkpoints(store, origin->job, &checkpoints, &count, diag);

    if (r < 0)
        return r;
    origin->state = WAFER__CHECKPOINT__STATE__DELETED;
    for (size_t i = 0; i < count; i++)
        if (checkpoints[i]->number == origin->number) {
            origin->state = checkpoints[i]->state;
            origin->has_pinned = checkpoints[i]->has_pinned;
            origin->pinned = checkpoints[i]->pinned;
        }
    store_checkpoints_free(checkpoints, count);
    return 0;
}

static int refresh_origins(struct store *store, Wafer__JobState *state, struct diag *diag)
{
    int r = state->origin ? refresh_origin(store, state->origin, diag) : 0;

    for (size_t i = 0; i < state->n_older_origins && r >= 0; i++)
        r = refresh_origin(store, state->older_origins[i], diag);
    return r;
}

int facts_find(struct store *store, const Wafer__Target *target, uid_t uid, struct facts_held *ret,
               struct diag *diag)
{
    uint64_t job;

    *ret = (struct facts_held){ .checkpoint_count = 0 };
    int r = facts_job(store, target, uid, &job);
    if (r >= 0)
        r = store_history_job(store, job, &ret->job, diag);
    if (r < 0)
        return r;
    r = refresh_origins(store, ret->job.state, diag);
    if (r >= 0)
        r = store_history_checkpoints(store, job, &ret->checkpoints, &ret->checkpoint_count, diag);
    if (r < 0) {
        store_job_done(&ret->job);
        return r;
    }
    ret->facts = (struct facts){ .view = ret->job.view,
                                 .state = ret->job.state,
                                 .spec = ret->job.spec,
                                 .checkpoints = ret->checkpoints,
                                 .checkpoint_count = ret->checkpoint_count };
    return 0;
}

void facts_done(struct facts_held *held)
{
    store_job_done(&held->job);
    store_checkpoints_free(held->checkpoints, held->checkpoint_count);
}
