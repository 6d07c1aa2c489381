/* score — the order of jobs within a priority, by the policy of a site. Pure arithmetic.
 *
 *   score = w_share x share + w_age x age + w_size x size + w_deadline x deadline
 *
 * with each factor from 0 to 1,000,000, and weights as the policy has them:
 *
 *   share     2^-(U/S), where S is the part of the pool that the shares give to the project and the
 *             user, and U what they have used of all that was used lately: the classic fair-share
 *             factor of multifactor schedulers (Slurm, "Classic Fairshare Algorithm"). A user's is
 *             the mean, in the exponent, of the project's among projects and of his own among the
 *             users of the project: 2^-((Up/Sp + Uu/Su) / 2)
 *   age       time waited, of `age_full_us`; then full
 *   size      systems asked for, of those that the pool has
 *   deadline  0 until `deadline_within_us` before the last moment at which it can start, then
 * rising; full at that moment
 *
 * Usage counts half after each half-life. Integers only, so that two machines agree; equal scores
 * keep the order in which jobs were handed in. */
#ifndef WAFERD_CORE_SCORE_H
#define WAFERD_CORE_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCORE_ONE 1000000 /* a factor of 1 */

enum score_term { SCORE_SHARE, SCORE_AGE, SCORE_SIZE, SCORE_DEADLINE, SCORE_TERMS };

struct score_rules {
    uint32_t weights[SCORE_TERMS];                         /* 0 to SCORE_WEIGHT_MAX */
    int64_t half_life_us, age_full_us, deadline_within_us; /* > 0 */
    int64_t recompute_us; /* how old the scores of those who wait may be */
};
#define SCORE_WEIGHT_MAX 1000000
struct score_rules score_rules_default(void);

/* 2^-(x / 1,000,000), in millionths; x >= 0. Never rises with x. */
int64_t score_exp2(int64_t x_micro);

/* What is left of a usage after so long. */
int64_t score_decayed(int64_t usage_us, int64_t age_us, int64_t half_life_us);

/* What a policy says of a project, or of a user of it; the strings are the caller's. */
struct score_share {
    const char *project; /* "": of jobs without one */
    bool of_user;
    uid_t uid;
    uint32_t shares; /* > 0 */
};

/* One user in one project. */
struct score_account {
    size_t project;                       /* equal numbers, from 0: the same project */
    uint32_t project_shares, user_shares; /* > 0; the former equal within a project */
    int64_t usage_us;                     /* decayed */
    /* the results, in millionths */
    int64_t of_project, of_user; /* Up/Sp and Uu/Su */
    int64_t factor;
};
/* The share factor of each. */
void score_shares(struct score_account *accounts, size_t count);

struct score_job {
    int64_t share; /* the factor of its account */
    int64_t waited_us;
    int64_t slack_us; /* until it can no longer be over by its deadline; INT64_MAX: it has none */
    uint32_t systems, pool_systems;
};
/* The factors, and their sum by weight. */
int64_t score_of(const struct score_rules *rules, const struct score_job *job,
                 int64_t ret_factors[static SCORE_TERMS]);

#endif
