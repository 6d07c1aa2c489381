/* One who watches the list of all jobs: he hears of each job's end, and of nothing that goes back.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "model/job.h"
#include "world.h"

static struct seen *seen_of(struct watcher *watcher, uint64_t job)
{
    for (size_t i = 0; i < watcher->count; i++)
        if (watcher->seen[i].job == job)
            return &watcher->seen[i];
    ARRAY_RESERVE(watcher->seen, watcher->count, watcher->capacity);
    watcher->seen[watcher->count] = (struct seen){ .job = job };
    return &watcher->seen[watcher->count++];
}

static const char *backwards(const struct seen *before, const struct seen *now)
{
    if (before->gone && !now->gone)
        return "comes back after its end";
    if (now->version < before->version)
        return "goes back to an earlier version";
    if (now->attempt < before->attempt)
        return "goes back to an earlier attempt";
    /* Of one attempt, while it runs: afterwards the step is what it was or what it begins from. */
    if (before->started && now->started && now->attempt == before->attempt &&
        now->step < before->step)
        return "goes back to an earlier step";
    if (before->stopping && now->started && !now->stopping && now->attempt == before->attempt)
        return "was stopping, and runs again";
    return NULL;
}

static void look(struct world *world, const Wafer__Job *view, bool gone)
{
    struct seen *seen = seen_of(&world->watcher, view->id);
    const struct seen now = {
        .job = view->id,
        .attempt = view->attempt,
        .version = view->version,
        .step = view->progress ? view->progress->step : 0,
        .started =
            view->state == WAFER__JOB__STATE__RUNNING || view->state == WAFER__JOB__STATE__STOPPING,
        .stopping = view->state == WAFER__JOB__STATE__STOPPING,
        .gone = gone,
    };
    const char *wrong = backwards(seen, &now);

    if (wrong)
        world_fail(world, "a watched job %llu %s: %s", (unsigned long long)view->id, wrong,
                   job_state_name(view->state));
    if (gone != job_state_is_terminal(view->state))
        world_fail(world, "a watcher hears that job %llu is %s and %s",
                   (unsigned long long)view->id, job_state_name(view->state),
                   gone ? "gone" : "there");
    *seen = now;
}

void watch_begin(struct world *world, const Wafer__JobList *jobs)
{
    watch_end(world);
    world->watcher.on = true;
    for (size_t i = 0; i < jobs->n_items; i++)
        look(world, jobs->items[i], job_state_is_terminal(jobs->items[i]->state));
}

void watch_end(struct world *world)
{
    world->watcher.on = false;
    world->watcher.count = 0;
}

void watch_sees(struct world *world, const struct effect *effect)
{
    if (world->watcher.on)
        look(world, effect->view, effect->removed);
}

static const struct effect *last_word(const struct effects *effects, uint64_t job)
{
    for (size_t i = effects->count; i-- > 0;)
        if (effects->items[i].type == EFFECT_CHANGED && effects->items[i].job == job)
            return &effects->items[i];
    return NULL;
}

static bool changes_later(const struct records *records, size_t at)
{
    for (size_t i = at + 1; i < records->count; i++)
        if (records->items[i]->job_state &&
            records->items[i]->job_state->id == records->items[at]->job_state->id)
            return true;
    return false;
}

void watch_check(struct world *world, const struct records *records, const struct effects *effects)
{
    for (size_t i = 0; i < records->count; i++) {
        const Wafer__JobState *state = records->items[i]->job_state;
        if (!state || changes_later(records, i))
            continue;
        const struct effect *told = last_word(effects, state->id);
        if (!told || told->view->state != state->state ||
            told->removed != job_state_is_terminal(state->state))
            world_fail(world, "job %llu is %s, and watchers do not hear it",
                       (unsigned long long)state->id, job_state_name(state->state));
    }
}

void watch_finish(struct world *world)
{
    for (size_t i = 0; world->watcher.on && i < world->watcher.count; i++)
        if (!world->watcher.seen[i].gone)
            world_fail(world, "job %llu has ended, and who watched it never heard",
                       (unsigned long long)world->watcher.seen[i].job);
}

void watch_done(struct world *world)
{
    free(world->watcher.seen);
}
