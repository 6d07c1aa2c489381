#include "replay/usage.h"

#include <stdlib.h>

#include "base/duration.h"
#include "base/map.h"
#include "base/memory.h"

struct user {
    uint32_t number;
    int64_t systems; /* that it has now */
    int64_t used_us; /* of one system, decayed to when factors were last computed, and since then */
    int64_t since_s; /* up to then it is in `used_us` */
};

struct usage {
    const struct usage_rules *rules;
    struct map places; /* number -> its place, from 1 */
    struct user *users;
    struct score_account *accounts; /* of each */
    size_t count, user_capacity, account_capacity;
    int64_t computed_s; /* INT64_MIN: never */
};

struct usage *usage_new(const struct usage_rules *rules)
{
    struct usage *usage = NEW(struct usage);

    usage->rules = rules;
    usage->computed_s = INT64_MIN;
    return usage;
}

struct usage *usage_free(struct usage *usage)
{
    if (!usage)
        return NULL;
    map_done(&usage->places);
    free(usage->users);
    free(usage->accounts);
    free(usage);
    return NULL;
}

static uint32_t shares_of(const struct usage_rules *rules, uint32_t number)
{
    for (size_t i = 0; i < rules->share_count; i++)
        if (rules->shares[i].of_user && !*rules->shares[i].project &&
            rules->shares[i].uid == number)
            return rules->shares[i].shares;
    return 1;
}

/* Its place. */
static size_t user_of(struct usage *usage, uint32_t number)
{
    uintptr_t place = (uintptr_t)map_get(&usage->places, number);

    if (place)
        return place - 1;
    ARRAY_RESERVE(usage->users, usage->count, usage->user_capacity);
    ARRAY_RESERVE(usage->accounts, usage->count, usage->account_capacity);
    usage->users[usage->count] = (struct user){ .number = number };
    usage->accounts[usage->count] = (struct score_account){
        .project_shares = 1, .user_shares = shares_of(usage->rules, number), .factor = SCORE_ONE
    };
    map_put(&usage->places, number, (void *)(uintptr_t)++usage->count);
    return usage->count - 1;
}

static void bring_up(struct user *user, int64_t now_s)
{
    user->used_us += user->systems * (now_s - user->since_s) * SECOND_US;
    user->since_s = now_s;
}

void usage_change(struct usage *usage, uint32_t number, int64_t systems, int64_t now_s)
{
    size_t place = user_of(usage, number); /* which may move the users */
    struct user *user = &usage->users[place];

    bring_up(user, now_s);
    user->systems += systems;
}

bool usage_compute(struct usage *usage, int64_t now_s)
{
    const struct score_rules *rules = &usage->rules->score;
    bool is_first = usage->computed_s == INT64_MIN;
    int64_t age_us = is_first ? 0 : (now_s - usage->computed_s) * SECOND_US;

    if (!is_first && age_us < rules->recompute_us)
        return false;
    usage->computed_s = now_s;
    for (size_t i = 0; i < usage->count; i++) {
        struct user *user = &usage->users[i];
        bring_up(user, now_s);
        user->used_us = score_decayed(user->used_us, age_us, rules->half_life_us);
        usage->accounts[i].usage_us = user->used_us;
    }
    score_shares(usage->accounts, usage->count);
    return true;
}

int64_t usage_factor(struct usage *usage, uint32_t number)
{
    size_t place = user_of(usage, number); /* which may move the accounts */

    return usage->accounts[place].factor;
}
