#include "world.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/effects.h"

#define FILLER_BYTES 64

/* ---- platforms ---- */

Wafer__Duration *duration_new(int64_t us)
{
    Wafer__Duration *duration = MESSAGE_NEW(Wafer__Duration, duration);

    duration->us = us;
    return duration;
}

Wafer__Decimal *decimal_new(int64_t micro)
{
    Wafer__Decimal *decimal = MESSAGE_NEW(Wafer__Decimal, decimal);

    decimal->micro = micro;
    return decimal;
}

static Wafer__PhaseRange *range_new(int64_t min_us, int64_t max_us)
{
    Wafer__PhaseRange *range = MESSAGE_NEW(Wafer__PhaseRange, phase_range);

    range->min = duration_new(min_us);
    range->max = duration_new(max_us);
    return range;
}

static void add_text(char ***list, size_t *count, const char *text)
{
    *list = memory_resize(*list, *count + 1, sizeof(**list));
    (*list)[(*count)++] = text_copy(text);
}

Wafer__Platform *platform_new(const char *name, Wafer__Platform__Target target)
{
    Wafer__Platform *platform = MESSAGE_NEW(Wafer__Platform, platform);
    Wafer__PlatformRate *rate = MESSAGE_NEW(Wafer__PlatformRate, platform_rate);
    Wafer__PlatformPhases *phases = MESSAGE_NEW(Wafer__PlatformPhases, platform_phases);

    platform->apiversion = text_copy("wafer/v1");
    platform->kind = text_copy("Platform");
    platform->name = text_copy(name);
    platform->target = target;
    rate->peak_pflops = decimal_new(7500000);
    rate->realised_fraction = decimal_new(265000);
    rate->realised_fraction_small = decimal_new(210000);
    rate->per_layer_ms = decimal_new(500000);
    rate->weights_gb_per_s = decimal_new(150000000);
    rate->scaling_efficiency = decimal_new(956000);
    platform->rate = rate;
    phases->compile = range_new(5 * MINUTE_US, 60 * MINUTE_US);
    phases->compile_cached = range_new(10 * SECOND_US, 80 * SECOND_US);
    phases->start = range_new(40 * SECOND_US, 70 * SECOND_US);
    phases->program = range_new(85 * SECOND_US, 140 * SECOND_US);
    phases->weights_floor = duration_new(10 * SECOND_US);
    phases->weights_s_per_1e9 = decimal_new(12000000);
    phases->save_s_per_1e9 = decimal_new(65000000);
    phases->evaluate_fraction = decimal_new(20000);
    phases->cleanup = duration_new(10 * SECOND_US);
    platform->phases = phases;
    platform->faults = MESSAGE_NEW(Wafer__PlatformFaults, platform_faults);
    platform->faults->mtbf = duration_new(1000 * HOUR_US);
    platform->price_per_hour = MESSAGE_NEW(Wafer__Money, money);
    platform->price_per_hour->currency = text_copy("EUR");
    add_text(&platform->operators, &platform->n_operators, "attention");
    add_text(&platform->operators, &platform->n_operators, "layernorm");
    add_text(&platform->precisions, &platform->n_precisions,
             target == WAFER__PLATFORM__TARGET__wafer ? "cb16" : "bf16");
    return platform;
}

/* ---- the shell ---- */

static void agent_make(struct world *world, const char *boot_id)
{
    const struct agent_pool pools[] = {
        { .name = "wafer", .prefix = "s", .platform = world->wafer, .count = 8 },
        { .name = "gpu", .prefix = "g", .platform = world->gpu, .count = 2 },
    };
    const struct agent_config config = {
        .host = "host",
        .boot_id = boot_id,
        .pools = pools,
        .pool_count = ELEMENTS(pools),
        .seed = 1,
        .filler_bytes = FILLER_BYTES,
        .progress_us = 10 * MINUTE_US,
    };

    world->agent = agent_new(&config);
}

void world_init(struct world *world)
{
    *world = (struct world){ .now_us = START_US };
    world->wafer = platform_new("wafer-test", WAFER__PLATFORM__TARGET__wafer);
    world->gpu = platform_new("gpu-test", WAFER__PLATFORM__TARGET__gpu);
    agent_make(world, "boot-1");
}

void world_restart_agent(struct world *world)
{
    agent_effects_clear(&world->effects);
    agent_free(world->agent);
    agent_make(world, "boot-2");
}

static void shards_free(struct agent_shard *shards, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(shards[i].bytes);
    free(shards);
}

void world_done(struct world *world)
{
    agent_effects_clear(&world->effects);
    agent_free(world->agent);
    for (size_t i = 0; i < world->seen_count; i++)
        wafer__to_controller__free_unpacked(world->seen[i], NULL);
    free(world->seen);
    for (size_t i = 0; i < world->file_count; i++)
        shards_free(world->files[i].shards, world->files[i].count);
    free(world->files);
    buffer_done(&world->log);
    wafer__platform__free_unpacked(world->wafer, NULL);
    wafer__platform__free_unpacked(world->gpu, NULL);
}

static struct file *file_find(const struct world *world, uint64_t job, uint64_t step,
                              uint64_t epoch)
{
    for (size_t i = 0; i < world->file_count; i++) {
        struct file *file = &world->files[i];
        if (file->job == job && file->step == step && file->epoch == epoch)
            return file;
    }
    return NULL;
}

static void store(struct world *world, struct agent_effect *write)
{
    struct file *file = file_find(world, write->job, write->step, write->epoch);

    if (!file) {
        ARRAY_RESERVE(world->files, world->file_count, world->file_capacity);
        file = &world->files[world->file_count++];
    } else {
        shards_free(file->shards, file->count);
    }
    *file =
        (struct file){ write->job, write->step, write->epoch, write->shards, write->shard_count };
    write->shards = NULL;
    write->shard_count = 0;
}

static void on_write(struct world *world, struct agent_effect *effect)
{
    Wafer__ShardState shards[16], *pointers[16];
    struct digest digests[16];
    struct agent_effect write = *effect; /* the array may move under us */
    size_t count = write.shard_count;

    if (world->hold_io) {
        world->held = write;
        return;
    }
    if (world->write_error) {
        agent_on_written(world->agent, world->now_us, write.job, write.term, write.epoch,
                         write.step, world->write_error, "the vault is full", NULL, 0,
                         &world->effects);
        return;
    }
    ck_assert_uint_le(count, ELEMENTS(shards));
    for (size_t i = 0; i < count; i++) {
        wafer__shard_state__init(&shards[i]);
        digest_of(write.shards[i].bytes, write.shards[i].length, &digests[i]);
        shards[i].bytes = (int64_t)write.shards[i].length;
        shards[i].digest = (ProtobufCBinaryData){ DIGEST_BYTES, digests[i].bytes };
        pointers[i] = &shards[i];
    }
    store(world, effect);
    agent_on_written(world->agent, world->now_us, write.job, write.term, write.epoch, write.step, 0,
                     NULL, pointers, count, &world->effects);
}

static void on_read(struct world *world, const struct agent_effect *effect)
{
    const Wafer__CheckpointState *resume = effect->resume;
    const struct file *file = file_find(world, resume->job, resume->step, resume->fence->epoch);
    struct agent_effect read = *effect;

    if (world->hold_io) {
        world->held = read;
        return;
    }
    int error = world->read_error ? world->read_error : file ? 0 : -2;
    agent_on_read(world->agent, world->now_us, read.job, read.term, read.epoch, error,
                  error ? "shard 2 has another digest" : NULL, file ? file->shards : NULL,
                  file ? file->count : 0, &world->effects);
}

static void on_log(struct world *world, const struct agent_effect *effect)
{
    size_t length = strlen(effect->text);

    ck_assert_uint_gt(length, 0);
    ck_assert_int_eq(effect->text[length - 1], '\n');
    buffer_append(&world->log, effect->text, length);
}

static void on_send(struct world *world, struct agent_effect *effect)
{
    Wafer__ToController *message = effect->message;

    /* It fits the wire, with every required field. */
    ck_assert(protobuf_c_message_check(&message->base));
    ARRAY_RESERVE(world->seen, world->seen_count, world->seen_capacity);
    world->seen[world->seen_count++] = message;
    effect->message = NULL;
    if (world->acks && message->ended)
        world_ack_end(world, message->ended->job, message->ended->fence->epoch);
    if (world->acks && message->checkpoint &&
        message->checkpoint->kind == WAFER__CHECKPOINT_REPORT__KIND__WRITTEN)
        world_ack_checkpoint(world, message->checkpoint->job, message->checkpoint->fence->epoch,
                             message->checkpoint->step);
}

void world_settle(struct world *world)
{
    world->settling = true;
    for (size_t i = 0; i < world->effects.count; i++) {
        struct agent_effect *effect = &world->effects.items[i];
        switch (effect->type) {
        case AGENT_SEND: on_send(world, effect); break;
        case AGENT_WRITE: on_write(world, effect); break;
        case AGENT_READ: on_read(world, effect); break;
        case AGENT_LOG: on_log(world, effect); break;
        }
    }
    agent_effects_clear(&world->effects);
    world->settling = false;
}

void world_run(struct world *world, int64_t span_us)
{
    int64_t until_us = world->now_us + span_us;

    while (agent_next_us(world->agent) <= until_us) {
        world->now_us = agent_next_us(world->agent);
        agent_on_time(world->agent, world->now_us, &world->effects);
        world_settle(world);
    }
    world->now_us = until_us;
    agent_on_time(world->agent, world->now_us, &world->effects);
    world_settle(world);
}

void world_jump(struct world *world, int64_t span_us)
{
    world->now_us += span_us;
    agent_on_time(world->agent, world->now_us, &world->effects);
    world_settle(world);
}

void world_finish(struct world *world)
{
    for (int i = 0; agent_running(world->agent) > 0; i++) {
        ck_assert_msg(i < 10000, "it never ends");
        world_run(world, 24 * HOUR_US);
    }
}

/* ---- the controller ---- */

/* Over the wire and back. */
void world_tell(struct world *world, const Wafer__ToAgent *message)
{
    Wafer__ToAgent *copy = MESSAGE_COPY(message);

    agent_on_message(world->agent, world->now_us, copy, &world->effects);
    wafer__to_agent__free_unpacked(copy, NULL);
    if (!world->settling) /* else whoever settles goes on to what this asks for */
        world_settle(world);
}

static size_t split(char *text, char **words, size_t limit)
{
    size_t count = 0;

    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        ck_assert_uint_lt(count, limit);
        words[count++] = word;
    }
    return count;
}

static void start(struct world *world, uint64_t job, uint64_t epoch, const Wafer__JobSpec *spec,
                  const char *systems, const Wafer__CheckpointState *from, bool weights_only)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StartJob order = WAFER__START_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;
    char *names[16], *text = text_copy(systems);

    fence.term = 1;
    fence.epoch = epoch;
    order.job = job;
    order.fence = &fence;
    order.attempt = (uint32_t)epoch;
    order.spec.len = wafer__job_spec__get_packed_size(spec);
    order.spec.data = memory_new(order.spec.len + 1);
    wafer__job_spec__pack(spec, order.spec.data);
    order.n_systems = split(text, names, ELEMENTS(names));
    order.systems = names;
    order.resume = (Wafer__CheckpointState *)from;
    order.has_weights_only = true;
    order.weights_only = weights_only;
    message.start = &order;
    world_tell(world, &message);
    free(order.spec.data);
    free(text);
}

void world_start(struct world *world, uint64_t job, uint64_t epoch, const Wafer__JobSpec *spec,
                 const char *systems)
{
    start(world, job, epoch, spec, systems, NULL, false);
}

void world_resume(struct world *world, uint64_t job, uint64_t epoch, const Wafer__JobSpec *spec,
                  const char *systems, const Wafer__CheckpointState *from, bool weights_only)
{
    start(world, job, epoch, spec, systems, from, weights_only);
}

void world_stop(struct world *world, uint64_t job, uint64_t epoch, bool save, bool now,
                Wafer__Cause cause)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__StopJob order = WAFER__STOP_JOB__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;

    fence.term = 1;
    fence.epoch = epoch;
    order.job = job;
    order.fence = &fence;
    order.save = save;
    order.now = now;
    order.cause = cause;
    message.stop = &order;
    world_tell(world, &message);
}

void world_fault(struct world *world, const char *system, Wafer__InjectFault__Kind kind,
                 int64_t span_us)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__InjectFault fault = WAFER__INJECT_FAULT__INIT;
    Wafer__Duration span = WAFER__DURATION__INIT;

    span.us = span_us;
    fault.system = (char *)system;
    fault.kind = kind;
    fault.for_ = span_us ? &span : NULL;
    message.fault = &fault;
    world_tell(world, &message);
}

void world_ack_end(struct world *world, uint64_t job, uint64_t epoch)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__JobFence ack = WAFER__JOB_FENCE__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;

    fence.term = 1;
    fence.epoch = epoch;
    ack.job = job;
    ack.fence = &fence;
    message.ended_ack = &ack;
    world_tell(world, &message);
}

void world_ack_checkpoint(struct world *world, uint64_t job, uint64_t epoch, uint64_t step)
{
    Wafer__ToAgent message = WAFER__TO_AGENT__INIT;
    Wafer__CheckpointAck ack = WAFER__CHECKPOINT_ACK__INIT;
    Wafer__Fence fence = WAFER__FENCE__INIT;

    fence.term = 1;
    fence.epoch = epoch;
    ack.job = job;
    ack.fence = &fence;
    ack.step = step;
    ack.committed = true;
    message.checkpoint_ack = &ack;
    world_tell(world, &message);
}

const Wafer__Report *world_report(struct world *world)
{
    agent_on_heartbeat(world->agent, world->now_us, &world->effects);
    world_settle(world);
    for (size_t i = world->seen_count; i-- > 0;)
        if (world->seen[i]->report)
            return world->seen[i]->report;
    ck_abort_msg("no report");
}

/* ---- what was seen ---- */

const Wafer__AttemptEnd *world_end(const struct world *world, uint64_t job)
{
    for (size_t i = world->seen_count; i-- > 0;)
        if (world->seen[i]->ended && world->seen[i]->ended->job == job)
            return world->seen[i]->ended;
    return NULL;
}

const Wafer__CheckpointReport *world_checkpoint(const struct world *world, uint64_t job,
                                                Wafer__CheckpointReport__Kind kind, uint64_t step)
{
    for (size_t i = 0; i < world->seen_count; i++) {
        const Wafer__CheckpointReport *report = world->seen[i]->checkpoint;
        if (report && report->job == job && report->kind == kind && report->step == step)
            return report;
    }
    return NULL;
}

const Wafer__CheckpointReport *world_newest_checkpoint(const struct world *world, uint64_t job)
{
    for (size_t i = world->seen_count; i-- > 0;) {
        const Wafer__CheckpointReport *report = world->seen[i]->checkpoint;
        if (report && report->job == job && report->kind == WAFER__CHECKPOINT_REPORT__KIND__WRITTEN)
            return report;
    }
    return NULL;
}

size_t world_count_started(const struct world *world, uint64_t job)
{
    size_t count = 0;

    for (size_t i = 0; i < world->seen_count; i++)
        count += world->seen[i]->started && world->seen[i]->started->job == job;
    return count;
}

size_t world_count_ends(const struct world *world, uint64_t job)
{
    size_t count = 0;

    for (size_t i = 0; i < world->seen_count; i++)
        count += world->seen[i]->ended && world->seen[i]->ended->job == job;
    return count;
}

size_t world_count_suspensions(const struct world *world, bool suspended)
{
    size_t count = 0;

    for (size_t i = 0; i < world->seen_count; i++)
        count += world->seen[i]->suspension && world->seen[i]->suspension->suspended == suspended;
    return count;
}

Wafer__CheckpointState *world_checkpoint_state(const Wafer__CheckpointReport *report)
{
    Wafer__CheckpointState *state = MESSAGE_NEW(Wafer__CheckpointState, checkpoint_state);

    state->number = 1;
    state->job = report->job;
    state->lineage = report->job;
    state->fence = MESSAGE_COPY(report->fence);
    state->attempt = 1;
    state->step = report->step;
    state->state = WAFER__CHECKPOINT__STATE__VERIFIED;
    state->n_shards = report->n_shards;
    state->shards = memory_new((report->n_shards + 1) * sizeof(*state->shards));
    for (size_t i = 0; i < report->n_shards; i++)
        state->shards[i] = MESSAGE_COPY(report->shards[i]);
    state->has_resume = true;
    state->resume.len = wafer__resume_state__get_packed_size(report->resume);
    state->resume.data = memory_new(state->resume.len + 1);
    wafer__resume_state__pack(report->resume, state->resume.data);
    return state;
}

/* ---- jobs ---- */

Wafer__Count *count_new(uint64_t value)
{
    Wafer__Count *count = MESSAGE_NEW(Wafer__Count, count);

    count->value = value;
    return count;
}

Wafer__StepCount *step_count_new(uint64_t steps)
{
    Wafer__StepCount *count = MESSAGE_NEW(Wafer__StepCount, step_count);

    count->steps = count_new(steps);
    return count;
}

Wafer__JobSpec *spec_new(uint64_t steps)
{
    Wafer__JobSpec *spec = MESSAGE_NEW(Wafer__JobSpec, job_spec);
    Wafer__Workload *workload = MESSAGE_NEW(Wafer__Workload, workload);
    Wafer__ModelSpec *model = MESSAGE_NEW(Wafer__ModelSpec, model_spec);

    spec->apiversion = text_copy("wafer/v1");
    spec->kind = text_copy("Job");
    spec->name = text_copy("gpt-111m");
    spec->workload = workload;
    workload->model = model;
    workload->batch = 120;
    workload->steps = count_new(steps);
    model->has_layers = model->has_hidden = true;
    model->layers = 10;
    model->hidden = 768;
    return spec;
}

void spec_evaluate(Wafer__JobSpec *spec, uint64_t every)
{
    spec->quality = MESSAGE_NEW(Wafer__QualitySpec, quality_spec);
    spec->quality->every = step_count_new(every);
}

static Wafer__CheckpointSpec *checkpoint_of(Wafer__JobSpec *spec)
{
    if (!spec->checkpoint)
        spec->checkpoint = MESSAGE_NEW(Wafer__CheckpointSpec, checkpoint_spec);
    return spec->checkpoint;
}

void spec_checkpoint(Wafer__JobSpec *spec, uint64_t steps, int64_t time_us)
{
    Wafer__Cadence *every = MESSAGE_NEW(Wafer__Cadence, cadence);

    every->steps = steps ? count_new(steps) : NULL;
    every->time = time_us ? duration_new(time_us) : NULL;
    every->has_auto_ = every->auto_ = !steps && !time_us;
    checkpoint_of(spec)->every = every;
}

void spec_on_error(Wafer__JobSpec *spec, Wafer__CheckpointSpec__OnError on_error)
{
    checkpoint_of(spec)->has_on_error = true;
    checkpoint_of(spec)->on_error = on_error;
}

static Wafer__StopWhen *add_when(Wafer__JobSpec *spec, const char *metric)
{
    if (!spec->stop)
        spec->stop = MESSAGE_NEW(Wafer__StopSpec, stop_spec);
    spec->stop->when =
        memory_resize(spec->stop->when, spec->stop->n_when + 1, sizeof(*spec->stop->when));
    Wafer__StopWhen *when = MESSAGE_NEW(Wafer__StopWhen, stop_when);
    when->metric = text_copy(metric);
    spec->stop->when[spec->stop->n_when++] = when;
    return when;
}

void spec_stop_below(Wafer__JobSpec *spec, const char *metric, int64_t micro)
{
    add_when(spec, metric)->below = decimal_new(micro);
}

void spec_stop_stalled(Wafer__JobSpec *spec, const char *metric, uint64_t steps)
{
    add_when(spec, metric)->stalled_for = step_count_new(steps);
}

void spec_operator(Wafer__JobSpec *spec, const char *name)
{
    add_text(&spec->workload->operators, &spec->workload->n_operators, name);
}
