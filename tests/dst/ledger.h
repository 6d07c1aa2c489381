/* ledger — what the records of a journal say of each job and system, kept without the core. */
#ifndef WAFERD_TESTS_DST_LEDGER_H
#define WAFERD_TESTS_DST_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record.pb-c.h"

#define LEDGER_SYSTEMS 64

struct ledger_job {
    uint64_t id;
    uint32_t index; /* of an array */
    ProtobufCBinaryData spec;
    Wafer__JobState *state; /* the newest */
    Wafer__Job *view;       /* once it has ended */
    bool ended;
    bool unsure;        /* a record of it was lost: until it is isolated, others may say anything */
    bool lost;          /* such a record there was, at some time */
    uint64_t *lost_now; /* those of an unsure job */
    size_t lost_count, lost_capacity;
    unsigned owed;                        /* notifications that were not acknowledged */
    int told;                             /* the last event that one of them is about; -1: none */
    Wafer__CheckpointState **checkpoints; /* rising steps, then epochs; deleted ones are gone */
    size_t checkpoint_count, checkpoint_capacity;
};

struct ledger_system {
    char name[16];
    Wafer__System__State state;
    bool drained;
};

struct ledger {
    struct map jobs;
    uint64_t last_job;
    struct ledger_system systems[LEDGER_SYSTEMS]; /* by number */
};

void ledger_done(struct ledger *ledger);
/* NULL, or what is wrong with it. */
const char *ledger_add(struct ledger *ledger, const Wafer__Record *record);
/* A record of the job is lost. */
void ledger_skip(struct ledger *ledger, uint64_t sequence, uint64_t job);
struct ledger_job *ledger_job(const struct ledger *ledger, uint64_t id); /* or NULL */
/* NULL: unknown, or deleted */
const Wafer__CheckpointState *ledger_checkpoint(const struct ledger *ledger, uint64_t job,
                                                uint64_t number);

#endif
