/* state — what the core holds: jobs, checkpoints, systems, hosts. Private to daemon/core.
 *
 * Invariants
 *   - the durable part of an object is the message in its `state`; only apply.c changes it
 *   - `hash` of an object is the BLAKE2b of its packed state; core->hash is the sum of all
 *   - a job's `state.systems` is the only truth about who holds a system; system->job follows it
 *   - a PENDING job of a pool that the site has waits with the pool's scheduler or is parked, in
 *     exactly one list; any other does neither
 *   - a job is counted by the quotas of its user, its project and its queue
 *   - the scheduler of a pool has a domain for each host, and knows of every job that holds systems
 *   - what is marked live is neither journaled nor hashed
 */
#ifndef WAFERD_CORE_STATE_H
#define WAFERD_CORE_STATE_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/map.h"
#include "core/core.h"
#include "core/lanes.h"
#include "core/meters.h"
#include "core/preemption.h"
#include "core/quotas.h"
#include "core/scheduler.h"
#include "core/score.h"
#include "core/timers.h"
#include "model/job.h"
#include "model/limits.h"
#include "model/message.h"

#define JOB_PRIORITIES 400 /* 0..399, lower runs first */

/* Fields of proto2 messages that may be absent come with a flag. */
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))
#define UNSET(message, field)      ((message)->has_##field = false, (message)->field = 0)

#define KEY_KEPT_US (24 * HOUR_US) /* after the end of its job */

struct hash {
    uint64_t words[4];
};

/* A spec, shared by all jobs that were submitted with the same bytes. */
struct spec {
    struct digest digest;
    uint64_t slot; /* first 8 bytes of the digest: the key of core->specs */
    unsigned references;
    uint8_t *packed;
    size_t length;
    Wafer__JobSpec *message; /* terms borrow its strings; NULL when the bytes are no spec */
    struct job_terms terms;
    bool checked; /* live: by the schema, as this version has it; one that was replayed is not */
};

/* The elements of one array that are in memory. */
struct array {
    uint64_t id;               /* of element 0 */
    unsigned running, waiting; /* the latter: that the scheduler knows of */
    struct list elements;      /* job->array_link */
    struct list parked;        /* job->parked_link, by id: as many as may run do, or wait */
    struct list open_link;     /* core->open_arrays: there may be room again */
};

/* That of an admitted job with one quota. */
struct quota_seat {
    struct list link; /* quota->waiting */
    struct job *job;
};

/* What one user, project or queue uses of what it may. */
struct quota {
    enum quota_kind kind;
    uid_t uid;              /* QUOTA_USER */
    char *name;             /* QUOTA_PROJECT; of a queue: borrowed */
    struct quota *next;     /* of a project with the same hash */
    size_t accounts;        /* with jobs */
    uint64_t pending;       /* jobs that wait or are held */
    uint64_t running;       /* jobs that hold systems ... */
    uint32_t used;          /* ... and how many */
    uint32_t admitted;      /* systems that those of `waiting` want */
    struct list waiting;    /* quota_seat->link, as they are considered */
    struct list parked;     /* job->parked_link, likewise */
    uint32_t narrowest;     /* none of them wants less */
    struct list open_link;  /* core->open_quotas: there may be room again, or too little */
    struct list meter_link; /* core->meters, if it has a window */
    struct meter meter;
    int64_t cost_micro; /* of its systems in an hour */
    struct quota_limits limits;
};

struct checkpoint {
    Wafer__CheckpointState state;
    struct hash hash;
    struct job *job;
    struct list link; /* job->checkpoints, by step, then epoch */
    /* live */
    struct timer timer;       /* while COMMITTED: when it is read back again */
    unsigned verify_failures; /* it could not be read, for a cause that may pass */
};

struct account_day {
    int64_t day, system_us, cost_micro;
    struct hash hash;
};

/* Of a project and a user in a pool: accounts.h. */
struct account {
    char *project, *pool;
    uid_t uid;
    struct account *next;     /* of the same slot of core->accounts */
    struct account_day *days; /* rising */
    size_t day_count, day_capacity;
    /* live, or following from jobs */
    size_t jobs;
    uint64_t systems;
    struct quota *quotas[QUOTA_KINDS];  /* while it has jobs; NULL: it has none such */
    int64_t share, of_project, of_user; /* when scores were last computed; in millionths */
    struct list holders;                /* job->parked_link, of those that have systems */
};

/* Of state.after: tells the job when the other has started or ended. */
struct dependency {
    struct list link; /* dependents->waiting, as long as it is open */
    struct job *job;
};

/* A job has started or ended, and others wait for that. */
struct news {
    uint64_t job, array; /* the latter 0: no element of one */
    int outcome;         /* of dependencies.c */
};

/* Why a job waits: derived from the state whenever somebody asks. */
struct wait {
    Wafer__Job__Reason reason;
    int64_t since_us;
    uint64_t blocker_job; /* 0: none */
    char *detail;
};

#define FAILED_SYSTEMS 4

struct progress {           /* live */
    int64_t short_since_us; /* too few systems of its pool have worked since then; 0: enough do */
    uint64_t listed;        /* the last report that listed it, as core->report_count counts them */
    uint32_t failed_on[FAILED_SYSTEMS]; /* the last systems that failed under it; 0: none */
    int64_t waiting_since_us;           /* of one that waits again; else 0 */
    Wafer__Job__Phase phase;
    uint64_t step;
    int64_t loss_micro, samples_per_s_micro, eta_us;
    bool has_loss, has_rate, has_eta, has_times;
    Wafer__PhaseTimes times; /* of the attempt */
};

struct job {
    Wafer__JobState state; /* strings and arrays are owned; spec_digest points into `spec` */
    struct hash hash;
    struct spec *spec;
    struct array *array;     /* NULL: no element of one */
    struct list array_link;  /* array->elements */
    struct list checkpoints; /* checkpoint->link */
    unsigned unsettled;      /* checkpoints that are WRITING, WRITTEN, COMMITTED or DELETING */
    struct account *account;
    struct schedule_entry entry;
    /* pool->parked, pool->dormant, array->parked or quota->parked; account->holders */
    struct list parked_link;
    struct quota_seat
        *seats; /* QUOTA_KINDS of them, while it is admitted by a quota with a limit */
    bool admitted;
    struct timer timer;
    /* live */
    struct progress *progress; /* NULL before its first attempt: job_progress() */
    bool has_claim;            /* to systems that others are being stopped for: preemption.c */
    bool is_changed;           /* it is among core->changed */
    bool unsure; /* in a replay: a record of it could not be read, and it is not isolated yet */
};

/* Records of an unsure job that could not be read. */
struct lost {
    uint64_t *sequences;
    size_t count, capacity;
};

struct system {
    Wafer__SystemState state;
    struct hash hash;
    struct pool *pool; /* NULL: of a pool that the site no longer has */
    struct host *host;
    struct job *job; /* follows job->state.systems */
    struct list host_link;
    /* live */
    uint64_t listed;     /* the last registration that listed it */
    size_t lane;         /* of the lanes that were filled last */
    struct claim *claim; /* kept for that job, whoever still has it */
};

/* Systems of one host that are kept for a job until all of them are free. */
struct claim {
    struct job *job;
    struct host *host;
    struct system **systems;
    uint32_t count;
    struct list link; /* core->claims, in the order in which they were laid */
};

/* Systems of one host and one pool. */
struct supply {
    uint32_t known;   /* whatever their state */
    uint32_t healthy; /* up and not drained */
    uint32_t free;    /* healthy, of no job, and kept for none */
};

struct host {
    size_t index; /* in core->hosts: its domain in every pool */
    Wafer__HostState state;
    struct hash hash;
    struct list systems;   /* by number */
    struct supply *supply; /* of each pool; follows the systems */
    /* live */
    uint64_t link; /* 0: not connected */
    int64_t contact_mono_us;
    bool lost; /* the lease has ended and this was acted on */
    double speed;
};

/* When those who wait would start, as of this record and time. */
struct forecast {
    uint64_t sequence;
    int64_t us;
    int64_t *starts_us; /* in the order in which they are considered; NULL: nobody asked yet */
    size_t count;
};

struct lane_windows;

struct pool {
    struct core *core; /* for the scheduler's questions */
    char *name, *platform, *currency;
    int64_t price_micro;
    unsigned classes; /* bits of Label.Level; 0: whatever */
    bool stopped;     /* durable, in core->queues */
    struct scheduler *scheduler;
    struct list parked;  /* job->parked_link: something of their own keeps them */
    struct list dormant; /* job->parked_link: until a time comes, or another job is done */
    size_t queued;       /* PENDING: that the scheduler knows of, or parked */
    size_t systems;      /* known, whatever their state */
    /* As of this record and time: a list asks for each of its jobs. */
    struct supply widest; /* of one host; `free` is not kept: it follows connections too */
    uint64_t widest_sequence;
    int64_t widest_us;
    struct quota quota;
    struct supply reviewed; /* `widest` when all its jobs were last looked at */
    bool review_wanted;
    struct forecast forecast;
    bool is_reserved;                  /* some reservation is of it */
    struct lane_windows *lane_windows; /* of reserved.c: as long as no reservation changes */
    size_t lane_windows_count, lane_windows_capacity;
    struct lanes lanes; /* as of this record and time */
    uint64_t lanes_sequence;
    int64_t lanes_us;
};

/* Systems that are kept back at times: reserved.c. */
struct reserved {
    Wafer__ReservationState *state;
    uint8_t number; /* live: its place in core->reserved, from 1; lanes know it by that */
    struct hash hash;
    struct timer timer; /* when its windows are to be renewed, or the last is over */
};

struct queue_state {
    Wafer__QueueState state;
    struct hash hash;
};

struct key {
    Wafer__KeyState state;
    struct hash hash;
    struct timer timer;
};

/* A notification that its webhook has not acknowledged. */
struct delivery {
    Wafer__DeliveryState state;
    struct hash hash;
    /* live */
    struct list owed_link; /* core->owed */
    struct timer timer;    /* of monotonic time: the next try */
};

/* A client waits for a verdict; live. */
struct verification {
    struct list link;
    Wafer__CheckpointState *state; /* follows the records of the checkpoint */
    uint64_t client, request;
    uid_t uid;
};

/* A quota that is not within its limits. */
struct quota_level {
    Wafer__QuotaState state;
    struct hash hash;
};

struct core {
    struct core_config config;
    struct access *access;
    struct preempt_rules preempt;
    struct score_rules score;
    struct score_share *shares;
    size_t share_count;
    struct quota_rule *quota_rules; /* their names are owned */
    size_t quota_rule_count;
    struct pool *pools;
    size_t pool_count;

    /* durable */
    uint64_t sequence, term;
    uint64_t next_job, next_checkpoint;
    uint32_t next_system;
    struct map jobs, checkpoints, systems, keys, specs, deliveries;
    struct map accounts; /* of accounts.c */
    struct host **hosts;
    size_t host_count, host_capacity;
    struct queue_state *queues;
    size_t queue_count, queue_capacity;
    struct quota_level *levels;
    size_t level_count, level_capacity;
    struct reserved *reserved[LIMIT_RESERVATIONS]; /* NULL: there is none in this place */
    Wafer__ClockState *clock;
    struct hash clock_hash;
    struct hash hash;        /* sum over all objects */
    uint8_t loaded_hash[32]; /* of the snapshot header, until core_load_end() */

    /* live */
    struct spec *recent_spec; /* of `specs`: the last that a job came with; or NULL */
    struct map arrays, links; /* links: number -> host */
    struct map lost;          /* id of an unsure job -> struct lost */
    struct map dependents;    /* of dependencies.c, as the next */
    struct map dependencies;  /* id of a job -> of each in its state.after */
    struct news *news;        /* of this step, for them */
    size_t news_count, news_capacity;
    struct list open_arrays;   /* array->open_link */
    struct map user_quotas;    /* by uid */
    struct map project_quotas; /* hash of its name -> the first such */
    struct list meters;        /* quota->meter_link */
    int64_t meters_due_us;
    struct list open_quotas;    /* quota->open_link */
    struct list claims;         /* claim->link */
    struct map system_names;    /* hash of its name -> the first such system */
    uint64_t report_count;      /* of reports of all hosts */
    struct map origins;         /* number of a checkpoint -> how many jobs hold it as an origin */
    struct map delivery_counts; /* by uid: how many of `deliveries` */
    struct timers timers;       /* cluster time */
    struct timers retries;      /* monotonic time: of deliveries */
    struct list owed;           /* deliveries that leave at the end of the step */
    bool watched;
    uint64_t *changed; /* ids of jobs that watchers hear of at the end of the step */
    size_t changed_count, changed_capacity;
    struct list verifications; /* that clients wait for */
    bool journal_full;
    int64_t scored_us; /* when the scores of those who wait were computed */
    bool pass_wanted;  /* something changed that may let a job start */
    bool replays;      /* a trace, in the first pool */

    /* of the step that runs */
    struct rights rights;        /* of who asks */
    const struct rights *asking; /* these, or NULL: nobody does */
    const char *asking_role;     /* which he chose; NULL: all */
    int64_t now_us, mono_us;
    struct records *records;
    struct effects *effects;
    size_t effects_before; /* of earlier steps, not carried out yet */
    uint32_t effect_n;
};

/* ---- objects.c: copies, lookups ---- */

void job_state_copy(Wafer__JobState *to, const Wafer__JobState *from);
void job_state_done(Wafer__JobState *state);
Wafer__CheckpointState *checkpoint_state_new(const Wafer__CheckpointState *from);
void checkpoint_state_copy(Wafer__CheckpointState *to, const Wafer__CheckpointState *from);
void checkpoint_state_done(Wafer__CheckpointState *state);
ProtobufCBinaryData bytes_copy(ProtobufCBinaryData from);

struct job *core_job(const struct core *core, uint64_t id);
struct checkpoint *core_checkpoint(const struct core *core, uint64_t number);
struct system *core_system(const struct core *core, uint32_t number);
struct system *core_system_named(const struct core *core, const char *name);
void core_name_system(struct core *core, struct system *system); /* a new one can be found by it */
struct host *core_host(const struct core *core, const char *name);
struct pool *core_pool(const struct core *core, const char *name);
struct key *core_key(const struct core *core, uint64_t hash);

/* The pool whose queue the job waits in; NULL when the site no longer has it. */
struct pool *job_pool(const struct core *core, const struct job *job);
bool pool_takes(const struct pool *pool, Wafer__Label__Level level); /* schedule.c */
/* schedule.c: in the order in which jobs are considered, as long as nothing else counts. */
bool job_comes_before(const struct job *a, const struct job *b);
uint32_t job_systems_wanted(const struct job *job);
/* From then on a job that waits cannot be over by its deadline; INT64_MAX: it has none. */
int64_t job_too_late_us(const struct job *job); /* attempts.c */
/* Of its time limit, before the attempt that goes on; INT64_MAX: it has no limit. */
int64_t job_limit_left_us(const struct job *job);
bool job_has_systems(const struct job *job);
int64_t job_waiting_since_us(const struct job *job);
struct lost *job_lost(const struct core *core, uint64_t id); /* NULL: nothing */
void job_lost_forget(struct core *core, uint64_t id);
/* schedule.c: of one pool (NULL: nothing), the most that one host has of each. */
struct supply schedule_widest(const struct core *core, const struct pool *pool);
bool system_is_healthy(const struct system *system); /* schedule.c: up, and not drained */
/* What was last heard of the job; all zero before its first attempt. */
const struct progress *job_progress(const struct job *job);
struct progress *job_progress_change(struct job *job);                 /* the same, to be written */
struct host *job_host(const struct core *core, const struct job *job); /* of its systems */
bool checkpoint_is_settled(const Wafer__CheckpointState *state);
/* All of the job by rising steps; the array is the caller's. */
Wafer__CheckpointState **checkpoint_states(const struct job *job, size_t *ret_count);

/* The one with these bytes; NULL: no job has it. */
const struct spec *spec_find(const struct core *core, const uint8_t *packed, size_t length);
struct spec *spec_intern(struct core *core, const uint8_t *packed, size_t length);
void spec_release(struct core *core, struct spec *spec);

/* ---- apply.c ---- */

/* Complete `record`, a draft on the caller's stack, apply it, and hand a copy to the records of the
 * step. The draft's pointers are borrowed. */
void core_record(struct core *core, Wafer__Record *draft);

/* ---- effects.c ---- */

void effect_reply(struct core *core, const struct input *input, Wafer__Response *response);
void effect_agent(struct core *core, const struct host *host, Wafer__ToAgent *message);
void effect_checkpoint(struct core *core, enum effect_type type,
                       const struct checkpoint *checkpoint);
/* The same for a checkpoint whose job is history. */
void effect_verify(struct core *core, const Wafer__CheckpointState *state);
void effect_delete(struct core *core, const Wafer__CheckpointState *state);
/* Watchers hear of the job as it is at the end of the step, once. */
void effect_changed(struct core *core, struct job *job);
void effects_changed(struct core *core);               /* the end of the step */
void effect_warn(struct core *core, const char *text); /* beside the last reply */
/* Answer with the job as it is at the end of the step. */
void effect_reply_job(struct core *core, const struct input *input, const struct job *job);
void effects_answer_jobs(struct core *core); /* the end of the step */
struct effect *effect_add(struct core *core, enum effect_type type);

/* ---- view.c ---- */

uint64_t job_step(const struct job *job); /* how far it has come, as far as is known */
Wafer__Time *view_time(int64_t us);
Wafer__Job *view_job(const struct core *core, const struct job *job);
/* Only what a table of jobs shows: a fifth of it. */
Wafer__Job *view_row(const struct core *core, const struct job *job);
/* When the job is to start, if it waits: planned anew after each record, so only for those who ask.
 */
void view_add_start(const struct core *core, const struct job *job, Wafer__Job *view);
Wafer__Checkpoint *view_checkpoint(const Wafer__CheckpointState *state);
Wafer__System *view_system(const struct core *core, const struct system *system);

/* ---- attempts.c: from grant to end ---- */

struct ending {
    Wafer__Cause cause;
    uint64_t step;
    const ProtobufCBinaryData *digest;
    const int64_t *metric_micro;
    const char *detail;
    const char *system;
    const Wafer__PhaseTimes *times; /* NULL: as last heard of */
};

void attempt_grant(struct core *core, struct job *job, struct system *const *systems, size_t count);
void attempt_send_start(struct core *core, struct job *job);
void attempt_send_stop(struct core *core, struct job *job);
void attempt_started(struct core *core, struct job *job);
void attempt_suspended(struct core *core, struct job *job, bool suspended, const char *detail);
/* Ask the systems of the job to stop; who asked: `uid`, or NULL. */
void attempt_stop(struct core *core, struct job *job, Wafer__Cause cause, bool now,
                  int64_t grace_us, const char *text, const uid_t *uid);
/* The same for a more urgent job: it waits again, and no failure is counted. */
void attempt_preempt(struct core *core, struct job *job, uint64_t by, const char *text);
void attempt_ended(struct core *core, struct job *job, const struct ending *ending);
/* Make a waiting job final. */
void job_end(struct core *core, struct job *job, Wafer__Job__State state, Wafer__Cause cause,
             const char *text, const uid_t *uid);
/* Cut a back-off short. A wait without failures is for proof that an attempt is over: it stays. */
void job_end_back_off(Wafer__JobState *next);
void job_timer_due(struct core *core, struct job *job);
void job_timer_set(struct core *core, struct job *job);

/* What the systems of the job have cost since they were granted. */
int64_t attempt_cost(const struct core *core, const struct job *job);

/* ---- attempt_state.c ---- */

struct attempt_description {
    Wafer__AttemptState state; /* of what is below, and of the core */
    Wafer__PhaseTimes times;
    char *systems[LIMIT_SYSTEMS];
};
/* The attempt as it is now, of a job that has systems. */
void attempt_describe(const struct core *core, const struct job *job,
                      struct attempt_description *ret);
/* What an agent says of its phases; NULL: nothing. */
void attempt_times(struct job *job, const Wafer__PhaseTimes *times);

/* ---- checkpoints.c ---- */

/* The newest checkpoint of its own that the job may resume from; NULL: from its origin, or the
 * beginning. */
const Wafer__CheckpointState *checkpoint_to_resume(const struct job *job);
/* A person who resumes from a step gives up what was written beyond it until then: it is no longer
 * something to go back to by ourselves. */
bool checkpoint_is_given_up(const Wafer__JobState *job, const Wafer__CheckpointState *state);
/* The one that a person named to resume from is not there any more, and nothing came after it. */
bool checkpoint_named_is_lost(const struct job *job);
/* An attempt could not read what it was to start from. False: there is nothing else that the next
 * one may start from. */
bool checkpoint_unreadable(struct core *core, struct job *job, const char *why);
/* The newest step that the job could go back to if this checkpoint (or NULL) were not there. */
uint64_t checkpoint_committed_without(const struct job *job, const struct checkpoint *lost);
/* A verdict is to come that may give it a newer one. */
bool checkpoint_is_awaited(const struct job *job);
void checkpoint_reported(struct core *core, struct host *host,
                         const Wafer__CheckpointReport *report);
void checkpoint_verdict(struct core *core, const struct input *input);
/* Such an error of a read says that the bytes are not what was written; any other may pass. */
bool checkpoint_is_damage(int error);
void checkpoint_begun_lost(struct core *core,
                           struct job *job); /* WRITING ones are INCOMPLETE now */
void checkpoint_drop_incomplete(struct core *core, struct job *job);
void checkpoint_delete(struct core *core, struct checkpoint *checkpoint, const char *why,
                       const uid_t *uid);
/* Of a job that is history. */
void checkpoint_delete_ended(struct core *core, const Wafer__CheckpointState *state,
                             const char *why, const uid_t *uid);

/* ---- origins.c ---- */

enum { ORIGINS_MAX = 8 }; /* each record of the job carries them */

struct origins { /* borrowed; newest first */
    Wafer__CheckpointState *states[ORIGINS_MAX];
    size_t count;
    bool weights_only;
};

/* Of an ended job: its own verified checkpoints, then what it may have started from itself. */
void origins_of(const struct core *core, const Wafer__JobState *ended,
                Wafer__CheckpointState *const *checkpoints, size_t count, struct origins *ret);
bool checkpoint_is_origin(const struct core *core, uint64_t number); /* of any job in memory */
/* NULL: the job has no such origin. */
const Wafer__CheckpointState *origin_numbered(const struct job *job, uint64_t number);
/* The newest that is still good; NULL: none is. */
const Wafer__CheckpointState *origin_to_resume(const struct job *job);
/* For apply.c: a job came (1) or left (-1); a checkpoint changed. */
void origins_count(struct core *core, const Wafer__JobState *state, int change);
void origins_follow(struct core *core, const Wafer__CheckpointState *next);

/* ---- retention.c ---- */

enum retention {
    RETAINED_NOT, /* it may go */
    RETAINED_UNSETTLED,
    RETAINED_NEWEST,
    RETAINED_PINNED,
    RETAINED_ATTEMPT,
    RETAINED_NEXT,
    RETAINED_ORIGIN,
    RETAINED_LAST, /* from here on the rules of the job: checkpoint.keep */
    RETAINED_EVERY,
    RETAINED_BEST,
};

/* Of `count` checkpoints of `job` by rising steps, why each stays. Its rules speak of verified
 * ones only: what else may go here is damaged, or was never complete. */
void retention_decide(const struct core *core, const Wafer__JobState *job,
                      const struct job_terms *terms, Wafer__CheckpointState *const *states,
                      size_t count, enum retention *ret);
/* In words; NULL when it may go. */
char *retention_text(enum retention why, const struct job_terms *terms);
/* Copies of the verified ones that go when `good` is verified too. Free each, and the array. */
Wafer__CheckpointState **retention_drops(const struct core *core, struct checkpoint *good,
                                         size_t *ret_count);

/* ---- deliveries.c ---- */

/* Queue what webhooks are owed once `draft` is applied. */
void deliveries_owe(struct core *core, const Wafer__Record *draft);
void deliveries_send(struct core *core);    /* the end of the step */
void deliveries_recover(struct core *core); /* all that are there */
void deliveries_due(struct core *core);     /* by the clock: the next tries */
void delivery_verdict(struct core *core, const struct input *input);
unsigned delivery_count(const struct core *core, uid_t uid);
/* NULL, or why the site does not send what this rule of the job asks for; the caller frees. */
char *delivery_refusal(const struct core *core, const Wafer__JobSpec *spec,
                       const Wafer__NotifySpec *rule);

/* ---- hosts.c ---- */

void host_message(struct core *core, uint64_t link, const Wafer__ToController *message);
void host_link_closed(struct core *core, uint64_t link);
void host_check_leases(struct core *core);
int64_t host_next_lease(const struct core *core);
void host_clock_changed(struct core *core);

/* ---- request.c ---- */

void request_handle(struct core *core, const struct input *input);
/* Answer who waited for this verdict. */
void verifications_done(struct core *core, const struct input *input);
/* For apply.c: a checkpoint changed that somebody may wait for. */
void verifications_follow(struct core *core, const Wafer__CheckpointState *next);

/* ---- core.c ---- */

void core_free_shares(struct core *core);

/* ---- hash.c ---- */

void hash_replace(struct core *core, struct hash *slot, const ProtobufCMessage *now /* or NULL */);

#endif
