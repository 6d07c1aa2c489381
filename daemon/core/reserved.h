/* reserved — systems that are kept back at times: for maintenance, or for some users.
 *
 * What `wafer resv` calls a reservation. It is of systems that are named, of all of a host, or of
 * the whole pool, also of those that come later; and it has windows. No job starts where it would
 * run into one, but for those that name the reservation and are of its users: they start within one
 * of its windows, on its systems only, and end within it. In another pool, to which such a job may
 * have been moved, its reservation means nothing. A job that runs when a window begins runs
 * on (made with force, or because its limit was made longer): nothing is stopped for a reservation.
 *
 * Drained systems are in no lane, whatever their windows.
 *
 * The windows themselves are in the durable state, some time ahead; the shell works them out (zones
 * of time are files of the machine), at first and whenever less than half of that time is left. A
 * reservation that is repeated keeps its systems from when no window is known on, so that nothing
 * is planned there that would have to be planned anew. */
#ifndef WAFERD_CORE_RESERVED_H
#define WAFERD_CORE_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "core/lanes.h"
#include "record.pb-c.h"

struct core;
struct input;
struct job;
struct pool;
struct reserved;
struct system;

struct reserved *reserved_named(const struct core *core, const char *name);
const Wafer__ReservationState *reserved_state(const struct reserved *reserved);
bool reserved_covers(const struct reserved *reserved, const struct system *system);

/* For apply.c, before that changes anything. -EINVAL: there is no room, or it makes no sense. */
int reserved_may_change(const struct core *core, const Wafer__ReservationState *next,
                        struct diag *diag);
/* There is this one from now on, in the place of one of its name; or there is not. */
void reserved_change(struct core *core, const Wafer__ReservationState *next);
void reserved_remove(struct core *core, uint64_t number);
void reserved_check(const struct core *core); /* core_check() */
void reserved_free(struct core *core);

void reserved_due(struct core *core, struct reserved *reserved); /* its timer */
/* What the shell answers to EFFECT_CALENDAR. */
void reserved_renewed(struct core *core, const struct input *input);

/* NULL: the job names none, or none that there is in its pool and that it may use. */
const struct reserved *reserved_of_job(const struct core *core, const struct job *job);
/* What the scheduler is told: 0: none. */
uint8_t reserved_number(const struct core *core, const struct job *job);
/* The job names one that there is not, or that is not for its user. */
bool reserved_is_missing(const struct core *core, const struct job *job);
/* Why a job of that pool (NULL: of any) may not use the reservation of that name; NULL: it may, or
 * names none. The caller frees. */
char *reserved_refusal(const struct core *core, const char *name, const struct pool *pool,
                       uint32_t uid);

/* May the job run there from now on, for all of its limit? */
bool reserved_is_open(const struct system *system, const struct job *job);

/* Its windows alone keep the job, which waits, from starting now; or the job is longer than any
 * window that it may run in, whatever else it waits for. */
struct reserved_conflict {
    int64_t span_us;               /* so long a job could start now; 0: none could */
    int64_t edge_us;               /* when the window begins (span > 0), or ends */
    int64_t room_us;               /* > 0: no window of the job's own is longer from now on */
    const struct reserved *window; /* whose; NULL: of one whose windows are not known that far */
};
bool reserved_conflicts(const struct core *core, const struct job *job,
                        struct reserved_conflict *ret);
/* In words; the caller frees. */
char *reserved_conflict_text(const struct job *job, const struct reserved_conflict *conflict);

#endif
