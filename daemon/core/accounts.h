/* accounts — what projects and users have used of each pool.
 *
 * One account for each project, user and pool that has or had jobs. What an attempt used is charged
 * when it gives its systems back, split over the days (of UTC) that it had them; what runs is added
 * when somebody asks. Days older than ACCOUNT_DAYS are dropped at the next charge.
 *
 * Invariants
 *   - a day of an account is an object of the durable state, which its own hash stands for; an
 *     account without days is live, and there as long as it has jobs
 *   - only records charge: the same records, the same accounts
 *   - `holders` are the jobs of the account that have systems, `systems` is how many these have
 *
 * Units  `_us` of usage are microseconds of one system; cost in millionths of the pool's currency
 */
#ifndef WAFERD_CORE_ACCOUNTS_H
#define WAFERD_CORE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.pb-c.h"

#define ACCOUNT_DAYS 400

struct account;
struct core;
struct job;

/* For apply.c: the job has this state from now on; it will have another, or goes. */
void account_join(struct core *core, struct job *job);
void account_leave(struct core *core, struct job *job);
/* What its attempt used; the job will have the state `next`, without systems. */
void account_charge(struct core *core, const struct job *job, const Wafer__JobState *next);

/* Into a snapshot, and from one. `emit` returns 0, or ends the walk. */
typedef int (*account_emit_fn)(void *userdata, const Wafer__UsageState *state);
int accounts_save(const struct core *core, account_emit_fn emit, void *userdata);
void account_load(struct core *core, const Wafer__UsageState *state);

/* Of each account of the pool: the share factor as it is now. */
void accounts_compute_shares(struct core *core, const char *pool);

void accounts_check(const struct core *core); /* core_check() */
void accounts_free(struct core *core);

/* What to add up; NULL or false: whatever it is. A project "" is that of jobs without one. */
struct account_filter {
    const char *project, *pool, *currency;
    bool of_user;
    uid_t uid;
};

struct account_sum {
    __int128 system_us, cost_micro;
    uint64_t systems; /* that are held now */
};

/* Since the beginning of the day (of UTC) of `since_us`, with what runs until now. */
struct account_sum accounts_sum(const struct core *core, const struct account_filter *filter,
                                int64_t since_us);

#endif
