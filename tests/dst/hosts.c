/* The processes that host systems, and the links between them and the controller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/job.h"
#include "world.h"

#define SHARDS_MAX   16
#define WRITE_MAX_US (300 * MS_US)

/* ---- links ---- */

struct link *link_get(struct world *world, uint64_t number)
{
    return &world->links[number - 1];
}

static uint64_t link_open(struct world *world, unsigned host)
{
    ARRAY_RESERVE(world->links, world->link_count, world->link_capacity);
    world->links[world->link_count++] =
        (struct link){ .host = host, .agent_up = true, .controller_up = true };
    return world->link_count;
}

/* Whatever is under way on it may arrive or not; the two sides learn of it when they do. */
void link_reset(struct world *world, uint64_t number)
{
    struct link *link = link_get(world, number);

    if (world_one_in(world, 2))
        link->cut[TO_THE_CONTROLLER] = link->cut[TO_THE_AGENT] = true;
    if (link->agent_up)
        world_add(world, AGENT_CLOSED, world_between(world, 0, 50 * MS_US))->number = number;
    if (link->controller_up)
        world_add(world, LINK_CLOSED, world_between(world, 0, 200 * MS_US))->number = number;
}

void link_cut_one_way(struct world *world, uint64_t number, enum direction way, int64_t span_us)
{
    struct link *link = link_get(world, number);

    world_trace(world, "link %llu carries nothing to the %s for %lld ms",
                (unsigned long long)number, way == TO_THE_AGENT ? "agent" : "controller",
                (long long)(span_us / MS_US));
    if (world_one_in(world, 2)) { /* what is sent meanwhile arrives late */
        if (link->last_us[way] < world->now_us + span_us)
            link->last_us[way] = world->now_us + span_us;
        return;
    }
    link->cut[way] = true;
    world_add(world, AGENT_CLOSED, span_us)->number = number;
    world_add(world, LINK_CLOSED, span_us)->number = number;
}

static void send_bytes(struct world *world, enum event_kind kind, uint64_t number,
                       const ProtobufCMessage *message)
{
    struct link *link = link_get(world, number);
    int64_t *last_us = &link->last_us[kind == TO_AGENT];
    int64_t most_us = world_one_in(world, 20) ? DELAY_MAX_US : 5 * MS_US;
    if (world_faulty(world, FAULT_DELAY, 50))
        most_us = 4 * LEASE_US;
    int64_t due_us = world->now_us + world_between(world, 50, most_us);
    unsigned copies = world_faulty(world, FAULT_DUPLICATE, 10) ? 2 : 1;

    /* The first message comes first; others may overtake each other, if so much is wrong. */
    if (!link->first_us && kind == TO_CONTROLLER)
        link->first_us = due_us;
    if (kind == TO_CONTROLLER && due_us < link->first_us)
        due_us = link->first_us;
    if (due_us < *last_us && !world_faulty(world, FAULT_REORDER, 5))
        due_us = *last_us;
    if (due_us > *last_us)
        *last_us = due_us;
    for (; copies > 0; copies--) {
        struct event *event = world_add(world, kind, due_us - world->now_us);
        event->number = number;
        event->length = protobuf_c_message_get_packed_size(message);
        event->bytes = memory_new(event->length);
        protobuf_c_message_pack(message, event->bytes);
        due_us += world_between(world, 0, DELAY_MAX_US / 2);
    }
}

void link_to_agent(struct world *world, uint64_t number, const Wafer__ToAgent *message)
{
    send_bytes(world, TO_AGENT, number, &message->base);
}

/* ---- the process ---- */

static void agent_carry_out(struct world *world, unsigned number, struct agent_effects *effects)
{
    struct host *host = &world->hosts[number];

    for (size_t i = 0; i < effects->count; i++) {
        struct agent_effect *effect = &effects->items[i];
        switch (effect->type) {
        case AGENT_SEND:
            if (effect->message->report)
                SET_FIELD(effect->message->report, sent_us,
                          lease_stamp(&host->lease, world->now_us));
            if (host->link)
                send_bytes(world, TO_CONTROLLER, host->link, &effect->message->base);
            break;
        case AGENT_WRITE:
        case AGENT_READ: {
            struct event *event =
                world_add(world, IO_DONE, world_between(world, 100, WRITE_MAX_US));
            event->host = number;
            event->life = host->life;
            event->io = *effect;
            *effect = (struct agent_effect){ .type = AGENT_LOG };
            break;
        }
        case AGENT_LOG: break;
        }
    }
    agent_effects_clear(effects);
}

/* What runs there, by the word of the agent itself. */
static void look(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];
    struct agent_effects effects = { NULL, 0, 0 };

    struct running before[ELEMENTS(host->running)];
    size_t before_count = host->running_count;
    memcpy(before, host->running, sizeof(before));
    host->running_count = 0;
    agent_on_heartbeat(host->agent, world->now_us, &effects);
    struct agent_effect *last = &effects.items[effects.count - 1];
    const Wafer__Report *report = last->message->report;
    for (size_t i = 0; i < report->n_running && i < ELEMENTS(host->running); i++) {
        const Wafer__RunningJob *running = report->running[i];
        /* A start is obeyed once: nothing of one epoch is done again. */
        for (size_t k = 0; k < before_count; k++)
            if (before[k].job == running->job && before[k].epoch == running->fence->epoch &&
                before[k].step > running->step)
                world_fail(world, "job %llu epoch %llu goes back from step %llu to %llu",
                           (unsigned long long)running->job, (unsigned long long)before[k].epoch,
                           (unsigned long long)before[k].step, (unsigned long long)running->step);
        host->running[host->running_count++] =
            (struct running){ running->job, running->fence->epoch, running->step };
    }
    host->open_count = report->n_ended + report->n_checkpoints;
    wafer__to_controller__free_unpacked(last->message, NULL);
    effects.count--;
    agent_carry_out(world, number, &effects);
}

static void after(struct world *world, unsigned number, struct agent_effects *effects)
{
    agent_carry_out(world, number, effects);
    look(world, number);
}

/* I2: of each job one epoch at most is alive anywhere. A host that is frozen does nothing. */
void host_check(struct world *world)
{
    for (unsigned a = 0; a < world->host_count; a++)
        for (unsigned b = a; b < world->host_count; b++)
            for (size_t i = 0; !world->hosts[a].frozen && !world->hosts[b].frozen &&
                               i < world->hosts[a].running_count;
                 i++)
                for (size_t k = a == b ? i + 1 : 0; k < world->hosts[b].running_count; k++)
                    if (world->hosts[a].running[i].job == world->hosts[b].running[k].job)
                        world_fail(world, "job %llu runs twice: epoch %llu on %s, %llu on %s",
                                   (unsigned long long)world->hosts[a].running[i].job,
                                   (unsigned long long)world->hosts[a].running[i].epoch,
                                   world->hosts[a].name,
                                   (unsigned long long)world->hosts[b].running[k].epoch,
                                   world->hosts[b].name);
}

void host_start(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];
    char boot_id[32];
    const struct agent_pool pools[] = {
        { "wafer", host->prefixes[0], world->platforms[0], host->wafers },
        { "gpu", host->prefixes[1], world->platforms[1], host->gpus },
    };

    if (host->agent)
        return;
    host->life++;
    snprintf(boot_id, sizeof(boot_id), "%s-%llu", host->name, (unsigned long long)host->life);
    host->agent = agent_new(&(struct agent_config){ .host = host->name,
                                                    .boot_id = boot_id,
                                                    .pools = pools,
                                                    .pool_count = 2,
                                                    .seed = world->seed,
                                                    .filler_bytes = 8,
                                                    .progress_us = SECOND_US / 2 });
    host->lease = (struct lease){ 0 };
    host->link = 0;
    world_trace(world, "%s starts: %s", host->name, boot_id);
    struct event *event = world_add(world, CONNECT, world_between(world, 0, 100 * MS_US));
    event->host = number;
    event->life = host->life;
}

void host_crash(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];

    if (!host->agent)
        return;
    world_trace(world, "%s crashes", host->name);
    for (size_t i = 0; i < world->heap_count; i++) {
        struct event *event = &world->heap[i];
        if (event->kind == IO_DONE && event->host == number && event->life == host->life &&
            event->io.type == AGENT_WRITE && world_faulty(world, FAULT_TORN_WRITE, 2))
            vault_write(&world->vault, &event->io, world_below(world, event->io.shard_count));
    }
    host->agent = agent_free(host->agent);
    host->life++;
    host->frozen = false;
    host->running_count = 0;
    if (host->link) {
        link_get(world, host->link)->agent_up = false;
        link_reset(world, host->link);
    }
    host->link = 0;
    host->welcomed = false;
    world_add(world, HOST_START,
              world_between(world, MS_US, world_one_in(world, 3) ? 4 * LEASE_US : SECOND_US / 2))
        ->host = number;
}

void host_freeze(struct world *world, unsigned number, int64_t span_us)
{
    struct host *host = &world->hosts[number];

    if (!host->agent || host->frozen)
        return;
    world_trace(world, "%s is frozen for %lld ms", host->name, (long long)(span_us / MS_US));
    host->frozen = true;
    host->thaw_us = world->now_us + span_us;
    struct event *event = world_add(world, FAULT_ENDS, span_us);
    event->number = FAULT_HOST_FREEZE;
    event->host = number;
    event->life = host->life;
}

/* It looks at its lease before anything else. */
void host_thaw(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];

    host->frozen = false;
    world_trace(world, "%s goes on", host->name);
    if (host_next(world, number) <= world->now_us)
        host_time(world, number);
}

/* The agent's side of its link is gone: it makes another. */
static void lose_link(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];

    link_get(world, host->link)->agent_up = false;
    host->link = 0;
    host->welcomed = false;
    struct event *event = world_add(world, CONNECT, world_between(world, MS_US, SECOND_US / 2));
    event->host = number;
    event->life = host->life;
}

static void connect(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];
    struct agent_effects effects = { NULL, 0, 0 };

    if (host->link)
        return;
    if (!world->controller.core || host->partition_end_us > world->now_us) {
        struct event *event = world_add(world, CONNECT, world_between(world, MS_US, SECOND_US / 2));
        event->host = number;
        event->life = host->life;
        return;
    }
    host->link = link_open(world, number);
    world_trace(world, "%s makes link %llu", host->name, (unsigned long long)host->link);
    agent_on_link(host->agent, world->now_us, &effects);
    after(world, number, &effects);
    struct event *event = world_add(world, HEARTBEAT, LEASE_US / 4);
    event->host = number;
    event->number = host->link;
}

static void from_controller(struct world *world, struct event *event)
{
    struct link *link = link_get(world, event->number);
    struct host *host = &world->hosts[link->host];
    struct agent_effects effects = { NULL, 0, 0 };

    if (!link->agent_up || link->cut[TO_THE_AGENT] || !host->agent || host->link != event->number)
        return;
    Wafer__ToAgent *message = wafer__to_agent__unpack(NULL, event->length, event->bytes);
    if (message->welcome) {
        host->welcomed = true;
        lease_grant(&host->lease, message->welcome->lease_us);
        lease_renew(&host->lease, &message->welcome->echo_us, world->now_us);
    }
    if (message->beat && host->welcomed)
        lease_renew(&host->lease, &message->beat->echo_us, world->now_us);
    if (host->welcomed && host->lease.runs) {
        if (message->start)
            world_trace(world, "to %s: start job %llu epoch %llu", host->name,
                        (unsigned long long)message->start->job,
                        (unsigned long long)message->start->fence->epoch);
        else if (message->stop)
            world_trace(world, "to %s: stop job %llu epoch %llu, %s%s", host->name,
                        (unsigned long long)message->stop->job,
                        (unsigned long long)message->stop->fence->epoch,
                        cause_name(message->stop->cause), message->stop->now ? ", now" : "");
        agent_on_message(host->agent, world->now_us, message, &effects);
        after(world, link->host, &effects);
    }
    wafer__to_agent__free_unpacked(message, NULL);
}

/* A fault of a system, or a person at the machine itself. */
void host_order(struct world *world, unsigned number, const Wafer__ToAgent *message)
{
    struct agent_effects effects = { NULL, 0, 0 };

    if (!world->hosts[number].agent || world->hosts[number].frozen)
        return;
    agent_on_message(world->hosts[number].agent, world->now_us, message, &effects);
    after(world, number, &effects);
}

void host_partition(struct world *world, unsigned number, int64_t span_us)
{
    struct host *host = &world->hosts[number];

    world_trace(world, "%s is cut off for %lld ms", host->name, (long long)(span_us / MS_US));
    host->partition_end_us = world->now_us + span_us;
    if (!host->link)
        return;
    struct link *link = link_get(world, host->link);
    link->cut[TO_THE_CONTROLLER] = link->cut[TO_THE_AGENT] = true;
    /* In the end one side says something that nobody takes. */
    world_add(world, AGENT_CLOSED, span_us)->number = host->link;
    world_add(world, LINK_CLOSED, span_us)->number = host->link;
}

/* ---- reads and writes ---- */

static void write_done(struct world *world, struct host *host, const struct agent_effect *io,
                       struct agent_effects *effects)
{
    Wafer__ShardState states[SHARDS_MAX], *pointers[SHARDS_MAX];
    struct digest digests[SHARDS_MAX];
    size_t count = io->shard_count;

    if (world_faulty(world, FAULT_WRITE_ERROR, 4)) {
        vault_write(&world->vault, io, world_below(world, count));
        agent_on_written(host->agent, world->now_us, io->job, io->term, io->epoch, io->step,
                         -ENOSPC, "no room in the vault", NULL, 0, effects);
        return;
    }
    if (count > SHARDS_MAX)
        world_fail(world, "%zu shards", count);
    for (size_t i = 0; i < count; i++) {
        wafer__shard_state__init(&states[i]);
        digest_of(io->shards[i].bytes, io->shards[i].length, &digests[i]);
        states[i].bytes = (int64_t)io->shards[i].length;
        states[i].digest = (ProtobufCBinaryData){ DIGEST_BYTES, digests[i].bytes };
        pointers[i] = &states[i];
    }
    struct vault_file *file = vault_write(&world->vault, io, count);
    if (world_faulty(world, FAULT_CORRUPT, 10)) {
        file->harmed = true;
        file->shards[0].bytes[world_below(world, file->shards[0].length)] ^= 1;
        world_trace(world, "a write of job %llu step %llu goes wrong", (unsigned long long)io->job,
                    (unsigned long long)io->step);
    }
    agent_on_written(host->agent, world->now_us, io->job, io->term, io->epoch, io->step, 0, NULL,
                     pointers, count, effects);
}

/* What an attempt starts from stays until it has been read. */
static void check_gone(struct world *world, const struct agent_effect *read)
{
    const struct ledger_job *job = ledger_job(&world->controller.ledger, read->job);

    if (job && !job->ended && job->state->n_systems && job->state->epoch == read->epoch)
        world_fail(world, "job %llu epoch %llu is to start from step %llu, which was deleted",
                   (unsigned long long)read->job, (unsigned long long)read->epoch,
                   (unsigned long long)read->step);
}

static void io_done(struct world *world, struct event *event)
{
    struct host *host = &world->hosts[event->host];
    struct agent_effects effects = { NULL, 0, 0 };
    const struct agent_effect *io = &event->io;
    const struct agent_shard *shards = NULL;
    size_t count = 0;

    if (io->type == AGENT_WRITE) {
        write_done(world, host, io, &effects);
    } else {
        int r = world_read_error(world, vault_read(&world->vault, io->resume, &shards, &count));
        if (r == -ENOENT)
            check_gone(world, io);
        agent_on_read(host->agent, world->now_us, io->job, io->term, io->epoch, r,
                      r < 0 ? strerror(-r) : NULL, shards, count, &effects);
    }
    world_trace(world, "%s: %s of job %llu step %llu is done", host->name,
                io->type == AGENT_WRITE ? "write" : "read", (unsigned long long)io->job,
                (unsigned long long)io->step);
    after(world, event->host, &effects);
}

/* ---- events ---- */

void host_event(struct world *world, struct event *event)
{
    if (event->kind == TO_AGENT || event->kind == AGENT_CLOSED)
        event->host = link_get(world, event->number)->host;
    struct host *host = &world->hosts[event->host];
    struct agent_effects effects = { NULL, 0, 0 };

    if (host->frozen) {
        world_put_off(world, event, host->thaw_us);
        return;
    }
    switch (event->kind) {
    case TO_AGENT: from_controller(world, event); break;
    case AGENT_CLOSED:
        if (world->hosts[event->host].link == event->number)
            lose_link(world, event->host);
        break;
    case CONNECT:
        if (host->agent && event->life == host->life)
            connect(world, event->host);
        break;
    case HEARTBEAT:
        if (host->link != event->number)
            return;
        agent_on_heartbeat(host->agent, world->now_us, &effects);
        after(world, event->host, &effects);
        struct event *next = world_add(world, HEARTBEAT, LEASE_US / 4);
        next->host = event->host;
        next->number = event->number;
        break;
    case IO_DONE:
        if (host->agent && event->life == host->life)
            io_done(world, event);
        break;
    case HOST_START: host_start(world, event->host); break;
    default: break;
    }
}

int64_t host_next(const struct world *world, unsigned number)
{
    const struct host *host = &world->hosts[number];

    if (!host->agent || host->frozen)
        return INT64_MAX;
    int64_t agent_us = agent_next_us(host->agent), lease_us = lease_due_us(&host->lease);
    return agent_us < lease_us ? agent_us : lease_us;
}

void host_time(struct world *world, unsigned number)
{
    struct host *host = &world->hosts[number];
    struct agent_effects effects = { NULL, 0, 0 };

    if (lease_due_us(&host->lease) <= world->now_us) {
        world_trace(world, "%s: its lease ends, %zu jobs stop", host->name,
                    agent_running(host->agent));
        lease_end(&host->lease);
        agent_on_lease_end(host->agent, world->now_us, &effects);
        after(world, number, &effects);
        if (host->link) {
            world_add(world, LINK_CLOSED, world_between(world, 0, 50 * MS_US))->number = host->link;
            lose_link(world, number);
        }
        return;
    }
    agent_on_time(host->agent, world->now_us, &effects);
    after(world, number, &effects);
}
