/* core — decides what happens to every job.
 *
 * Pure: inputs go in, records and effects come out. The same inputs always give the same records,
 * and the records alone restore the durable state, so a test can live through a week in a
 * millisecond.
 *
 * Durable state is changed by core_apply() alone and hashed object by object. Live state (last
 * contact, progress, why a job waits) is never journaled: it is lost at a restart and learnt again
 * from agents.
 *
 * Units      `_us` are microseconds of cluster time since 1970 UTC; `mono_us` are of this boot's
 *            monotonic clock and serve leases only; `_micro` are millionths
 * Errors     the core cannot fail: a refusal is a record and a reply, our own bug is an assert
 * Ownership  inputs are borrowed for the call; records and effects belong to the caller, who
 *            empties them with records_clear() and effects_clear()
 */
#ifndef WAFERD_CORE_CORE_H
#define WAFERD_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent.pb-c.h"
#include "api.pb-c.h"
#include "base/diag.h"
#include "core/preemption.h"
#include "core/quotas.h"
#include "core/scheduler.h"
#include "core/score.h"
#include "model/url.h"
#include "policy/access.h"
#include "record.pb-c.h"

struct core;

struct core_pool {
    const char *name, *platform;
    int64_t price_micro; /* of one system and hour */
    const char *currency;
    unsigned classes; /* bits of Label.Level: what may run here; 0: whatever */
};

struct core_webhook {
    const char *name;
    uint32_t on; /* bit 1 << event: of all jobs */
};

struct core_config {
    const struct core_pool *pools; /* copied */
    size_t pool_count;             /* >= 1; the first is the default queue */
    int64_t lease_us;              /* real time: a silent link is lost after lease and margin */
    int64_t lease_margin_us;
    uid_t operator_uid;  /* beside root: may act on every job, until core_set_access() */
    const char *version; /* what a client that asks is told; outlives the core */
    uint32_t protocol;
    const struct core_webhook *webhooks; /* these and the next: until core_set_webhooks() */
    size_t webhook_count;
    struct schedule_rules schedule; /* of every pool, until core_set_schedule() */
    struct preempt_rules preempt;   /* likewise */
    const struct url *notify_allow; /* where else jobs may send notifications */
    size_t notify_allow_count;
};

struct core *core_new(const struct core_config *config);
struct core *core_free(struct core *core); /* always NULL */

/* ---- inputs ---- */

enum input_type {
    INPUT_REQUEST,      /* a client asks */
    INPUT_AGENT,        /* an agent says */
    INPUT_LINK_CLOSED,  /* the connection to an agent ended; no failure by itself */
    INPUT_TIMER,        /* core_next() has come */
    INPUT_MANIFEST,     /* verdict of EFFECT_COMMIT_MANIFEST */
    INPUT_VERIFIED,     /* verdict of EFFECT_VERIFY */
    INPUT_DELETED,      /* verdict of EFFECT_DELETE */
    INPUT_NOTIFIED,     /* verdict of EFFECT_NOTIFY */
    INPUT_JOURNAL_FULL, /* no room: only cancel and release are served ... */
    INPUT_JOURNAL_ROOM, /* ... until there is again */
    INPUT_CLOCK,        /* the shell set the cluster clock */
    INPUT_UNREADABLE,   /* at start-up: a record of this job could not be read */
    INPUT_TRACE,        /* a replay: what happened in the first pool */
    INPUT_CALENDAR,     /* answer to EFFECT_CALENDAR */
    INPUT_RELOADED,     /* the shell read the site's files again; what holds now was set before */
};

/* What has become of a job that a new one is to wait for. */
struct fact_outcome {
    size_t dependency; /* which of spec.after asks */
    bool of_array;     /* for all of an array, and this is an element of it */
    uint64_t job;
    struct object object;
    Wafer__Job__State state;
    bool started;
};

/* The windows of a calendar, worked out from the files of time zones. */
struct fact_calendar {
    Wafer__WindowState *windows; /* rising: those that are not over */
    size_t count;
    int64_t known_until_us; /* those that begin before; INT64_MAX: there are no others */
    const char *refusal;    /* NULL, or why they cannot be told */
};

/* What history knows about a job that is no longer in memory. The shell attaches it when a request
 * names such a job; NULL members where history knows nothing. */
struct facts {
    const Wafer__Job *view;
    const Wafer__JobState *state; /* its origins: what has become of them by now */
    ProtobufCBinaryData spec;
    Wafer__CheckpointState *const *checkpoints; /* of the job, rising steps */
    size_t checkpoint_count;
    const struct fact_outcome *after; /* of those in spec.after that are no longer in memory */
    size_t after_count;
    const struct fact_calendar *calendar; /* of the reservation that is asked for */
};

/* What a replay tells. It brings the jobs of a trace to the scheduler of the first pool as they
 * are: they are no jobs of the state, and leave no records. A core that replays does nothing else.
 */
enum trace_event {
    TRACE_SYSTEMS,   /* `systems` more are idle in the pool, or fewer */
    TRACE_SUBMITTED, /* `entry` waits from now on */
    TRACE_BEGAN,     /* it runs: its limit counts from now on, no longer from its start */
    TRACE_RELEASED,  /* its systems are free again, but nobody has looked yet */
    TRACE_ENDED,     /* it ended, whether or not its systems were released before */
    TRACE_SCORED,    /* those who wait have other scores: `score` tells */
    TRACE_PASS,      /* nothing but time */
};

struct input {
    enum input_type type;
    int64_t time_us, mono_us;
    union {
        struct {
            uint64_t client;        /* comes back in the reply */
            struct subject subject; /* who asks */
            const Wafer__Request *message;
            const struct facts *facts;
        } request;
        struct {
            uint64_t link; /* the shell's number of the connection */
            const Wafer__ToController *message;
        } agent;
        struct {
            uint64_t checkpoint;            /* its number */
            int error;                      /* 0, or a negative errno */
            const char *text;               /* with an error */
            const uint8_t *manifest_digest; /* INPUT_MANIFEST: 32 bytes */
        } verdict;                          /* INPUT_MANIFEST, INPUT_VERIFIED, INPUT_DELETED */
        struct {
            uint64_t delivery; /* its number */
            int error;         /* 0: the webhook has it; else a negative errno */
            const char *text;  /* with an error */
        } notified;
        struct {
            enum trace_event event;
            struct schedule_entry *entry; /* the caller's, until it has ended */
            int64_t systems;
            scheduler_score_fn score; /* TRACE_SCORED */
            void *userdata;           /* of it */
            bool pass;                /* and see who starts */
        } trace;
        uint64_t link; /* INPUT_LINK_CLOSED */
        const Wafer__ClockState *clock;
        struct {
            uint64_t job, sequence;
        } unreadable;
        struct {
            uint64_t reservation; /* its number */
            struct fact_calendar facts;
        } calendar;
        struct {
            uid_t uid;        /* who asked for it */
            bool refused;     /* nothing of it holds */
            const char *text; /* what has changed, or what is wrong */
        } reloaded;
    };
};

/* ---- records and effects ---- */

struct records {
    Wafer__Record **items; /* each freed with wafer__record__free_unpacked(r, NULL) */
    size_t count, capacity;
};

enum effect_type {
    EFFECT_REPLY,           /* response -> client */
    EFFECT_HISTORY,         /* answer this request of a client from history: nothing in memory */
    EFFECT_SUBSCRIBE,       /* the stream that this request asks for begins here */
    EFFECT_LOGS,            /* serve the logs of `job` to this client; it may see them */
    EFFECT_AGENT,           /* to_agent -> link */
    EFFECT_DROP_LINK,       /* a newer link of the same host took over, or it broke the protocol */
    EFFECT_COMMIT_MANIFEST, /* write and sync `manifest`; answer INPUT_MANIFEST */
    EFFECT_VERIFY,          /* read `manifest` and its shards back; answer INPUT_VERIFIED */
    EFFECT_DELETE,          /* remove the checkpoint; answer INPUT_DELETED */
    EFFECT_NOTIFY,          /* send `delivery` to its webhook; answer INPUT_NOTIFIED */
    EFFECT_CALENDAR,        /* work out the windows of `reservation`; answer INPUT_CALENDAR */
    EFFECT_CHANGED,         /* a job as watchers see it; durable or live */
    EFFECT_STARTED,         /* in a replay: `entry` runs from now on */
};

/* `key` makes an effect that must arrive idempotent: (sequence of the record that caused it, n).
 * The same effect may come again, from core_recover() or because an agent missed it. */
struct effect {
    enum effect_type type;
    uint64_t key_sequence;
    uint32_t key_n;
    uint64_t client, request; /* REPLY, HISTORY, SUBSCRIBE, LOGS */
    uid_t uid;
    uint64_t link; /* AGENT, DROP_LINK */
    uint64_t job;  /* SUBSCRIBE (0: all), LOGS, CHANGED, of the checkpoint */
    bool removed;  /* CHANGED: it has ended and left memory */
    Wafer__Response *response;
    Wafer__Request *message; /* HISTORY, SUBSCRIBE, LOGS: a copy of the request */
    Wafer__ToAgent *to_agent;
    Wafer__Manifest *manifest; /* COMMIT_MANIFEST, VERIFY, DELETE: names the place */
    uint64_t checkpoint;       /* its number, for the verdict */
    bool has_manifest_digest;  /* VERIFY */
    uint8_t manifest_digest[32];
    Wafer__DeliveryState *delivery;       /* NOTIFY */
    Wafer__ReservationState *reservation; /* CALENDAR */
    struct schedule_entry *entry;         /* STARTED; the caller's */
    /* CHANGED; HISTORY, LOGS: the job as it is, for its attempts; NOTIFY: NULL: it is history */
    Wafer__Job *view;
    Wafer__AttemptState *attempt; /* HISTORY: the one that goes on, or NULL */
};

struct effects {
    struct effect *items;
    size_t count, capacity;
};

void records_clear(struct records *records);
void effects_clear(struct effects *effects);

/* ---- the three functions that everything stands on ---- */

/* Take `input`; append what was decided to `records`, and to `effects` what the caller must carry
 * out, in that order, once the records are durable. The records are applied already. */
void core_step(struct core *core, const struct input *input, struct records *records,
               struct effects *effects);

/* Replay one record of the journal.
 * -EINVAL  it contradicts the state (a gap, a forbidden transition); nothing is changed */
int core_apply(struct core *core, const Wafer__Record *record, struct diag *diag);

/* Replay goes on without record `sequence`, which is of `job` and cannot be read or applied. Until
 * its next record says what it holds, the job holds nothing; INPUT_UNREADABLE must follow the
 * replay, unless core_isolation_covers() holds of a later record. */
void core_skip(struct core *core, uint64_t sequence, uint64_t job);

/* Whether `record` isolated `job` when record `sequence` of it was lost already. One that was lost
 * only since, though it is older than the isolation, is not covered: it was relied on then. */
bool core_isolation_covers(const Wafer__Record *record, uint64_t job, uint64_t sequence);

/* After replay: the new term, and every effect that may not have arrived. */
void core_recover(struct core *core, int64_t time_us, int64_t mono_us, struct records *records,
                  struct effects *effects);

/* After replay, and before core_recover(), of a state that was put back from a copy. What was given
 * out after the copy was made is not known here; the caller knows bounds of it, and that whatever
 * ran then runs no more. */
struct core_restoration {
    uint64_t term;     /* above any that was ever used */
    uint64_t next_job; /* no lower id is given from now on */
    /* The highest attempt of the job that has left anything behind; 0: none. */
    uint32_t (*last_attempt)(void *userdata, uint64_t job);
    void *userdata;
};
void core_restore(struct core *core, int64_t time_us, int64_t mono_us,
                  const struct core_restoration *restoration, struct records *records,
                  struct effects *effects);

/* ---- timers, snapshots, questions ---- */

/* The rules of every pool, from the next pass on; all that was planned is planned anew. */
void core_set_schedule(struct core *core, const struct schedule_rules *rules);
void core_set_preempt(struct core *core, const struct preempt_rules *rules);
/* What the order by policy adds up, and who has which share; copied. */
void core_set_scores(struct core *core, const struct score_rules *rules,
                     const struct score_share *shares, size_t share_count);
/* Copied. Whoever holds systems keeps them, and each job the terms that it came with. */
void core_set_quotas(struct core *core, const struct quota_rules *rules);

/* When INPUT_TIMER is due: the earliest of cluster time and of monotonic time; INT64_MAX: never. */
void core_next(const struct core *core, int64_t *ret_time_us, int64_t *ret_mono_us);

uint64_t core_sequence(const struct core *core); /* of the last record */
uint64_t core_term(const struct core *core);
uint64_t core_next_job(const struct core *core); /* the id that the next job gets */

/* 32 bytes over all durable state: equal records, equal hash, on any machine. Cheap: kept
 * incrementally. */
void core_hash(const struct core *core, uint8_t ret[static 32]);

/* The durable state as items, header first; `emit` returns 0 or stops the walk. */
typedef int (*core_emit_fn)(void *userdata, const Wafer__SnapshotItem *item);
int core_save(const struct core *core, core_emit_fn emit, void *userdata);

/* Load items in the order of core_save() into a new core. core_load_end() compares the hash.
 * -EBADMSG  they do not fit together */
int core_load(struct core *core, const Wafer__SnapshotItem *item, struct diag *diag);
int core_load_end(struct core *core, struct diag *diag);

/* True while the job is in memory: the shell then needs no facts. `target` by id or name. */
bool core_knows(const struct core *core, const Wafer__Target *target, uid_t uid);

/* True while an element of the array is in memory; others of it may have left. */
bool core_knows_array(const struct core *core, uint64_t array);

/* A live job as an object of policy; borrowed until the next step. False: it is not in memory. */
bool core_object(const struct core *core, uint64_t job, struct object *ret);

/* From the next step on, these rules decide. Takes `access`. */
void core_set_access(struct core *core, struct access *access);
const struct access *core_access(const struct core *core);

/* What is told to whom from the next step on, and where else jobs may send notifications; both live
 * until the next call, or as long as the core. */
void core_set_webhooks(struct core *core, const struct core_webhook *webhooks, size_t count,
                       const struct url *notify_allow, size_t notify_allow_count);

/* What may be granted systems of the nth pool from the next pass on; what runs goes on. */
void core_set_classes(struct core *core, size_t pool, unsigned classes);

const Wafer__ClockState *core_clock(const struct core *core); /* NULL before the first */
size_t core_live_jobs(const struct core *core);

/* EFFECT_CHANGED costs a view of the job each time: the shell says whether anybody watches. */
void core_set_watched(struct core *core, bool watched);

/* Walk every object and assert the invariants I2-I4, I7-I9, I13-I15 of the design. For tests. */
void core_check(const struct core *core);

#endif
