/* The controller's process: the core, its journal on a disk that takes its time, the history, and
 * the workers in the vault. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"
#include "model/job.h"
#include "world.h"

#define LEASE_MARGIN_US (LEASE_US / 2)

/* The rules of a site stay over its restarts. */
static struct schedule_rules rules_of(const struct world *world)
{
    return (struct schedule_rules){ .backfill = (enum schedule_backfill)(world->seed % 4),
                                    .order = (enum schedule_order)(world->seed / 4 % 4),
                                    .depth = world->seed / 12 % 2 ? 3 : 0 };
}

static struct preempt_rules preempt_of(const struct world *world)
{
    static const struct preempt_rules all[] = {
        { 0, 0 }, { 199, 399 }, { 199, 299 }, { 299, 399 }
    };

    return all[world->seed / 7 % 4];
}

/* Of each user; every job of these worlds fits. What a window holds back goes on once all is well.
 */
static struct quota_rules quotas_of(const struct world *world)
{
    static const struct quota_rule all[] = {
        { QUOTA_USER, true, 0, NULL, QUOTA_LIMITS_OF(5) },
        { QUOTA_USER, true, 0, NULL, QUOTA_LIMITS_OF(6) },
    };
    static const struct quota_rule window = { .kind = QUOTA_USER,
                                              .every = true,
                                              .limits = { .systems = 6,
                                                          .pending = QUOTA_UNLIMITED,
                                                          .array = QUOTA_UNLIMITED,
                                                          .limit_max_us = INT64_MAX,
                                                          .system_us = 20 * SECOND_US,
                                                          .system_days = 1,
                                                          .warn_micro = 5000000,
                                                          .budget_micro = 30000000,
                                                          .currency = "EUR",
                                                          .budget_days = 2 } };
    size_t which = world->seed / 5 % 4;

    return (struct quota_rules){ which == 2 && !world->calm ? &window : &all[which % 2],
                                 which < 3 };
}

static struct core *make_core(const struct world *world)
{
    static const struct core_pool pools[] = { { "wafer", "wafer-test", 3600000000, "EUR", 0 },
                                              { "gpu", "gpu-test", 360000000, "EUR", 0 } };
    bool waits = world->without != GUARD_LEASE;
    const struct core_config config = { .pools = pools,
                                        .pool_count = 2,
                                        .lease_us = LEASE_US,
                                        .lease_margin_us = waits ? LEASE_MARGIN_US : -LEASE_US / 2,
                                        .operator_uid = 0,
                                        .schedule = rules_of(world),
                                        .preempt = preempt_of(world),
                                        .webhooks = &webhook,
                                        .webhook_count = 1 };

    struct core *core = core_new(&config);
    const struct quota_rules quotas = quotas_of(world);

    core_set_quotas(core, &quotas);
    return core;
}

static void check_hash(struct world *world, const struct core *core, const uint8_t *wanted,
                       const char *what)
{
    uint8_t hash[32];

    core_hash(core, hash);
    if (memcmp(hash, wanted, sizeof(hash)) != 0)
        world_fail(world, "record %llu: the hash of the state is another one %s",
                   (unsigned long long)core_sequence(core), what);
}

/* ---- the journal ---- */

static Wafer__Record *entry_read(const struct entry *entry)
{
    return wafer__record__unpack(NULL, entry->length, entry->bytes);
}

static void trace_record(struct world *world, const Wafer__Record *record)
{
    world_trace(world, "  %llu %s job %llu%s%s%s%s%s%s", (unsigned long long)record->sequence,
                record_kind_name(record->kind), (unsigned long long)record->job,
                record->job_state ? " " : "",
                record->job_state ? job_state_name(record->job_state->state) : "",
                record->has_cause ? " " : "", record->has_cause ? cause_name(record->cause) : "",
                record->text ? ": " : "", record->text ? record->text : "");
}

static void note(struct world *world, struct ledger *ledger, const Wafer__Record *record)
{
    const char *wrong = ledger_add(ledger, record);

    if (wrong)
        world_fail(world, "record %llu: %s", (unsigned long long)record->sequence, wrong);
}

/* Whoever's job is granted has no more systems than the quota says, after each grant. */
static void check_quota(struct world *world, const struct ledger *ledger,
                        const Wafer__JobState *granted)
{
    const struct quota_rules quotas = quotas_of(world);
    uint64_t used = 0;
    size_t cursor = 0;

    if (!quotas.count)
        return;
    for (struct ledger_job *job; (job = map_next(&ledger->jobs, &cursor));)
        if (job->state->uid == granted->uid && !job->unsure)
            used += job->state->n_systems;
    if (used > quotas.items->limits.systems)
        world_fail(world, "user %u has %llu systems, of at most %u", granted->uid,
                   (unsigned long long)used, quotas.items->limits.systems);
}

static void append(struct world *world, const Wafer__Record *record)
{
    struct controller *controller = &world->controller;
    struct entry *entry;
    struct diag diag;

    ARRAY_RESERVE(controller->journal, controller->count, controller->capacity);
    entry = &controller->journal[controller->count++];
    *entry = (struct entry){ .length = wafer__record__get_packed_size(record),
                             .job = record->array_count > 1 ? 0 : record->job };
    entry->bytes = memory_new(entry->length);
    wafer__record__pack(record, entry->bytes);
    trace_record(world, record);
    if (record->sequence != controller->count)
        world_fail(world, "record %llu follows record %zu", (unsigned long long)record->sequence,
                   controller->count - 1);

    Wafer__Record *read = entry_read(entry);
    if (core_apply(controller->shadow, read, &diag) < 0)
        world_fail(world, "the shadow does not take record %llu: %s",
                   (unsigned long long)record->sequence, diag.text);
    core_hash(controller->shadow, entry->hash);
    note(world, &controller->ledger, read);
    if (read->kind == WAFER__RECORD_KIND__JOB_GRANTED)
        check_quota(world, &controller->ledger, read->job_state);
    wafer__record__free_unpacked(read, NULL);
}

static void sync_begin(struct world *world)
{
    struct controller *controller = &world->controller;

    if (controller->syncing || controller->durable == controller->count)
        return;
    controller->syncing = true;
    struct event *event = world_add(world, SYNCED,
                                    controller->full ? world_between(world, 100 * MS_US, SECOND_US)
                                                     : world_between(world, 50, 20 * MS_US));
    event->number = controller->count;
    event->life = controller->life;
}

static void make_durable(struct world *world, size_t count)
{
    struct controller *controller = &world->controller;

    for (; controller->durable < count; controller->durable++) {
        Wafer__Record *record = entry_read(&controller->journal[controller->durable]);
        note(world, &controller->history, record);
        webhook_check(world, record);
        if (record->kind == WAFER__RECORD_KIND__JOB_ENDED)
            oracle_check(world, ledger_job(&controller->history, record->job));
        wafer__record__free_unpacked(record, NULL);
    }
}

/* ---- effects ---- */

static void work(struct world *world, struct effect *effect)
{
    struct event *event = world_add(world, WORK_DONE, world_between(world, 100, 200 * MS_US));

    event->life = world->controller.life;
    event->work = *effect;
    *effect = (struct effect){ .type = effect->type };
}

static void reply(struct world *world, struct effect *effect)
{
    Wafer__Response nothing = WAFER__RESPONSE__INIT; /* history and logs answer outside the core */

    if (world_faulty(world, FAULT_LOST_REPLY, 5))
        return;
    nothing.id = effect->request;
    client_reply(world, (unsigned)effect->client, effect->request,
                 effect->response ? effect->response : &nothing);
}

static void carry_out(struct world *world, struct effect *effect)
{
    if (effect->key_sequence > world->controller.durable && world->without != GUARD_DURABLE)
        world_fail(world, "an effect leaves before record %llu is durable", /* I17 */
                   (unsigned long long)effect->key_sequence);
    switch (effect->type) {
    case EFFECT_REPLY:
    case EFFECT_HISTORY:
    case EFFECT_LOGS: reply(world, effect); break;
    case EFFECT_SUBSCRIBE: break; /* the reply before it began the stream */
    case EFFECT_CHANGED: watch_sees(world, effect); break;
    case EFFECT_NOTIFY: webhook_send(world, effect); break;
    case EFFECT_CALENDAR: world_fail(world, "nobody made a reservation"); break;
    case EFFECT_STARTED: world_fail(world, "a job of a replay started"); break;
    case EFFECT_AGENT: link_to_agent(world, effect->link, effect->to_agent); break;
    case EFFECT_DROP_LINK: link_reset(world, effect->link); break;
    case EFFECT_COMMIT_MANIFEST:
    case EFFECT_VERIFY:
    case EFFECT_DELETE: work(world, effect); break;
    }
}

static void release(struct world *world)
{
    struct controller *controller = &world->controller;

    while (controller->element_count && (controller->elements[0].records <= controller->durable ||
                                         world->without == GUARD_DURABLE)) {
        struct element element = controller->elements[0];
        memmove(controller->elements, controller->elements + 1,
                --controller->element_count * sizeof(element));
        for (size_t i = 0; i < element.effects.count; i++)
            carry_out(world, &element.effects.items[i]);
        effects_clear(&element.effects);
    }
}

/* ---- a step ---- */

/* I9: what is committed is in the vault, whole, unless a fault took it. */
static void check_vault(struct world *world)
{
    const struct ledger *ledger = &world->controller.ledger;
    size_t cursor = 0;

    for (struct ledger_job *job; (job = map_next(&ledger->jobs, &cursor));)
        for (size_t i = 0; i < job->checkpoint_count; i++) {
            const Wafer__CheckpointState *state = job->checkpoints[i];
            const struct vault_file *file;
            if (state->state != WAFER__CHECKPOINT__STATE__COMMITTED &&
                state->state != WAFER__CHECKPOINT__STATE__VERIFIED)
                continue;
            file = vault_find(&world->vault, state);
            if (!file || (!file->harmed &&
                          vault_check(&world->vault, state, state->manifest_digest.data) < 0))
                world_fail(world, "checkpoint %llu of job %llu, step %llu, is not in the vault",
                           (unsigned long long)state->number, (unsigned long long)state->job,
                           (unsigned long long)state->step);
        }
}

static void after_step(struct world *world, struct records *records, struct effects *effects)
{
    struct controller *controller = &world->controller;
    bool checkpoints = false;

    for (size_t i = 0; i < records->count; i++) {
        append(world, records->items[i]);
        checkpoints |= records->items[i]->checkpoint != NULL;
    }
    core_check(controller->core);
    if (controller->watched)
        watch_check(world, records, effects);
    if (controller->count)
        check_hash(world, controller->core, controller->journal[controller->count - 1].hash,
                   "in the shadow");
    if (checkpoints)
        check_vault(world);
    ARRAY_RESERVE(controller->elements, controller->element_count, controller->element_capacity);
    controller->elements[controller->element_count++] =
        (struct element){ controller->count, *effects };
    records_clear(records);
    sync_begin(world);
    release(world);
}

static bool tells_to_stop(const struct effects *effects, uint64_t job, uint64_t epoch)
{
    for (size_t i = 0; i < effects->count; i++) {
        const struct effect *effect = &effects->items[i];
        if (effect->type == EFFECT_DROP_LINK ||
            (effect->type == EFFECT_AGENT && effect->to_agent->stop &&
             effect->to_agent->stop->job == job && effect->to_agent->stop->fence->epoch == epoch))
            return true;
    }
    return false;
}

/* A host that still runs what it was told to stop may not have heard: it is told again. */
static void check_repeats(struct world *world, const Wafer__Report *report,
                          const struct records *records, const struct effects *effects)
{
    for (size_t i = 0; i < report->n_running && records->count == 0; i++) {
        const Wafer__RunningJob *running = report->running[i];
        const struct ledger_job *job = ledger_job(&world->controller.ledger, running->job);
        if (job && job->state->state == WAFER__JOB__STATE__STOPPING &&
            job->state->epoch == running->fence->epoch &&
            !tells_to_stop(effects, running->job, job->state->epoch))
            world_fail(world, "job %llu runs on, and its host is not told again to stop it",
                       (unsigned long long)running->job);
    }
}

void controller_step(struct world *world, struct input *input)
{
    struct records records = { NULL, 0, 0 };
    struct effects effects = { NULL, 0, 0 };

    world->steps++;
    input->time_us = input->mono_us = world->now_us;
    core_step(world->controller.core, input, &records, &effects);
    if (input->type == INPUT_AGENT && input->agent.message->report)
        check_repeats(world, input->agent.message->report, &records, &effects);
    after_step(world, &records, &effects);
}

void controller_next(const struct world *world, int64_t *ret_us)
{
    int64_t time_us, mono_us;

    *ret_us = INT64_MAX;
    if (!world->controller.core)
        return;
    core_next(world->controller.core, &time_us, &mono_us);
    *ret_us = time_us < mono_us ? time_us : mono_us;
    if (world->controller.frozen)
        *ret_us = INT64_MAX;
    else if (*ret_us < world->controller.timers_from_us)
        *ret_us = world->controller.timers_from_us;
}

void controller_timer(struct world *world)
{
    struct input input = { .type = INPUT_TIMER };

    world_trace(world, "timer");
    controller_step(world, &input);
}

/* What a worker was to do in the vault; `tell`: the controller lives to hear of it. */
static void work_done(struct world *world, struct effect *effect, bool tell)
{
    static const enum input_type verdicts[] = { [EFFECT_COMMIT_MANIFEST] = INPUT_MANIFEST,
                                                [EFFECT_VERIFY] = INPUT_VERIFIED,
                                                [EFFECT_DELETE] = INPUT_DELETED };
    const Wafer__CheckpointState *state = effect->manifest->checkpoint;
    struct digest digest = { { 0 } };
    int error = 0;

    switch (effect->type) {
    case EFFECT_COMMIT_MANIFEST:
        error = world_faulty(world, FAULT_MANIFEST_ERROR, 4)
                    ? -ENOSPC
                    : vault_commit(&world->vault, effect->manifest, &digest);
        break;
    case EFFECT_VERIFY:
        error = vault_check(&world->vault, state,
                            effect->has_manifest_digest ? effect->manifest_digest : NULL);
        error = world_read_error(world, error);
        break;
    default:
        error = world_faulty(world, FAULT_DELETE_ERROR, 3) ? -EIO : 0;
        if (!error)
            vault_remove(&world->vault, state);
    }
    world_trace(world, "vault: %s of job %llu step %llu epoch %llu: %s%s",
                effect->type == EFFECT_COMMIT_MANIFEST ? "manifest"
                : effect->type == EFFECT_VERIFY        ? "verification"
                                                       : "deletion",
                (unsigned long long)effect->job, (unsigned long long)state->step,
                (unsigned long long)state->fence->epoch, error ? strerror(-error) : "done",
                tell ? "" : ", and nobody hears of it");
    if (!tell)
        return;
    struct input input = { .type = verdicts[effect->type],
                           .verdict = { .checkpoint = effect->checkpoint,
                                        .error = error,
                                        .text = error ? strerror(-error) : NULL,
                                        .manifest_digest = digest.bytes } };
    controller_step(world, &input);
    state = ledger_checkpoint(&world->controller.ledger, effect->job, effect->checkpoint);
    if (effect->type == EFFECT_VERIFY && error && state && /* I9 */
        (state->state == WAFER__CHECKPOINT__STATE__COMMITTED ||
         state->state == WAFER__CHECKPOINT__STATE__VERIFIED))
        world_fail(world, "checkpoint %llu of job %llu is bad, and is used",
                   (unsigned long long)effect->checkpoint, (unsigned long long)effect->job);
}

/* ---- freezes ---- */

void controller_freeze(struct world *world, int64_t span_us)
{
    struct controller *controller = &world->controller;

    if (!controller->core || controller->frozen)
        return;
    world_trace(world, "the controller is frozen for %lld ms", (long long)(span_us / MS_US));
    controller->frozen = true;
    controller->thaw_us = world->now_us + span_us;
    controller->timers_from_us = controller->thaw_us + (world_one_in(world, 2) ? 1 : 0);
    struct event *event = world_add(world, FAULT_ENDS, span_us);
    event->number = FAULT_CONTROLLER_FREEZE;
    event->life = controller->life;
}

void controller_thaw(struct world *world)
{
    world_trace(world, "the controller goes on");
    world->controller.frozen = false;
}

/* ---- crash and recovery ---- */

void controller_crash(struct world *world)
{
    struct controller *controller = &world->controller;
    size_t kept = controller->durable;

    world->crashes++;
    for (size_t i = 0; i < world->heap_count; i++) {
        struct event *event = &world->heap[i];
        if (event->life != controller->life)
            continue;
        /* Of what was under way in the vault and on the disk, some will have been done. */
        if (event->kind == WORK_DONE && event->work.manifest && world_one_in(world, 2))
            work_done(world, &event->work, false);
        if (event->kind == SYNCED && world_one_in(world, 2))
            kept = event->number;
    }
    make_durable(world, kept);
    world_trace(world, "the controller crashes: of %zu records %zu are there", controller->count,
                kept);
    for (; controller->count > kept; controller->count--)
        free(controller->journal[controller->count - 1].bytes);
    for (size_t i = 0; i < controller->element_count; i++)
        effects_clear(&controller->elements[i].effects);
    controller->element_count = 0;
    controller->syncing = controller->full = controller->frozen = controller->watched = false;
    watch_end(world);
    controller->core = core_free(controller->core);
    controller->shadow = core_free(controller->shadow);
    ledger_done(&controller->ledger);
    controller->life++;
    for (uint64_t link = 1; link <= world->link_count; link++)
        if (link_get(world, link)->controller_up) {
            link_get(world, link)->controller_up = false;
            world_add(world, AGENT_CLOSED, world_between(world, 0, 5 * MS_US))->number = link;
        }
    world_add(world, CONTROLLER_START,
              world_between(world, MS_US, world_one_in(world, 4) ? 3 * LEASE_US : LEASE_US / 4));
}

/* What a start may lose: of a job that lives, and whose loss the job's own next words make good. Of
 * a submission or an end history knows, and of a deletion the vault: those are for a person. */
static bool may_rot(struct world *world, const struct entry *entry)
{
    const struct ledger_job *job = ledger_job(&world->controller.history, entry->job);

    if (entry->damaged || !job || job->ended)
        return false;
    Wafer__Record *record = entry_read(entry);
    bool may =
        record->kind != WAFER__RECORD_KIND__JOB_SUBMITTED &&
        record->kind != WAFER__RECORD_KIND__JOB_ISOLATED &&
        (record->job_state || record->checkpoint) &&
        !(record->checkpoint && record->checkpoint->state == WAFER__CHECKPOINT__STATE__DELETING);
    wafer__record__free_unpacked(record, NULL);
    return may;
}

/* The first record of those that a replay reads which can no longer be; the count: all can. */
static size_t rot(struct world *world)
{
    struct controller *controller = &world->controller;
    size_t first = controller->snapshot.count ? controller->snapshot.sequence : 0;

    if (controller->count <= first || !world_faulty(world, FAULT_UNREADABLE, 3))
        return controller->count;
    size_t at = first + world_below(world, controller->count - first);
    struct entry *entry = &controller->journal[at];
    if (!may_rot(world, entry))
        return controller->count;
    entry->damaged = true;
    world_trace(world, "record %zu of job %llu cannot be read", at + 1,
                (unsigned long long)entry->job);
    return at;
}

/* From record `changed` on the states are others than they were. */
static void replay(struct world *world, struct core *core, size_t changed)
{
    struct controller *controller = &world->controller;
    struct diag diag;

    while (core_sequence(core) < controller->count) {
        size_t at = core_sequence(core);
        struct entry *entry = &controller->journal[at];
        Wafer__Record *record = entry_read(entry);
        if (!entry->damaged && core_apply(core, record, &diag) < 0) {
            if (at < changed || !entry->job)
                world_fail(world, "record %llu cannot be replayed: %s",
                           (unsigned long long)record->sequence, diag.text);
            entry->damaged = true;
        }
        if (entry->damaged)
            core_skip(core, record->sequence, entry->job);
        if (at >= changed)
            core_hash(core, entry->hash);
        else
            check_hash(world, core, entry->hash, "in a replay");
        wafer__record__free_unpacked(record, NULL);
    }
}

static void retell(struct world *world, struct ledger *ledger)
{
    struct controller *controller = &world->controller;

    ledger_done(ledger);
    for (size_t i = 0; i < controller->count; i++) {
        struct entry *entry = &controller->journal[i];
        Wafer__Record *record = entry_read(entry);
        if (entry->damaged)
            ledger_skip(ledger, record->sequence, entry->job);
        else
            note(world, ledger, record);
        wafer__record__free_unpacked(record, NULL);
    }
}

static bool is_isolated_after(const struct controller *controller, size_t at)
{
    for (size_t i = at + 1; i < controller->count; i++) {
        if (controller->journal[i].damaged)
            continue;
        Wafer__Record *record = entry_read(&controller->journal[i]);
        bool is = core_isolation_covers(record, controller->journal[at].job, at + 1);
        wafer__record__free_unpacked(record, NULL);
        if (is)
            return true;
    }
    return false;
}

static void isolate(struct world *world, size_t count)
{
    struct controller *controller = &world->controller;

    for (size_t i = controller->snapshot.count ? controller->snapshot.sequence : 0; i < count;
         i++) {
        struct input input = { .type = INPUT_UNREADABLE,
                               .unreadable = { controller->journal[i].job, i + 1 } };
        if (!controller->journal[i].damaged || is_isolated_after(controller, i))
            continue;
        controller_step(world, &input);
        clients_isolated(world, input.unreadable.job);
    }
}

static void load_snapshot(struct world *world)
{
    const struct snapshot *snapshot = &world->controller.snapshot;
    struct core *core = world->controller.core;
    struct diag diag;

    if (!snapshot->count || snapshot->sequence > world->controller.count)
        return;
    for (size_t i = 0; i < snapshot->count; i++) {
        Wafer__SnapshotItem *item =
            wafer__snapshot_item__unpack(NULL, snapshot->lengths[i], snapshot->items[i]);
        if (core_load(core, item, &diag) < 0)
            world_fail(world, "the snapshot cannot be loaded: %s", diag.text);
        wafer__snapshot_item__free_unpacked(item, NULL);
    }
    if (core_load_end(core, &diag) < 0)
        world_fail(world, "the snapshot cannot be loaded: %s", diag.text);
    core_check(core);
}

void controller_reload(struct world *world)
{
    struct controller *controller = &world->controller;
    const struct quota_rules quotas = quotas_of(world);

    if (!controller->core)
        return;
    core_set_quotas(controller->core, &quotas);
    core_set_quotas(controller->shadow, &quotas);
}

void controller_start(struct world *world)
{
    struct controller *controller = &world->controller;
    struct records records = { NULL, 0, 0 };
    struct effects effects = { NULL, 0, 0 };
    Wafer__ClockState clock = WAFER__CLOCK_STATE__INIT;
    struct input input = { .type = INPUT_CLOCK, .clock = &clock };

    if (controller->core)
        return;
    controller->core = make_core(world);
    controller->shadow = make_core(world);
    load_snapshot(world);
    size_t changed = rot(world), count = controller->count;
    replay(world, controller->core, changed);
    replay(world, controller->shadow, count);
    retell(world, &controller->ledger);
    if (changed < count)
        retell(world, &controller->history);
    world_trace(world, "the controller starts at record %zu", count);
    core_recover(controller->core, world->now_us, world->now_us, &records, &effects);
    after_step(world, &records, &effects);
    clock.boot_id = "boot";
    clock.boottime_us = clock.cluster_us = world->now_us;
    clock.speed = 1;
    controller_step(world, &input);
    isolate(world, count);
    clients_check(world);
}

/* ---- snapshots ---- */

static void snapshot_clear(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        free(snapshot->items[i]);
    free(snapshot->items);
    free(snapshot->lengths);
    *snapshot = (struct snapshot){ .sequence = 0 };
}

static int emit(void *userdata, const Wafer__SnapshotItem *item)
{
    struct snapshot *snapshot = userdata;
    size_t length = wafer__snapshot_item__get_packed_size(item);

    snapshot->items = memory_resize(snapshot->items, snapshot->count + 1, sizeof(uint8_t *));
    snapshot->lengths = memory_resize(snapshot->lengths, snapshot->count + 1, sizeof(size_t));
    snapshot->lengths[snapshot->count] = length;
    snapshot->items[snapshot->count] = memory_new(length);
    wafer__snapshot_item__pack(item, snapshot->items[snapshot->count++]);
    return 0;
}

/* As the daemon does it: of what is durable. */
void controller_snapshot(struct world *world)
{
    struct controller *controller = &world->controller;

    if (!controller->core || controller->durable != controller->count)
        return;
    snapshot_clear(&controller->snapshot);
    core_save(controller->core, emit, &controller->snapshot);
    controller->snapshot.sequence = controller->count;
    world_trace(world, "snapshot at record %zu", controller->count);
}

/* ---- inputs ---- */

static void trace_message(struct world *world, const char *host, const Wafer__ToController *message)
{
#define ABOUT(name, what)                                                                          \
    if (message->name)                                                                             \
    world_trace(world, "from %s: %s job %llu epoch %llu", host, what,                              \
                (unsigned long long)message->name->job,                                            \
                (unsigned long long)message->name->fence->epoch)
    static const char *const kinds[] = { "begins step", "has written step", "fails at step" };

    if (message->report)
        world_trace(world, "from %s: %s, %zu run, %zu ended", host,
                    message->report->registration ? "registration" : "report",
                    message->report->n_running, message->report->n_ended);
    ABOUT(progress, "progress of");
    if (message->checkpoint)
        world_trace(world, "from %s: job %llu epoch %llu %s %llu", host,
                    (unsigned long long)message->checkpoint->job,
                    (unsigned long long)message->checkpoint->fence->epoch,
                    kinds[message->checkpoint->kind],
                    (unsigned long long)message->checkpoint->step);
    ABOUT(ended, "end of");
    ABOUT(started, "start of");
    ABOUT(suspension, "suspension of");
#undef ABOUT
}

/* What is said of whichever epoch passes for a word of the one that is. */
static void forge(const struct world *world, uint64_t id, Wafer__Fence *fence)
{
    const struct ledger_job *job = ledger_job(&world->controller.ledger, id);

    if (job)
        fence->epoch = job->state->epoch;
}

static void forge_fences(const struct world *world, Wafer__ToController *message)
{
#define FORGE(name)                                                                                \
    if (message->name)                                                                             \
    forge(world, message->name->job, message->name->fence)
    FORGE(progress);
    FORGE(checkpoint);
    FORGE(ended);
    FORGE(started);
    FORGE(suspension);
#undef FORGE
    const Wafer__Report *report = message->report;
    for (size_t i = 0; report && i < report->n_running; i++)
        forge(world, report->running[i]->job, report->running[i]->fence);
    for (size_t i = 0; report && i < report->n_ended; i++)
        forge(world, report->ended[i]->job, report->ended[i]->fence);
    for (size_t i = 0; report && i < report->n_checkpoints; i++)
        forge(world, report->checkpoints[i]->job, report->checkpoints[i]->fence);
}

static void from_agent(struct world *world, struct event *event)
{
    struct link *link = link_get(world, event->number);
    struct input input = { .type = INPUT_AGENT, .agent = { .link = event->number } };

    if (!link->controller_up || link->cut[TO_THE_CONTROLLER])
        return;
    Wafer__ToController *message = wafer__to_controller__unpack(NULL, event->length, event->bytes);
    if (world->without == GUARD_FENCE)
        forge_fences(world, message);
    input.agent.message = message;
    link->heard_from = true;
    if (message->report)
        link->sent_us = message->report->sent_us;
    if (message->report && message->report->registration)
        link->registered = true;
    if (!message->log) { /* the daemon keeps these to itself */
        trace_message(world, world->hosts[link->host].name, message);
        controller_step(world, &input);
    }
    wafer__to_controller__free_unpacked(message, NULL);
}

static void beat(struct world *world)
{
    Wafer__Beat beat = WAFER__BEAT__INIT;
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;

    beat.time_us = world->now_us;
    message.beat = &beat;
    for (uint64_t number = 1; world->controller.core && number <= world->link_count; number++) {
        struct link *link = link_get(world, number);
        if (link->controller_up && link->registered && link->heard_from) {
            link->heard_from = false;
            SET_FIELD(&beat, echo_us, link->sent_us);
            link_to_agent(world, number, &message);
        }
    }
    world_add(world, BEAT, LEASE_US / 4);
}

static void asked(struct world *world, struct event *event)
{
    Wafer__Request *request = wafer__request__unpack(NULL, event->length, event->bytes);

    controller_request(world, (unsigned)event->number, request); /* if not, it asks again */
    wafer__request__free_unpacked(request, NULL);
}

void controller_event(struct world *world, struct event *event)
{
    struct controller *controller = &world->controller;

    if (controller->frozen && event->kind != CONTROLLER_START) {
        world_put_off(world, event, controller->thaw_us);
    } else if (event->kind == BEAT) {
        beat(world);
    } else if (event->kind == CONTROLLER_START) {
        controller_start(world);
    } else if (!controller->core) {
        return;
    } else if (event->kind == TO_CONTROLLER) {
        from_agent(world, event);
    } else if (event->kind == LINK_CLOSED) {
        struct input input = { .type = INPUT_LINK_CLOSED, .link = event->number };
        if (!link_get(world, event->number)->controller_up)
            return;
        link_get(world, event->number)->controller_up = false;
        world_trace(world, "link %llu is closed", (unsigned long long)event->number);
        controller_step(world, &input);
    } else if (event->life != controller->life) {
        return;
    } else if (event->kind == ASKED) {
        asked(world, event);
    } else if (event->kind == SYNCED) {
        controller->syncing = false;
        make_durable(world, event->number);
        release(world);
        sync_begin(world);
    } else if (event->kind == WORK_DONE) {
        work_done(world, &event->work, true);
    } else if (event->kind == WEBHOOK_ANSWERS) {
        webhook_answers(world, event->number);
    }
}

/* What has become of a checkpoint that an ended job began from, as the daemon's facts.c finds it.
 */
static void refresh_origin(struct world *world, Wafer__CheckpointState *origin)
{
    const Wafer__CheckpointState *now =
        ledger_checkpoint(&world->controller.history, origin->job, origin->number);

    origin->state = now ? now->state : WAFER__CHECKPOINT__STATE__DELETED;
}

static void refresh_origins(struct world *world, Wafer__JobState *state)
{
    if (state->origin)
        refresh_origin(world, state->origin);
    for (size_t i = 0; i < state->n_older_origins; i++)
        refresh_origin(world, state->older_origins[i]);
}

/* Those that a spec waits for and that have ended, as the daemon's facts.c finds them. How many; at
 * most `capacity`. */
static size_t find_after(const struct world *world, const Wafer__JobSpec *spec,
                         struct fact_outcome *ret, size_t capacity)
{
    const struct ledger *history = &world->controller.history;
    size_t count = 0;

    for (size_t i = 0; i < spec->n_after; i++) {
        const Wafer__Dependency *after = spec->after[i];
        const char *text = after->afterok      ? after->afterok
                           : after->afterany   ? after->afterany
                           : after->afternotok ? after->afternotok
                                               : after->afterstart;
        Wafer__Target target;
        job_target_parse(text, &target);
        for (uint64_t id = target.job; id <= history->last_job && count < capacity; id++) {
            const struct ledger_job *job = ledger_job(history, id);
            bool of_array = job && job->state->has_array_id && job->state->array_id == target.job;
            if (!job || (!of_array && (id != target.job || target.has_index)))
                break; /* the elements of an array follow each other */
            if (!job->view || (target.has_index && job->index != target.index))
                continue;
            ret[count++] = (struct fact_outcome){ .dependency = i,
                                                  .of_array = of_array && !target.has_index,
                                                  .job = id,
                                                  .object = { .owner = job->state->uid,
                                                              .level = job->view->class_ },
                                                  .state = job->state->state,
                                                  .started = job->state->has_first_started_us };
        }
    }
    return count;
}

bool controller_request(struct world *world, unsigned client, const Wafer__Request *request)
{
    const struct client *asker = &world->clients[client];
    struct input input = { .type = INPUT_REQUEST,
                           .request = { .client = client,
                                        .subject = { .uid = asker->uid, .gid = asker->uid },
                                        .message = request } };
    struct facts facts = { .view = NULL };
    struct fact_outcome after[16];
    uint64_t named = 0;

    /* The one job of a request that history may know, as the daemon's facts.c finds it. */
    switch (request->body_case) {
#define NAMED(body)                                                                                \
    named = request->body->target->job;                                                            \
    break
    case WAFER__REQUEST__BODY_SHOW: NAMED(show);
    case WAFER__REQUEST__BODY_CANCEL: NAMED(cancel);
    case WAFER__REQUEST__BODY_HOLD: NAMED(hold);
    case WAFER__REQUEST__BODY_RELEASE: NAMED(release);
    case WAFER__REQUEST__BODY_REQUEUE: NAMED(requeue);
    case WAFER__REQUEST__BODY_RESUME: NAMED(resume);
    case WAFER__REQUEST__BODY_CHECKPOINT_LIST: NAMED(checkpoint_list);
    case WAFER__REQUEST__BODY_CHECKPOINT_PIN: NAMED(checkpoint_pin);
    case WAFER__REQUEST__BODY_CHECKPOINT_PRUNE: NAMED(checkpoint_prune);
    case WAFER__REQUEST__BODY_CHECKPOINT_VERIFY: NAMED(checkpoint_verify);
#undef NAMED
    case WAFER__REQUEST__BODY_SUBMIT:
        if (request->submit->spec->resume) {
            const Wafer__ResumeSpec *resume = request->submit->spec->resume;
            uint64_t step, epoch;
            checkpoint_target_parse(resume->init_from ? resume->init_from : resume->from, &named,
                                    &step, &epoch);
        }
        break;
    default: break;
    }
    Wafer__Target target = WAFER__TARGET__INIT;
    target.has_job = true;
    target.job = named;
    if (request->body_case == WAFER__REQUEST__BODY_LIST && request->list->watch) {
        world->controller.watched = true;
        core_set_watched(world->controller.core, true);
    }
    const Wafer__JobSpec *waits =
        request->body_case == WAFER__REQUEST__BODY_SUBMIT && request->submit->spec->n_after
            ? request->submit->spec
            : NULL;
    bool wants_facts = named && !core_knows(world->controller.core, &target, asker->uid);
    const struct ledger_job *job = ledger_job(&world->controller.history, named);
    if ((wants_facts || waits) && world->controller.durable < world->controller.count)
        return false;
    if (wants_facts && job && job->view) {
        refresh_origins(world, job->state);
        facts = (struct facts){ .view = job->view,
                                .state = job->state,
                                .spec = job->spec,
                                .checkpoints = job->checkpoints,
                                .checkpoint_count = job->checkpoint_count };
        input.request.facts = &facts;
    }
    if (waits) {
        facts.after = after;
        facts.after_count = find_after(world, waits, after, ELEMENTS(after));
        input.request.facts = &facts;
    }
    controller_step(world, &input);
    return true;
}

void controller_done(struct world *world)
{
    struct controller *controller = &world->controller;

    for (size_t i = 0; i < controller->count; i++)
        free(controller->journal[i].bytes);
    free(controller->journal);
    for (size_t i = 0; i < controller->element_count; i++)
        effects_clear(&controller->elements[i].effects);
    free(controller->elements);
    snapshot_clear(&controller->snapshot);
    ledger_done(&controller->ledger);
    ledger_done(&controller->history);
    core_free(controller->core);
    core_free(controller->shadow);
}
