/* world — one controller, some hosts, a network, a disk and a clock, all of them modelled, in one
 * process; every choice comes from one seed.
 *
 * The core and the agents are the real ones. What the shells around them do in real life is
 * modelled here: the journal, its durability and the history (controller.c); links, leases and the
 * processes that host systems (hosts.c); the vault (vault.c); people (clients.c); what goes wrong
 * (faults.c). After each step the invariants are checked; what does not hold ends the run with its
 * seed and the newest events.
 *
 * Time       cluster time is monotonic time, from START_US
 * Ownership  all belongs to the world
 */
#ifndef WAFERD_TESTS_DST_WORLD_H
#define WAFERD_TESTS_DST_WORLD_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/random.h"
#include "core/core.h"
#include "engine/agent.h"
#include "engine/lease.h"
#include "ledger.h"
#include "vault.h"

#define MS_US     1000ll
#define SECOND_US 1000000ll
#define HOUR_US   (3600 * SECOND_US)
#define START_US  (1769932800ll * SECOND_US) /* 2026-02-01 08:00 UTC */

#define LEASE_US (2 * SECOND_US)
/* Of a message on a bad day; on a worse one (FAULT_DELAY), longer than any lease. */
#define DELAY_MAX_US (LEASE_US / 4)

#define SET_FIELD(message, field, value) ((message)->has_##field = true, (message)->field = (value))

#define ENDLESS_STEPS 1000000000000ull

#define HOSTS_MAX   3
#define CLIENTS     3
#define TRACE_LINES 48
#define TRACE_WIDTH 200

enum event_kind {
    TO_CONTROLLER, /* bytes arrive on link `number` */
    TO_AGENT,
    LINK_CLOSED,      /* the controller learns that link `number` is gone */
    AGENT_CLOSED,     /* so does the agent */
    CONNECT,          /* the agent tries to make a link */
    HEARTBEAT,        /* of the agent, on link `number` */
    IO_DONE,          /* a write or read of the agent has ended */
    SYNCED,           /* the journal is durable up to `number` records */
    WORK_DONE,        /* a worker of the controller is done in the vault */
    BEAT,             /* of the controller, to all whom it has heard */
    CLIENT_ACTS,      /* client `number` */
    ASKED,            /* a request of client `number` that the controller did not read at once */
    FAULT,            /* something goes wrong */
    FAULT_ENDS,       /* number: enum fault */
    CONTROLLER_START, /* after a crash */
    HOST_START,
    WEBHOOK_ANSWERS, /* about notification `number` */
};

struct event {
    int64_t due_us;
    uint64_t order; /* of equals: first come, first served */
    enum event_kind kind;
    unsigned host;
    uint64_t number;
    uint64_t life;  /* of the host or controller: after a crash it is void */
    uint8_t *bytes; /* TO_CONTROLLER, TO_AGENT, ASKED */
    size_t length;
    struct agent_effect io; /* IO_DONE */
    struct effect work;     /* WORK_DONE */
};

enum fault {
    /* strike at some moment */
    FAULT_CONTROLLER_CRASH,
    FAULT_CONTROLLER_FREEZE,
    FAULT_HOST_CRASH,
    FAULT_HOST_FREEZE,
    FAULT_SYSTEM_CRASH,
    FAULT_LINK_RESET,
    FAULT_PARTITION,
    FAULT_ONE_WAY,
    FAULT_CORRUPT,
    FAULT_JOURNAL_FULL,
    STRIKES,
    /* happen where something is done */
    FAULT_DUPLICATE = STRIKES,
    FAULT_REORDER,
    FAULT_DELAY,
    FAULT_TORN_WRITE,
    FAULT_WRITE_ERROR,
    FAULT_MANIFEST_ERROR,
    FAULT_DELETE_ERROR,
    FAULT_LOST_REPLY,
    FAULT_UNREADABLE,
    FAULT_WEBHOOK,
    FAULTS,
};

/* What keeps a world right. One may be taken away, to see that what follows is noticed. */
enum guard {
    GUARD_FENCE,   /* what an agent says of an older epoch is not of the one that is */
    GUARD_DURABLE, /* no effect leaves before its records are on the disk */
    GUARD_LEASE,   /* a silent host is given up only once its lease must have ended */
    GUARD_DIGEST,  /* what is read back is what was written */
    GUARDS,
};

enum direction { TO_THE_CONTROLLER, TO_THE_AGENT };

struct link {
    unsigned host;
    bool agent_up, controller_up; /* whether that side believes in it */
    bool cut[2];                  /* nothing arrives that way any more, and neither side knows */
    bool registered, heard_from;
    int64_t sent_us;              /* the newest report that was heard, as it says */
    int64_t first_us, last_us[2]; /* of what is under way in either direction */
};

struct running { /* as the agent says */
    uint64_t job, epoch, step;
};

struct host {
    char name[16];
    struct agent *agent; /* NULL: its process is dead */
    uint64_t life;       /* of the process */
    uint64_t link;       /* 0: none */
    bool welcomed;
    bool frozen; /* stopped until thaw_us, while the world goes on */
    int64_t thaw_us, partition_end_us;
    struct lease lease;
    unsigned wafers, gpus;
    char prefixes[2][8];
    struct running running[64];
    size_t running_count;
    size_t open_count; /* ends and checkpoints that were not acknowledged */
};

struct entry { /* of the journal */
    uint8_t *bytes;
    size_t length;
    uint8_t hash[32]; /* of the core once it was applied */
    bool damaged;     /* it can no longer be read */
    uint64_t job;
};

struct element { /* effects that wait for their records */
    size_t records;
    struct effects effects;
};

struct snapshot {
    uint64_t sequence;
    uint8_t **items;
    size_t *lengths;
    size_t count, capacity;
};

struct controller {
    struct core *core; /* NULL: dead */
    struct core *shadow;
    uint64_t life;
    bool frozen;
    int64_t thaw_us, timers_from_us; /* then it reads what came first, or looks at the time first */
    bool watched;
    struct entry *journal;
    size_t count, capacity, durable;
    bool syncing, full;
    struct element *elements; /* oldest first */
    size_t element_count, element_capacity;
    struct snapshot snapshot; /* the newest whose records are durable counts */
    struct ledger ledger;     /* of all records */
    struct ledger history;    /* of the durable ones */
};

struct client {
    uid_t uid;
    uint8_t *request; /* packed: the one it waits for; NULL: none */
    size_t length;
    uint64_t id, life; /* life of the controller that it was sent to */
    int64_t asked_us;
    uint64_t answer; /* the job of the newest answer; 0: none */
};

struct seen { /* of a job, by a watcher */
    uint64_t job;
    uint32_t attempt;
    uint64_t version, step;
    bool started, stopping, gone;
};

struct watcher { /* one that watches the list of all jobs */
    bool on;
    struct seen *seen;
    size_t count, capacity;
};

struct world {
    uint64_t seed;
    unsigned long step_limit; /* then calm */
    enum guard without;       /* GUARDS: none is taken away */
    bool verbose, calm;       /* calm: no more faults and no new work */
    struct random random;
    int64_t now_us, calm_us;
    unsigned long events, steps, crashes;
    bool faults[FAULTS]; /* which kinds this seed has */
    unsigned long fault_counts[FAULTS];
    int64_t fault_every_us;

    struct event *heap;
    size_t heap_count, heap_capacity;
    uint64_t order;

    Wafer__Platform *platforms[2];
    struct host hosts[HOSTS_MAX];
    unsigned host_count;
    struct link *links;
    size_t link_count, link_capacity;
    struct controller controller;
    struct vault_model vault;
    struct map received; /* notifications, by number: webhooks.c */
    struct client clients[CLIENTS];
    struct watcher watcher;
    uint64_t next_request, next_key;
    struct promise *promises; /* clients.c: what was acknowledged */
    size_t promise_count, promise_capacity;

    char trace[TRACE_LINES][TRACE_WIDTH];
    unsigned long trace_count;
    struct digest_stream digest; /* of the whole trace */
};

/* world.c */
/* With `limit` events, then calm. */
void world_init(struct world *world, uint64_t seed, unsigned long limit, enum guard without,
                bool verbose);
void world_done(struct world *world);
void world_run(struct world *world);  /* then heal, and wait for all jobs */
void world_step(struct world *world); /* the next thing that happens */
struct event *world_add(struct world *world, enum event_kind kind, int64_t delay_us);
void world_trace(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whom it is for is frozen: it comes when that one goes on. */
void world_put_off(struct world *world, struct event *event, int64_t until_us);
void world_dump(const struct world *world); /* the newest events, to stderr */
void world_fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
uint64_t world_below(struct world *world, uint64_t bound);
int64_t world_between(struct world *world, int64_t low, int64_t high); /* inclusive */
bool world_one_in(struct world *world, uint64_t n);
/* This kind of fault is on, and it happens here, once in `n` times. */
bool world_faulty(struct world *world, enum fault fault, uint64_t n);
/* What came of a read, for whoever heeds what its digests say. */
int world_read_error(const struct world *world, int error);

/* controller.c */
void controller_start(struct world *world);
void controller_crash(struct world *world);
void controller_reload(struct world *world); /* the rules of now */
void controller_freeze(struct world *world, int64_t span_us);
void controller_thaw(struct world *world);
void controller_step(struct world *world, struct input *input);
void controller_next(const struct world *world, int64_t *ret_us);
void controller_timer(struct world *world);
void controller_event(struct world *world, struct event *event);
void controller_snapshot(struct world *world);
void controller_done(struct world *world);
/* False: history is not up to date, ask again. */
bool controller_request(struct world *world, unsigned client, const Wafer__Request *request);

/* hosts.c */
void host_start(struct world *world, unsigned host);
void host_crash(struct world *world, unsigned host);
void host_freeze(struct world *world, unsigned host, int64_t span_us);
void host_thaw(struct world *world, unsigned host);
void host_event(struct world *world, struct event *event);
int64_t host_next(const struct world *world, unsigned host);
void host_time(struct world *world, unsigned host);
void host_partition(struct world *world, unsigned host, int64_t span_us);
void host_order(struct world *world, unsigned host, const Wafer__ToAgent *message);
void host_check(struct world *world);
void link_reset(struct world *world, uint64_t number);
/* For so long nothing arrives that way; then what was under way does, or the link is found dead. */
void link_cut_one_way(struct world *world, uint64_t number, enum direction way, int64_t span_us);
void link_to_agent(struct world *world, uint64_t number, const Wafer__ToAgent *message);
struct link *link_get(struct world *world, uint64_t number);

/* webhooks.c */
extern const struct core_webhook webhook;
void webhook_send(struct world *world, const struct effect *effect);
void webhook_answers(struct world *world, uint64_t number);
void webhook_check(struct world *world, const Wafer__Record *record);

/* clients.c */
void client_acts(struct world *world, unsigned client);
void client_reply(struct world *world, unsigned client, uint64_t request,
                  const Wafer__Response *response);
void clients_isolated(struct world *world, uint64_t job);
void clients_check(struct world *world); /* what was promised is kept */
void clients_finish(struct world *world, bool *ret_done);
void clients_use_old_key(struct world *world); /* all jobs have ended */
void clients_done(struct world *world);

/* watch.c */
void watch_begin(struct world *world, const Wafer__JobList *jobs);
void watch_end(struct world *world); /* its controller is gone */
/* What a step decided is what watchers will be told. */
void watch_check(struct world *world, const struct records *records, const struct effects *effects);
void watch_sees(struct world *world, const struct effect *effect);
void watch_finish(struct world *world); /* all jobs have ended */
void watch_done(struct world *world);

/* faults.c */
extern const char *const fault_names[FAULTS];
extern const char *const guard_names[GUARDS];
void faults_init(struct world *world);
void fault_happens(struct world *world);
void fault_ends(struct world *world, const struct event *event);
void faults_heal(struct world *world);

/* specs.c */
Wafer__Platform *platform_make(const char *name, Wafer__Platform__Target target);
Wafer__JobSpec *spec_make(struct world *world);

/* oracle.c: how an undisturbed run of this job would have ended */
void oracle_check(struct world *world, const struct ledger_job *job);

#endif
