#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#define SAME_TIME_MAX 20000         /* so many events without time passing: it runs in circles */
#define CALM_US       (2 * HOUR_US) /* after the last fault every job has ended by then */

/* ---- chance ---- */

uint64_t world_below(struct world *world, uint64_t bound)
{
    return random_below(&world->random, bound);
}

int64_t world_between(struct world *world, int64_t low, int64_t high)
{
    return low + (int64_t)world_below(world, (uint64_t)(high - low) + 1);
}

bool world_one_in(struct world *world, uint64_t n)
{
    return world_below(world, n) == 0;
}

bool world_faulty(struct world *world, enum fault fault, uint64_t n)
{
    bool is = !world->calm && world->faults[fault] && world_one_in(world, n);

    world->fault_counts[fault] += is;
    return is;
}

int world_read_error(const struct world *world, int error)
{
    return error == -EBADMSG && world->without == GUARD_DIGEST ? 0 : error;
}

/* ---- what happened ---- */

void world_trace(struct world *world, const char *format, ...)
{
    char *line = world->trace[world->trace_count++ % TRACE_LINES];
    va_list arguments;
    int64_t us = world->now_us - START_US;

    int length = snprintf(line, TRACE_WIDTH, "%6lld.%06lld  ", (long long)(us / SECOND_US),
                          (long long)(us % SECOND_US));
    va_start(arguments, format);
    vsnprintf(line + length, TRACE_WIDTH - (size_t)length, format, arguments);
    va_end(arguments);
    digest_add(&world->digest, line, strlen(line));
    if (world->verbose)
        printf("# %s\n", line);
}

void world_dump(const struct world *world)
{
    unsigned long first = world->trace_count > TRACE_LINES ? world->trace_count - TRACE_LINES : 0;

    for (unsigned long i = first; i < world->trace_count; i++)
        fprintf(stderr, "# %s\n", world->trace[i % TRACE_LINES]);
    fprintf(stderr,
            "# seed %llu fails after %lu events; again:\n# tests/dst/dst --seed %llu --steps %lu",
            (unsigned long long)world->seed, world->events, (unsigned long long)world->seed,
            world->step_limit);
    if (world->without != GUARDS)
        fprintf(stderr, " --without %s", guard_names[world->without]);
    fprintf(stderr, " --verbose\n");
}

void world_fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    world_dump(world);
    va_start(arguments, format);
    fprintf(stderr, "# ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    fflush(NULL);
    _exit(1);
}

/* ---- what is to come ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void swap(struct event *a, struct event *b)
{
    struct event c = *a;

    *a = *b;
    *b = c;
}

static size_t sift_up(struct event *heap, size_t i)
{
    for (; i > 0 && is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
    return i;
}

struct event *world_add(struct world *world, enum event_kind kind, int64_t delay_us)
{
    ARRAY_RESERVE(world->heap, world->heap_count, world->heap_capacity);
    world->heap[world->heap_count] =
        (struct event){ .due_us = world->now_us + delay_us, .order = world->order++, .kind = kind };
    return &world->heap[sift_up(world->heap, world->heap_count++)];
}

void world_put_off(struct world *world, struct event *event, int64_t until_us)
{
    struct event *later = world_add(world, event->kind, until_us - world->now_us);
    int64_t due_us = later->due_us;
    uint64_t order = later->order;

    *later = *event;
    later->due_us = due_us;
    later->order = order;
    *event = (struct event){ .kind = event->kind };
}

static struct event take_first(struct world *world)
{
    struct event *heap = world->heap, first = heap[0];
    size_t i = 0;

    heap[0] = heap[--world->heap_count];
    for (size_t child; (child = 2 * i + 1) < world->heap_count; i = child) {
        if (child + 1 < world->heap_count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &heap[i]))
            break;
        swap(&heap[child], &heap[i]);
    }
    return first;
}

static void event_done(struct event *event)
{
    struct agent_effects io = { memory_copy(&event->io, sizeof(event->io)), 1, 1 };
    struct effects work = { memory_copy(&event->work, sizeof(event->work)), 1, 1 };

    agent_effects_clear(&io);
    effects_clear(&work);
    free(event->bytes);
}

static void handle(struct world *world, struct event *event)
{
    switch (event->kind) {
    case TO_CONTROLLER:
    case LINK_CLOSED:
    case SYNCED:
    case WORK_DONE:
    case WEBHOOK_ANSWERS:
    case BEAT:
    case ASKED:
    case CONTROLLER_START: controller_event(world, event); break;
    case TO_AGENT:
    case AGENT_CLOSED:
    case CONNECT:
    case HEARTBEAT:
    case IO_DONE:
    case HOST_START: host_event(world, event); break;
    case CLIENT_ACTS: client_acts(world, (unsigned)event->number); break;
    case FAULT: fault_happens(world); break;
    case FAULT_ENDS: fault_ends(world, event); break;
    }
}

/* ---- the loop ---- */

/* The earliest of all that is due: hosts first, then the controller's timers, then events. */
void world_step(struct world *world)
{
    int64_t due_us = world->heap[0].due_us, controller_us, host_us;
    unsigned first = HOSTS_MAX; /* whose turn it is; HOSTS_MAX: an event's */

    controller_next(world, &controller_us);
    if (controller_us <= due_us) {
        due_us = controller_us;
        first = HOSTS_MAX + 1;
    }
    for (unsigned i = 0; i < world->host_count; i++) {
        host_us = host_next(world, i);
        if (host_us <= due_us) {
            due_us = host_us;
            first = i;
        }
    }
    if (due_us > world->now_us)
        world->now_us = due_us;
    world->events++;
    if (first < HOSTS_MAX) {
        host_time(world, first);
    } else if (first > HOSTS_MAX) {
        controller_timer(world);
    } else {
        struct event event = take_first(world);
        handle(world, &event);
        event_done(&event);
    }
    host_check(world);
}

void world_init(struct world *world, uint64_t seed, unsigned long limit, enum guard without,
                bool verbose)
{
    *world = (struct world){ .seed = seed,
                             .step_limit = limit,
                             .without = without,
                             .verbose = verbose,
                             .now_us = START_US,
                             .next_request = 1,
                             .next_key = 1 };
    digest_begin(&world->digest);
    random_init(&world->random, random_mix(seed));
    world->platforms[0] = platform_make("wafer-test", WAFER__PLATFORM__TARGET__wafer);
    world->platforms[1] = platform_make("gpu-test", WAFER__PLATFORM__TARGET__gpu);
    world->host_count = (unsigned)world_between(world, 1, HOSTS_MAX);
    faults_init(world);
    controller_start(world);
    for (unsigned i = 0; i < world->host_count; i++) {
        struct host *host = &world->hosts[i];
        snprintf(host->name, sizeof(host->name), "host%u", i);
        snprintf(host->prefixes[0], sizeof(host->prefixes[0]), "w%c", 'a' + (int)i);
        snprintf(host->prefixes[1], sizeof(host->prefixes[1]), "g%c", 'a' + (int)i);
        host->wafers = (unsigned)world_between(world, 1, 4);
        host->gpus = (unsigned)world_below(world, 3);
        host_start(world, i);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        world->clients[i].uid = i ? 1000 + i : 0;
        world_add(world, CLIENT_ACTS, world_between(world, 0, SECOND_US))->number = i;
    }
    world_add(world, FAULT, world_between(world, 0, world->fault_every_us));
    world_add(world, BEAT, LEASE_US / 4);
}

static bool somebody_is_frozen(const struct world *world)
{
    bool frozen = world->controller.frozen;

    for (unsigned i = 0; i < world->host_count; i++)
        frozen |= world->hosts[i].frozen;
    return frozen;
}

void world_run(struct world *world)
{
    int64_t began_us = world->now_us, end_us;
    unsigned long at_once = 0;

    while (world->events < world->step_limit) {
        world_step(world);
        at_once = world->now_us == began_us ? at_once + 1 : 0;
        began_us = world->now_us;
        if (at_once > SAME_TIME_MAX)
            world_fail(world, "time stands still");
    }
    world_trace(world, "all is well from here on");
    world->calm = true;
    world->calm_us = INT64_MAX;
    while (somebody_is_frozen(world))
        world_step(world);
    world->calm_us = world->now_us;
    faults_heal(world);
    controller_reload(world);
    end_us = world->now_us + CALM_US;
    for (bool done = false; !done;) {
        world_step(world);
        clients_finish(world, &done);
        if (world->now_us > end_us)
            world_fail(world, "%lld h after the last fault there are jobs that have not ended",
                       CALM_US / HOUR_US);
    }
    clients_check(world);
    watch_finish(world);
    clients_use_old_key(world);
}

void world_done(struct world *world)
{
    for (size_t i = 0; i < world->heap_count; i++)
        event_done(&world->heap[i]);
    free(world->heap);
    for (unsigned i = 0; i < world->host_count; i++)
        agent_free(world->hosts[i].agent);
    controller_done(world);
    clients_done(world);
    watch_done(world);
    vault_model_done(&world->vault);
    map_done(&world->received);
    free(world->links);
    for (int i = 0; i < 2; i++)
        wafer__platform__free_unpacked(world->platforms[i], NULL);
}
