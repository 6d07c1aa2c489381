/* scheduler — which job of one pool starts next, and when the others will.
 *
 * Works on counts. A pool has domains, and a job lives in one of them (of a pool of hosts, each
 * host is one); where in its domain it is put is the caller's matter. The caller tells of every job
 * that begins to wait, runs or is done, and of every system that comes or goes; a pass names the
 * jobs that start now. What a pass promises to others (reservations) stands until the caller tells
 * of something that breaks it.
 *
 * Backfill
 *   none          the first of the queue starts when it fits; nothing passes it
 *   easy          the first gets one reservation, made afresh in each pass: the first expected
 *                 end by which it fits. A later job starts now if it fits, and either ends by
 *                 then or needs no more than what the first leaves over. While nobody knows
 *                 when enough systems end, any job with a limit may pass: it delays the first
 *                 by no more (Lifka, "The ANL/IBM SP scheduling system", 1995; Mu'alem and
 *                 Feitelson, IEEE TPDS 12(6), 2001)
 *   easy-sjbf     the same, the shortest candidates first (Tsafrir et al., TPDS 18(6), 2007)
 *   conservative  each of the first `depth` jobs has a reservation, the earliest hole when it
 *                 came; at every end each in turn gives its own back and takes the earliest,
 *                 so that none moves later (Mu'alem and Feitelson 2001). A job further back
 *                 starts when it fits between the reservations
 *
 * Order, within a bucket of priority
 *   fcfs          by number
 *   sjf           the shortest limit first
 *   wfp           the greatest (wait / limit)^3 x systems first, sorted anew in each pass (Tang
 *                 et al., "Fault-aware, utility-based job scheduling on Blue Gene/P", 2009)
 *   policy        the highest score first, as the caller gives it
 *
 * Windows keep systems back from all jobs, or all but those that name a reservation of the site (a
 * planned start is a reservation too, of the scheduler: it has nothing to do with that). A pool
 * that has any is planned in lanes (lanes.h), afresh in each pass, with what is told above: a job
 * starts where it can run for all of its limit on systems that have no window meanwhile.
 *
 * A job that outlasts the end that it was expected at holds its systems; what was promised for them
 * waits, and is planned anew when the caller gives it another end.
 *
 * Units      microseconds of cluster time (`_us`); INT64_MAX is never
 * Ownership  entries belong to the caller and stay where they are while they wait or run */
#ifndef WAFERD_CORE_SCHEDULER_H
#define WAFERD_CORE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lanes;
struct waiting_chunk;

enum schedule_backfill {
    SCHEDULE_BACKFILL_NONE,
    SCHEDULE_BACKFILL_EASY,
    SCHEDULE_BACKFILL_EASY_SJBF,
    SCHEDULE_BACKFILL_CONSERVATIVE,
};

enum schedule_order {
    SCHEDULE_ORDER_FCFS,
    SCHEDULE_ORDER_SJF,
    SCHEDULE_ORDER_WFP,
    SCHEDULE_ORDER_POLICY,
};

struct schedule_rules {
    enum schedule_backfill backfill;
    enum schedule_order order;
    uint32_t depth; /* conservative: how many have a reservation; 0: all */
};

/* One job, as the scheduler sees it. */
struct schedule_entry {
    /* set by the caller before it waits or runs */
    uint64_t number; /* its place among equals: the lower comes first */
    int64_t submitted_us;
    int64_t limit_us; /* how long it may take; INT64_MAX: nobody knows */
    uint32_t systems;
    uint16_t bucket;     /* of the lowest first */
    uint8_t reservation; /* it runs in windows of this one only, as lanes number them; 0: in none */
    int64_t score;       /* policy; with wfp it is the scheduler's, of this pass */
    /* the scheduler's */
    bool is_running;
    uint32_t domain;  /* where it runs, or where its reservation is */
    uint32_t returns; /* while it runs: how many systems are free when it ends */
    union {
        int64_t planned_us; /* while it waits: its reservation, or INT64_MAX */
        int64_t end_us;     /* while it runs: when it is expected to end */
    };
    struct waiting_chunk *chunk; /* NULL: it does not wait */
};

struct scheduler;

struct scheduler *scheduler_new(const struct schedule_rules *rules); /* without a domain */
struct scheduler *scheduler_free(struct scheduler *scheduler);       /* always NULL */
void scheduler_add_domain(struct scheduler *scheduler); /* the next number, from 0; no system */

/* Other rules from the next pass on: everything is planned anew. The same change nothing. */
void scheduler_set_rules(struct scheduler *scheduler, const struct schedule_rules *rules);
const struct schedule_rules *scheduler_rules(const struct scheduler *scheduler);

/* There are windows: `fill` adds the lanes of all domains, as they are now. It may be called in any
 * pass and for any question. NULL: there are none. */
typedef void (*scheduler_lanes_fn)(void *userdata, struct lanes *lanes);
void scheduler_set_windows(struct scheduler *scheduler, scheduler_lanes_fn fill, void *userdata);

/* `change` more systems that may be granted are idle in the domain. */
void scheduler_idle(struct scheduler *scheduler, size_t domain, int64_t change);
/* `change` more of those that the running job holds may be granted when it ends. */
void scheduler_returns(struct scheduler *scheduler, struct schedule_entry *entry, int64_t change);

void scheduler_wait(struct scheduler *scheduler, struct schedule_entry *entry);
void scheduler_withdraw(struct scheduler *scheduler, struct schedule_entry *entry);
/* It holds systems from now on; it does not wait any more. Its systems are told of apart, with
 * scheduler_idle() and scheduler_returns(). */
void scheduler_run(struct scheduler *scheduler, struct schedule_entry *entry, size_t domain,
                   int64_t end_us);
/* It runs no more; it has nothing left to give back. */
void scheduler_done(struct scheduler *scheduler, struct schedule_entry *entry);
/* Policy: those who wait have other scores from now on. */
typedef int64_t (*scheduler_score_fn)(void *userdata, const struct schedule_entry *entry);
void scheduler_score(struct scheduler *scheduler, scheduler_score_fn score, void *userdata);

/* Something ended: whoever has a reservation may take an earlier one in the next pass. */
void scheduler_ended(struct scheduler *scheduler);

/* Start the job in the domain: when this returns, it runs, and its systems are not idle; or it
 * could not, and waits no more. */
typedef void (*scheduler_grant_fn)(void *userdata, struct schedule_entry *entry, size_t domain);
void scheduler_pass(struct scheduler *scheduler, int64_t now_us, scheduler_grant_fn grant,
                    void *userdata);
/* While it is called, where there are windows: how many systems the job takes of each lane, in the
 * order in which they were added; the caller may count them down. NULL: there are no windows, any
 * of its domain will do. */
uint32_t *scheduler_shares(const struct scheduler *scheduler);

/* When a pass has something to do although nothing happens: a reservation is due, or a window
 * begins or ends. */
int64_t scheduler_next(const struct scheduler *scheduler);

/* When each of the first `count` that wait would start if every job took all of its limit and
 * nobody else came: a reservation as it stands, else the earliest hole behind those before it.
 * INT64_MAX: nobody knows. How many there are. */
size_t scheduler_forecast(const struct scheduler *scheduler, int64_t now_us, int64_t *ret_starts,
                          size_t count);

/* Would this one, which waits, start in a pass now? Asks a copy. */
bool scheduler_would_start(const struct scheduler *scheduler, const struct schedule_entry *entry,
                           int64_t now_us);

/* How many wait. */
size_t scheduler_count(const struct scheduler *scheduler);
/* In the order in which they are considered; NULL: no (further) one waits. */
struct schedule_entry *scheduler_first(const struct scheduler *scheduler);
struct schedule_entry *scheduler_after(const struct scheduler *scheduler,
                                       const struct schedule_entry *entry);
/* How many are considered before it, or would be if it waited; `most` if they are more. */
size_t scheduler_ahead(const struct scheduler *scheduler, const struct schedule_entry *entry,
                       size_t most);

#endif
