/* Reservations: systems that are kept back for maintenance, or for some users. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/later.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "core/forecast.h"
#include "core/request.h"
#include "core/reserved.h"
#include "model/calendar.h"
#include "model/job_name.h"

#define SHOWN_WINDOWS 3

/* ---- what is shown ---- */

/* Would the job, which has systems of it, be there in this window, and is it not for it? */
static bool is_in_the_way(const struct core *core, const struct reserved *reserved,
                          const struct job *job, int64_t from_us)
{
    if (forecast_end(core, job) <= from_us || reserved_of_job(core, job) == reserved)
        return false;
    for (size_t i = 0; i < job->state.n_systems; i++)
        if (reserved_covers(reserved, core_system(core, job->state.systems[i])))
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Jobs that run and would be in its first window; the array is the caller's. */
static uint64_t *jobs_in_the_way(const struct core *core, const struct reserved *reserved,
                                 size_t *ret_count)
{
    const Wafer__ReservationState *state = reserved_state(reserved);
    uint64_t *ids = NULL;
    size_t capacity = 0, cursor = 0;

    *ret_count = 0;
    for (struct job *job; state->n_windows && (job = map_next(&core->jobs, &cursor));) {
        if (!job_has_systems(job) ||
            !is_in_the_way(core, reserved, job, state->windows[0]->from_us))
            continue;
        ARRAY_RESERVE(ids, *ret_count, capacity);
        ids[(*ret_count)++] = job->state.id;
    }
    if (*ret_count)
        qsort(ids, *ret_count, sizeof(*ids), by_id);
    return ids;
}

static char **names_copy(char *const *names, size_t count)
{
    char **copies = count ? memory_new(count * sizeof(*copies)) : NULL;

    for (size_t i = 0; i < count; i++)
        copies[i] = text_copy(names[i]);
    return copies;
}

/* The next ones; what is over stays in the state until the windows are renewed. */
static void view_windows(const struct core *core, const Wafer__ReservationState *state,
                         Wafer__Reservation *view)
{
    view->windows = memory_new(SHOWN_WINDOWS * sizeof(*view->windows));
    for (size_t i = 0; i < state->n_windows && view->n_windows < SHOWN_WINDOWS; i++) {
        if (state->windows[i]->until_us <= core->now_us)
            continue;
        Wafer__Reservation__Window *window = NEW(Wafer__Reservation__Window);
        wafer__reservation__window__init(window);
        window->from = view_time(state->windows[i]->from_us);
        window->until = view_time(state->windows[i]->until_us);
        view->windows[view->n_windows++] = window;
    }
}

static Wafer__Reservation *view_reservation(const struct request *request,
                                            const struct reserved *reserved)
{
    const Wafer__ReservationState *state = reserved_state(reserved);
    Wafer__Reservation *view = NEW(Wafer__Reservation);
    size_t cursor = 0, count;

    wafer__reservation__init(view);
    view->name = text_copy(state->name);
    view->pool = text_copy(state->pool);
    view->n_systems = state->n_systems;
    view->systems = names_copy(state->systems, state->n_systems);
    view->n_hosts = state->n_hosts;
    view->hosts = names_copy(state->hosts, state->n_hosts);
    view->n_uids = state->n_uids;
    view->uids = memory_copy(state->uids, state->n_uids * sizeof(*state->uids));
    view->calendar = MESSAGE_COPY(state->calendar);
    view_windows(request->core, state, view);
    view->reason = text_copy(state->reason);
    SET(view, count, 0);
    for (struct system *system; (system = map_next(&request->core->systems, &cursor));)
        view->count += reserved_covers(reserved, system);
    owned(free) uint64_t *ids = jobs_in_the_way(request->core, reserved, &count);
    view->running = memory_new((count + 1) * sizeof(*view->running));
    for (size_t i = 0; i < count; i++)
        if (may(request, WAFER__ROLE__ACTION__show, core_job(request->core, ids[i])))
            view->running[view->n_running++] = ids[i];
    return view;
}

static Wafer__Response *response_of(struct request *request, struct reserved *const *items,
                                    size_t count)
{
    Wafer__Response *response = response_new(WAFER__RESPONSE__BODY_RESERVATIONS);
    Wafer__ReservationList *list = response->reservations = NEW(Wafer__ReservationList);

    wafer__reservation_list__init(list);
    list->schema = text_copy("wafer.reservation.list/v1");
    list->generated_at = view_time(request->core->now_us);
    SET(list, total, count);
    SET(list, truncated, false);
    list->n_items = count;
    list->items = memory_new((count + 1) * sizeof(*list->items));
    for (size_t i = 0; i < count; i++)
        list->items[i] = view_reservation(request, items[i]);
    return response;
}

static struct reserved *target(struct request *request, const char *name)
{
    struct reserved *reserved = reserved_named(request->core, name);

    if (!reserved)
        refuse(request, 0, "E_RESERVATION", EXIT_STATE, NULL,
               text_format("there is no reservation '%s'", name));
    return reserved;
}

void on_reservation_list(struct request *request)
{
    const char *name = request->message->reservation_list->name;
    struct core *core = request->core;
    struct reserved *one = name ? target(request, name) : NULL;

    struct reserved *items[LIMIT_RESERVATIONS];
    size_t count = 0;

    for (size_t i = 0; i < LIMIT_RESERVATIONS && !name; i++)
        if (core->reserved[i])
            items[count++] = core->reserved[i];
    if (one)
        items[count++] = one;
    if (one || !name)
        effect_reply(core, request->input, response_of(request, items, count));
}

/* ---- making one ---- */

static bool refuse_field(struct request *request, const char *field, char *message)
{
    refuse(request, 0, "E_FIELD", EX_DATAERR, field, message);
    return false;
}

/* All of one pool, which is that of the reservation. False, here and below: refused. */
static bool find_pool(struct request *request, Wafer__ReservationState *next)
{
    const Wafer__ReservationNewRequest *asked = request->message->reservation_new;
    const struct core *core = request->core;
    const struct pool *pool = asked->pool ? core_pool(core, asked->pool) : NULL;

    if (asked->pool && !pool)
        return refuse_field(request, "pool", text_format("there is no pool '%s'", asked->pool));
    for (size_t i = 0; i < asked->n_systems; i++) {
        const struct system *system = core_system_named(core, asked->systems[i]);
        if (!system || !system->pool)
            return refuse_field(request, "systems",
                                text_format("there is no system '%s'", asked->systems[i]));
        if (pool && system->pool != pool)
            return refuse_field(request, "systems",
                                text_format("%s is of pool %s, not of %s: a reservation is of one "
                                            "pool",
                                            asked->systems[i], system->pool->name, pool->name));
        pool = system->pool;
    }
    for (size_t i = 0; i < asked->n_hosts; i++)
        if (!core_host(core, asked->hosts[i]))
            return refuse_field(request, "hosts",
                                text_format("there is no host '%s'", asked->hosts[i]));
    next->pool = pool ? pool->name : core->pools[0].name;
    return true;
}

static bool is_possible(struct request *request, const Wafer__ReservationNewRequest *asked)
{
    const struct core *core = request->core;
    size_t count = 0;

    for (size_t i = 0; i < LIMIT_RESERVATIONS; i++)
        count += core->reserved[i] != NULL;
    if (!job_name_is_valid(asked->name))
        return refuse_field(
            request, "name",
            text_format("\"%.80s\" is no name (1 to 63 of A-Z a-z 0-9 . _ -)", asked->name));
    if (reserved_named(core, asked->name)) {
        refuse(request, 0, "E_EXISTS", EXIT_STATE, "name",
               text_format("there is a reservation %s already", asked->name));
        return false;
    }
    if (count == LIMIT_RESERVATIONS) {
        refuse(request, 0, "E_LIMIT", EX_TEMPFAIL, NULL,
               text_format("there are %d reservations, the most that a site may have",
                           LIMIT_RESERVATIONS));
        return false;
    }
    if (asked->n_systems > LIMIT_SYSTEMS || asked->n_hosts > LIMIT_SYSTEMS ||
        asked->n_uids > LIMIT_LIST_LENGTH)
        return refuse_field(request, "systems", text_copy("there are too many"));
    return true;
}

static bool has_windows(struct request *request, const Wafer__ReservationNewRequest *asked,
                        const struct fact_calendar *calendar)
{
    const struct core *core = request->core;

    if (!calendar || calendar->refusal)
        return refuse_field(request, "calendar",
                            text_copy(calendar ? calendar->refusal : "it was not worked out"));
    if (asked->calendar->every == WAFER__CALENDAR__EVERY__once &&
        (!calendar->count || calendar->windows[0].from_us < core->now_us))
        return refuse_field(request, "start",
                            text_format("%s%s%s is in the past", asked->calendar->start,
                                        asked->calendar->zone ? " " : "",
                                        asked->calendar->zone ? asked->calendar->zone : ""));
    if (!calendar->count && calendar->known_until_us == INT64_MAX)
        return refuse_field(request, "until", text_copy("no window begins before that"));
    return true;
}

/* They would run on in its first window: that is for whoever makes it to know. */
static bool is_clear(struct request *request, const Wafer__ReservationState *next)
{
    struct reserved imagined = { .state = (Wafer__ReservationState *)next };
    size_t count;

    owned(free) uint64_t *ids = jobs_in_the_way(request->core, &imagined, &count);
    if (!count || request->message->reservation_new->force)
        return true;
    char first[TIMESTAMP_TEXT_SIZE];
    timestamp_format(next->windows[0]->from_us, first);
    refuse(
        request, 0, "E_BUSY", EXIT_STATE, NULL,
        text_format("%zu job%s would still run there at %s, the first job %llu: give it a limit, "
                    "move it, or use --force (it then runs on)",
                    count, count == 1 ? "" : "s", first, (unsigned long long)ids[0]));
    return false;
}

void on_reservation_new(struct request *request)
{
    const Wafer__ReservationNewRequest *asked = request->message->reservation_new;
    const struct fact_calendar *calendar =
        request->input->request.facts ? request->input->request.facts->calendar : NULL;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__ReservationState next = WAFER__RESERVATION_STATE__INIT;

    if (!is_possible(request, asked) || !find_pool(request, &next) ||
        !has_windows(request, asked, calendar))
        return;
    owned(free) Wafer__WindowState **windows =
        memory_new((calendar->count + 1) * sizeof(Wafer__WindowState *));
    for (size_t i = 0; i < calendar->count; i++)
        windows[i] = &calendar->windows[i];
    next.number = request->core->sequence + 1;
    next.name = asked->name;
    next.systems = asked->systems;
    next.n_systems = asked->n_systems;
    next.hosts = asked->hosts;
    next.n_hosts = asked->n_hosts;
    next.uids = asked->uids;
    next.n_uids = asked->n_uids;
    next.calendar = asked->calendar;
    next.windows = windows;
    next.n_windows = calendar->count;
    if (calendar->known_until_us < INT64_MAX)
        SET(&next, known_until_us, calendar->known_until_us);
    next.reason = asked->reason;
    if (!is_clear(request, &next))
        return;
    owned(free) char *when = calendar_text(asked->calendar);
    owned(free) char *text = text_format("reservation %s: %s%s%s", next.name, when,
                                         next.reason ? ": " : "", next.reason ? next.reason : "");
    record.kind = WAFER__RECORD_KIND__RESERVATION_CHANGED;
    record.reservation = &next;
    record.text = text;
    SET(&record, uid, request->uid);
    core_record(request->core, &record);
    struct reserved *made = reserved_named(request->core, asked->name);
    effect_reply(request->core, request->input, response_of(request, &made, 1));
}

void on_reservation_remove(struct request *request)
{
    const Wafer__ReservationRemoveRequest *asked = request->message->reservation_remove;
    struct reserved *reserved = target(request, asked->name);
    Wafer__Record record = WAFER__RECORD__INIT;

    if (!reserved)
        return;
    Wafer__Response *response = response_of(request, &reserved, 1); /* as it was */
    owned(free) char *text =
        text_format("reservation %s is removed%s%s", asked->name, asked->reason ? ": " : "",
                    asked->reason ? asked->reason : "");
    record.kind = WAFER__RECORD_KIND__RESERVATION_REMOVED;
    record.reservation = (Wafer__ReservationState *)reserved_state(reserved);
    record.text = text;
    SET(&record, uid, request->uid);
    core_record(request->core, &record);
    effect_reply(request->core, request->input, response);
}
