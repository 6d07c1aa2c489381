#include "core/meters.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/later.h"
#include "base/memory.h"
#include "core/accounts.h"
#include "core/quotas.h"
#include "core/state.h"

#define DAY_US (24 * HOUR_US)

/* ---- reading ---- */

static bool is_metered(const struct quota_limits *limits)
{
    return limits->system_us != INT64_MAX || limits->budget_micro != INT64_MAX ||
           limits->warn_micro != INT64_MAX;
}

static int64_t today_us(const struct core *core)
{
    return core->now_us / DAY_US * DAY_US;
}

static struct account_sum sum_of(const struct core *core, const struct quota *quota, uint32_t days,
                                 const char *currency)
{
    const struct account_filter filter = {
        .project = quota->kind == QUOTA_PROJECT ? quota->name : NULL,
        .pool = quota->kind == QUOTA_QUEUE ? quota->name : NULL,
        .of_user = quota->kind == QUOTA_USER,
        .uid = quota->uid,
        .currency = currency,
    };

    return accounts_sum(core, &filter, today_us(core) - ((int64_t)days - 1) * DAY_US);
}

static int64_t saturate(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

struct meter_reading meter_reading(const struct core *core, const struct quota *quota)
{
    const struct quota_limits *limits = &quota->limits;
    struct meter_reading reading = { 0, 0 };

    if (limits->system_us != INT64_MAX)
        reading.system_us = saturate(sum_of(core, quota, limits->system_days, NULL).system_us);
    if (limits->currency)
        reading.cost_micro =
            saturate(sum_of(core, quota, limits->budget_days, limits->currency).cost_micro);
    return reading;
}

/* Nothing can be left over no earlier than this, at the most that is used in a microsecond or an
 * hour. */
static int64_t used_up_us(const struct meter *meter, int64_t left, __int128 rate, int64_t span_us)
{
    if (left <= 0 || left == INT64_MAX || !rate)
        return INT64_MAX; /* it is known, or does not come nearer */
    return later_us(meter->read_us, saturate(((__int128)left * span_us + rate - 1) / rate));
}

/* When it could be at something else than when it was read. */
static void plan(struct core *core, struct quota *quota)
{
    struct meter *meter = &quota->meter;
    int64_t dues_us[] = {
        used_up_us(meter, meter->hours_left_us, meter->systems, 1),
        used_up_us(meter, meter->soft_left_micro, meter->cost_micro, HOUR_US),
        used_up_us(meter, meter->hard_left_micro, meter->cost_micro, HOUR_US),
    };

    meter->due_us = meter->read_us / DAY_US * DAY_US + DAY_US;
    for (size_t i = 0; i < ELEMENTS(dues_us); i++)
        if (dues_us[i] < meter->due_us)
            meter->due_us = dues_us[i];
    if (meter->due_us <= meter->read_us)
        meter->due_us = meter->read_us + 1;
    if (meter->due_us < core->meters_due_us)
        core->meters_due_us = meter->due_us;
}

static int64_t left_of(int64_t limit, int64_t used)
{
    return limit == INT64_MAX ? INT64_MAX : limit - used;
}

static void read_meter(struct core *core, struct quota *quota)
{
    const struct quota_limits *limits = &quota->limits;
    const struct meter_reading reading = meter_reading(core, quota);
    struct meter *meter = &quota->meter;

    *meter = (struct meter){
        .read_us = core->now_us,
        .hours_left_us = left_of(limits->system_us, reading.system_us),
        .soft_left_micro = left_of(limits->warn_micro, reading.cost_micro),
        .hard_left_micro = left_of(limits->budget_micro, reading.cost_micro),
        .systems = quota->used,
        .cost_micro = quota->cost_micro,
    };
    meter->spent = meter->hard_left_micro <= 0 ? METER_BUDGET
                   : meter->hours_left_us <= 0 ? METER_HOURS
                                               : METER_LEFT;
    meter->is_soft = meter->soft_left_micro <= 0;
    plan(core, quota);
}

void meter_begin(struct core *core, struct quota *quota)
{
    quota->meter = (struct meter){ .due_us = INT64_MIN };
    if (!is_metered(&quota->limits))
        return;
    if (list_is_empty(&quota->meter_link))
        list_push_tail(&core->meters, &quota->meter_link);
    core->meters_due_us = INT64_MIN;
}

void meter_end(struct quota *quota)
{
    quota->meter = (struct meter){ .due_us = INT64_MIN };
    list_remove(&quota->meter_link);
}

void meter_follow(struct core *core, struct quota *quota)
{
    struct meter *meter = &quota->meter;

    if (list_is_empty(&quota->meter_link) || meter->due_us == INT64_MIN ||
        (quota->used <= meter->systems && quota->cost_micro <= meter->cost_micro))
        return;
    if (quota->used > meter->systems)
        meter->systems = quota->used;
    if (quota->cost_micro > meter->cost_micro)
        meter->cost_micro = quota->cost_micro;
    plan(core, quota);
}

int64_t meters_next(const struct core *core)
{
    return core->meters_due_us;
}

/* ---- what quotas are at ---- */

static struct quota_level *find_level(const struct core *core, enum quota_kind kind, uid_t uid,
                                      const char *name)
{
    for (size_t i = 0; i < core->level_count; i++) {
        struct quota_level *level = &core->levels[i];
        if (level->state.kind == (Wafer__Quota__Kind)kind && level->state.uid == uid &&
            (kind == QUOTA_USER || strcmp(level->state.name, name) == 0))
            return level;
    }
    return NULL;
}

void quota_state_change(struct core *core, const Wafer__QuotaState *next)
{
    struct quota_level *level =
        find_level(core, (enum quota_kind)next->kind, next->uid, next->name);

    if (next->level == WAFER__QUOTA_STATE__LEVEL__WITHIN) { /* nothing to keep */
        if (!level)
            return;
        hash_replace(core, &level->hash, NULL);
        free(level->state.name);
        *level = core->levels[--core->level_count];
        return;
    }
    if (!level) {
        ARRAY_RESERVE(core->levels, core->level_count, core->level_capacity);
        level = &core->levels[core->level_count++];
        *level = (struct quota_level){ .state = *next };
        level->state.name = text_copy(next->name);
    }
    level->state.level = next->level;
    hash_replace(core, &level->hash, &level->state.base);
}

static Wafer__QuotaState__Level level_of(const struct meter *meter)
{
    return meter->spent     ? WAFER__QUOTA_STATE__LEVEL__SPENT
           : meter->is_soft ? WAFER__QUOTA_STATE__LEVEL__SOFT
                            : WAFER__QUOTA_STATE__LEVEL__WITHIN;
}

static char *subject(enum quota_kind kind, uid_t uid, const char *name)
{
    return kind == QUOTA_USER      ? text_format("user %u", (unsigned)uid)
           : kind == QUOTA_PROJECT ? text_format("project %s", name)
                                   : text_format("queue %s", name);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void add_money(struct buffer *text, int64_t micro)
{
    buffer_format(text, "%lld.%02lld", (long long)(micro / 1000000),
                  (long long)(micro % 1000000 / 10000));
}

char *meter_budget_text(const struct core *core, const struct quota *quota)
{
    const struct quota_limits *limits = &quota->limits;
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    add_money(&text, meter_reading(core, quota).cost_micro);
    if (limits->budget_micro != INT64_MAX) {
        buffer_append_text(&text, " of ");
        add_money(&text, limits->budget_micro);
    }
    buffer_format(&text, " %s are spent in %u day%s", limits->currency, limits->budget_days,
                  plural(limits->budget_days));
    if (quota->meter.spent != METER_BUDGET && limits->warn_micro != INT64_MAX) {
        buffer_append_text(&text, ", with a warning from ");
        add_money(&text, limits->warn_micro);
    }
    return buffer_text(&text);
}

char *meter_text(const struct core *core, const struct quota *quota)
{
    const struct quota_limits *limits = &quota->limits;

    if (quota->meter.spent == METER_BUDGET)
        return meter_budget_text(core, quota);
    return text_format("%lld of %lld system-hours are used in %u day%s",
                       (long long)(meter_reading(core, quota).system_us / HOUR_US),
                       (long long)(limits->system_us / HOUR_US), limits->system_days,
                       plural(limits->system_days));
}

static void record_level(struct core *core, Wafer__QuotaState *next, const char *what)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    owned(free) char *whose = subject((enum quota_kind)next->kind, next->uid, next->name);
    owned(free) char *text = text_format("%s: %s", whose, what);

    record.kind = WAFER__RECORD_KIND__QUOTA_CHANGED;
    record.quota = next;
    record.text = text;
    core_record(core, &record);
}

/* Once for each change of what it is at. */
static void tell(struct core *core, const struct quota *quota)
{
    const struct quota_level *level = find_level(core, quota->kind, quota->uid, quota->name);
    Wafer__QuotaState next = WAFER__QUOTA_STATE__INIT;

    next.level = level_of(&quota->meter);
    if (next.level == (level ? level->state.level : WAFER__QUOTA_STATE__LEVEL__WITHIN))
        return;
    owned(free) char *what = quota->meter.spent     ? meter_text(core, quota)
                             : quota->meter.is_soft ? meter_budget_text(core, quota)
                                                    : text_copy("within its quota again");
    next.kind = (Wafer__Quota__Kind)quota->kind;
    if (quota->kind == QUOTA_USER)
        SET(&next, uid, quota->uid);
    next.name = quota->name;
    record_level(core, &next, what);
}

/* What rules that are gone have left behind. */
static void forget_levels(struct core *core)
{
    for (size_t i = core->level_count; i-- > 0;) {
        Wafer__QuotaState next = core->levels[i].state;
        const struct quota_party party = {
            .uid = next.uid,
            .project = next.kind == WAFER__QUOTA__KIND__PROJECT ? next.name : NULL,
            .pool = next.kind == WAFER__QUOTA__KIND__QUEUE ? core_pool(core, next.name) : NULL,
        };
        struct quota_limits limits[QUOTA_KINDS];
        quotas_limits(core, &party, limits);
        if (is_metered(&limits[next.kind]))
            continue;
        next.level = WAFER__QUOTA_STATE__LEVEL__WITHIN;
        record_level(core, &next, "no such quota any more");
    }
}

void meters_read(struct core *core)
{
    if (core->now_us < core->meters_due_us || core->journal_full)
        return; /* with a full journal nothing starts */
    core->meters_due_us = INT64_MAX;
    list_foreach (&core->meters, link) {
        struct quota *quota = CONTAINER_OF(link, struct quota, meter_link);
        if (quota->meter.due_us > core->now_us) {
            plan(core, quota);
            continue;
        }
        enum meter_spent before = quota->meter.spent;
        read_meter(core, quota);
        if (quota->meter.spent != before)
            quota_reopen(core, quota);
        tell(core, quota);
    }
    forget_levels(core);
}

/* ---- telling who hands a job in ---- */

static char *warning_of(const struct core *core, const struct quota *quota)
{
    if (!quota || !quota->meter.is_soft)
        return NULL;
    owned(free) char *whose = subject(quota->kind, quota->uid, quota->name);
    owned(free) char *what = meter_budget_text(core, quota);
    return text_format("%s: %s", whose, what);
}

char *meter_warning(const struct core *core, const struct quota_party *party)
{
    const struct quota *quotas[] = {
        quota_of_user(core, party->uid),
        party->project ? quota_of_project(core, party->project) : NULL,
        party->pool ? &party->pool->quota : NULL,
    };

    for (size_t i = 0; i < ELEMENTS(quotas); i++) {
        char *warning = warning_of(core, quotas[i]);
        if (warning)
            return warning;
    }
    return NULL;
}
