/* scheduler_inside — what a scheduler holds, and the parts of a pass. Private to daemon/core.
 *
 * Invariants
 *   - an entry waits (`chunk`), runs, or is unknown here; never two of these
 *   - `ends` of a domain are its running entries by `end_us`, equals as they started
 *   - under conservative backfill a domain's profile holds what is idle, what running jobs
 *     give back at their ends, and what reservations take; under any other it is not kept
 *   - where there are windows, what is in the profiles is not looked at
 *   - a reservation stands until its job starts or leaves, it takes an earlier one, somebody who
 *     comes before it needs its place, or the world broke what it was planned on (`doubtful`) */
#ifndef WAFERD_CORE_SCHEDULER_INSIDE_H
#define WAFERD_CORE_SCHEDULER_INSIDE_H

#include "core/lanes.h"
#include "core/profile.h"
#include "core/scheduler.h"
#include "core/waiting.h"

struct end {
    int64_t end_us;
    struct schedule_entry *entry;
};

struct domain {
    int64_t idle;
    struct end *ends;
    size_t end_count, end_capacity;
    struct profile profile;
};

/* Reservations of the last pass with windows, and the systems of each lane that they take: which
 * they take may change nobody's place. */
struct placed {
    struct schedule_entry *entry; /* in the order of the queue; it may have left since */
    uint32_t *shares;
};

struct plan {
    struct lanes lanes;
    struct placed *placed;
    size_t count, capacity;
};

struct scheduler {
    struct schedule_rules rules;
    struct waiting waiting;
    struct domain *domains;
    size_t domain_count;
    size_t planned_count; /* entries with a reservation */
    int64_t next_us;      /* the earliest reservation, as of the last pass */
    bool plan_wanted;     /* somebody may have none who should have one */
    bool ended;           /* since the last pass: reservations may move */
    bool doubtful;        /* what reservations stand on may have changed for the worse */
    bool in_pass;
    scheduler_lanes_fn fill; /* NULL: there are no windows */
    void *fill_userdata;
    struct plan plan;                   /* conservative, and windows */
    uint32_t *shares;                   /* of the lanes, while a job is started */
    struct schedule_entry **candidates; /* of a pass: to be started, perhaps */
    size_t candidate_count, candidate_capacity;
};

struct pass {
    struct scheduler *scheduler;
    int64_t now_us;
    scheduler_grant_fn grant;
    void *userdata;
};

/* Does it keep profiles and reservations? */
static inline bool scheduler_plans(const struct scheduler *scheduler)
{
    return scheduler->rules.backfill == SCHEDULE_BACKFILL_CONSERVATIVE;
}

/* ---- scheduler.c ---- */

void pass_start(const struct pass *pass, struct schedule_entry *entry, size_t domain);
/* Start from the head of the queue what fits; the first that does not, or NULL. */
struct schedule_entry *pass_start_in_order(const struct pass *pass);
void pass_add_candidate(const struct pass *pass, struct schedule_entry *entry);

/* ---- backfill.c ---- */

void pass_easy(const struct pass *pass);

/* ---- windows.c ---- */

void pass_windows(const struct pass *pass);
void plan_done(struct plan *plan);
size_t forecast_windows(const struct scheduler *scheduler, int64_t now_us, int64_t *ret_starts,
                        size_t count);

/* ---- reservations.c ---- */

/* The entry has one at that time. */
void reservation_make(struct scheduler *scheduler, struct schedule_entry *entry, size_t domain,
                      int64_t us);
void pass_conservative(const struct pass *pass);
size_t reservations_depth(const struct scheduler *scheduler);
/* The entry has none from now on. */
void reservation_give_back(struct scheduler *scheduler, struct schedule_entry *entry);
/* All give theirs back, and profiles hold what the rules need: everything will be planned anew. */
void reservations_reset(struct scheduler *scheduler);

#endif
