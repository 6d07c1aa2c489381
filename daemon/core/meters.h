/* meters — system-hours and money that a quota has used in its window, and what that keeps back.
 *
 * A window is some days of UTC, today among them; what is used then comes from the accounts and
 * from what runs. It is read again when it could have reached a limit at the rate that the quota
 * has systems, and when a day begins. Once it has, whoever waits is parked with the quota; who runs
 * goes on. What a quota is at is durable, so that each change is told of once. */
#ifndef WAFERD_CORE_METERS_H
#define WAFERD_CORE_METERS_H

#include <stdbool.h>
#include <stdint.h>

#include "record.pb-c.h"

struct core;
struct quota;
struct quota_party;

enum meter_spent {
    METER_LEFT,   /* something, or there is no limit */
    METER_HOURS,  /* no system-hours are left */
    METER_BUDGET, /* no money is */
};

struct meter {
    enum meter_spent spent;
    bool is_soft;            /* the budget is beyond what is warned of */
    int64_t read_us, due_us; /* when it was read, and when it is to be read again */
    int64_t hours_left_us;   /* when it was read; these three INT64_MAX: no such limit */
    int64_t soft_left_micro, hard_left_micro;
    uint32_t systems; /* the most that were held since; what they cost in an hour */
    int64_t cost_micro;
};

/* The rules of the quota are others, or it is new; nothing is known. */
void meter_begin(struct core *core, struct quota *quota);
void meter_end(struct quota *quota);
/* It has more systems than before. */
void meter_follow(struct core *core, struct quota *quota);
/* Read those that are due; before each pass at least. Those that changed are in core->open_quotas.
 */
void meters_read(struct core *core);
/* When one is due; INT64_MAX: never. */
int64_t meters_next(const struct core *core);

/* What its window holds now. */
struct meter_reading {
    int64_t system_us, cost_micro;
};
struct meter_reading meter_reading(const struct core *core, const struct quota *quota);
/* Why it keeps jobs, in a sentence; the caller frees. */
char *meter_text(const struct core *core, const struct quota *quota);
/* How its budget stands; it has one. The caller frees. */
char *meter_budget_text(const struct core *core, const struct quota *quota);
/* What a budget of the party warns of; NULL: nothing. The caller frees. */
char *meter_warning(const struct core *core, const struct quota_party *party);

/* For apply.c: what quotas are at. */
void quota_state_change(struct core *core, const Wafer__QuotaState *next);

#endif
