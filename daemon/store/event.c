#include "base/memory.h"
#include "store/store.h"

/* NULL: nobody's business. Two kinds say more by the state they carry. */
static const char *const kinds[] = {
    [WAFER__RECORD_KIND__TERM_OPENED] = "CONTROLLER_STARTED",
    [WAFER__RECORD_KIND__REFUSED] = "REFUSED",
    [WAFER__RECORD_KIND__JOB_SUBMITTED] = "JOB_SUBMITTED",
    [WAFER__RECORD_KIND__JOB_HELD] = "JOB_HELD",
    [WAFER__RECORD_KIND__JOB_RELEASED] = "JOB_RELEASED",
    [WAFER__RECORD_KIND__JOB_GRANTED] = "JOB_GRANTED",
    [WAFER__RECORD_KIND__JOB_STARTED] = "JOB_STARTED",
    [WAFER__RECORD_KIND__JOB_STOPPING] = "JOB_STOPPING",
    [WAFER__RECORD_KIND__JOB_SUSPENDED] = "JOB_SUSPENDED",
    [WAFER__RECORD_KIND__JOB_CONTINUED] = "JOB_CONTINUED",
    [WAFER__RECORD_KIND__ATTEMPT_ENDED] = "ATTEMPT_ENDED",
    [WAFER__RECORD_KIND__JOB_ENDED] = "JOB_ENDED",
    [WAFER__RECORD_KIND__JOB_ISOLATED] = "JOB_ISOLATED",
    [WAFER__RECORD_KIND__HOST_CHANGED] = "HOST_CHANGED",
};

static const char *const checkpoint_kinds[] = {
    [WAFER__CHECKPOINT__STATE__WRITING] = "CHECKPOINT_WRITING",
    [WAFER__CHECKPOINT__STATE__INCOMPLETE] = "CHECKPOINT_INCOMPLETE",
    [WAFER__CHECKPOINT__STATE__WRITTEN] = "CHECKPOINT_WRITTEN",
    [WAFER__CHECKPOINT__STATE__COMMITTED] = "CHECKPOINT_COMMITTED",
    [WAFER__CHECKPOINT__STATE__VERIFIED] = "CHECKPOINT_VERIFIED",
    [WAFER__CHECKPOINT__STATE__CORRUPT] = "CHECKPOINT_CORRUPT",
    [WAFER__CHECKPOINT__STATE__DELETING] = "CHECKPOINT_DELETING",
    [WAFER__CHECKPOINT__STATE__DELETED] = "CHECKPOINT_DELETED",
};

static const char *const system_kinds[] = {
    [WAFER__SYSTEM__STATE__UP] = "SYSTEM_UP",
    [WAFER__SYSTEM__STATE__DOWN] = "SYSTEM_DOWN",
    [WAFER__SYSTEM__STATE__LOST] = "SYSTEM_LOST",
};

/* A later version may have written a state that is not in the table. */
#define NAME_IN(table, index) ((size_t)(index) < ELEMENTS(table) ? (table)[index] : NULL)

static const char *kind_of(const Wafer__Record *record)
{
    if (record->kind == WAFER__RECORD_KIND__CHECKPOINT_CHANGED && record->checkpoint)
        return NAME_IN(checkpoint_kinds, record->checkpoint->state);
    if (record->kind == WAFER__RECORD_KIND__SYSTEM_CHANGED && record->system)
        return record->system->drained ? "SYSTEM_DRAINED"
                                       : NAME_IN(system_kinds, record->system->state);
    if (record->kind == WAFER__RECORD_KIND__QUEUE_CHANGED && record->queue)
        return record->queue->stopped ? "QUEUE_STOPPED" : "QUEUE_STARTED";
    return NAME_IN(kinds, record->kind);
}

static const char *text_of(const Wafer__Record *record)
{
    if (record->text)
        return record->text;
    if (record->checkpoint)
        return record->checkpoint->detail;
    if (record->system)
        return record->system->reason;
    if (record->queue)
        return record->queue->name;
    if (record->host)
        return record->host->name;
    return record->job_state ? record->job_state->detail : NULL;
}

bool store_event_of(const Wafer__Record *record, Wafer__Event *ret, Wafer__Time *ret_at)
{
    const char *kind = kind_of(record);

    if (!kind)
        return false;
    wafer__time__init(ret_at);
    ret_at->us = record->time_us;
    wafer__event__init(ret);
    ret->sequence = record->sequence;
    ret->at = ret_at;
    ret->kind = (char *)kind;
    ret->has_job = record->job != 0;
    ret->job = record->job;
    ret->system = record->system ? record->system->name : NULL;
    ret->has_uid = record->has_uid;
    ret->uid = record->uid;
    ret->has_cause = record->has_cause;
    ret->cause = record->cause;
    ret->text = (char *)text_of(record);
    return true;
}
