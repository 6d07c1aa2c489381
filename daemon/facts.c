#include "facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/job.h"
#include "model/limits.h"

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

/* Of the job that is, or would be, handed in; NULL: none. */
static const Wafer__JobSpec *spec_of(const Wafer__Request *request)
{
    switch (request->body_case) {
    case WAFER__REQUEST__BODY_SUBMIT: return request->submit->spec;
    case WAFER__REQUEST__BODY_PLAN: return request->plan->spec;
    default: return NULL;
    }
}

/* The job whose checkpoint a new one is to start from. */
static bool origin_target(const Wafer__Request *request, Wafer__Target *ret)
{
    const char *texts[2] = { NULL, NULL };
    uint64_t job, step, epoch;

    if (request->body_case == WAFER__REQUEST__BODY_RESUME) {
        texts[0] = request->resume->from;
    } else if (spec_of(request) && spec_of(request)->resume) {
        texts[0] = spec_of(request)->resume->from;
        texts[1] = spec_of(request)->resume->init_from;
    }
    for (size_t i = 0; i < 2; i++) {
        if (texts[i] && checkpoint_target_parse(texts[i], &job, &step, &epoch) == 0) {
            target_job(ret, job);
            return true;
        }
    }
    return false;
}

/* Of an array part may be history, whatever is in memory. */
static bool is_whole_array(const struct core *core, const Wafer__Target *target)
{
    return !target->has_index && core_knows_array(core, target->job);
}

static const char *after_text(const Wafer__Dependency *after)
{
    return after->afterok      ? after->afterok
           : after->afterany   ? after->afterany
           : after->afternotok ? after->afternotok
                               : after->afterstart;
}

/* Both ends check specs, but this one comes before the core has. */
static bool after_target(const Wafer__Dependency *after, Wafer__Target *ret)
{
    const char *text = after_text(after);

    return text && job_target_parse(text, ret) == 0 && ret->has_job;
}

static const Wafer__JobSpec *after_wanted(const struct core *core, const Wafer__Request *request,
                                          uid_t uid)
{
    const Wafer__JobSpec *spec = spec_of(request);
    Wafer__Target target;

    for (size_t i = 0; spec && i < spec->n_after && i < LIMIT_DEPENDENCIES; i++)
        if (after_target(spec->after[i], &target) &&
            (!core_knows(core, &target, uid) || is_whole_array(core, &target)))
            return spec;
    return NULL;
}

bool facts_wanted(const struct core *core, const Wafer__Request *request, uid_t uid,
                  struct facts_wish *ret)
{
    *ret = (struct facts_wish){ .uid = uid };
    ret->has_target =
        (main_target(request, &ret->target) && !core_knows(core, &ret->target, uid)) ||
        (origin_target(request, &ret->target) && !core_knows(core, &ret->target, uid));
    ret->after = after_wanted(core, request, uid);
    return ret->has_target || ret->after;
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

/* The number of an ended job. -ENOENT */
static int find_job(struct store *store, const Wafer__Target *target, uid_t uid, uint64_t *ret)
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

/* The numbers of all jobs that are meant: one, or the elements of an array. */
static int after_range(struct store *store, const Wafer__Target *target, uint64_t *ret_first,
                       uint64_t *ret_count)
{
    *ret_count = 1;
    if (target->has_index)
        return find_job(store, target, 0, ret_first);
    if (target->job > INT64_MAX)
        return -ENOENT;
    *ret_first = target->job;
    return store_history_submission(store, target->job, ret_count);
}

uint64_t facts_mark(struct store *store, const struct pipeline *pipeline,
                    const struct facts_wish *wish)
{
    uint64_t mark = 0, first, count;

    if (wish->has_target && find_job(store, &wish->target, wish->uid, &first) >= 0)
        mark = pipeline_mark_of(pipeline, first);
    for (size_t i = 0; wish->after && i < wish->after->n_after && i < LIMIT_DEPENDENCIES; i++) {
        Wafer__Target target;
        if (!after_target(wish->after->after[i], &target) ||
            after_range(store, &target, &first, &count) < 0)
            continue;
        for (uint64_t job = first; job < first + count; job++) {
            uint64_t other = pipeline_mark_of(pipeline, job);
            mark = other > mark ? other : mark;
        }
    }
    return mark;
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

static int find_target(struct store *store, const struct facts_wish *wish, struct facts_held *held,
                       struct diag *diag)
{
    uint64_t job;
    int r = find_job(store, &wish->target, wish->uid, &job);

    if (r >= 0)
        r = store_history_job(store, job, &held->job, diag);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = refresh_origins(store, held->job.state, diag);
    if (r >= 0)
        r = store_history_checkpoints(store, job, &held->checkpoints, &held->checkpoint_count,
                                      diag);
    held->facts = (struct facts){ .view = held->job.view,
                                  .state = held->job.state,
                                  .spec = held->job.spec,
                                  .checkpoints = held->checkpoints,
                                  .checkpoint_count = held->checkpoint_count };
    return r;
}

/* The outcomes that one dependency asks for. */
struct outcomes {
    struct facts_held *held;
    size_t dependency, capacity, project_capacity;
    bool of_array;
};

static void add_outcome(void *userdata, const Wafer__Job *view, const Wafer__JobState *state)
{
    struct outcomes *outcomes = userdata;
    struct facts_held *held = outcomes->held;
    size_t at = held->after_count;

    ARRAY_RESERVE(held->after, at, outcomes->capacity);
    ARRAY_RESERVE(held->projects, at, outcomes->project_capacity);
    held->projects[at] = text_copy(view->project);
    held->after[at] = (struct fact_outcome){
        .dependency = outcomes->dependency,
        .of_array = outcomes->of_array,
        .job = state->id,
        .object = { .owner = state->uid, .project = held->projects[at], .level = view->class_ },
        .state = state->state,
        .started = state->has_first_started_us
    };
    held->after_count++;
}

static int find_after(struct store *store, const Wafer__JobSpec *spec, struct facts_held *held,
                      struct diag *diag)
{
    struct outcomes outcomes = { .held = held };
    uint64_t first, count;
    int r = 0;

    for (size_t i = 0; i < spec->n_after && i < LIMIT_DEPENDENCIES && r >= 0; i++) {
        Wafer__Target target;
        if (!after_target(spec->after[i], &target) ||
            after_range(store, &target, &first, &count) < 0)
            continue;
        outcomes.dependency = i;
        outcomes.of_array = count > 1;
        r = store_history_range(store, first, count, add_outcome, &outcomes, diag);
    }
    held->facts.after = held->after;
    held->facts.after_count = held->after_count;
    return r;
}

int facts_find(struct store *store, const struct facts_wish *wish, struct facts_held *ret,
               struct diag *diag)
{
    *ret = (struct facts_held){ .checkpoint_count = 0 };
    int r = wish->has_target ? find_target(store, wish, ret, diag) : 0;
    if (r >= 0 && wish->after)
        r = find_after(store, wish->after, ret, diag);
    if (r < 0)
        facts_done(ret);
    return r;
}

void facts_done(struct facts_held *held)
{
    store_job_done(&held->job);
    store_checkpoints_free(held->checkpoints, held->checkpoint_count);
    for (size_t i = 0; i < held->after_count; i++)
        free(held->projects[i]);
    free(held->projects);
    free(held->after);
    *held = (struct facts_held){ .checkpoint_count = 0 };
}
