#include "core/lanes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/later.h"
#include "base/memory.h"

void lanes_init(struct lanes *lanes, int64_t now_us)
{
    *lanes = (struct lanes){ .now_us = now_us };
}

void lanes_done(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        profile_done(&lanes->items[i].profile);
    free(lanes->items);
    *lanes = (struct lanes){ .items = NULL };
}

struct lane *lanes_add(struct lanes *lanes, size_t domain, const struct lane_window *windows,
                       size_t window_count)
{
    assert(!lanes->count || lanes->items[lanes->count - 1].domain <= domain);
    ARRAY_RESERVE(lanes->items, lanes->count, lanes->capacity);
    struct lane *lane = &lanes->items[lanes->count++];
    *lane = (struct lane){ .domain = domain, .windows = windows, .window_count = window_count };
    profile_init(&lane->profile);
    return lane;
}

void lane_idle(struct lane *lane, int64_t systems)
{
    lane->idle += systems;
    profile_add(&lane->profile, INT64_MIN, INT64_MAX, systems);
}

void lane_free_from(struct lane *lane, int64_t from_us, int64_t systems)
{
    profile_add(&lane->profile, from_us, INT64_MAX, systems);
}

/* ---- one lane ---- */

/* The first window that ends after that time. */
static size_t window_after(const struct lane *lane, int64_t us)
{
    size_t at = 0; /* those that are over are left out sooner or later: there are few */

    while (at < lane->window_count && lane->windows[at].until_us <= us)
        at++;
    return at;
}

bool lane_is_open(const struct lane *lane, uint8_t reservation, int64_t from_us, int64_t until_us)
{
    bool is_within = !reservation;

    for (size_t at = window_after(lane, from_us);
         at < lane->window_count && lane->windows[at].from_us < until_us; at++) {
        const struct lane_window *window = &lane->windows[at];
        if (window->until_us <= from_us)
            continue;
        if (!reservation || window->reservation != reservation)
            return false;
        is_within |= window->from_us <= from_us && until_us <= window->until_us;
    }
    return is_within;
}

int64_t lane_available(const struct lane *lane, const struct lane_demand *demand, int64_t from_us)
{
    int64_t until_us = later_us(from_us, demand->span_us);

    if (!lane_is_open(lane, demand->reservation, from_us, until_us))
        return 0;
    int64_t least = profile_least(&lane->profile, from_us, until_us);
    if (demand->at_once && least > lane->idle)
        least = lane->idle;
    return least > 0 ? least : 0;
}

/* When the nearest window of it begins that is not of that reservation. */
static int64_t open_until_us(const struct lane *lane, uint8_t reservation, int64_t us)
{
    for (size_t at = window_after(lane, us); at < lane->window_count; at++)
        if (!reservation || lane->windows[at].reservation != reservation)
            return lane->windows[at].from_us;
    return INT64_MAX;
}

/* When more may be there than at that time: something is given back, or a window begins or ends.
 */
static int64_t next_chance(const struct lane *lane, uint8_t reservation, int64_t us)
{
    int64_t next_us = profile_next(&lane->profile, us);

    for (size_t at = 0; at < lane->window_count; at++) {
        const struct lane_window *window = &lane->windows[at];
        if (window->from_us >= next_us)
            break;
        if (reservation && window->from_us > us)
            next_us = window->from_us;
        if (window->until_us > us && window->until_us < next_us)
            next_us = window->until_us;
    }
    return next_us;
}

/* ---- all of a domain ---- */

static size_t domain_end(const struct lanes *lanes, size_t first)
{
    size_t end = first;

    while (end < lanes->count && lanes->items[end].domain == lanes->items[first].domain)
        end++;
    return end;
}

static int64_t room(const struct lanes *lanes, size_t first, size_t end,
                    const struct lane_demand *demand, int64_t from_us)
{
    int64_t systems = 0;

    for (size_t i = first; i < end; i++)
        systems += lane_available(&lanes->items[i], demand, from_us);
    return systems;
}

static int64_t find_in_domain(const struct lanes *lanes, size_t first, size_t end,
                              const struct lane_demand *demand, int64_t from_us, int64_t before_us)
{
    while (from_us < before_us) {
        if (room(lanes, first, end, demand, from_us) >= demand->systems)
            return from_us;
        int64_t next_us = INT64_MAX;
        for (size_t i = first; i < end; i++) {
            int64_t us = next_chance(&lanes->items[i], demand->reservation, from_us);
            if (us < next_us)
                next_us = us;
        }
        from_us = next_us;
    }
    return INT64_MAX;
}

int64_t lanes_find(const struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                   int64_t before_us, size_t *ret_domain)
{
    int64_t best_us = INT64_MAX, best_room = INT64_MAX;

    for (size_t first = 0, end; first < lanes->count; first = end) {
        end = domain_end(lanes, first);
        int64_t us = find_in_domain(lanes, first, end, demand, from_us, before_us);
        if (us == INT64_MAX)
            continue;
        int64_t there = us > lanes->now_us ? 0 : room(lanes, first, end, demand, us);
        if (us < best_us || (us == best_us && there < best_room)) {
            best_us = us;
            best_room = there;
            *ret_domain = lanes->items[first].domain;
            before_us = us < INT64_MAX ? us + 1 : us; /* as early in another will do */
        }
    }
    return best_us;
}

bool lanes_fit(const struct lanes *lanes, const struct lane_demand *demand, size_t domain,
               int64_t from_us)
{
    int64_t systems = 0;

    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->items[i].domain == domain)
            systems += lane_available(&lanes->items[i], demand, from_us);
    return systems >= demand->systems;
}

void lanes_take(struct lanes *lanes, const struct lane_demand *demand, size_t domain,
                int64_t from_us, uint32_t *shares)
{
    int64_t until_us = later_us(from_us, demand->span_us), left = demand->systems;

    for (size_t i = 0; i < lanes->count; i++)
        shares[i] = 0;
    while (left) {
        size_t best = lanes->count;
        int64_t best_us = INT64_MAX, best_count = 0;
        for (size_t i = 0; i < lanes->count; i++) {
            const struct lane *lane = &lanes->items[i];
            int64_t count =
                lane->domain == domain && !shares[i] ? lane_available(lane, demand, from_us) : 0;
            int64_t us = open_until_us(lane, demand->reservation, from_us);
            if (count && (best == lanes->count || us < best_us)) {
                best = i;
                best_us = us;
                best_count = count;
            }
        }
        assert(best < lanes->count); /* it fits */
        int64_t taken = best_count < left ? best_count : left;
        profile_add(&lanes->items[best].profile, from_us, until_us, -taken);
        if (demand->at_once)
            lanes->items[best].idle -= taken;
        shares[best] = (uint32_t)taken;
        left -= taken;
    }
}

bool lanes_are_alike(const struct lanes *a, const struct lanes *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].domain != b->items[i].domain ||
            a->items[i].windows != b->items[i].windows ||
            a->items[i].window_count != b->items[i].window_count)
            return false;
    return true;
}

bool lanes_retake(struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                  const uint32_t *shares)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (shares[i] && lane_available(&lanes->items[i], demand, from_us) < shares[i])
            return false;
    for (size_t i = 0; i < lanes->count; i++)
        if (shares[i])
            profile_add(&lanes->items[i].profile, from_us, later_us(from_us, demand->span_us),
                        -(int64_t)shares[i]);
    return true;
}

void lanes_give_back(struct lanes *lanes, const struct lane_demand *demand, int64_t from_us,
                     const uint32_t *shares)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (shares[i])
            profile_add(&lanes->items[i].profile, from_us, later_us(from_us, demand->span_us),
                        shares[i]);
}

/* ---- why not now ---- */

/* So many are idle in the lanes of some domain, whatever their windows. */
static bool is_enough(const struct lanes *lanes, size_t first, size_t end, uint32_t systems)
{
    int64_t idle = 0;

    for (size_t i = first; i < end; i++)
        idle += lanes->items[i].idle;
    return idle >= systems;
}

/* What a window says about a job that would start now and end at its edge. */
static void consider(const struct lanes *lanes, size_t first, size_t end,
                     const struct lane_demand *demand, const struct lane_window *window,
                     struct lane_obstacle *best)
{
    bool within = demand->reservation && window->reservation == demand->reservation;
    int64_t edge_us = within ? window->until_us : window->from_us;
    struct lane_demand shorter = *demand;

    shorter.span_us = edge_us - lanes->now_us;
    if (edge_us > lanes->now_us && shorter.span_us > best->span_us &&
        room(lanes, first, end, &shorter, lanes->now_us) >= demand->systems)
        *best = (struct lane_obstacle){ shorter.span_us, edge_us, window->reservation };
    /* Nothing could start now: when that may be otherwise. */
    int64_t chance_us = within ? window->from_us : window->until_us;
    if (!best->span_us && chance_us > lanes->now_us && chance_us < best->edge_us &&
        (demand->reservation ? within : window->from_us <= lanes->now_us))
        *best = (struct lane_obstacle){ 0, chance_us, window->reservation };
}

bool lanes_obstacle(const struct lanes *lanes, const struct lane_demand *demand,
                    struct lane_obstacle *ret)
{
    bool found = false;

    *ret = (struct lane_obstacle){ 0, INT64_MAX, demand->reservation };
    for (size_t first = 0, end; first < lanes->count; first = end) {
        end = domain_end(lanes, first);
        if (room(lanes, first, end, demand, lanes->now_us) >= demand->systems)
            return false;
        if (!is_enough(lanes, first, end, demand->systems))
            continue;
        found = true;
        for (size_t i = first; i < end; i++)
            for (size_t at = 0; at < lanes->items[i].window_count; at++)
                consider(lanes, first, end, demand, &lanes->items[i].windows[at], ret);
    }
    return found;
}

int64_t lanes_next_edge(const struct lanes *lanes, int64_t us)
{
    int64_t next_us = INT64_MAX;

    for (size_t i = 0; i < lanes->count; i++)
        for (size_t at = 0; at < lanes->items[i].window_count; at++) {
            const struct lane_window *window = &lanes->items[i].windows[at];
            if (window->from_us > us && window->from_us < next_us)
                next_us = window->from_us;
            if (window->until_us > us && window->until_us < next_us)
                next_us = window->until_us;
        }
    return next_us;
}
