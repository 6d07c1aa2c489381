#include "core/dependencies.h"

#include <assert.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"
#include "core/schedule.h"
#include "core/state.h"

typedef Wafer__Job__After__Kind Kind;
typedef Wafer__Job__After__Status Status;

#define WAITING WAFER__JOB__AFTER__STATUS__WAITING
#define MET     WAFER__JOB__AFTER__STATUS__MET
#define NEVER   WAFER__JOB__AFTER__STATUS__NEVER

#define AFTEROK    WAFER__JOB__AFTER__KIND__afterok
#define AFTERANY   WAFER__JOB__AFTER__KIND__afterany
#define AFTERNOTOK WAFER__JOB__AFTER__KIND__afternotok
#define AFTERSTART WAFER__JOB__AFTER__KIND__afterstart

/* Those that wait for one job, or for all elements of one array. */
struct dependents {
    struct list waiting; /* dependency->link */
};

/* What has become of a job. */
enum outcome { NOT_STARTED, STARTED, SUCCEEDED, UNSUCCESSFUL, ENDED_UNSTARTED, OUTCOMES };

static const unsigned char table[][OUTCOMES] = {
    [AFTEROK] = { WAITING, WAITING, MET, NEVER, NEVER },
    [AFTERANY] = { WAITING, WAITING, MET, MET, MET },
    [AFTERNOTOK] = { WAITING, WAITING, NEVER, MET, MET },
    [AFTERSTART] = { WAITING, MET, MET, MET, NEVER },
};

static enum outcome outcome_of(Wafer__Job__State state, bool started)
{
    if (state == WAFER__JOB__STATE__SUCCEEDED)
        return SUCCEEDED;
    if (job_state_is_terminal(state))
        return started ? UNSUCCESSFUL : ENDED_UNSTARTED;
    return started ? STARTED : NOT_STARTED;
}

static enum outcome outcome_of_job(const struct job *job)
{
    return outcome_of(job->state.state, job->state.has_first_started_us);
}

static const char *kind_name(Kind kind)
{
    return protobuf_c_enum_descriptor_get_value(&wafer__job__after__kind__descriptor, (int)kind)
        ->name;
}

/* ---- one dependency ---- */

/* One job, or one element of the array, has come to that. */
static void take(Wafer__DependencyState *dependency, enum outcome outcome)
{
    Status status = table[dependency->kind][outcome];

    if (!dependency->array)
        dependency->status = status;
    else if (dependency->kind != AFTERNOTOK && status == NEVER)
        dependency->status = NEVER;
    else if (dependency->kind == AFTERNOTOK && status == MET)
        SET(dependency, unsuccessful, true);
}

/* Of an array: is it settled by now? Who has left memory was taken when he did. */
static void take_array(const struct core *core, Wafer__DependencyState *dependency)
{
    const struct array *array = map_get(&core->arrays, dependency->job);

    if (array)
        list_foreach (&array->elements, link) {
            const struct job *element = CONTAINER_OF(link, struct job, array_link);
            if (table[dependency->kind][outcome_of_job(element)] == WAITING)
                return;
        }
    dependency->status = dependency->kind == AFTERNOTOK && !dependency->unsuccessful ? NEVER : MET;
}

/* ---- who waits for whom ---- */

static uint64_t slot_of(uint64_t job, bool array)
{
    return job << 1 | array;
}

void dependencies_attach(struct core *core, struct job *job)
{
    size_t count = job->state.n_after;

    if (!count || job_state_is_terminal(job->state.state))
        return;
    struct dependency *dependencies = memory_new(count * sizeof(*dependencies));
    map_put(&core->dependencies, job->state.id, dependencies);
    for (size_t i = 0; i < count; i++) {
        const Wafer__DependencyState *state = job->state.after[i];
        struct dependency *dependency = &dependencies[i];
        *dependency = (struct dependency){ .job = job };
        list_init(&dependency->link);
        if (state->status != WAITING)
            continue;
        uint64_t slot = slot_of(state->job, state->array);
        struct dependents *dependents = map_get(&core->dependents, slot);
        if (!dependents) {
            dependents = NEW(struct dependents);
            list_init(&dependents->waiting);
            map_put(&core->dependents, slot, dependents);
        }
        list_push_tail(&dependents->waiting, &dependency->link);
    }
}

void dependencies_detach(struct core *core, struct job *job)
{
    if (!job->state.n_after)
        return;
    struct dependency *dependencies = map_remove(&core->dependencies, job->state.id);
    for (size_t i = 0; dependencies && i < job->state.n_after; i++) {
        const Wafer__DependencyState *state = job->state.after[i];
        uint64_t slot = slot_of(state->job, state->array);
        struct dependents *dependents = map_get(&core->dependents, slot);
        list_remove(&dependencies[i].link);
        if (dependents && list_is_empty(&dependents->waiting)) {
            map_remove(&core->dependents, slot);
            free(dependents);
        }
    }
    free(dependencies);
}

void dependencies_tell(struct core *core, const struct job *job)
{
    uint64_t array = job->state.has_array_id ? job->state.array_id : 0;

    if (!map_get(&core->dependents, slot_of(job->state.id, false)) &&
        !(array && map_get(&core->dependents, slot_of(array, true))))
        return;
    ARRAY_RESERVE(core->news, core->news_count, core->news_capacity);
    core->news[core->news_count++] =
        (struct news){ .job = job->state.id, .array = array, .outcome = outcome_of_job(job) };
}

/* ---- settling ---- */

static bool is_equal(const Wafer__DependencyState *a, const Wafer__DependencyState *b)
{
    return a->status == b->status && a->unsuccessful == b->unsuccessful;
}

const Wafer__DependencyState *dependency_unmet(const struct job *job)
{
    for (size_t i = 0; i < job->state.n_after; i++)
        if (job->state.after[i]->status == NEVER)
            return job->state.after[i];
    return NULL;
}

static void end_unmet(struct core *core, struct job *job)
{
    owned(free) char *text = dependency_text(dependency_unmet(job));
    owned(free) char *why = text_format("%s, and never will", text);

    job_end(core, job, WAFER__JOB__STATE__CANCELLED, WAFER__CAUSE__DEPENDENCY_NEVER_SATISFIED, why,
            NULL);
}

void dependencies_end(struct core *core, struct job *job)
{
    if (!job->array) {
        end_unmet(core, job);
        return;
    }
    struct array *array = job->array;
    list_foreach_safe (&array->elements, link) {
        bool is_last = link_next == &array->elements; /* the array goes with it */
        end_unmet(core, CONTAINER_OF(link, struct job, array_link));
        if (is_last)
            break;
    }
}

/* "afterok 7 is met": those that were not before, or NULL. */
static char *settled_text(const struct job *job, Wafer__DependencyState *const *states)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < job->state.n_after; i++)
        if (states[i]->status != job->state.after[i]->status)
            buffer_format(&text, "%s%s %llu is %s", text.length ? ", " : "",
                          kind_name(states[i]->kind), (unsigned long long)states[i]->job,
                          states[i]->status == MET ? "met" : "never met");
    return text.length ? buffer_text(&text) : NULL;
}

/* `states`: what its dependencies are now. It ends if one of them is never met. */
static void change(struct core *core, struct job *job, Wafer__DependencyState **states)
{
    Wafer__JobState next = job->state;
    Wafer__Record record = WAFER__RECORD__INIT;
    const Wafer__DependencyState *never = NULL;
    bool changed = false;

    for (size_t i = 0; i < next.n_after; i++) {
        changed |= !is_equal(states[i], job->state.after[i]);
        if (states[i]->status == NEVER)
            never = states[i];
    }
    if (!changed)
        return;
    next.after = states;
    owned(free) char *text = settled_text(job, states);
    SET(&next, version, next.version + 1);
    record.text = text;
    record.kind = WAFER__RECORD_KIND__DEPENDENCY_SETTLED;
    record.job_state = &next;
    SET(&record, job, next.id);
    core_record(core, &record);
    effect_changed(core, job);
    if (never)
        end_unmet(core, job);
}

/* Copies on the caller's account. */
static Wafer__DependencyState **copies_of(const Wafer__JobState *state)
{
    Wafer__DependencyState **copies = memory_new((state->n_after + 1) * sizeof(*copies));

    for (size_t i = 0; i < state->n_after; i++)
        copies[i] = memory_copy(state->after[i], sizeof(**copies));
    return copies;
}

void dependencies_free(Wafer__DependencyState **states, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(states[i]);
    free(states);
}

/* `is_last`: of what is to be heard of its array. An array that is cancelled ends in one step, and
 * all of it is gone when the first is heard of. */
static void hear(struct core *core, struct job *job, const struct news *news, bool is_last)
{
    size_t count = job->state.n_after;
    Wafer__DependencyState **states = copies_of(&job->state);

    for (size_t i = 0; i < count; i++) {
        Wafer__DependencyState *state = states[i];
        if (state->status != WAITING || state->job != (state->array ? news->array : news->job))
            continue;
        take(state, (enum outcome)news->outcome);
        if (state->array && state->status == WAITING && is_last)
            take_array(core, state);
    }
    change(core, job, states);
    dependencies_free(states, count);
}

static void tell_all(struct core *core, const struct news *news, bool array, bool is_last)
{
    struct dependents *dependents =
        map_get(&core->dependents, slot_of(array ? news->array : news->job, array));
    size_t count = 0, capacity = 0;
    owned(free) uint64_t *ids = NULL;

    if (!dependents)
        return;
    /* Hearing of it takes them from the list, and may end them. */
    list_foreach (&dependents->waiting, link) {
        ARRAY_RESERVE(ids, count, capacity);
        ids[count++] = CONTAINER_OF(link, struct dependency, link)->job->state.id;
    }
    for (size_t i = 0; i < count; i++) {
        struct job *job = core_job(core, ids[i]);
        if (job && !job_state_is_terminal(job->state.state))
            hear(core, job, news, is_last);
    }
}

/* The elements of an array mostly come one behind the other. */
static bool is_last_of_array(const struct core *core, size_t i)
{
    for (size_t j = i + 1; j < core->news_count; j++)
        if (core->news[j].array == core->news[i].array)
            return false;
    return true;
}

void dependencies_settle(struct core *core)
{
    /* What ends here may be news itself: it comes behind. */
    for (size_t i = 0; i < core->news_count; i++) {
        struct news news = core->news[i];
        tell_all(core, &news, false, false);
        if (news.array)
            tell_all(core, &news, true, is_last_of_array(core, i));
    }
    core->news_count = 0;
}

/* The record of its end is gone, and with it how it ended: people decide. */
static void isolate(struct core *core, struct job *job, const Wafer__DependencyState *lost)
{
    Wafer__JobState next = job->state;
    Wafer__Record record = WAFER__RECORD__INIT;
    owned(free) char *text = text_format("nobody knows what became of job %llu, which it waits for",
                                         (unsigned long long)lost->job);

    next.state = WAFER__JOB__STATE__HELD;
    SET(&next, held_by_admin, true);
    next.detail = text;
    SET(&next, version, next.version + 1);
    record.kind = WAFER__RECORD_KIND__JOB_HELD;
    record.job_state = &next;
    record.text = text;
    SET(&record, job, next.id);
    core_record(core, &record);
}

void dependencies_recover(struct core *core)
{
    size_t cursor = 0, count = 0;
    owned(free) struct job **waiting = memory_new((map_count(&core->jobs) + 1) * sizeof(*waiting));

    dependencies_settle(core);
    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        if (job->state.state == WAFER__JOB__STATE__PENDING && dependency_open(job))
            waiting[count++] = job;
    for (size_t i = 0; i < count; i++) {
        const Wafer__DependencyState *open = dependency_open(waiting[i]);
        bool is_there = open->array ? map_get(&core->arrays, open->job) != NULL
                                    : core_job(core, open->job) != NULL;
        if (!is_there)
            isolate(core, waiting[i], open);
    }
}

const Wafer__DependencyState *dependency_open(const struct job *job)
{
    for (size_t i = 0; i < job->state.n_after; i++)
        if (job->state.after[i]->status == WAITING)
            return job->state.after[i];
    return NULL;
}

char *dependency_text(const Wafer__DependencyState *dependency)
{
    static const char *const one[] = { [AFTEROK] = "has not succeeded",
                                       [AFTERANY] = "has not ended",
                                       [AFTERNOTOK] = "has not ended without success",
                                       [AFTERSTART] = "has not started" };
    static const char *const whole[] = { [AFTEROK] = "has not wholly succeeded",
                                         [AFTERANY] = "has not wholly ended",
                                         [AFTERNOTOK] = "has not ended without success",
                                         [AFTERSTART] = "has not wholly started" };

    return text_format("%s %llu %s", dependency->array ? "array" : "job",
                       (unsigned long long)dependency->job,
                       dependency->array ? whole[dependency->kind] : one[dependency->kind]);
}

/* ---- what a spec asks for ---- */

static const char *target_text(const Wafer__Dependency *spec, Kind *ret_kind)
{
    const char *texts[] = { [AFTEROK] = spec->afterok,
                            [AFTERANY] = spec->afterany,
                            [AFTERNOTOK] = spec->afternotok,
                            [AFTERSTART] = spec->afterstart };

    for (size_t kind = 0; kind < ELEMENTS(texts); kind++)
        if (texts[kind]) {
            *ret_kind = (Kind)kind;
            return texts[kind];
        }
    return NULL;
}

/* Those of its elements that are history. The first; NULL: history knows none, or the caller may
 * not know of it. */
static const struct fact_outcome *past_of(const struct request *request, size_t index,
                                          Wafer__DependencyState *state)
{
    const struct facts *facts = request->input->request.facts;
    const struct fact_outcome *first = NULL;

    for (size_t i = 0; facts && i < facts->after_count; i++) {
        const struct fact_outcome *past = &facts->after[i];
        if (past->dependency != index ||
            !rights_permit(request->rights, WAFER__ROLE__ACTION__show, &past->object))
            continue;
        take(state, outcome_of(past->state, past->started));
        if (!first)
            first = past;
    }
    return first;
}

/* False: there is no such job, as far as the caller may know. */
static bool read_one(struct request *request, const Wafer__Dependency *spec, size_t index,
                     Wafer__DependencyState *state)
{
    struct core *core = request->core;
    Wafer__Target target = WAFER__TARGET__INIT;

    if (job_target_parse(target_text(spec, &state->kind), &target) < 0 || !target.has_job)
        return false;
    struct array *array = map_get(&core->arrays, target.job);
    const struct job *job = job_named(core, &target, request->uid);
    state->job = job ? job->state.id : 0;
    if (array && !target.has_index) {
        state->job = array->id;
        SET(state, array, true);
    }
    if (job && !may(request, WAFER__ROLE__ACTION__show, job))
        return false;
    if (job && !state->array) {
        take(state, outcome_of_job(job));
        return true;
    }
    const struct facts *facts = request->input->request.facts;
    for (size_t i = 0; !state->array && facts && i < facts->after_count; i++)
        if (facts->after[i].dependency == index && facts->after[i].of_array)
            SET(state, array, true);
    const struct fact_outcome *past = past_of(request, index, state);
    if (!job && !past)
        return false;
    if (!state->job)
        state->job = state->array ? target.job : past->job;
    if (state->array && array)
        list_foreach (&array->elements, link)
            take(state, outcome_of_job(CONTAINER_OF(link, struct job, array_link)));
    if (state->array && state->status == WAITING)
        take_array(core, state);
    return true;
}

bool dependencies_read(struct request *request, const Wafer__JobSpec *spec,
                       Wafer__DependencyState ***ret, size_t *ret_count)
{
    Wafer__DependencyState **states = memory_new((spec->n_after + 1) * sizeof(*states));

    for (size_t i = 0; i < spec->n_after; i++) {
        states[i] = NEW(Wafer__DependencyState);
        wafer__dependency_state__init(states[i]);
        if (!read_one(request, spec->after[i], i, states[i])) {
            owned(free) char *field = text_format("after[%zu]", i);
            dependencies_free(states, i + 1);
            refuse(request, 0, "E_DENIED", EXIT_DENIED, field, text_copy(NO_SUCH_JOB));
            return false;
        }
    }
    *ret = states;
    *ret_count = spec->n_after;
    return true;
}
