/* request — what the handlers of clients' requests share. Private to daemon/core.
 *
 * A handler answers its request exactly once: with a reply, a refusal, or an effect that hands the
 * request on to the shell. */
#ifndef WAFERD_CORE_REQUEST_H
#define WAFERD_CORE_REQUEST_H

#include "core/state.h"

#define EXIT_STATE  2 /* nothing matched: the job is not in a state for that */
#define EXIT_DENIED 77

struct request {
    struct core *core;
    const struct input *input;
    const Wafer__Request *message;
    uid_t uid;
    Wafer__Role__Action action;  /* what is asked for, as the rules name it */
    const struct rights *rights; /* of the caller, now */
    bool judged;                 /* the rules were asked, or it was refused anyway */
};

/* ---- request.c: answers ---- */

Wafer__Response *response_new(Wafer__Response__BodyCase body);
/* Takes `message`; nobody was refused: it could not be done. */
void answer_error(struct request *request, const char *code, uint32_t exit, const char *field,
                  char *message);
/* Refuse with a record. Takes `message`; `job` 0: about none. */
void refuse(struct request *request, uint64_t job, const char *code, uint32_t exit,
            const char *field, char *message);
/* What is not there and what one may not know of are told alike. */
#define NO_SUCH_JOB "no such job, or not one that you may act on"
void refuse_unknown(struct request *request);
void answer_view(struct request *request, Wafer__Job *view); /* takes it */
void answer_job(struct request *request, const struct job *job);
struct effect *hand_on(struct request *request, enum effect_type type, uint64_t job);

/* ---- request.c: whom it is about ---- */

/* Whether the rules permit what is asked for, on this job. */
bool permits(struct request *request, const struct job *job);
/* Whether the caller may do this too. */
bool may_ended(const struct request *request, Wafer__Role__Action action,
               const struct facts *facts);
bool may(const struct request *request, Wafer__Role__Action action, const struct job *job);
/* Whether what is asked for may be done to the jobs of everybody, as operators do. */
bool is_for_all(const struct request *request);
/* What history knows of the job, if the caller may know it too. */
const struct facts *facts_of(struct request *request);
/* In memory, whoever may know of it; of an array that is named by its id alone the first that is.
 */
struct job *job_named(const struct core *core, const Wafer__Target *target, uid_t uid);
/* A job that the caller may see, live or ended and still here; NULL with *ret_facts: in history;
 * NULL and no facts: answered. */
struct job *seen_target(struct request *request, const Wafer__Target *target,
                        const struct facts **ret_facts);
/* The live job that the request names; NULL: answered. */
struct job *live_target(struct request *request, const Wafer__Target *target);
/* A whole array is named by its id alone. */
struct array *array_target(const struct request *request, const Wafer__Target *target);

/* ---- request_submit.c ---- */

/* p0 is not for everybody; `job` 0: a new one. False: refused. */
bool priority_is_allowed(struct request *request, uint64_t job, const struct job_terms *terms,
                         bool may_be_urgent);

/* A job with so much of its limit left is over by its deadline. False: refused. */
bool deadline_is_ahead(struct request *request, uint64_t job, const struct job_terms *terms,
                       int64_t left_us);

/* What submitting this spec now would make, where it is allowed. False: answered. */
struct planned {
    ProtobufCBinaryData packed; /* with a limit, where the site gives it one; .data is owned */
    uint64_t resumed_from;      /* 0: nothing */
    Wafer__DependencyState **after;
    size_t after_count; /* dependencies_free() */
};
bool plan_read(struct request *request, const Wafer__JobSpec *spec, struct planned *ret);

/* ---- request_quota.c ---- */

/* What a job asks for that comes, or changes: 0 is nothing new. */
struct quota_demand {
    uint32_t systems;
    int64_t limit_us;
    uint64_t elements; /* that come */
};
/* `job` 0: a new one. False: refused, with the limit that is in the way. */
bool quotas_allow(struct request *request, uint64_t job, const struct quota_party *party,
                  const struct quota_demand *demand);
/* Of a job that names none; 0: none. */
int64_t quotas_default_limit_us(const struct core *core, const struct quota_party *party);
Wafer__Quota *view_quota(const struct core *core, const struct quota *quota);
void quotas_set_limit(Wafer__JobSpec *spec, int64_t limit_us); /* which has none */
struct quota_party job_party(const struct core *core, const struct job *job);

/* ---- request_plan.c ---- */

/* Answer with what would become of a job of this spec in this state, which is PENDING. Takes
 * `resumption` (NULL: it would be handed in). */
void answer_plan(struct request *request, ProtobufCBinaryData packed, const Wafer__JobState *state,
                 Wafer__Plan__Resumption *resumption);
/* Of a job that would have to be stopped first. */
void answer_plan_of_running(struct request *request, const struct job *job,
                            Wafer__Plan__Resumption *resumption);

/* ---- request_explain.c ---- */

/* Why the job, which is in memory and waits, does so. */
Wafer__Explanation *explanation_new(const struct request *request, const struct job *job);

/* ---- request_explain_system.c ---- */

/* Whether the job could start on that system now, and else everything that keeps it from there.
 * `job` NULL: it has ended. */
Wafer__Explanation__SystemFit *system_fit_new(const struct request *request, const struct job *job,
                                              const struct system *system);

/* ---- request_admin.c ---- */

/* NULL: there is none of that name, and the request is answered. */
struct system *system_target(struct request *request, const char *name);

/* ---- request_change.c ---- */

void record_change(struct request *request, Wafer__RecordKind kind, struct job *job,
                   Wafer__JobState *next, const char *text);
void requeue(struct request *request, struct job *job, const char *reason);
bool may_release(const struct request *request, const struct job *job);

/* ---- one handler for each request ---- */

void on_submit(struct request *request);
void on_show(struct request *request);
void on_watch(struct request *request);
void on_logs(struct request *request);
void on_report(struct request *request);
void on_explain(struct request *request);
void on_plan(struct request *request);
void on_events(struct request *request);
void on_list(struct request *request);
void on_cancel(struct request *request);
void on_hold(struct request *request);
void on_release(struct request *request);
void on_requeue(struct request *request);
void on_resume(struct request *request);
void on_checkpoint_list(struct request *request);
void on_checkpoint_show(struct request *request);
void on_checkpoint_pin(struct request *request);
void on_checkpoint_verify(struct request *request);
void on_checkpoint_prune(struct request *request);
void on_system_list(struct request *request);
void on_system_show(struct request *request);
void on_system_fault(struct request *request);
void on_system_drain(struct request *request);
void on_queue(struct request *request);
void on_queue_list(struct request *request);
void on_reservation_list(struct request *request);
void on_reservation_new(struct request *request);
void on_reservation_remove(struct request *request);
void on_update(struct request *request);
void on_quota_show(struct request *request);
void on_whoami(struct request *request);
void on_version(struct request *request);

#endif
