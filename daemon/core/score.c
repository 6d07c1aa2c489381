#include "core/score.h"

#include <stdlib.h>

#include "base/duration.h"
#include "base/memory.h"

#define STEPS 64 /* of the table, within one halving */

/* 2^-(i / 64) x 1,000,000, rounded. */
static const int32_t halving[STEPS + 1] = {
    1000000, 989228, 978572, 968031, 957603, 947288, 937084, 926990, 917004, 907126, 897355,
    887688,  878126, 868667, 859310, 850053, 840896, 831838, 822878, 814014, 805245, 796571,
    787990,  779502, 771105, 762799, 754582, 746454, 738413, 730459, 722590, 714807, 707107,
    699490,  691955, 684501, 677128, 669834, 662618, 655481, 648420, 641435, 634525, 627690,
    620929,  614240, 607624, 601078, 594604, 588198, 581862, 575595, 569394, 563261, 557193,
    551191,  545254, 539380, 533570, 527823, 522137, 516512, 510949, 505445, 500000,
};

struct score_rules score_rules_default(void)
{
    return (struct score_rules){
        .weights = { [SCORE_SHARE] = 1000, [SCORE_AGE] = 100, [SCORE_DEADLINE] = 100 },
        .half_life_us = 7 * 24 * HOUR_US,
        .age_full_us = 7 * 24 * HOUR_US,
        .deadline_within_us = 24 * HOUR_US,
        .recompute_us = MINUTE_US,
    };
}

int64_t score_exp2(int64_t x_micro)
{
    int64_t whole = x_micro / SCORE_ONE, rest = x_micro % SCORE_ONE;

    if (whole >= 20) /* below one millionth */
        return 0;
    int64_t at = rest * STEPS / SCORE_ONE, within = rest * STEPS % SCORE_ONE;
    int64_t value = halving[at] - (halving[at] - halving[at + 1]) * within / SCORE_ONE;
    return value >> whole;
}

int64_t score_decayed(int64_t usage_us, int64_t age_us, int64_t half_life_us)
{
    if (age_us <= 0)
        return usage_us;
    __int128 halvings_micro = (__int128)age_us * SCORE_ONE / half_life_us;
    if (halvings_micro >= 64 * (__int128)SCORE_ONE)
        return 0;
    int64_t whole = (int64_t)(halvings_micro / SCORE_ONE);
    int64_t rest = (int64_t)(halvings_micro % SCORE_ONE);
    return (int64_t)((__int128)(usage_us >> whole) * score_exp2(rest) / SCORE_ONE);
}

/* (used / all used) / (shares / all shares), in millionths; nothing used by anybody is nothing. */
static int64_t ratio(__int128 used, __int128 all_used, uint64_t shares, uint64_t all_shares)
{
    if (all_used == 0)
        return 0;
    __int128 micro = used * SCORE_ONE / all_used * (__int128)all_shares / (__int128)shares;
    return micro < 64 * (__int128)SCORE_ONE ? (int64_t)micro : 64 * SCORE_ONE;
}

struct project {
    __int128 used;
    uint64_t user_shares;
    uint32_t shares;
};

void score_shares(struct score_account *accounts, size_t count)
{
    size_t project_count = 0;
    uint64_t all_shares = 0;
    __int128 all_used = 0;

    for (size_t i = 0; i < count; i++)
        if (accounts[i].project >= project_count)
            project_count = accounts[i].project + 1;
    struct project *projects = memory_new((project_count + 1) * sizeof(*projects));
    for (size_t i = 0; i < count; i++) {
        struct project *project = &projects[accounts[i].project];
        project->used += accounts[i].usage_us;
        project->user_shares += accounts[i].user_shares;
        project->shares = accounts[i].project_shares;
        all_used += accounts[i].usage_us;
    }
    for (size_t i = 0; i < project_count; i++)
        all_shares += projects[i].shares;
    for (size_t i = 0; i < count; i++) {
        const struct project *project = &projects[accounts[i].project];
        accounts[i].of_project = ratio(project->used, all_used, project->shares, all_shares);
        accounts[i].of_user = ratio(accounts[i].usage_us, project->used, accounts[i].user_shares,
                                    project->user_shares);
        accounts[i].factor = score_exp2((accounts[i].of_project + accounts[i].of_user) / 2);
    }
    free(projects);
}

/* part / whole, at most 1. */
static int64_t factor(__int128 part, __int128 whole)
{
    if (part <= 0)
        return 0;
    return part < whole ? (int64_t)(part * SCORE_ONE / whole) : SCORE_ONE;
}

int64_t score_of(const struct score_rules *rules, const struct score_job *job,
                 int64_t ret_factors[static SCORE_TERMS])
{
    int64_t sum = 0;

    ret_factors[SCORE_SHARE] = job->share;
    ret_factors[SCORE_AGE] = factor(job->waited_us, rules->age_full_us);
    ret_factors[SCORE_SIZE] = job->pool_systems ? factor(job->systems, job->pool_systems) : 0;
    ret_factors[SCORE_DEADLINE] = job->slack_us == INT64_MAX
                                      ? 0
                                      : factor((__int128)rules->deadline_within_us - job->slack_us,
                                               rules->deadline_within_us);
    for (size_t i = 0; i < SCORE_TERMS; i++)
        sum += ret_factors[i] * rules->weights[i];
    return sum;
}
