/* quotas — what one user, one project or one queue may use at once, and what it does use.
 *
 * What is counted follows the jobs: it is made anew from the records, and is no state of its own. A
 * quota lets as many jobs wait with the scheduler as may run together, in the order of priority
 * and then of submission; the rest is parked with it, passes nobody and is passed. So no two grants
 * of a pass exceed it, and what the scheduler plans can happen.
 *
 * Invariant
 *   - before each pass: used + admitted <= limits.systems, or nobody is admitted
 *
 * Other limits apply when a job comes or changes: request_quota.c. A job keeps the terms that it
 * has when they become stricter, and so do systems that it holds. */
#ifndef WAFERD_CORE_QUOTAS_H
#define WAFERD_CORE_QUOTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct account;
struct core;
struct job;
struct pool;
struct quota;

enum quota_kind { QUOTA_USER, QUOTA_PROJECT, QUOTA_QUEUE, QUOTA_KINDS };

#define QUOTA_UNLIMITED UINT32_MAX

struct quota_limits {
    uint32_t systems;         /* that its jobs hold at once; these three may be QUOTA_UNLIMITED */
    uint32_t pending;         /* jobs that wait or are held */
    uint32_t array;           /* elements of one array */
    int64_t limit_max_us;     /* of each job; INT64_MAX: none */
    int64_t limit_default_us; /* of a job that names none; 0: none */
    int64_t system_us;        /* that are used in `system_days`; INT64_MAX: no limit */
    uint32_t system_days;
    int64_t warn_micro, budget_micro; /* of `currency`, in `budget_days`; INT64_MAX: no limit */
    const char *currency;             /* NULL: neither */
    uint32_t budget_days;
};

#define QUOTA_LIMITS_NONE QUOTA_LIMITS_OF(QUOTA_UNLIMITED)
/* So many systems, and nothing else. */
#define QUOTA_LIMITS_OF(systems_)                                                                  \
    {                                                                                              \
        .systems = (systems_), .pending = QUOTA_UNLIMITED, .array = QUOTA_UNLIMITED,               \
        .limit_max_us = INT64_MAX, .system_us = INT64_MAX, .warn_micro = INT64_MAX,                \
        .budget_micro = INT64_MAX                                                                  \
    }

/* Of one user, project or queue; the rule that names it holds, and else that for every one. */
struct quota_rule {
    enum quota_kind kind;
    bool every;
    uid_t uid;        /* QUOTA_USER */
    const char *name; /* QUOTA_PROJECT, QUOTA_QUEUE */
    struct quota_limits limits;
};

struct quota_rules {
    const struct quota_rule *items;
    size_t count;
};

/* Whom a job is counted for; a job without a project, or of a queue that the site no longer has, is
 * not counted there. */
struct quota_party {
    uid_t uid;
    const char *project;     /* or NULL */
    const struct pool *pool; /* or NULL */
};

/* A queue's is there as long as its pool. */
void quota_init(struct quota *quota, enum quota_kind kind, const char *name);
void quota_rules_done(struct core *core);

/* What holds for each of the party; of those that it does not have: no limit. */
void quotas_limits(const struct core *core, const struct quota_party *party,
                   struct quota_limits ret[static QUOTA_KINDS]);
/* How many jobs of the party wait, for each. */
void quotas_pending(const struct core *core, const struct quota_party *party,
                    uint64_t ret[static QUOTA_KINDS]);
/* NULL: no job is counted there now. */
const struct quota *quota_of_user(const struct core *core, uid_t uid);
const struct quota *quota_of_project(const struct core *core, const char *project);
/* "its user", "project nlp", "queue gpu"; the caller frees. */
char *quota_subject(enum quota_kind kind, const struct quota_party *party);

/* ---- for apply.c: a job waits or holds systems (1), or not any more (-1) ---- */

void quotas_count(struct core *core, struct job *job, int change);
/* Its systems are free again: there may be room for those that are parked. */
void quotas_opened(struct core *core, const struct job *job);

/* ---- for accounts.c: the account has its first job; its last one goes ---- */

void quotas_join(struct core *core, struct account *account);
void quotas_leave(struct core *core, struct account *account);

/* Of the account that the job has; NULL: it has none such. */
struct quota *job_quota(const struct job *job, enum quota_kind kind);

/* ---- for schedule.c ---- */

/* What it keeps back, or lets go, is looked at in the next pass. */
void quota_reopen(struct core *core, struct quota *quota);
/* The first that does not let the job wait with the scheduler, for systems that are in use or go to
 * jobs before it; NULL: none. It needs entry.systems. */
struct quota *quotas_obstacle(const struct job *job);
/* Would the job exceed it, beside what is in use? */
bool quota_keeps(const struct quota *quota, uint32_t systems);
/* The job waits with the scheduler, or systems are kept for it. Those behind it that it leaves no
 * room for are the caller's to take back: quotas_excess(). */
void quotas_admit(struct job *job);
void quotas_withdraw(struct core *core, struct job *job); /* not any more; not admitted: nothing */
/* The last that waits with the scheduler where one of the job's quotas is exceeded; NULL: none is.
 */
struct job *quotas_excess(const struct job *job);
bool quota_is_full(const struct quota *quota);
bool quota_is_limited(const struct quota *quota); /* of what may be used: not of what may wait */
/* Those that it has no room for wait with the scheduler no longer: a limit was lowered, or in a
 * replay somebody started who was parked. */
void quota_settle(struct core *core, struct quota *quota);
void quota_park(struct quota *quota, struct job *job);
/* Why the job waits with it; the caller frees. And who has its systems: the first, or 0. */
char *quota_text(const struct core *core, const struct quota *quota, const struct job *job,
                 uint64_t *ret_blocker);

#endif
