/* Quotas: what may come or change, and what is used of what there may be. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"

/* ---- what may come or change ---- */

/* One of the party's quotas, and a job that is to keep it. */
struct trial {
    struct request *request;
    uint64_t job; /* 0: a new one */
    const struct quota_party *party;
    enum quota_kind kind;
    struct quota_limits limits;
    uint64_t pending;
};

/* False, here and below: refused. */
static bool systems_fit(const struct trial *trial, uint32_t systems)
{
    if (systems <= trial->limits.systems)
        return true;
    owned(free) char *whose = quota_subject(trial->kind, trial->party);
    refuse(trial->request, trial->job, "E_QUOTA", EX_DATAERR, "systems.count",
           text_format("%u systems: %s may have at most %u at once", systems, whose,
                       trial->limits.systems));
    return false;
}

static bool limit_fits(const struct trial *trial, int64_t limit_us)
{
    char limit[DURATION_TEXT_SIZE], most[DURATION_TEXT_SIZE];

    if (limit_us <= trial->limits.limit_max_us)
        return true;
    owned(free) char *whose = quota_subject(trial->kind, trial->party);
    duration_format(limit_us, limit);
    duration_format(trial->limits.limit_max_us, most);
    refuse(trial->request, trial->job, "E_QUOTA", EX_DATAERR, "limit",
           text_format("%s is too long: jobs of %s may have at most %s", limit, whose, most));
    return false;
}

/* An array that could come at some time. */
static bool array_fits(const struct trial *trial, uint64_t elements)
{
    const struct quota_limits *limits = &trial->limits;
    uint32_t most = limits->array < limits->pending ? limits->array : limits->pending;

    if (elements <= 1 || elements <= most)
        return true;
    owned(free) char *whose = quota_subject(trial->kind, trial->party);
    refuse(trial->request, trial->job, "E_QUOTA", EX_DATAERR, "array",
           text_format("%llu elements: arrays of %s may have at most %u",
                       (unsigned long long)elements, whose, most));
    return false;
}

/* So many more may wait now. */
static bool queue_has_room(const struct trial *trial, uint64_t elements)
{
    uint32_t most = trial->limits.pending;

    if (!elements || most == QUOTA_UNLIMITED || trial->pending + elements <= most)
        return true;
    owned(free) char *whose = quota_subject(trial->kind, trial->party);
    refuse(trial->request, trial->job, "E_QUOTA", EX_TEMPFAIL, NULL,
           text_format("%s has %llu jobs that wait, and may have %u: try again when some have "
                       "started",
                       whose, (unsigned long long)trial->pending, most));
    return false;
}

bool quotas_allow(struct request *request, uint64_t job, const struct quota_party *party,
                  const struct quota_demand *demand)
{
    struct quota_limits limits[QUOTA_KINDS];
    uint64_t pending[QUOTA_KINDS];
    struct trial trials[QUOTA_KINDS];

    quotas_limits(request->core, party, limits);
    quotas_pending(request->core, party, pending);
    for (int i = 0; i < QUOTA_KINDS; i++) {
        trials[i] =
            (struct trial){ request, job, party, (enum quota_kind)i, limits[i], pending[i] };
        if (!systems_fit(&trials[i], demand->systems) ||
            !limit_fits(&trials[i], demand->limit_us) || !array_fits(&trials[i], demand->elements))
            return false;
    }
    /* What may pass comes after what never will. */
    for (int i = 0; i < QUOTA_KINDS; i++)
        if (!queue_has_room(&trials[i], demand->elements))
            return false;
    return true;
}

int64_t quotas_default_limit_us(const struct core *core, const struct quota_party *party)
{
    struct quota_limits limits[QUOTA_KINDS];
    int64_t most_us = INT64_MAX, otherwise_us = INT64_MAX;

    quotas_limits(core, party, limits);
    for (int i = 0; i < QUOTA_KINDS; i++) {
        if (limits[i].limit_max_us < most_us)
            most_us = limits[i].limit_max_us;
        if (limits[i].limit_default_us && limits[i].limit_default_us < otherwise_us)
            otherwise_us = limits[i].limit_default_us;
    }
    int64_t limit_us = otherwise_us < most_us ? otherwise_us : most_us;
    return limit_us < INT64_MAX ? limit_us : 0;
}

void quotas_set_limit(Wafer__JobSpec *spec, int64_t limit_us)
{
    spec->limit = NEW(Wafer__Duration);
    wafer__duration__init(spec->limit);
    spec->limit->us = limit_us;
}

struct quota_party job_party(const struct core *core, const struct job *job)
{
    return (struct quota_party){ .uid = job->state.uid,
                                 .project = job->spec->message->project,
                                 .pool = job_pool(core, job) };
}

/* ---- what is used ---- */

static char *money_text(int64_t micro)
{
    return text_format("%lld.%02lld", (long long)(micro / 1000000),
                       (long long)(micro % 1000000 / 10000));
}

static void view_windows(const struct core *core, const struct quota *quota, Wafer__Quota *ret)
{
    const struct quota_limits *limits = &quota->limits;
    const struct meter_reading used = meter_reading(core, quota);

    if (limits->system_us != INT64_MAX) {
        SET(ret, system_s, used.system_us / SECOND_US);
        SET(ret, system_max_s, limits->system_us / SECOND_US);
        SET(ret, system_window_s, (int64_t)limits->system_days * (24 * HOUR_US / SECOND_US));
    }
    if (!limits->currency)
        return;
    ret->cost = money_text(used.cost_micro);
    ret->currency = text_copy(limits->currency);
    if (limits->warn_micro != INT64_MAX)
        ret->budget_soft = money_text(limits->warn_micro);
    if (limits->budget_micro != INT64_MAX)
        ret->budget_hard = money_text(limits->budget_micro);
    SET(ret, budget_window_s, (int64_t)limits->budget_days * (24 * HOUR_US / SECOND_US));
}

Wafer__Quota *view_quota(const struct core *core, const struct quota *quota)
{
    const struct quota_limits *limits = &quota->limits;
    Wafer__Quota *view = NEW(Wafer__Quota);

    wafer__quota__init(view);
    view->kind = (Wafer__Quota__Kind)quota->kind;
    if (quota->kind == QUOTA_USER)
        SET(view, uid, quota->uid);
    view->name = text_copy(quota->name);
    SET(view, systems_used, quota->used);
    SET(view, running, quota->running);
    SET(view, pending, quota->pending);
    if (limits->systems != QUOTA_UNLIMITED)
        SET(view, systems_max, limits->systems);
    if (limits->pending != QUOTA_UNLIMITED)
        SET(view, pending_max, limits->pending);
    if (limits->array != QUOTA_UNLIMITED)
        SET(view, array_max, limits->array);
    if (limits->limit_max_us != INT64_MAX)
        SET(view, limit_max_s, limits->limit_max_us / SECOND_US);
    if (limits->limit_default_us)
        SET(view, limit_default_s, limits->limit_default_us / SECOND_US);
    view_windows(core, quota, view);
    return view;
}

struct listing {
    struct request *request;
    Wafer__QuotaList *list;
    size_t capacity;
};

static void add(struct listing *listing, const struct quota *quota)
{
    Wafer__QuotaList *list = listing->list;

    ARRAY_RESERVE(list->items, list->n_items, listing->capacity);
    list->items[list->n_items++] = view_quota(listing->request->core, quota);
}

/* Who has no job is there nevertheless, with what he may use. */
static void add_user(struct listing *listing, uid_t uid)
{
    const struct core *core = listing->request->core;
    const struct quota *known = quota_of_user(core, uid);
    const struct quota_party party = { .uid = uid };
    struct quota_limits limits[QUOTA_KINDS];
    struct quota none;

    quotas_limits(core, &party, limits);
    quota_init(&none, QUOTA_USER, NULL);
    none.uid = uid;
    none.limits = limits[QUOTA_USER];
    add(listing, known ? known : &none);
}

static void add_project(struct listing *listing, const char *name)
{
    const struct core *core = listing->request->core;
    const struct quota *known = quota_of_project(core, name);
    const struct quota_party party = { .project = name };
    struct quota_limits limits[QUOTA_KINDS];
    struct quota none;

    quotas_limits(core, &party, limits);
    quota_init(&none, QUOTA_PROJECT, name);
    none.limits = limits[QUOTA_PROJECT];
    add(listing, known ? known : &none);
}

static bool sees_user(const struct request *request, uid_t uid)
{
    const struct object object = { .owner = uid };

    return uid == request->uid || rights_permit(request->rights, request->action, &object);
}

/* Who may see the jobs of others there, or has some himself. */
static bool sees_project(const struct request *request, const char *name)
{
    const struct object of_others = { .owner = (uid_t)-1, .project = name };
    const struct quota *quota = quota_of_project(request->core, name);
    size_t cursor = 0;

    if (rights_permit(request->rights, request->action, &of_others))
        return true;
    for (struct job *job; quota && (job = map_next(&request->core->jobs, &cursor));)
        if (job_quota(job, QUOTA_PROJECT) == quota && job->state.uid == request->uid)
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    const Wafer__Quota *one = *(Wafer__Quota *const *)a, *other = *(Wafer__Quota *const *)b;

    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (one->kind == WAFER__QUOTA__KIND__USER)
        return one->uid < other->uid ? -1 : one->uid > other->uid;
    return strcmp(one->name, other->name);
}

/* All that the caller may see, of those that have jobs or a rule of their own. */
static void add_all(struct listing *listing)
{
    const struct request *request = listing->request;
    const struct core *core = request->core;
    size_t cursor = 0;

    add_user(listing, request->uid);
    for (struct quota *quota; (quota = map_next(&core->user_quotas, &cursor));)
        if (quota->uid != request->uid && sees_user(request, quota->uid))
            add(listing, quota);
    cursor = 0;
    for (struct quota *quota; (quota = map_next(&core->project_quotas, &cursor));)
        for (; quota; quota = quota->next)
            if (sees_project(request, quota->name))
                add(listing, quota);
    for (size_t i = 0; i < core->quota_rule_count; i++) {
        const struct quota_rule *rule = &core->quota_rules[i];
        if (rule->kind == QUOTA_USER && !rule->every && rule->uid != request->uid &&
            !quota_of_user(core, rule->uid) && sees_user(request, rule->uid))
            add_user(listing, rule->uid);
        if (rule->kind == QUOTA_PROJECT && !rule->every && !quota_of_project(core, rule->name) &&
            sees_project(request, rule->name))
            add_project(listing, rule->name);
    }
    if (rights_permit(request->rights, WAFER__ROLE__ACTION__systems, NULL))
        for (size_t i = 0; i < core->pool_count; i++)
            add(listing, &core->pools[i].quota);
}

void on_quota_show(struct request *request)
{
    const Wafer__QuotaShowRequest *asked = request->message->quota_show;
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_QUOTAS);
    Wafer__QuotaList *list = response->quotas = NEW(Wafer__QuotaList);
    struct listing listing = { .request = request, .list = list };

    wafer__quota_list__init(list);
    if (asked->has_uid && sees_user(request, asked->uid))
        add_user(&listing, asked->uid);
    if (asked->project && sees_project(request, asked->project))
        add_project(&listing, asked->project);
    if (!asked->has_uid && !asked->project)
        add_all(&listing);
    if (!list->n_items) {
        wafer__response__free_unpacked(response, NULL);
        refuse(request, 0, "E_DENIED", EXIT_DENIED, NULL,
               text_copy("no such user or project, or not one that you may see"));
        return;
    }
    qsort(list->items, list->n_items, sizeof(*list->items), by_name);
    list->schema = text_copy("wafer.quota.list/v1");
    list->generated_at = view_time(request->core->now_us);
    SET(list, total, list->n_items);
    SET(list, truncated, false);
    effect_reply(request->core, request->input, response);
}
