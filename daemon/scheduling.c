#include "scheduling.h"

#include <errno.h>
#include <unistd.h>

#define DEPTH 1000

struct schedule_rules scheduling_default(void)
{
    return (struct schedule_rules){ .backfill = SCHEDULE_BACKFILL_EASY,
                                    .order = SCHEDULE_ORDER_FCFS,
                                    .depth = DEPTH };
}

int scheduling_read(struct findings *findings, Wafer__Scheduling **ret)
{
    ProtobufCMessage *message = NULL;

    *ret = NULL;
    if (access(findings->file, F_OK) < 0 && errno == ENOENT)
        return 0;
    int r = findings_read(findings, &wafer__scheduling__descriptor, true, &message);
    if (r < 0)
        return r;
    Wafer__Scheduling *file = (Wafer__Scheduling *)message;
    findings_check_kind(findings, file->apiversion, file->kind, "Scheduling");
    if (!file->serial)
        findings_add(findings, "serial", "it must be at least 1");
    if (file->preempt && file->preempt->by->value >= file->preempt->of->value)
        findings_add(findings, "preempt", "by must be more urgent than of, as in {by: p1, of: p3}");
    if (file->has_depth && !file->depth)
        findings_add(findings, "depth", "it must be at least 1");
    if (findings->errors.count > 0) {
        wafer__scheduling__free_unpacked(file, NULL);
        return -EINVAL;
    }
    *ret = file;
    return 0;
}

struct preempt_rules scheduling_preempt(const Wafer__Scheduling *file)
{
    if (!file->preempt)
        return (struct preempt_rules){ 0, 0 };
    return (struct preempt_rules){ .by = file->preempt->by->value, .of = file->preempt->of->value };
}

/* The schema lists backfills and orders in the order of the scheduler's. */
struct schedule_rules scheduling_rules(const Wafer__Scheduling *file)
{
    struct schedule_rules rules = scheduling_default();

    _Static_assert((int)WAFER__SCHEDULING__BACKFILL__conservative ==
                       (int)SCHEDULE_BACKFILL_CONSERVATIVE,
                   "the same numbers");
    _Static_assert((int)WAFER__SCHEDULING__ORDER__wfp == (int)SCHEDULE_ORDER_WFP,
                   "the same numbers");
    if (file->has_backfill)
        rules.backfill = (enum schedule_backfill)file->backfill;
    if (file->has_order)
        rules.order = (enum schedule_order)file->order;
    if (file->has_depth)
        rules.depth = file->depth;
    return rules;
}
