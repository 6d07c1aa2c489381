/* Explain: the first reason, what else would keep the job waiting and what would not, who has the
 * systems, and what the caller can do. */
#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "core/dependencies.h"
#include "core/forecast.h"
#include "core/request.h"
#include "core/reserved.h"
#include "core/schedule.h"

#define SYSTEMS_SHOWN 1000

typedef Wafer__Explanation__Advice Advice;
typedef Wafer__Explanation__Check Check;
typedef Wafer__Explanation__SystemUse SystemUse;

struct explaining {
    const struct request *request;
    const struct core *core;
    const struct job *job;     /* NULL: it is history */
    const struct facts *facts; /* then this */
    Wafer__Explanation *ret;
    size_t system_capacity, check_capacity, advice_capacity;
};

/* ---- advice ---- */

/* May the caller do that, too? */
static bool can(const struct explaining *explaining, Wafer__Role__Action action)
{
    return explaining->job ? may(explaining->request, action, explaining->job)
                           : may_ended(explaining->request, action, explaining->facts);
}

static bool can_operate(const struct explaining *explaining, Wafer__Role__Action action)
{
    return rights_permit(explaining->request->rights, action, NULL);
}

/* Takes both; `command` NULL: there is none. */
static void advise(struct explaining *explaining, char *text, char *command)
{
    Wafer__Explanation *ret = explaining->ret;

    ARRAY_RESERVE(ret->advice, ret->n_advice, explaining->advice_capacity);
    Advice *advice = ret->advice[ret->n_advice++] = NEW(Advice);
    wafer__explanation__advice__init(advice);
    advice->text = text;
    advice->command = command;
}

static unsigned long long id_of(const struct explaining *explaining)
{
    return explaining->ret->job->id;
}

static void advise_release(struct explaining *explaining)
{
    struct request release = *explaining->request; /* as if that were asked for */

    release.action = WAFER__ROLE__ACTION__release;
    if (can(explaining, release.action) && may_release(&release, explaining->job))
        advise(explaining, text_copy("let it start"),
               text_format("wafer release %llu", id_of(explaining)));
    else
        advise(explaining, text_copy("ask an operator to release it"), NULL);
}

static void advise_fewer(struct explaining *explaining, uint32_t available)
{
    const struct job_terms *terms = &explaining->job->spec->terms;
    uint32_t wanted = schedule_systems_for(explaining->core, explaining->job);

    if (available < 1 || available >= wanted || !can(explaining, WAFER__ROLE__ACTION__update))
        return;
    if (available >= terms->systems_min)
        advise(
            explaining,
            text_format("run on %u (its min, %u, allows it)", available, terms->systems_min),
            text_format("wafer update %llu --set systems.count=%u", id_of(explaining), available));
    else
        advise(explaining, text_format("run on %u, if the job can", available),
               text_format("wafer update %llu --set systems.count=%u --set systems.min=%u",
                           id_of(explaining), available, available));
}

static void advise_drained(struct explaining *explaining)
{
    const Wafer__Explanation *ret = explaining->ret;

    for (size_t i = 0; i < ret->n_systems; i++) {
        const SystemUse *use = ret->systems[i];
        if (use->use != WAFER__EXPLANATION__SYSTEM_USE__USE__DRAINED)
            continue;
        if (can_operate(explaining, WAFER__ROLE__ACTION__operate))
            advise(explaining, text_format("let jobs start on %s again", use->system),
                   text_format("wafer system undrain %s", use->system));
        else
            advise(explaining,
                   text_format("ask an operator about %s%s%s", use->system,
                               use->reason ? ", drained: " : ", which is drained",
                               use->reason ? use->reason : ""),
                   NULL);
        return; /* one is enough to begin with */
    }
}

static void advise_priority(struct explaining *explaining)
{
    uint32_t priority = explaining->job->spec->terms.priority;

    if (priority > 199 && can(explaining, WAFER__ROLE__ACTION__update))
        advise(explaining, text_copy("put it ahead of others"),
               text_format("wafer update %llu --set priority=p1", id_of(explaining)));
}

static void advise_requeue(struct explaining *explaining)
{
    if (can(explaining, WAFER__ROLE__ACTION__requeue))
        advise(explaining, text_copy("try again at once"),
               text_format("wafer requeue %llu", id_of(explaining)));
}

/* The pool that the job names for that. */
static void advise_fallback(struct explaining *explaining)
{
    const Wafer__FallbackSpec *spec = explaining->job->spec->message->fallback;
    const struct pool *own = job_pool(explaining->core, explaining->job);

    if (spec && can(explaining, WAFER__ROLE__ACTION__resume) &&
        !(own && strcmp(own->name, spec->pool) == 0))
        advise(explaining, text_format("let it go on in pool %s", spec->pool),
               text_format("wafer fallback %llu", id_of(explaining)));
}

static void advise_logs(struct explaining *explaining)
{
    if (can(explaining, WAFER__ROLE__ACTION__read))
        advise(explaining, text_copy("see what its last attempt said"),
               text_format("wafer logs %llu --tail 50", id_of(explaining)));
}

/* Another pool that has enough free systems, where the job would start now. */
static void advise_pool(struct explaining *explaining)
{
    const struct core *core = explaining->core;
    const struct pool *own = job_pool(core, explaining->job);
    uint32_t wanted = schedule_systems_for(core, explaining->job);

    if (!can(explaining, WAFER__ROLE__ACTION__resume))
        return;
    for (size_t i = 0; i < core->pool_count; i++) {
        const struct pool *pool = &core->pools[i];
        uint32_t widest = schedule_widest(core, pool).free;
        if (pool == own || !pool_takes(pool, explaining->job->spec->terms.level) || pool->stopped ||
            pool->queued || widest < wanted)
            continue;
        advise(explaining,
               text_format("run it in pool %s (%s), which has %u free", pool->name, pool->platform,
                           widest),
               text_format("wafer resume %llu --pool %s", id_of(explaining), pool->name));
        return;
    }
}

/* The most that one host has of the job's pool. */
static struct supply most_of(const struct explaining *explaining)
{
    return schedule_widest(explaining->core, job_pool(explaining->core, explaining->job));
}

static void advise_look(struct explaining *explaining, const struct quota *quota)
{
    advise(explaining, text_copy("see what is used, and how much there is"),
           quota->name ? text_format("wafer quota show %s", quota->name)
                       : text_format("wafer quota show %u", (unsigned)quota->uid));
}

static void advise_budget(struct explaining *explaining)
{
    for (int i = 0; i < QUOTA_KINDS; i++) {
        const struct quota *quota = job_quota(explaining->job, (enum quota_kind)i);
        if (quota && quota->meter.spent == METER_BUDGET) {
            advise_look(explaining, quota);
            return;
        }
    }
}

/* What is left of it may be enough for fewer systems. */
static void advise_quota(struct explaining *explaining, enum quota_kind kind)
{
    const struct quota *quota = job_quota(explaining->job, kind);
    uint32_t most = quota->limits.systems;

    if (most != QUOTA_UNLIMITED && !quota->meter.spent)
        advise_fewer(explaining, quota->used < most ? most - quota->used : most);
    advise_look(explaining, quota);
}

/* A little less than what fits now: to be typed takes time. */
static int64_t limit_to_advise(int64_t span_us)
{
    int64_t unit_us = span_us > 20 * MINUTE_US ? MINUTE_US : SECOND_US;

    return (span_us - span_us / 50) / unit_us * unit_us;
}

static void advise_reserved(struct explaining *explaining)
{
    const struct job *job = explaining->job;
    struct reserved_conflict conflict;

    if (!can(explaining, WAFER__ROLE__ACTION__update))
        return;
    if (reserved_conflicts(explaining->core, job, &conflict)) {
        int64_t span_us = limit_to_advise(conflict.room_us ? conflict.room_us : conflict.span_us);
        char limit[DURATION_TEXT_SIZE];
        if (span_us <= 0)
            return;
        duration_format(later_us(span_us, job->state.run_us), limit);
        advise(explaining,
               text_copy(conflict.room_us ? "fit into its windows" : "be over before that"),
               text_format("wafer update %llu --set limit=%s", id_of(explaining), limit));
    } else if (reserved_is_missing(explaining->core, job)) {
        advise(explaining, text_copy("run outside of reservations"),
               text_format("wafer update %llu --set reservation=null", id_of(explaining)));
    }
}

static void advise_waiting(struct explaining *explaining)
{
    const Wafer__Job *view = explaining->ret->job;
    const struct pool *pool = job_pool(explaining->core, explaining->job);

    switch (view->reason->code) {
    case WAFER__JOB__REASON__HeldUser:
    case WAFER__JOB__REASON__HeldAdmin: advise_release(explaining); return;
    case WAFER__JOB__REASON__FallbackAsk:
        advise_fallback(explaining);
        advise_release(explaining);
        return;
    case WAFER__JOB__REASON__RetryLimit:
    case WAFER__JOB__REASON__LaunchFailed:
        advise_logs(explaining);
        if (view->state == WAFER__JOB__STATE__HELD)
            advise_release(explaining);
        else
            advise_requeue(explaining);
        break;
    case WAFER__JOB__REASON__ReservationConflict:
        advise_reserved(explaining);
        advise_pool(explaining);
        break;
    case WAFER__JOB__REASON__RetryBackoff: advise_requeue(explaining); break;
    case WAFER__JOB__REASON__BeginTime:
        if (can(explaining, WAFER__ROLE__ACTION__update))
            advise(explaining, text_copy("let it start as soon as it can"),
                   text_format("wafer update %llu --set begin=null", id_of(explaining)));
        break;
    case WAFER__JOB__REASON__Dependency:
        if (view->reason->n_blockers)
            advise(explaining, text_copy("see how far the other has come"),
                   text_format("wafer explain %llu",
                               (unsigned long long)view->reason->blockers[0]->id));
        break;
    case WAFER__JOB__REASON__ClassNotAllowed: advise_pool(explaining); break;
    case WAFER__JOB__REASON__BudgetSpent: advise_budget(explaining); break;
    case WAFER__JOB__REASON__QuotaUser: advise_quota(explaining, QUOTA_USER); break;
    case WAFER__JOB__REASON__QuotaProject: advise_quota(explaining, QUOTA_PROJECT); break;
    case WAFER__JOB__REASON__QueueStopped:
        if (can_operate(explaining, WAFER__ROLE__ACTION__queues))
            advise(explaining, text_copy("start the queue again"),
                   text_format("wafer queue start %s", pool->name));
        else
            advise(explaining, text_format("ask an operator to start queue %s", pool->name), NULL);
        advise_pool(explaining);
        break;
    case WAFER__JOB__REASON__Priority:
        advise_priority(explaining);
        advise_pool(explaining);
        break;
    case WAFER__JOB__REASON__Resources:
        advise_fewer(explaining, most_of(explaining).free);
        advise_drained(explaining);
        advise_pool(explaining);
        break;
    case WAFER__JOB__REASON__SystemUnavailable:
        if (!pool)
            return;
        advise_fallback(explaining);
        advise_fewer(explaining, most_of(explaining).healthy);
        advise_drained(explaining);
        advise_pool(explaining);
        break;
    case WAFER__JOB__REASON__NeverFits:
        advise_fewer(explaining, most_of(explaining).known);
        advise_pool(explaining);
        break;
    default: break;
    }
}

/* Of a job that has ended: how to go on from where it was. */
static void advise_ended(struct explaining *explaining)
{
    const Wafer__Job *view = explaining->ret->job;
    const Wafer__Job__LastCheckpoint *last = view->checkpoint;
    bool has_checkpoint = last && last->has_last_good_step && last->verified;

    if (view->state == WAFER__JOB__STATE__SUCCEEDED)
        return;
    advise_logs(explaining);
    if (!can(explaining, WAFER__ROLE__ACTION__resume))
        return;
    if (view->cause == WAFER__CAUSE__CONFIG || view->cause == WAFER__CAUSE__COMPILE ||
        view->cause == WAFER__CAUSE__UNSUPPORTED_OPERATOR)
        advise(explaining, text_copy("change the job file, and hand it in again"),
               text_format("wafer show --spec %llu", id_of(explaining)));
    else if (has_checkpoint)
        advise(explaining,
               text_format("go on from its checkpoint at step %llu, as a new job",
                           (unsigned long long)last->last_good_step),
               text_format("wafer resume %llu", id_of(explaining)));
    else
        advise(explaining, text_copy("begin anew, as a new job"),
               text_format("wafer resume %llu", id_of(explaining)));
}

/* ---- facts ---- */

static void add_system(struct explaining *explaining, const struct system *system)
{
    Wafer__Explanation *ret = explaining->ret;
    const Wafer__SystemState *state = &system->state;

    ARRAY_RESERVE(ret->systems, ret->n_systems, explaining->system_capacity);
    SystemUse *use = ret->systems[ret->n_systems++] = NEW(SystemUse);
    wafer__explanation__system_use__init(use);
    use->system = text_copy(state->name);
    if (system->job) {
        int64_t until_us = forecast_end(explaining->core, system->job);
        use->use = WAFER__EXPLANATION__SYSTEM_USE__USE__BUSY;
        if (may(explaining->request, WAFER__ROLE__ACTION__show, system->job))
            SET(use, job, system->job->state.id);
        if (until_us < INT64_MAX)
            use->until = view_time(until_us);
    } else if (system->claim && system_is_healthy(system)) {
        use->use = WAFER__EXPLANATION__SYSTEM_USE__USE__KEPT;
        if (may(explaining->request, WAFER__ROLE__ACTION__show, system->claim->job))
            SET(use, job, system->claim->job->state.id);
    } else if (state->drained) {
        use->use = WAFER__EXPLANATION__SYSTEM_USE__USE__DRAINED;
        use->reason = text_copy(state->drain_reason);
        if (state->has_drained_us)
            use->since = view_time(state->drained_us);
    } else if (state->state != WAFER__SYSTEM__STATE__UP || !system->host->link) {
        use->use = WAFER__EXPLANATION__SYSTEM_USE__USE__DOWN;
        use->reason = text_copy(
            state->state == WAFER__SYSTEM__STATE__UP ? "its host is not connected" : state->reason);
        if (state->state != WAFER__SYSTEM__STATE__UP)
            use->since = view_time(state->since_us);
    }
}

static void explain_systems(struct explaining *explaining, const struct pool *pool)
{
    for (size_t i = 0; i < explaining->core->host_count; i++)
        list_foreach (&explaining->core->hosts[i]->systems, link) {
            const struct system *system = CONTAINER_OF(link, struct system, host_link);
            if (system->pool == pool && explaining->ret->n_systems < SYSTEMS_SHOWN)
                add_system(explaining, system);
        }
}

/* Takes `text`. */
static void add_check(struct explaining *explaining, Wafer__Job__Reason reason, char *text)
{
    Wafer__Explanation *ret = explaining->ret;

    ARRAY_RESERVE(ret->checks, ret->n_checks, explaining->check_capacity);
    Check *check = ret->checks[ret->n_checks++] = NEW(Check);
    wafer__explanation__check__init(check);
    check->reason = reason;
    check->holds = schedule_is_kept_by(explaining->core, explaining->job, reason);
    check->text = text;
}

static void explain_quota(struct explaining *explaining, enum quota_kind kind,
                          Wafer__Job__Reason reason, const char *whose)
{
    const struct quota *quota = job_quota(explaining->job, kind);

    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    if (!quota || explaining->ret->job->reason->code == reason)
        return;
    const struct quota_limits *limits = &quota->limits;
    if (limits->systems != QUOTA_UNLIMITED)
        buffer_format(&text, "%u of %u systems", quota->used, limits->systems);
    if (limits->system_us != INT64_MAX)
        buffer_format(&text, "%s%lld of %lld system-hours", text.length ? ", " : "",
                      (long long)(meter_reading(explaining->core, quota).system_us / HOUR_US),
                      (long long)(limits->system_us / HOUR_US));
    if (!text.length)
        return;
    owned(free) char *used = buffer_text(&text);
    add_check(explaining, reason, text_format("quota of its %s (%s used)", whose, used));
}

static void explain_budget(struct explaining *explaining)
{
    static const char *const whose[] = { "user", "project", "queue" };

    if (explaining->ret->job->reason->code == WAFER__JOB__REASON__BudgetSpent)
        return;
    for (int i = 0; i < QUOTA_KINDS; i++) {
        const struct quota *quota = job_quota(explaining->job, (enum quota_kind)i);
        if (!quota || quota->limits.budget_micro == INT64_MAX)
            continue;
        owned(free) char *budget = meter_budget_text(explaining->core, quota);
        add_check(explaining, WAFER__JOB__REASON__BudgetSpent,
                  text_format("budget of its %s (%s)", whose[i], budget));
        return;
    }
}

/* Every reason of this version but the primary one, with the fact that says whether it holds. */
static void explain_checks(struct explaining *explaining)
{
    const struct job *job = explaining->job;
    const struct pool *pool = job_pool(explaining->core, job);
    const Wafer__Explanation *ret = explaining->ret;
    Wafer__Job__Reason primary = ret->job->reason->code;
    bool was_refused = job->state.launch_refusals > 0;

    if (primary != WAFER__JOB__REASON__Dependency && job->state.n_after) {
        const Wafer__DependencyState *open = dependency_open(job);
        add_check(explaining, WAFER__JOB__REASON__Dependency,
                  open ? dependency_text(open) : text_copy("dependencies (all are met)"));
    }
    if (primary != WAFER__JOB__REASON__BeginTime && job->spec->terms.begin_us != INT64_MIN) {
        char text[TIMESTAMP_TEXT_SIZE];
        timestamp_format(job->spec->terms.begin_us, text);
        add_check(explaining, WAFER__JOB__REASON__BeginTime, text_format("begin (%s)", text));
    }
    if (primary != WAFER__JOB__REASON__ReservationConflict && pool->is_reserved)
        add_check(explaining, WAFER__JOB__REASON__ReservationConflict, text_copy("reservations"));
    if (primary != WAFER__JOB__REASON__QueueStopped)
        add_check(explaining, WAFER__JOB__REASON__QueueStopped,
                  text_format("queue %s is %s", pool->name, pool->stopped ? "stopped" : "started"));
    if (primary != WAFER__JOB__REASON__Priority)
        add_check(explaining, WAFER__JOB__REASON__Priority,
                  text_format("priority (position %llu of %llu)", (unsigned long long)ret->position,
                              (unsigned long long)ret->queued));
    if (primary != WAFER__JOB__REASON__Resources && primary != WAFER__JOB__REASON__NeverFits &&
        primary != WAFER__JOB__REASON__SystemUnavailable)
        add_check(explaining, WAFER__JOB__REASON__Resources,
                  text_format("systems (needs %u of one host, %u free)",
                              schedule_systems_for(explaining->core, job),
                              most_of(explaining).free));
    if (primary != WAFER__JOB__REASON__RetryBackoff && primary != WAFER__JOB__REASON__LaunchFailed)
        add_check(explaining,
                  was_refused ? WAFER__JOB__REASON__LaunchFailed : WAFER__JOB__REASON__RetryBackoff,
                  text_format("retries (%u failures in a row)",
                              was_refused ? job->state.launch_refusals : job->state.failures));
    if (primary != WAFER__JOB__REASON__ArrayLimit && job->array && job->spec->terms.array_parallel)
        add_check(explaining, WAFER__JOB__REASON__ArrayLimit,
                  text_format("array limit (%u of %u run)", job->array->running,
                              job->spec->terms.array_parallel));
    explain_quota(explaining, QUOTA_USER, WAFER__JOB__REASON__QuotaUser, "user");
    explain_quota(explaining, QUOTA_PROJECT, WAFER__JOB__REASON__QuotaProject, "project");
    explain_budget(explaining);
    if (primary != WAFER__JOB__REASON__CheckpointBlocked && job->state.attempt)
        add_check(explaining, WAFER__JOB__REASON__CheckpointBlocked,
                  text_copy("verification of its newest checkpoint"));
}

static Wafer__Decimal *decimal_new(int64_t micro)
{
    Wafer__Decimal *decimal = NEW(Wafer__Decimal);

    wafer__decimal__init(decimal);
    decimal->micro = micro;
    return decimal;
}

static char *term_text(const struct core *core, const struct job *job, enum score_term term)
{
    const struct account *account = job->account;
    char span[DURATION_TEXT_SIZE];

    switch (term) {
    case SCORE_SHARE:
        return text_format("2^-((%lld.%02lld + %lld.%02lld) / 2): how many times its share project "
                           "%s has used, and this user his of it",
                           (long long)(account->of_project / SCORE_ONE),
                           (long long)(account->of_project % SCORE_ONE / 10000),
                           (long long)(account->of_user / SCORE_ONE),
                           (long long)(account->of_user % SCORE_ONE / 10000),
                           *account->project ? account->project : "-");
    case SCORE_AGE:
        duration_format(core->score.age_full_us, span);
        return text_format("waited, of %s", span);
    case SCORE_SIZE:
        return text_format("%u of %zu systems", job_systems_wanted(job),
                           job_pool(core, job)->systems);
    case SCORE_DEADLINE:
        duration_format(core->score.deadline_within_us, span);
        return text_format("how near its last start is, within %s", span);
    case SCORE_TERMS: break;
    }
    return NULL;
}

/* The arithmetic of its place, where that is by policy. */
static void explain_score(struct explaining *explaining)
{
    static const char *const names[] = { [SCORE_SHARE] = "fair_share",
                                         [SCORE_AGE] = "age",
                                         [SCORE_SIZE] = "size",
                                         [SCORE_DEADLINE] = "deadline" };
    const struct core *core = explaining->core;
    const struct job *job = explaining->job;
    Wafer__Explanation *ret = explaining->ret;
    int64_t factors[SCORE_TERMS];

    if (scheduler_rules(job_pool(core, job)->scheduler)->order != SCHEDULE_ORDER_POLICY)
        return;
    ret->score = decimal_new(schedule_score(core, job, factors));
    ret->terms = memory_new(SCORE_TERMS * sizeof(*ret->terms));
    for (enum score_term i = 0; i < SCORE_TERMS; i++) {
        Wafer__Explanation__Term *term = ret->terms[ret->n_terms++] = NEW(Wafer__Explanation__Term);
        wafer__explanation__term__init(term);
        term->name = text_copy(names[i]);
        term->factor = decimal_new(factors[i]);
        term->weight = core->score.weights[i];
        term->product = decimal_new(factors[i] * term->weight);
        term->text = term_text(core, job, i);
    }
}

static void explain_live(struct explaining *explaining)
{
    Wafer__Explanation *ret = explaining->ret;
    const struct job *job = explaining->job;
    const struct pool *pool = job_pool(explaining->core, job);

    if (!ret->job->reason)
        return; /* it runs */
    if (pool)
        explain_systems(explaining, pool);
    if (pool && job->state.state == WAFER__JOB__STATE__PENDING) {
        SET(ret, position, schedule_position(explaining->core, job));
        SET(ret, queued, pool->queued);
        explain_score(explaining);
        explain_checks(explaining);
    }
    advise_waiting(explaining);
}

Wafer__Explanation *explanation_new(const struct request *request, const struct job *job)
{
    struct explaining explaining = { .request = request, .core = request->core, .job = job };

    explaining.ret = NEW(Wafer__Explanation);
    wafer__explanation__init(explaining.ret);
    explaining.ret->job = view_job(request->core, job);
    view_add_start(request->core, job, explaining.ret->job);
    explain_live(&explaining);
    return explaining.ret;
}

void on_explain(struct request *request)
{
    const struct facts *facts;
    struct job *job = seen_target(request, request->message->explain->target, &facts);
    struct explaining explaining = { .request = request, .core = request->core, .job = job };
    const char *name = request->message->explain->system;

    if (!job && !facts)
        return;
    const struct system *system = name ? system_target(request, name) : NULL;
    if (name && !system)
        return;
    explaining.facts = facts;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_EXPLANATION);
    explaining.ret = response->explanation = NEW(Wafer__Explanation);
    wafer__explanation__init(explaining.ret);
    explaining.ret->job = job ? view_job(request->core, job) : MESSAGE_COPY(facts->view);
    if (job)
        view_add_start(request->core, job, explaining.ret->job);
    if (job_state_is_terminal(explaining.ret->job->state))
        advise_ended(&explaining);
    else
        explain_live(&explaining);
    if (system)
        explaining.ret->fit = system_fit_new(request, job, system);

    /* What it has been through is history, of a live job too. */
    struct effect *effect = hand_on(request, EFFECT_HISTORY, explaining.ret->job->id);
    response->id = request->message->id;
    effect->response = response;
    effect->view = MESSAGE_COPY(explaining.ret->job);
    if (job && job_has_systems(job)) {
        struct attempt_description now;
        attempt_describe(request->core, job, &now);
        effect->attempt = MESSAGE_COPY(&now.state);
    }
}
