#include "core/core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/dependencies.h"
#include "core/reserved.h"
#include "core/schedule.h"
#include "core/state.h"
#include "core/trace.h"

#define RELOAD_TEXT_BYTES 256 /* of what changed, in its record; the log has all of it */

struct core *core_new(const struct core_config *config)
{
    struct core *core = NEW(struct core);

    assert(config->pool_count >= 1);
    core->config = *config;
    core->config.pools = NULL;
    core->next_job = core->next_checkpoint = 1;
    core->next_system = 1;
    list_init(&core->open_arrays);
    list_init(&core->claims);
    list_init(&core->open_quotas);
    list_init(&core->meters);
    core->meters_due_us = INT64_MAX;
    core->preempt = config->preempt;
    core->score = score_rules_default();
    core->scored_us = INT64_MIN;
    list_init(&core->verifications);
    core->access = access_built_in(config->operator_uid);
    list_init(&core->owed);
    core->pool_count = config->pool_count;
    core->pools = memory_resize(NULL, core->pool_count, sizeof(*core->pools));
    memset(core->pools, 0, core->pool_count * sizeof(*core->pools));
    for (size_t i = 0; i < core->pool_count; i++) {
        struct pool *pool = &core->pools[i];
        pool->core = core;
        pool->name = text_copy(config->pools[i].name);
        pool->platform = text_copy(config->pools[i].platform);
        pool->currency = text_copy(config->pools[i].currency);
        pool->price_micro = config->pools[i].price_micro;
        pool->classes = config->pools[i].classes;
        pool->widest_us = pool->lanes_us = INT64_MIN; /* no step has this time */
        pool->scheduler = scheduler_new(&config->schedule);
        list_init(&pool->parked);
        list_init(&pool->dormant);
        quota_init(&pool->quota, QUOTA_QUEUE, pool->name);
    }
    return core;
}

/* ---- a step ---- */

static void step_begin(struct core *core, int64_t time_us, int64_t mono_us, struct records *records,
                       struct effects *effects)
{
    core->now_us = time_us;
    core->mono_us = mono_us;
    core->records = records;
    core->effects = effects;
    core->effects_before = effects->count;
    core->effect_n = 0;
}

static void step_end(struct core *core)
{
    dependencies_settle(core);
    /* A full journal takes no grants: what a start would cost cannot be paid for. */
    if (core->pass_wanted && !core->journal_full) {
        core->pass_wanted = false;
        if (core->replays)
            trace_pass(core, &core->pools[0]);
        else
            schedule_pass(core);
    }
    effects_answer_jobs(core);
    core->asking = NULL;
    core->asking_role = NULL;
    deliveries_send(core);
    effects_changed(core);
    core->records = NULL;
    core->effects = NULL;
}

static void on_clock(struct core *core, const Wafer__ClockState *clock)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    record.kind = WAFER__RECORD_KIND__CLOCK_SET;
    record.clock = (Wafer__ClockState *)clock;
    core_record(core, &record);
    host_clock_changed(core);
}

/* In cluster time: when every lease of before the restart has ended. */
static int64_t proof_us(const struct core *core)
{
    int64_t speed = core->clock && core->clock->speed ? core->clock->speed : 1;

    return (core->config.lease_us + core->config.lease_margin_us) * speed;
}

static void on_unreadable(struct core *core, uint64_t id, uint64_t sequence)
{
    struct job *job = core_job(core, id);
    owned(free) char *text =
        text_format("record %llu of its journal cannot be read", (unsigned long long)sequence);
    Wafer__Record record = WAFER__RECORD__INIT;

    /* A start finds the same record unreadable as the one before: what it cost was paid then. */
    if (job && !job_state_is_terminal(job->state.state) && !job->unsure)
        return;
    record.kind = WAFER__RECORD_KIND__JOB_ISOLATED;
    SET(&record, job, id);
    SET(&record, cause, WAFER__CAUSE__JOURNAL_UNREADABLE);
    record.text = text;

    Wafer__JobState next;
    if (job && !job_state_is_terminal(job->state.state)) {
        /* What it held is not known for sure. A higher epoch makes whatever still runs an orphan,
         * which its agent is told to kill; and an agent refuses systems that are not free. Whoever
         * lets the job go, it starts when a host that did not register has ended its lease. */
        struct lost *lost = job_lost(core, id);
        record.n_lost = lost->count;
        record.lost = lost->sequences;
        checkpoint_begun_lost(core, job);
        next = job->state;
        next.state = WAFER__JOB__STATE__HELD;
        SET(&next, held_by_admin, true);
        SET(&next, cause, WAFER__CAUSE__JOURNAL_UNREADABLE);
        next.detail = text;
        next.n_systems = 0;
        next.epoch++;
        SET(&next, version, next.version + 1);
        SET(&next, committed_step, checkpoint_committed_without(job, NULL));
        /* Its attempt is over: the next one must not inherit when it began, or an order to stop. */
        UNSET(&next, started_us);
        UNSET(&next, granted_us);
        UNSET(&next, stop_deadline_us);
        UNSET(&next, stop_now);
        UNSET(&next, failures);
        UNSET(&next, launch_refusals);
        SET(&next, not_before_us, core->now_us + proof_us(core));
        record.job_state = &next;
    }
    core_record(core, &record);
}

static void on_reloaded(struct core *core, const struct input *input)
{
    owned(free) char *text = text_format("%s%.*s", input->reloaded.refused ? "reload: " : "",
                                         RELOAD_TEXT_BYTES, input->reloaded.text);
    Wafer__Record record = WAFER__RECORD__INIT;

    record.kind = input->reloaded.refused ? WAFER__RECORD_KIND__REFUSED
                                          : WAFER__RECORD_KIND__SETTINGS_CHANGED;
    record.text = text;
    SET(&record, uid, input->reloaded.uid);
    if (!core->journal_full)
        core_record(core, &record);
}

/* A key's timer is set only when it is to be forgotten. */
static void key_due(struct core *core, struct key *key)
{
    Wafer__Record record = WAFER__RECORD__INIT;

    record.kind = WAFER__RECORD_KIND__KEY_FORGOTTEN;
    record.key = &key->state;
    core_record(core, &record);
}

static void on_timer(struct core *core)
{
    for (struct timer *timer;
         (timer = timers_first(&core->timers)) && timer->due_us <= core->now_us;) {
        timer_clear(&core->timers, timer);
        switch (timer->owner) { /* all share the heap */
        case TIMER_JOB: job_timer_due(core, CONTAINER_OF(timer, struct job, timer)); break;
        case TIMER_RESERVED: reserved_due(core, CONTAINER_OF(timer, struct reserved, timer)); break;
        case TIMER_KEY: key_due(core, CONTAINER_OF(timer, struct key, timer)); break;
        case TIMER_CHECKPOINT:
            effect_checkpoint(core, EFFECT_VERIFY, CONTAINER_OF(timer, struct checkpoint, timer));
            break;
        }
    }
    core->pass_wanted |= schedule_next(core) <= core->now_us;
    deliveries_due(core);
    host_check_leases(core);
}

void core_step(struct core *core, const struct input *input, struct records *records,
               struct effects *effects)
{
    step_begin(core, input->time_us, input->mono_us, records, effects);
    switch (input->type) { /* no default: adding an input makes the compiler point here */
    case INPUT_REQUEST: request_handle(core, input); break;
    case INPUT_AGENT: host_message(core, input->agent.link, input->agent.message); break;
    case INPUT_LINK_CLOSED: host_link_closed(core, input->link); break;
    case INPUT_TIMER: on_timer(core); break;
    case INPUT_MANIFEST:
    case INPUT_VERIFIED:
    case INPUT_DELETED: checkpoint_verdict(core, input); break;
    case INPUT_NOTIFIED: delivery_verdict(core, input); break;
    case INPUT_JOURNAL_FULL: core->journal_full = true; break;
    case INPUT_JOURNAL_ROOM:
        core->journal_full = false;
        core->pass_wanted = true;
        break;
    case INPUT_CLOCK: on_clock(core, input->clock); break;
    case INPUT_CALENDAR: reserved_renewed(core, input); break;
    case INPUT_TRACE: trace_event(core, input); break;
    case INPUT_RELOADED: on_reloaded(core, input); break;
    case INPUT_UNREADABLE:
        on_unreadable(core, input->unreadable.job, input->unreadable.sequence);
        break;
    }
    step_end(core);
}

/* Its attempt is not the one that it was: perhaps it ended, perhaps others followed. */
static void restore_job(struct core *core, uint64_t id, const struct core_restoration *restoration)
{
    struct job *job = core_job(core, id);

    if (job_has_systems(job)) {
        struct ending ending = { .cause = WAFER__CAUSE__REQUEUED,
                                 .step = job->state.committed_step,
                                 .detail = "the state was put back from a copy" };
        attempt_ended(core, job, &ending);
        job = core_job(core, id);
    }
    if (!job || job_state_is_terminal(job->state.state))
        return;
    /* What the next attempt writes must not meet what another of its number left behind. */
    uint32_t last = restoration->last_attempt(restoration->userdata, id);
    if (last <= job->state.attempt)
        return;
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState next = job->state;
    next.attempt = last;
    if (next.epoch < last)
        next.epoch = last; /* an attempt has a grant of its own */
    SET(&next, version, next.version + 1);
    record.kind = WAFER__RECORD_KIND__STATE_RESTORED;
    record.job_state = &next;
    SET(&record, job, id);
    core_record(core, &record);
}

void core_restore(struct core *core, int64_t time_us, int64_t mono_us,
                  const struct core_restoration *restoration, struct records *records,
                  struct effects *effects)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    size_t count = 0, cursor = 0;

    step_begin(core, time_us, mono_us, records, effects);
    owned(free) char *text = text_format("the state was put back from a copy; jobs from %llu on",
                                         (unsigned long long)restoration->next_job);
    record.kind = WAFER__RECORD_KIND__STATE_RESTORED;
    record.text = text;
    SET(&record, term, restoration->term);
    SET(&record, next_job, restoration->next_job);
    core_record(core, &record);

    owned(free) uint64_t *ids = memory_new(map_count(&core->jobs) * sizeof(*ids) + 1);
    for (struct job *job; (job = map_next(&core->jobs, &cursor));)
        if (!job_state_is_terminal(job->state.state))
            ids[count++] = job->state.id;
    for (size_t i = 0; i < count; i++)
        restore_job(core, ids[i], restoration);
    core->pass_wanted = false; /* core_recover() comes next */
    step_end(core);
}

void core_recover(struct core *core, int64_t time_us, int64_t mono_us, struct records *records,
                  struct effects *effects)
{
    step_begin(core, time_us, mono_us, records, effects);
    if (!core->term) {
        Wafer__Record record = WAFER__RECORD__INIT;
        record.kind = WAFER__RECORD_KIND__TERM_OPENED;
        SET(&record, term, 1);
        core_record(core, &record);
    }
    /* Every lease counts as just renewed: the restart was ours. */
    for (size_t i = 0; i < core->host_count; i++)
        core->hosts[i]->contact_mono_us = mono_us;

    size_t cursor = 0;
    for (struct checkpoint *checkpoint; (checkpoint = map_next(&core->checkpoints, &cursor));) {
        switch (checkpoint->state.state) {
        case WAFER__CHECKPOINT__STATE__WRITTEN:
            effect_checkpoint(core, EFFECT_COMMIT_MANIFEST, checkpoint);
            break;
        case WAFER__CHECKPOINT__STATE__COMMITTED:
            effect_checkpoint(core, EFFECT_VERIFY, checkpoint);
            break;
        case WAFER__CHECKPOINT__STATE__DELETING:
            effect_checkpoint(core, EFFECT_DELETE, checkpoint);
            break;
        default: break;
        }
    }
    deliveries_recover(core);
    dependencies_recover(core);
    /* What agents must be told follows from what they report when they come back. */
    core->pass_wanted = true;
    step_end(core);
}

void core_next(const struct core *core, int64_t *ret_time_us, int64_t *ret_mono_us)
{
    const struct timer *timer = timers_first(&core->timers);
    const struct timer *retry = timers_first(&core->retries);
    int64_t lease_us = host_next_lease(core);

    *ret_time_us = timer ? timer->due_us : INT64_MAX;
    int64_t pass_us = schedule_next(core);
    if (pass_us < *ret_time_us)
        *ret_time_us = pass_us;
    *ret_mono_us = retry && retry->due_us < lease_us ? retry->due_us : lease_us;
}

uint64_t core_term(const struct core *core)
{
    return core->term;
}

uint64_t core_next_job(const struct core *core)
{
    return core->next_job;
}

uint64_t core_sequence(const struct core *core)
{
    return core->sequence;
}

void core_set_access(struct core *core, struct access *access)
{
    access_free(core->access);
    core->access = access;
}

const struct access *core_access(const struct core *core)
{
    return core->access;
}

void core_set_webhooks(struct core *core, const struct core_webhook *webhooks, size_t count,
                       const struct url *notify_allow, size_t notify_allow_count)
{
    core->config.webhooks = webhooks;
    core->config.webhook_count = count;
    core->config.notify_allow = notify_allow;
    core->config.notify_allow_count = notify_allow_count;
}

void core_set_classes(struct core *core, size_t pool, unsigned classes)
{
    core->pools[pool].classes = classes;
    core->pools[pool].review_wanted = true;
    core->pass_wanted = true;
}

void core_set_schedule(struct core *core, const struct schedule_rules *rules)
{
    for (size_t i = 0; i < core->pool_count; i++)
        scheduler_set_rules(core->pools[i].scheduler, rules);
    core->pass_wanted = true;
}

void core_set_preempt(struct core *core, const struct preempt_rules *rules)
{
    core->preempt = *rules;
    core->pass_wanted = true;
}

void core_free_shares(struct core *core)
{
    for (size_t i = 0; i < core->share_count; i++)
        free((char *)core->shares[i].project);
    free(core->shares);
}

void core_set_scores(struct core *core, const struct score_rules *rules,
                     const struct score_share *shares, size_t share_count)
{
    core_free_shares(core);
    core->score = *rules;
    core->shares = memory_new((share_count + 1) * sizeof(*core->shares));
    core->share_count = share_count;
    for (size_t i = 0; i < share_count; i++) {
        core->shares[i] = shares[i];
        core->shares[i].project = text_copy(shares[i].project);
    }
    core->scored_us = INT64_MIN; /* in the next pass */
    core->pass_wanted = true;
}

const Wafer__ClockState *core_clock(const struct core *core)
{
    return core->clock;
}

size_t core_live_jobs(const struct core *core)
{
    return map_count(&core->jobs);
}

void core_set_watched(struct core *core, bool watched)
{
    core->watched = watched;
}
