/* scheduling — scheduling.yaml from its file to the rules of the scheduler. */
#ifndef WAFERD_SCHEDULING_H
#define WAFERD_SCHEDULING_H

#include "core/core.h"
#include "findings.h"
#include "policy.pb-c.h"

/* What holds without a file. */
struct schedule_rules scheduling_default(void);

/* `findings` names the file. *ret is NULL, and that no error, when it is not there.
 * -EINVAL  something is wrong with it */
int scheduling_read(struct findings *findings, Wafer__Scheduling **ret);
struct schedule_rules scheduling_rules(const Wafer__Scheduling *file);
struct preempt_rules scheduling_preempt(const Wafer__Scheduling *file);
/* `file` NULL: there is none. The shares are the caller's, their strings the file's. */
struct score_rules scheduling_scores(const Wafer__Scheduling *file);
struct score_share *scheduling_shares(const Wafer__Scheduling *file, size_t *ret_count);

/* Names of users become numbers here; those of queues must be of `pools`. What is wrong is in the
 * findings. The caller frees ret->items; the names in them are the file's. */
void scheduling_quotas(struct findings *findings, const Wafer__Scheduling *file,
                       const struct core_pool *pools, size_t pool_count, struct quota_rules *ret);

#endif
