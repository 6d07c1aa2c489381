/* report — where the time of a job went, from what it has been through. */
#ifndef WAFERD_REPORT_H
#define WAFERD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.pb-c.h"
#include "view.pb-c.h"

struct report_hold {
    int64_t time_us;
    bool held; /* it began; else it was over */
};

struct report_past {
    Wafer__AttemptState **attempts; /* in order */
    size_t attempt_count, attempt_capacity;
    struct report_hold *holds; /* in order */
    size_t hold_count, hold_capacity;
    bool last_goes_on; /* the last attempt is not over: its `ended_us` is now */
};
/* What an attempt left behind may be a hold: it is added too. Takes a copy. */
void report_add_attempt(struct report_past *past, const Wafer__AttemptState *attempt);
void report_add_hold(struct report_past *past, int64_t time_us, bool held);
void report_past_done(struct report_past *past);
static inline void report_past_donep(struct report_past *past)
{
    report_past_done(past);
}

/* `now_us`: until when, of a job that has not ended. The caller frees. */
Wafer__JobReport *report_new(const Wafer__Job *job, const struct report_past *past, int64_t now_us);

#endif
