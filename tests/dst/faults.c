/* What goes wrong, and when. Each seed has each kind of fault or not, with p = 1/2, and a pace of
 * its own: so that some runs are all crashes, and some have one fault in a long quiet. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

const char *const fault_names[FAULTS] = {
    [FAULT_CONTROLLER_CRASH] = "controller-crash",
    [FAULT_HOST_CRASH] = "host-crash",
    [FAULT_SYSTEM_CRASH] = "system-crash",
    [FAULT_LINK_RESET] = "link-reset",
    [FAULT_PARTITION] = "partition",
    [FAULT_DUPLICATE] = "duplicate",
    [FAULT_REORDER] = "reorder",
    [FAULT_TORN_WRITE] = "torn-write",
    [FAULT_WRITE_ERROR] = "write-error",
    [FAULT_CORRUPT] = "corrupt",
    [FAULT_MANIFEST_ERROR] = "manifest-error",
    [FAULT_DELETE_ERROR] = "delete-error",
    [FAULT_JOURNAL_FULL] = "journal-full",
    [FAULT_LOST_REPLY] = "lost-reply",
    [FAULT_CONTROLLER_FREEZE] = "controller-freeze",
    [FAULT_HOST_FREEZE] = "host-freeze",
    [FAULT_ONE_WAY] = "one-way",
    [FAULT_DELAY] = "delay",
    [FAULT_UNREADABLE] = "unreadable",
    [FAULT_WEBHOOK] = "webhook",
};

const char *const guard_names[GUARDS] = {
    [GUARD_FENCE] = "fence",
    [GUARD_DURABLE] = "durable",
    [GUARD_LEASE] = "lease",
    [GUARD_DIGEST] = "digest",
};

void faults_init(struct world *world)
{
    for (int i = 0; i < FAULTS; i++)
        world->faults[i] = world_one_in(world, 2);
    /* Log-uniform between 1/16 s and 8 s. */
    world->fault_every_us = (SECOND_US / 16) << world_below(world, 8);
}

static void system_order(struct world *world, unsigned number, Wafer__InjectFault__Kind kind,
                         int64_t span_us)
{
    const struct host *host = &world->hosts[number];
    Wafer__InjectFault fault = WAFER__INJECT_FAULT__INIT;
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__Duration span = WAFER__DURATION__INIT;
    unsigned system = (unsigned)world_below(world, host->wafers + host->gpus);
    char name[16];

    snprintf(name, sizeof(name), "%s%u", host->prefixes[system >= host->wafers],
             (system >= host->wafers ? system - host->wafers : system) + 1);
    world_trace(world, "system %s %s", name, kind ? "heals" : "crashes");
    span.us = span_us;
    fault.system = name;
    fault.kind = kind;
    fault.for_ = span_us ? &span : NULL;
    message.fault = &fault;
    host_order(world, number, &message);
}

static void journal_full(struct world *world, bool full)
{
    struct input input = { .type = full ? INPUT_JOURNAL_FULL : INPUT_JOURNAL_ROOM };

    if (!world->controller.core || world->controller.full == full)
        return;
    if (world->controller.frozen) {
        if (!full)
            world_add(world, FAULT_ENDS, world->controller.thaw_us - world->now_us)->number =
                FAULT_JOURNAL_FULL;
        return;
    }
    world_trace(world, "the journal %s", full ? "is full" : "has room again");
    world->controller.full = full;
    controller_step(world, &input);
}

static void corrupt_one(struct world *world)
{
    if (!world->vault.count)
        return;
    struct vault_file *file = &world->vault.files[world_below(world, world->vault.count)];
    struct agent_shard *shard = &file->shards[world_below(world, file->count)];
    if (!shard->bytes || !shard->length)
        return;
    file->harmed = true;
    shard->bytes[world_below(world, shard->length)] ^= (uint8_t)(1 << world_below(world, 8));
    world_trace(world, "job %llu step %llu epoch %llu rots", (unsigned long long)file->job,
                (unsigned long long)file->step, (unsigned long long)file->epoch);
}

/* Log-uniform, from a twentieth of a second to about two minutes. */
static int64_t freeze_us(struct world *world)
{
    return world_between(world, 1, (50 * MS_US) << world_below(world, 12));
}

static void strike(struct world *world, enum fault fault, unsigned host)
{
    switch (fault) {
    case FAULT_CONTROLLER_CRASH:
        if (world->controller.core)
            controller_crash(world);
        break;
    case FAULT_HOST_CRASH: host_crash(world, host); break;
    case FAULT_SYSTEM_CRASH:
        system_order(world, host,
                     world_one_in(world, 3) ? WAFER__INJECT_FAULT__KIND__HEAL
                                            : WAFER__INJECT_FAULT__KIND__CRASH,
                     world_one_in(world, 4) ? 0 : world_between(world, 1, 20 * SECOND_US));
        break;
    case FAULT_LINK_RESET:
        if (world->hosts[host].link) {
            world_trace(world, "link %llu is reset", (unsigned long long)world->hosts[host].link);
            link_reset(world, world->hosts[host].link);
        }
        break;
    case FAULT_PARTITION:
        host_partition(world, host, world_between(world, MS_US, 3 * LEASE_US));
        break;
    case FAULT_CONTROLLER_FREEZE: controller_freeze(world, freeze_us(world)); break;
    case FAULT_HOST_FREEZE: host_freeze(world, host, freeze_us(world)); break;
    case FAULT_ONE_WAY:
        if (world->hosts[host].link)
            link_cut_one_way(world, world->hosts[host].link, (enum direction)world_below(world, 2),
                             world_between(world, MS_US, 3 * LEASE_US));
        break;
    case FAULT_CORRUPT: corrupt_one(world); break;
    case FAULT_JOURNAL_FULL:
        journal_full(world, true);
        world_add(world, FAULT_ENDS, world_between(world, MS_US, 10 * SECOND_US))->number = fault;
        break;
    default: break;
    }
}

void fault_happens(struct world *world)
{
    if (world->calm)
        return;
    enum fault fault = (enum fault)world_below(world, STRIKES);
    unsigned host = (unsigned)world_below(world, world->host_count);
    if (world->faults[fault]) {
        world->fault_counts[fault]++;
        strike(world, fault, host);
    }
    if (world_one_in(world, 4))
        controller_snapshot(world);
    world_add(world, FAULT, world_between(world, 1, 2 * world->fault_every_us));
}

void fault_ends(struct world *world, const struct event *event)
{
    if (event->number == FAULT_JOURNAL_FULL)
        journal_full(world, false);
    else if (event->number == FAULT_HOST_FREEZE && event->life == world->hosts[event->host].life)
        host_thaw(world, event->host);
    else if (event->number == FAULT_CONTROLLER_FREEZE && event->life == world->controller.life)
        controller_thaw(world);
}

void faults_heal(struct world *world)
{
    journal_full(world, false);
    for (unsigned i = 0; i < world->host_count; i++) {
        struct host *host = &world->hosts[i];
        Wafer__InjectFault fault = WAFER__INJECT_FAULT__INIT;
        Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
        char name[16];
        if (host->partition_end_us > world->now_us)
            host->partition_end_us = world->now_us;
        fault.kind = WAFER__INJECT_FAULT__KIND__HEAL;
        fault.system = name;
        message.fault = &fault;
        for (unsigned system = 0; system < host->wafers + host->gpus; system++) {
            snprintf(name, sizeof(name), "%s%u", host->prefixes[system >= host->wafers],
                     (system >= host->wafers ? system - host->wafers : system) + 1);
            host_order(world, i, &message);
        }
    }
}
