#include "core/accounts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "core/state.h"

#define DAY_US (24 * HOUR_US)

/* ---- accounts ---- */

/* Rounds down, before 1970 too. */
static int64_t day_of(int64_t us)
{
    return us / DAY_US - (us % DAY_US < 0);
}

static uint64_t slot_of(const char *project, uid_t uid, const char *pool)
{
    uint64_t words[] = { hash64(project, strlen(project)), hash64(pool, strlen(pool)), uid };

    return hash64(words, sizeof(words)) & UINT64_MAX >> 1;
}

static struct account *account_get(struct core *core, const char *project, uid_t uid,
                                   const char *pool)
{
    uint64_t slot = slot_of(project, uid, pool);
    struct account *first = map_get(&core->accounts, slot);

    for (struct account *account = first; account; account = account->next)
        if (account->uid == uid && strcmp(account->project, project) == 0 &&
            strcmp(account->pool, pool) == 0)
            return account;
    struct account *account = NEW(struct account);
    account->project = text_copy(project);
    account->pool = text_copy(pool);
    account->uid = uid;
    account->share = SCORE_ONE; /* who has used nothing */
    account->next = first;
    list_init(&account->holders);
    map_put(&core->accounts, slot, account);
    return account;
}

static void account_free(struct account *account)
{
    free(account->project);
    free(account->pool);
    free(account->days);
    free(account);
}

/* One that nothing is known of is not kept. */
static void account_drop(struct core *core, struct account *account)
{
    if (account->jobs || account->day_count)
        return;
    uint64_t slot = slot_of(account->project, account->uid, account->pool);
    struct account *first = map_get(&core->accounts, slot);
    if (first == account && !account->next) {
        map_remove(&core->accounts, slot);
    } else if (first == account) {
        map_put(&core->accounts, slot, account->next);
    } else {
        while (first->next != account)
            first = first->next;
        first->next = account->next;
    }
    account_free(account);
}

void accounts_free(struct core *core)
{
    size_t cursor = 0;

    for (struct account *account; (account = map_next(&core->accounts, &cursor));)
        for (struct account *next; account; account = next) {
            next = account->next;
            account_free(account);
        }
    map_done(&core->accounts);
}

/* ---- jobs ---- */

static const char *project_of(const struct job *job)
{
    const char *project = job->spec->message ? job->spec->message->project : NULL;

    return project ? project : "";
}

/* That of its systems, or that it waits for. */
static const char *pool_of(const struct core *core, const struct job *job)
{
    const struct pool *pool = job_pool(core, job);

    if (job->state.n_systems)
        return core_system(core, job->state.systems[0])->state.pool;
    return pool ? pool->name : job->state.queue ? job->state.queue : job->spec->terms.queue;
}

void account_join(struct core *core, struct job *job)
{
    job->account = account_get(core, project_of(job), job->state.uid, pool_of(core, job));
    if (!job->account->jobs++)
        quotas_join(core, job->account);
    if (!job->state.n_systems)
        return;
    list_push_tail(&job->account->holders, &job->parked_link);
    job->account->systems += job->state.n_systems;
}

void account_leave(struct core *core, struct job *job)
{
    struct account *account = TAKE(job->account);

    if (job->state.n_systems) {
        list_remove(&job->parked_link);
        account->systems -= job->state.n_systems;
    }
    if (!--account->jobs)
        quotas_leave(core, account);
    account_drop(core, account);
}

/* ---- days ---- */

static void usage_state(const struct account *account, const struct account_day *day,
                        Wafer__UsageState *ret)
{
    *ret = (Wafer__UsageState)WAFER__USAGE_STATE__INIT;
    ret->project = account->project;
    ret->uid = account->uid;
    ret->pool = account->pool;
    ret->day = day->day;
    ret->system_us = day->system_us;
    ret->cost_micro = day->cost_micro;
}

static void rehash(struct core *core, const struct account *account, struct account_day *day)
{
    Wafer__UsageState state;

    usage_state(account, day, &state);
    hash_replace(core, &day->hash, &state.base);
}

/* The days of an account rise; nearly always it is the last. */
static struct account_day *day_get(struct account *account, int64_t number)
{
    size_t at = account->day_count;

    while (at > 0 && account->days[at - 1].day > number)
        at--;
    if (at > 0 && account->days[at - 1].day == number)
        return &account->days[at - 1];
    ARRAY_RESERVE(account->days, account->day_count, account->day_capacity);
    memmove(&account->days[at + 1], &account->days[at],
            (account->day_count - at) * sizeof(*account->days));
    account->day_count++;
    account->days[at] = (struct account_day){ .day = number };
    return &account->days[at];
}

static void forget_old(struct core *core, struct account *account)
{
    int64_t first = account->days[account->day_count - 1].day - ACCOUNT_DAYS + 1;
    size_t old = 0;

    while (account->days[old].day < first)
        hash_replace(core, &account->days[old++].hash, NULL);
    account->day_count -= old;
    memmove(account->days, account->days + old, account->day_count * sizeof(*account->days));
}

void account_charge(struct core *core, const struct job *job, const Wafer__JobState *next)
{
    const Wafer__JobState *state = &job->state;
    int64_t from_us = state->granted_us, until_us = core->now_us;
    int64_t cost_micro = next->cost_micro - state->cost_micro;

    if (!state->has_granted_us || until_us <= from_us)
        return;
    struct account *account = account_get(core, project_of(job), state->uid, pool_of(core, job));
    int64_t held_us = until_us - from_us, charged_micro = 0;
    int64_t last = day_of(until_us - 1), first = day_of(from_us);
    if (first < last - ACCOUNT_DAYS)
        first = last - ACCOUNT_DAYS;
    for (int64_t number = first; number <= last; number++) {
        int64_t start_us = number == first ? from_us : number * DAY_US;
        int64_t end_us = number == last ? until_us : (number + 1) * DAY_US;
        struct account_day *day = day_get(account, number);
        /* What is over from rounding goes to the last day. */
        int64_t part_micro = number == last
                                 ? cost_micro - charged_micro
                                 : (int64_t)((__int128)cost_micro * (end_us - start_us) / held_us);
        charged_micro += part_micro;
        day->system_us += (end_us - start_us) * (int64_t)state->n_systems;
        day->cost_micro += part_micro;
        rehash(core, account, day);
    }
    forget_old(core, account);
}

void account_load(struct core *core, const Wafer__UsageState *state)
{
    struct account *account = account_get(core, state->project, state->uid, state->pool);
    struct account_day *day = day_get(account, state->day);

    day->system_us = state->system_us;
    day->cost_micro = state->cost_micro;
    rehash(core, account, day);
}

int accounts_save(const struct core *core, account_emit_fn emit, void *userdata)
{
    size_t cursor = 0;

    for (struct account *account; (account = map_next(&core->accounts, &cursor));)
        for (; account; account = account->next)
            for (size_t i = 0; i < account->day_count; i++) {
                Wafer__UsageState state;
                usage_state(account, &account->days[i], &state);
                int r = emit(userdata, &state);
                if (r != 0)
                    return r;
            }
    return 0;
}

/* ---- questions ---- */

/* What those who have systems now have used since then. */
static void add_running(const struct core *core, const struct account *account, int64_t since_us,
                        struct account_sum *sum)
{
    list_foreach (&account->holders, link) {
        const struct job *job = CONTAINER_OF(link, struct job, parked_link);
        int64_t from_us = job->state.granted_us > since_us ? job->state.granted_us : since_us;
        int64_t held_us = core->now_us - job->state.granted_us;
        if (held_us <= 0 || from_us >= core->now_us)
            continue;
        sum->system_us += (__int128)(core->now_us - from_us) * (int64_t)job->state.n_systems;
        sum->cost_micro += (__int128)attempt_cost(core, job) * (core->now_us - from_us) / held_us;
    }
}

static bool is_meant(const struct core *core, const struct account *account,
                     const struct account_filter *filter)
{
    if ((filter->project && strcmp(filter->project, account->project) != 0) ||
        (filter->pool && strcmp(filter->pool, account->pool) != 0) ||
        (filter->of_user && filter->uid != account->uid))
        return false;
    const struct pool *pool = filter->currency ? core_pool(core, account->pool) : NULL;
    return !filter->currency || (pool && strcmp(pool->currency, filter->currency) == 0);
}

struct account_sum accounts_sum(const struct core *core, const struct account_filter *filter,
                                int64_t since_us)
{
    struct account_sum sum = { 0, 0, 0 };
    int64_t first = day_of(since_us);
    size_t cursor = 0;

    for (struct account *account; (account = map_next(&core->accounts, &cursor));)
        for (; account; account = account->next) {
            if (!is_meant(core, account, filter))
                continue;
            for (size_t i = account->day_count; i-- > 0 && account->days[i].day >= first;) {
                sum.system_us += account->days[i].system_us;
                sum.cost_micro += account->days[i].cost_micro;
            }
            add_running(core, account, first * DAY_US, &sum);
            sum.systems += account->systems;
        }
    return sum;
}

/* ---- shares ---- */

static uint32_t shares_of(const struct core *core, const char *project, bool of_user, uid_t uid)
{
    for (size_t i = 0; i < core->share_count; i++) {
        const struct score_share *share = &core->shares[i];
        if (share->of_user == of_user && (!of_user || share->uid == uid) &&
            strcmp(share->project, project) == 0)
            return share->shares;
    }
    return 1;
}

/* Each day as if all of it had been used at its end; today as it is. */
static int64_t decayed_usage(const struct core *core, const struct account *account)
{
    struct account_sum running = { 0, 0, 0 };
    int64_t sum_us = 0;

    add_running(core, account, INT64_MIN, &running);
    for (size_t i = account->day_count; i-- > 0;) {
        int64_t age_us = core->now_us - (account->days[i].day + 1) * DAY_US;
        sum_us += score_decayed(account->days[i].system_us, age_us, core->score.half_life_us);
    }
    return sum_us + (int64_t)running.system_us;
}

/* Equal projects get equal numbers: there are few. */
static size_t project_number(struct account *const *accounts, const struct score_account *scores,
                             size_t count, size_t *projects)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(accounts[i]->project, accounts[count]->project) == 0)
            return scores[i].project;
    return (*projects)++;
}

void accounts_compute_shares(struct core *core, const char *pool)
{
    size_t count = 0, capacity = 0, score_capacity = 0, projects = 0, cursor = 0;
    owned(free) struct account **accounts = NULL;
    owned(free) struct score_account *scores = NULL;

    for (struct account *account; (account = map_next(&core->accounts, &cursor));)
        for (; account; account = account->next) {
            if (strcmp(account->pool, pool) != 0)
                continue;
            ARRAY_RESERVE(accounts, count, capacity);
            ARRAY_RESERVE(scores, count, score_capacity);
            accounts[count] = account;
            scores[count] = (struct score_account){
                .project = project_number(accounts, scores, count, &projects),
                .project_shares = shares_of(core, account->project, false, 0),
                .user_shares = shares_of(core, account->project, true, account->uid),
                .usage_us = decayed_usage(core, account)
            };
            count++;
        }
    score_shares(scores, count);
    for (size_t i = 0; i < count; i++) {
        accounts[i]->share = scores[i].factor;
        accounts[i]->of_project = scores[i].of_project;
        accounts[i]->of_user = scores[i].of_user;
    }
}

void accounts_check(const struct core *core)
{
    size_t cursor = 0, jobs = 0;

    for (struct account *account; (account = map_next(&core->accounts, &cursor));)
        for (; account; account = account->next) {
            uint64_t systems = 0;
            list_foreach (&account->holders, link) {
                const struct job *job = CONTAINER_OF(link, struct job, parked_link);
                assert(job->account == account && job_has_systems(job));
                systems += job->state.n_systems;
            }
            assert(systems == account->systems);
            assert(account->jobs || account->day_count);
            for (size_t i = 1; i < account->day_count; i++)
                assert(account->days[i - 1].day < account->days[i].day);
            jobs += account->jobs;
        }
    assert(jobs == map_count(&core->jobs));
}
