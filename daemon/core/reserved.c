#include "core/reserved.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/later.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "core/state.h"

#define RENEW_AHEAD_US (30 * DAY_US) /* windows are known twice as far ahead */
#define RETRY_US       DAY_US        /* the shell could not tell them */

/* All windows of the reservations in `mask`. */
struct lane_windows {
    uint64_t mask; /* bits of core->reserved */
    struct lane_window *items;
    size_t count, capacity;
};

struct reserved *reserved_named(const struct core *core, const char *name)
{
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        if (core->reserved[i] && strcmp(core->reserved[i]->state->name, name) == 0)
            return core->reserved[i];
    return NULL;
}

static struct reserved *numbered(const struct core *core, uint64_t number)
{
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        if (core->reserved[i] && core->reserved[i]->state->number == number)
            return core->reserved[i];
    return NULL;
}

const Wafer__ReservationState *reserved_state(const struct reserved *reserved)
{
    return reserved->state;
}

static bool is_among(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool reserved_covers(const struct reserved *reserved, const struct system *system)
{
    const Wafer__ReservationState *state = reserved->state;

    if (!system->pool || strcmp(state->pool, system->pool->name) != 0)
        return false;
    return (!state->n_systems && !state->n_hosts) ||
           is_among(state->systems, state->n_systems, system->state.name) ||
           is_among(state->hosts, state->n_hosts, system->host->state.name);
}

/* ---- lanes ---- */

static void forget_windows(struct pool *pool)
{
    for (size_t i = 0; i < pool->lane_windows_count; i++)
        free(pool->lane_windows[i].items);
    free(pool->lane_windows);
    pool->lane_windows = NULL;
    pool->lane_windows_count = pool->lane_windows_capacity = 0;
}

static int by_start(const void *a, const void *b)
{
    const struct lane_window *one = a, *other = b;

    if (one->from_us != other->from_us)
        return one->from_us < other->from_us ? -1 : 1;
    return (one->until_us > other->until_us) - (one->until_us < other->until_us);
}

static void add_window(struct lane_windows *windows, int64_t from_us, int64_t until_us,
                       uint8_t reservation)
{
    ARRAY_RESERVE(windows->items, windows->count, windows->capacity);
    windows->items[windows->count++] = (struct lane_window){ from_us, until_us, reservation };
}

/* Kept until a reservation changes. */
static const struct lane_windows *windows_of(const struct core *core, struct pool *pool,
                                             uint64_t mask)
{
    for (size_t i = 0; i < pool->lane_windows_count; i++)
        if (pool->lane_windows[i].mask == mask)
            return &pool->lane_windows[i];
    ARRAY_RESERVE(pool->lane_windows, pool->lane_windows_count, pool->lane_windows_capacity);
    struct lane_windows *windows = &pool->lane_windows[pool->lane_windows_count++];
    *windows = (struct lane_windows){ .mask = mask };
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++) {
        if (!(mask & UINT64_C(1) << i))
            continue;
        const Wafer__ReservationState *state = core->reserved[i]->state;
        for (size_t j = 0; j < state->n_windows; j++)
            add_window(windows, state->windows[j]->from_us, state->windows[j]->until_us,
                       core->reserved[i]->number);
        if (state->has_known_until_us) /* for nobody: what will be then is not known */
            add_window(windows, state->known_until_us, INT64_MAX, 0);
    }
    if (windows->count)
        qsort(windows->items, windows->count, sizeof(*windows->items), by_start);
    return windows;
}

static uint64_t mask_of(const struct core *core, const struct system *system)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        if (core->reserved[i] && reserved_covers(core->reserved[i], system))
            mask |= UINT64_C(1) << i;
    return mask;
}

/* The lane of that domain with these windows, from `first` on. */
static size_t lane_of(struct pool *pool, struct lanes *lanes, size_t first, size_t domain,
                      uint64_t mask)
{
    const struct lane_windows *windows = windows_of(pool->core, pool, mask);

    for (size_t i = first; i < lanes->count; i++)
        if (lanes->items[i].windows == windows->items &&
            lanes->items[i].window_count == windows->count)
            return i;
    lanes_add(lanes, domain, windows->items, windows->count);
    return lanes->count - 1;
}

static void fill_host(struct pool *pool, const struct host *host, struct lanes *lanes)
{
    size_t first = lanes->count;

    list_foreach (&host->systems, link) {
        struct system *system = CONTAINER_OF(link, struct system, host_link);
        if (system->pool != pool || system->claim || !system_is_healthy(system))
            continue;
        system->lane = lane_of(pool, lanes, first, host->index, mask_of(pool->core, system));
        if (system->job)
            lane_free_from(&lanes->items[system->lane], system->job->entry.end_us, 1);
        else if (host->link)
            lane_idle(&lanes->items[system->lane], 1);
    }
}

static void fill(void *userdata, struct lanes *lanes)
{
    struct pool *pool = userdata;

    for (size_t i = 0; i < pool->core->host_count; i++)
        fill_host(pool, pool->core->hosts[i], lanes);
}

/* ---- the state ---- */

static void set_timer(struct core *core, struct reserved *reserved)
{
    const Wafer__ReservationState *state = reserved->state;

    if (state->has_known_until_us)
        timer_set(&core->timers, &reserved->timer, state->known_until_us - RENEW_AHEAD_US);
    else
        timer_set(&core->timers, &reserved->timer,
                  state->n_windows ? state->windows[state->n_windows - 1]->until_us : INT64_MIN);
}

/* Those of its pool that wait, and the lanes, hang on it. */
static void pool_changed(struct core *core, const char *name)
{
    struct pool *pool = core_pool(core, name);
    bool any = false;

    if (!pool)
        return; /* the site no longer has it */
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        any |= core->reserved[i] && strcmp(core->reserved[i]->state->pool, name) == 0;
    forget_windows(pool);
    scheduler_set_windows(pool->scheduler, any ? fill : NULL, pool);
    pool->is_reserved = any;
    pool->review_wanted = true;
    pool->lanes_us = INT64_MIN;
    core->pass_wanted = true;
}

/* The place of the one of that name, or a free one; LIMIT_RESERVATIONS: there is none. */
static size_t place_for(const struct core *core, const char *name)
{
    const struct reserved *reserved = reserved_named(core, name);
    size_t place = 0;

    if (reserved)
        return reserved->number - 1;
    while (place < LIMIT_RESERVATIONS && core->reserved[place])
        place++;
    return place;
}

int reserved_may_change(const struct core *core, const Wafer__ReservationState *next,
                        struct diag *diag)
{
    if (place_for(core, next->name) == LIMIT_RESERVATIONS)
        return diag_fail(diag, -EINVAL, "reservation %s is one too many", next->name);
    for (size_t i = 0; i < next->n_windows; i++)
        if (next->windows[i]->from_us >= next->windows[i]->until_us ||
            (i && next->windows[i - 1]->from_us >= next->windows[i]->from_us))
            return diag_fail(diag, -EINVAL, "windows of reservation %s are no rising times",
                             next->name);
    return 0;
}

void reserved_change(struct core *core, const Wafer__ReservationState *next)
{
    struct reserved *reserved = reserved_named(core, next->name);

    if (!reserved) {
        reserved = NEW(struct reserved);
        reserved->timer.owner = TIMER_RESERVED;
        size_t place = place_for(core, next->name);
        core->reserved[place] = reserved;
        reserved->number = (uint8_t)(place + 1);
    }
    Wafer__ReservationState *before = reserved->state;
    reserved->state = MESSAGE_COPY(next); /* which may borrow from it */
    if (before)
        wafer__reservation_state__free_unpacked(before, NULL);
    hash_replace(core, &reserved->hash, &reserved->state->base);
    set_timer(core, reserved);
    pool_changed(core, next->pool);
}

static void release(struct reserved *reserved)
{
    wafer__reservation_state__free_unpacked(reserved->state, NULL);
    free(reserved);
}

void reserved_remove(struct core *core, uint64_t number)
{
    struct reserved *reserved = numbered(core, number);

    if (!reserved)
        return; /* the record that made it could not be read */
    core->reserved[reserved->number - 1] = NULL;
    owned(free) char *pool = text_copy(reserved->state->pool);
    hash_replace(core, &reserved->hash, NULL);
    timer_clear(&core->timers, &reserved->timer);
    release(reserved);
    pool_changed(core, pool);
}

void reserved_free(struct core *core)
{
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        if (core->reserved[i])
            release(core->reserved[i]);
    for (size_t i = 0; i < core->pool_count; i++) {
        forget_windows(&core->pools[i]);
        lanes_done(&core->pools[i].lanes);
    }
}

void reserved_check(const struct core *core)
{
    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++) {
        if (!core->reserved[i])
            continue;
        const Wafer__ReservationState *state = core->reserved[i]->state;
        assert(state->number <= core->sequence);
        assert(reserved_named(core, state->name) == core->reserved[i]);
        for (size_t j = 0; j < state->n_windows; j++) {
            assert(state->windows[j]->from_us < state->windows[j]->until_us);
            assert(!j || state->windows[j - 1]->from_us < state->windows[j]->from_us);
        }
    }
}

/* ---- as time goes by ---- */

void reserved_due(struct core *core, struct reserved *reserved)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    if (reserved->state->has_known_until_us) {
        effect_add(core, EFFECT_CALENDAR)->reservation = MESSAGE_COPY(reserved->state);
        timer_set(&core->timers, &reserved->timer, core->now_us + RETRY_US);
        return;
    }
    owned(free) char *text = text_format("reservation %s is over", reserved->state->name);
    record.kind = WAFER__RECORD_KIND__RESERVATION_REMOVED;
    record.reservation = reserved->state;
    record.text = text;
    core_record(core, &record);
}

void reserved_renewed(struct core *core, const struct input *input)
{
    struct reserved *reserved = numbered(core, input->calendar.reservation);
    const struct fact_calendar *calendar = &input->calendar.facts;
    Wafer__Record record = WAFER__RECORD__INIT;

    if (!reserved || calendar->refusal)
        return; /* it is gone; or the shell has said why, and is asked again */
    Wafer__ReservationState next = *reserved->state;
    owned(free) char *text = text_format("reservation %s: its next windows", next.name);
    owned(free) Wafer__WindowState **windows =
        memory_new((calendar->count + 1) * sizeof(Wafer__WindowState *));
    for (size_t i = 0; i < calendar->count; i++)
        windows[i] = &calendar->windows[i];
    next.windows = windows;
    next.n_windows = calendar->count;
    UNSET(&next, known_until_us);
    if (calendar->known_until_us < INT64_MAX)
        SET(&next, known_until_us, calendar->known_until_us);
    record.kind = WAFER__RECORD_KIND__RESERVATION_CHANGED;
    record.reservation = &next;
    record.text = text;
    core_record(core, &record);
}

/* ---- of one job ---- */

static bool may_use(const Wafer__ReservationState *state, uint32_t uid)
{
    for (size_t i = 0; i < state->n_uids; i++)
        if (state->uids[i] == uid)
            return true;
    return false;
}

char *reserved_refusal(const struct core *core, const char *name, const struct pool *pool,
                       uint32_t uid)
{
    if (!name)
        return NULL;
    const struct reserved *reserved = reserved_named(core, name);
    if (!reserved)
        return text_format("there is no reservation '%s'", name);
    if (!may_use(reserved->state, uid))
        return text_format("reservation %s is for others", name);
    if (pool && strcmp(pool->name, reserved->state->pool) != 0)
        return text_format("reservation %s is of pool %s, and the job of pool %s", name,
                           reserved->state->pool, pool->name);
    return NULL;
}

const struct reserved *reserved_of_job(const struct core *core, const struct job *job)
{
    const char *name = job->spec->terms.reservation;
    owned(free) char *refusal = reserved_refusal(core, name, job_pool(core, job), job->state.uid);

    return name && !refusal ? reserved_named(core, name) : NULL;
}

bool reserved_is_missing(const struct core *core, const struct job *job)
{
    const char *name = job->spec->terms.reservation;
    const struct reserved *reserved = name ? reserved_named(core, name) : NULL;

    return name && !(reserved && may_use(reserved->state, job->state.uid));
}

uint8_t reserved_number(const struct core *core, const struct job *job)
{
    const struct reserved *reserved = reserved_of_job(core, job);

    return reserved ? reserved->number : 0;
}

bool reserved_is_open(const struct system *system, const struct job *job)
{
    const struct core *core = system->pool ? system->pool->core : NULL;

    if (!core || !system->pool->is_reserved)
        return true;
    const struct lane_windows *windows = windows_of(core, system->pool, mask_of(core, system));
    const struct lane lane = { .windows = windows->items, .window_count = windows->count };
    return lane_is_open(&lane, job->entry.reservation, core->now_us,
                        later_us(core->now_us, job->entry.limit_us));
}

/* As they are now; lists ask for each of their jobs. */
static const struct lanes *lanes_now(const struct core *core, struct pool *pool)
{
    if (pool->lanes_sequence != core->sequence || pool->lanes_us != core->now_us) {
        lanes_done(&pool->lanes);
        lanes_init(&pool->lanes, core->now_us);
        fill(pool, &pool->lanes);
        pool->lanes_sequence = core->sequence;
        pool->lanes_us = core->now_us;
    }
    return &pool->lanes;
}

/* How long a job could run in one of the windows that are known, at most: it ends in the one that
 * it began in, also where another follows at once. */
static int64_t room_us(const struct core *core, const Wafer__ReservationState *state)
{
    int64_t most_us = 0;

    for (size_t i = 0; i < state->n_windows; i++) {
        const Wafer__WindowState *window = state->windows[i];
        int64_t from_us = window->from_us > core->now_us ? window->from_us : core->now_us;
        if (window->until_us - from_us > most_us)
            most_us = window->until_us - from_us;
    }
    return most_us;
}

bool reserved_conflicts(const struct core *core, const struct job *job,
                        struct reserved_conflict *ret)
{
    struct pool *pool = job_pool(core, job);
    struct lane_obstacle obstacle;

    if (!pool || !pool->is_reserved || !job->entry.chunk)
        return false;
    const struct lane_demand demand = { job->entry.systems, job->entry.limit_us,
                                        job->entry.reservation, true };
    bool found = lanes_obstacle(lanes_now(core, pool), &demand, &obstacle);
    const struct reserved *own = reserved_of_job(core, job);
    int64_t most_us = own ? room_us(core, own->state) : 0;
    if (most_us && job->entry.limit_us > most_us && !(found && obstacle.span_us)) {
        *ret = (struct reserved_conflict){ .room_us = most_us, .window = own };
        return true;
    }
    if (!found)
        return false;
    *ret = (struct reserved_conflict){ .span_us = obstacle.span_us,
                                       .edge_us = obstacle.edge_us,
                                       .window = obstacle.reservation
                                                     ? core->reserved[obstacle.reservation - 1]
                                                     : NULL };
    return true;
}

char *reserved_conflict_text(const struct job *job, const struct reserved_conflict *conflict)
{
    char edge[TIMESTAMP_TEXT_SIZE], span[DURATION_TEXT_SIZE];
    const char *name = conflict->window ? conflict->window->state->name : NULL;
    bool within = job->entry.reservation;

    if (conflict->room_us) {
        duration_format(conflict->room_us / SECOND_US * SECOND_US, span);
        return text_format("no window of reservation %s has room for more than %s%s", name, span,
                           job->entry.limit_us == INT64_MAX ? ", and the job has no limit" : "");
    }
    if (conflict->edge_us < INT64_MAX)
        timestamp_format(conflict->edge_us, edge);
    if (!conflict->span_us && !name)
        return text_copy("it is not known what is reserved from now on: see the controller's log");
    if (!conflict->span_us && conflict->edge_us == INT64_MAX)
        return text_format("reservation %s has no window with enough systems", name);
    if (!conflict->span_us)
        return text_format(within ? "reservation %s begins at %s" : "reservation %s ends at %s",
                           name, edge);
    duration_format(conflict->span_us / SECOND_US * SECOND_US, span);
    if (!name)
        return text_format("it is not known what is reserved after %s; a limit of at most %s would "
                           "fit",
                           edge, span);
    return text_format(within ? "reservation %s ends at %s%s; a limit of at most %s would fit"
                              : "reservation %s begins at %s%s; a limit of at most %s would fit",
                       name, edge,
                       job->entry.limit_us == INT64_MAX ? ", and the job has no limit" : "", span);
}
