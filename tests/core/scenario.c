#include "scenario.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "core/accounts.h"
#include "holders.h"
#include "model/bind.h"
#include "model/calendar.h"
#include "model/job.h"
#include "model/message.h"
#include "model/priority.h"
#include "render.h"

#define WORDS                      32
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))

struct scenario {
    struct core *core, *shadow;
    struct records journal; /* all since the beginning: what a restart replays */
    struct records records; /* of the step */
    struct holders holders;
    struct effects effects;
    struct buffer text;
    char *answer;
    int64_t ahead_us;                     /* cluster time less monotonic time */
    uint64_t epochs[64];                  /* `epoch=now`: of the low job numbers */
    uint64_t checkpoint;                  /* `checkpoint=now`: the last that changed */
    Wafer__ReservationState *reservation; /* whose windows the shell was asked for last, or NULL */
    uint64_t delivery;                    /* `delivery=now`: the last that was queued or failed */
    size_t replayed;                      /* how much of the journal the last restart found */
    /* of the line */
    char *words[WORDS];
    bool used[WORDS];
    size_t count;
    struct input input;
};

/* What the site file says; `restart site=CANCELLED` has the webhook `site` told of these too. */
static struct core_webhook webhooks[] = { { "ops", 0 }, { "nlp", 0 }, { "site", 0 } };

/* `rules backfill=easy`: from then on, also after a restart. */
static struct schedule_rules rules;
static struct preempt_rules preempt;
static struct quota_rule quota_items[8];
static struct quota_rules quotas = { quota_items, 0 };

static struct core *make_core(void)
{
    static struct url allowed;
    static const struct core_pool pools[] = { { "wafer", "cs2", 10000000, "EUR", 0 },
                                              { "gpu", "gpu", 0, "EUR", 3 } };
    const struct core_config config = { .pools = pools,
                                        .pool_count = 2,
                                        .lease_us = 30000000,
                                        .lease_margin_us = 5000000,
                                        .operator_uid = 10,
                                        .version = "test",
                                        .protocol = 1,
                                        .schedule = rules,
                                        .preempt = preempt,
                                        .webhooks = webhooks,
                                        .webhook_count = ELEMENTS(webhooks),
                                        .notify_allow = &allowed,
                                        .notify_allow_count = 1 };

    ck_assert_int_eq(url_parse("https://hooks.example.org/teams", &allowed, NULL), 0);
    struct core *core = core_new(&config);
    core_set_quotas(core, &quotas);
    return core;
}

/* ---- words of a line ---- */

static const char *word(struct scenario *scenario, const char *key, const char *otherwise)
{
    size_t length = strlen(key);

    for (size_t i = 0; i < scenario->count; i++)
        if (strncmp(scenario->words[i], key, length) == 0 && scenario->words[i][length] == '=') {
            scenario->used[i] = true;
            return scenario->words[i] + length + 1;
        }
    return otherwise;
}

static uint64_t value(struct scenario *scenario, const char *key, uint64_t otherwise)
{
    const char *text = word(scenario, key, NULL);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int64_t parse_time(const char *text)
{
    int64_t us = 0;
    struct diag diag = { 0 };

    if (strcmp(text, "0s") == 0)
        return 0;
    int r = duration_parse(text, &us, &diag);
    ck_assert_msg(r == 0, "'%s' is no time", text);
    return us;
}

static Wafer__Cause parse_cause(const char *name)
{
    const ProtobufCEnumValue *found =
        protobuf_c_enum_descriptor_get_value_by_name(&wafer__cause__descriptor, name);
    ck_assert_msg(found != NULL, "there is no cause '%s'", name);
    return (Wafer__Cause)found->value;
}

/* ---- steps ---- */

static void take(struct scenario *scenario)
{
    uint8_t hash[32], replayed[32];
    struct diag diag = { 0 };

    for (size_t i = 0; i < scenario->records.count; i++) {
        Wafer__Record *record = scenario->records.items[i];
        int r = core_apply(scenario->shadow, record, &diag);
        ck_assert_msg(r == 0, "a record cannot be replayed: %s", diag.text);
        render_record(&scenario->text, record);
        const char *exceeded = holders_add(&scenario->holders, record, &quotas);
        ck_assert_msg(!exceeded, "record %llu exceeds the quota of %s",
                      (unsigned long long)record->sequence, exceeded);
        if (record->job_state && record->job_state->id < 64)
            scenario->epochs[record->job_state->id] = record->job_state->epoch;
        if (record->checkpoint)
            scenario->checkpoint = record->checkpoint->number;
        if (record->delivery)
            scenario->delivery = record->delivery->number;
        ARRAY_RESERVE(scenario->journal.items, scenario->journal.count, scenario->journal.capacity);
        scenario->journal.items[scenario->journal.count++] = record;
    }
    scenario->records.count = 0;
    for (size_t i = 0; i < scenario->effects.count; i++) {
        const struct effect *effect = &scenario->effects.items[i];
        render_effect(&scenario->text, effect);
        if (effect->type == EFFECT_CALENDAR) {
            wafer__reservation_state__free_unpacked(scenario->reservation, NULL);
            scenario->reservation = MESSAGE_COPY(effect->reservation);
        }
    }
    effects_clear(&scenario->effects);
    core_check(scenario->core);
    core_check(scenario->shadow);
    core_hash(scenario->core, hash);
    core_hash(scenario->shadow, replayed);
    ck_assert_mem_eq(hash, replayed, sizeof(hash));
}

static void step(struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->count; i++)
        ck_assert_msg(scenario->used[i], "'%s' is not understood", scenario->words[i]);
    core_step(scenario->core, &scenario->input, &scenario->records, &scenario->effects);
    take(scenario);
}

/* ---- requests ---- */

/* What history knows of a job: the newest of each in the journal. */
struct history {
    struct facts facts;
    Wafer__JobState *state;
    Wafer__CheckpointState *checkpoints[64];
    struct fact_outcome after[64];
};

static void history_donep(struct history *history)
{
    wafer__job_state__free_unpacked(history->state, NULL);
}

/* What has become of a checkpoint that another job began from. */
static void refresh(const struct scenario *scenario, Wafer__CheckpointState *origin)
{
    for (size_t i = 0; i < scenario->journal.count; i++) {
        const Wafer__CheckpointState *next = scenario->journal.items[i]->checkpoint;
        if (next && next->number == origin->number)
            origin->state = next->state;
    }
}

static void recall(const struct scenario *scenario, uint64_t id, struct history *ret)
{
    const Wafer__JobState *ended = NULL;

    *ret = (struct history){ .facts = { .view = NULL } };
    ret->facts.checkpoints = ret->checkpoints;
    for (size_t i = 0; i < scenario->journal.count; i++) {
        Wafer__Record *record = scenario->journal.items[i];
        if (!record->has_job || record->job != id)
            continue;
        if (record->has_spec)
            ret->facts.spec = record->spec;
        if (record->kind == WAFER__RECORD_KIND__JOB_ENDED)
            ended = record->job_state;
        if (record->view)
            ret->facts.view = record->view;
        if (!record->checkpoint)
            continue;
        size_t place = 0;
        while (place < ret->facts.checkpoint_count &&
               ret->checkpoints[place]->number != record->checkpoint->number)
            place++;
        if (place == ret->facts.checkpoint_count)
            ret->facts.checkpoint_count++;
        ret->checkpoints[place] = record->checkpoint;
        if (record->checkpoint->state == WAFER__CHECKPOINT__STATE__DELETED)
            memmove(ret->checkpoints + place, ret->checkpoints + place + 1,
                    (--ret->facts.checkpoint_count - place) * sizeof(*ret->checkpoints));
    }
    if (!ended)
        return;
    ret->facts.state = ret->state = MESSAGE_COPY(ended);
    if (ret->state->origin)
        refresh(scenario, ret->state->origin);
    for (size_t i = 0; i < ret->state->n_older_origins; i++)
        refresh(scenario, ret->state->older_origins[i]);
}

/* What has become of what the spec waits for, as far as it has ended. */
static void recall_after(const struct scenario *scenario, const Wafer__JobSpec *spec,
                         struct history *history)
{
    history->facts.after = history->after;
    for (size_t i = 0; i < spec->n_after; i++) {
        const Wafer__Dependency *after = spec->after[i];
        Wafer__Target target = WAFER__TARGET__INIT;
        ck_assert_int_eq(job_target_parse(after->afterok      ? after->afterok
                                          : after->afterany   ? after->afterany
                                          : after->afternotok ? after->afternotok
                                                              : after->afterstart,
                                          &target),
                         0);
        for (size_t j = 0; j < scenario->journal.count; j++) {
            const Wafer__Record *record = scenario->journal.items[j];
            const Wafer__JobState *state = record->job_state;
            if (record->kind != WAFER__RECORD_KIND__JOB_ENDED)
                continue;
            bool of_array = state->has_array_id && state->array_id == target.job;
            if (target.has_index ? !of_array || state->array_index != target.index
                                 : !of_array && state->id != target.job)
                continue;
            ck_assert_uint_lt(history->facts.after_count, ELEMENTS(history->after));
            history->after[history->facts.after_count++] =
                (struct fact_outcome){ .dependency = i,
                                       .of_array = of_array && !target.has_index,
                                       .job = state->id,
                                       .object = { .owner = state->uid,
                                                   .level = record->view->class_ },
                                       .state = state->state,
                                       .started = state->has_first_started_us };
        }
    }
}

static void ask(struct scenario *scenario, Wafer__Request *request, uint64_t facts_job)
{
    owned(history_done) struct history history;
    struct object object;

    recall(scenario, facts_job, &history);
    request->id = 1;
    scenario->input.type = INPUT_REQUEST;
    scenario->input.request.message = request;
    scenario->input.request.subject =
        (struct subject){ .uid = (uid_t)value(scenario, "uid", 1000) };
    if (facts_job && !core_object(scenario->core, facts_job, &object) && history.facts.state)
        scenario->input.request.facts = &history.facts;
    if (request->body_case == WAFER__REQUEST__BODY_SUBMIT && request->submit->spec->n_after) {
        recall_after(scenario, request->submit->spec, &history);
        scenario->input.request.facts = &history.facts;
    }
    step(scenario);
}

/* The words that nothing else has read are assignments, as of --set. */
static size_t take_sets(struct scenario *scenario, const char *sets[static WORDS + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < scenario->count; i++)
        if (!scenario->used[i]) {
            for (char *plus = scenario->words[i]; (plus = strchr(plus, '+'));)
                *plus = ' '; /* words end at a space: 1.00+EUR */
            sets[count++] = scenario->words[i];
            scenario->used[i] = true;
        }
    return count;
}

static void on_submit(struct scenario *scenario)
{
    static const char base[] = "{apiVersion: wafer/v1, kind: Job, name: a, workload: {model: "
                               "{layers: 2, hidden: 64, heads: 2}, batch: 8, steps: 100}, "
                               "checkpoint: {every: {steps: 10}}}";
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SubmitRequest submit = WAFER__SUBMIT_REQUEST__INIT;
    struct bind_errors errors = { .items = NULL };
    const char *sets[WORDS + 1] = { NULL };
    uint64_t facts_job = value(scenario, "facts", 0);

    submit.key = (char *)word(scenario, "key", NULL);
    SET(&submit, hold, value(scenario, "hold", 0) != 0);
    word(scenario, "uid", NULL);
    take_sets(scenario, sets);
    int r = job_spec_read(base, sizeof(base) - 1, sets, &submit.spec, &errors);
    ck_assert_msg(r == 0, "%s: %s", errors.count ? errors.items[0].field : "",
                  errors.count ? errors.items[0].text : "");
    request.body_case = WAFER__REQUEST__BODY_SUBMIT;
    request.submit = &submit;
    ask(scenario, &request, facts_job);
    wafer__job_spec__free_unpacked(submit.spec, NULL);
}

/* The target of a request about a job; its members are borrowed from the line. */
static Wafer__Target target_of(struct scenario *scenario)
{
    Wafer__Target target = WAFER__TARGET__INIT;

    SET(&target, job, value(scenario, "job", 0));
    if (word(scenario, "index", NULL))
        SET(&target, index, (uint32_t)value(scenario, "index", 0));
    return target;
}

static void on_job_request(struct scenario *scenario, const char *verb)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__Target target = target_of(scenario);
    Wafer__CancelRequest cancel = WAFER__CANCEL_REQUEST__INIT;
    Wafer__HoldRequest hold = WAFER__HOLD_REQUEST__INIT;
    Wafer__ReleaseRequest release = WAFER__RELEASE_REQUEST__INIT;
    Wafer__RequeueRequest requeue = WAFER__REQUEUE_REQUEST__INIT;
    Wafer__ResumeRequest resume = WAFER__RESUME_REQUEST__INIT;
    Wafer__ShowRequest show = WAFER__SHOW_REQUEST__INIT;
    Wafer__CheckpointPruneRequest prune = WAFER__CHECKPOINT_PRUNE_REQUEST__INIT;
    Wafer__ExplainRequest explain = WAFER__EXPLAIN_REQUEST__INIT;

    explain.target = &target;
    cancel.target = hold.target = release.target = requeue.target = resume.target = show.target =
        prune.target = &target;
    if (strcmp(verb, "cancel") == 0) {
        SET(&cancel, now, value(scenario, "now", 0) != 0);
        request.body_case = WAFER__REQUEST__BODY_CANCEL;
        request.cancel = &cancel;
    } else if (strcmp(verb, "hold") == 0) {
        request.body_case = WAFER__REQUEST__BODY_HOLD;
        request.hold = &hold;
    } else if (strcmp(verb, "release") == 0) {
        request.body_case = WAFER__REQUEST__BODY_RELEASE;
        request.release = &release;
    } else if (strcmp(verb, "requeue") == 0) {
        request.body_case = WAFER__REQUEST__BODY_REQUEUE;
        request.requeue = &requeue;
    } else if (strcmp(verb, "show") == 0) {
        request.body_case = WAFER__REQUEST__BODY_SHOW;
        request.show = &show;
    } else if (strcmp(verb, "explain") == 0) {
        request.body_case = WAFER__REQUEST__BODY_EXPLAIN;
        request.explain = &explain;
    } else if (strcmp(verb, "prune") == 0) {
        request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PRUNE;
        request.checkpoint_prune = &prune;
        SET(&prune, dry_run, value(scenario, "dry", 0) != 0);
    } else {
        resume.from = (char *)word(scenario, "from", NULL);
        resume.pool = (char *)word(scenario, "pool", NULL);
        const char *move = word(scenario, "move", NULL);
        if (move)
            SET(&resume, move,
                strcmp(move, "back") == 0 ? WAFER__RESUME_REQUEST__MOVE__back
                                          : WAFER__RESUME_REQUEST__MOVE__fallback);
        resume.key = (char *)word(scenario, "key", NULL);
        SET(&resume, plan, value(scenario, "plan", 0) != 0);
        if (word(scenario, "systems", NULL))
            SET(&resume, systems, (uint32_t)value(scenario, "systems", 1));
        request.body_case = WAFER__REQUEST__BODY_RESUME;
        request.resume = &resume;
    }
    ask(scenario, &request, target.job);
}

static void on_update(struct scenario *scenario)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__UpdateRequest update = WAFER__UPDATE_REQUEST__INIT;
    Wafer__Target target = target_of(scenario);
    const char *sets[WORDS + 1];

    update.target = &target;
    if (word(scenario, "if_version", NULL))
        SET(&update, if_version, value(scenario, "if_version", 0));
    word(scenario, "uid", NULL);
    update.n_set = take_sets(scenario, sets);
    update.set = (char **)sets;
    request.body_case = WAFER__REQUEST__BODY_UPDATE;
    request.update = &update;
    ask(scenario, &request, target.job);
}

static void on_checkpoint_request(struct scenario *scenario, const char *verb)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointTarget target = WAFER__CHECKPOINT_TARGET__INIT;
    Wafer__CheckpointPinRequest pin = WAFER__CHECKPOINT_PIN_REQUEST__INIT;
    Wafer__CheckpointVerifyRequest verify = WAFER__CHECKPOINT_VERIFY_REQUEST__INIT;

    target.job = value(scenario, "job", 0);
    SET(&target, step, value(scenario, "step", 0));
    pin.target = verify.target = &target;
    pin.pinned = strcmp(verb, "pin") == 0;
    if (strcmp(verb, "verify") == 0) {
        request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_VERIFY;
        request.checkpoint_verify = &verify;
    } else {
        request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PIN;
        request.checkpoint_pin = &pin;
    }
    ask(scenario, &request, target.job);
}

static void on_operator_request(struct scenario *scenario, const char *verb)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__SystemDrainRequest drain = WAFER__SYSTEM_DRAIN_REQUEST__INIT;
    Wafer__QueueRequest queue = WAFER__QUEUE_REQUEST__INIT;

    if (word(scenario, "system", NULL)) {
        drain.name = (char *)word(scenario, "system", NULL);
        drain.drained = strcmp(verb, "drain") == 0;
        request.body_case = WAFER__REQUEST__BODY_SYSTEM_DRAIN;
        request.system_drain = &drain;
    } else {
        queue.name = (char *)word(scenario, "queue", NULL);
        queue.stopped = strcmp(verb, "stop") == 0;
        request.body_case = WAFER__REQUEST__BODY_QUEUE;
        request.queue = &queue;
    }
    ask(scenario, &request, 0);
}

/* ---- reservations ---- */

/* The shell's part; all zones are UTC here. The windows are the caller's. */
static struct fact_calendar expand(const Wafer__Calendar *calendar, int64_t now_us)
{
    struct calendar_windows windows;
    struct diag diag;

    int r = calendar_expand(calendar, NULL, now_us, &windows, &diag);
    ck_assert_msg(r == 0, "%s", diag.text);
    return (struct fact_calendar){ windows.items, windows.count, windows.known_until_us, NULL };
}

static size_t take_names(struct scenario *scenario, const char *key, char *names[static WORDS])
{
    size_t count = 0;

    /* The line itself is cut: it is read once. */
    for (char *rest = (char *)word(scenario, key, NULL), *name;
         rest && (name = strsep(&rest, ","));)
        names[count++] = name;
    return count;
}

static void on_reserve(struct scenario *scenario)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationNewRequest asked = WAFER__RESERVATION_NEW_REQUEST__INIT;
    Wafer__Calendar calendar = WAFER__CALENDAR__INIT;
    Wafer__Duration duration = WAFER__DURATION__INIT;
    Wafer__Time until = WAFER__TIME__INIT;
    char start[TIMESTAMP_TEXT_SIZE], *systems[WORDS], *hosts[WORDS];
    uint32_t user = (uint32_t)value(scenario, "user", 0);
    const char *every = word(scenario, "every", "once");

    const char *in = word(scenario, "in", NULL); /* from now on */
    timestamp_format(in ? scenario->input.time_us + parse_time(in)
                        : parse_time(word(scenario, "from", "0s")),
                     start);
    calendar.start = start;
    duration.us = parse_time(word(scenario, "for", "1h"));
    calendar.duration = &duration;
    calendar.every = (Wafer__Calendar__Every)protobuf_c_enum_descriptor_get_value_by_name(
                         &wafer__calendar__every__descriptor, every)
                         ->value;
    until.us = parse_time(word(scenario, "until", "0s"));
    calendar.until = until.us ? &until : NULL;
    asked.name = (char *)word(scenario, "name", "m");
    asked.pool = (char *)word(scenario, "pool", NULL);
    asked.systems = systems;
    asked.n_systems = take_names(scenario, "systems", systems);
    asked.hosts = hosts;
    asked.n_hosts = take_names(scenario, "hosts", hosts);
    asked.uids = &user;
    asked.n_uids = user != 0;
    asked.calendar = &calendar;
    SET(&asked, force, value(scenario, "force", 0) != 0);
    request.body_case = WAFER__REQUEST__BODY_RESERVATION_NEW;
    request.reservation_new = &asked;
    struct fact_calendar expanded = expand(&calendar, scenario->input.time_us);
    const struct facts facts = { .calendar = &expanded };
    scenario->input.request.facts = &facts;
    ask(scenario, &request, 0);
    free(expanded.windows);
}

static void on_unreserve(struct scenario *scenario)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationRemoveRequest asked = WAFER__RESERVATION_REMOVE_REQUEST__INIT;

    asked.name = (char *)word(scenario, "name", "m");
    request.body_case = WAFER__REQUEST__BODY_RESERVATION_REMOVE;
    request.reservation_remove = &asked;
    ask(scenario, &request, 0);
}

static void on_reservations(struct scenario *scenario)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ReservationListRequest asked = WAFER__RESERVATION_LIST_REQUEST__INIT;

    request.body_case = WAFER__REQUEST__BODY_RESERVATION_LIST;
    request.reservation_list = &asked;
    ask(scenario, &request, 0);
}

/* The answer to the last EFFECT_CALENDAR. */
static void on_calendar(struct scenario *scenario)
{
    ck_assert_msg(scenario->reservation != NULL, "nobody asked for windows");
    struct fact_calendar expanded =
        expand(scenario->reservation->calendar, scenario->input.time_us);
    scenario->input.type = INPUT_CALENDAR;
    scenario->input.calendar.reservation = scenario->reservation->number;
    scenario->input.calendar.facts = expanded;
    step(scenario);
    free(expanded.windows);
}

/* ---- agents ---- */

static void say(struct scenario *scenario, Wafer__ToController *message)
{
    scenario->input.type = INPUT_AGENT;
    scenario->input.agent.link = value(scenario, "link", 1);
    scenario->input.agent.message = message;
    step(scenario);
}

static Wafer__Fence fence_of(struct scenario *scenario)
{
    Wafer__Fence fence = WAFER__FENCE__INIT;

    uint64_t job = value(scenario, "job", value(scenario, "running", 1));

    fence.term = value(scenario, "term", 1);
    fence.epoch = strcmp(word(scenario, "epoch", ""), "now") == 0 && job < 64
                      ? scenario->epochs[job]
                      : value(scenario, "epoch", 1);
    return fence;
}

/* `systems=a,b sent=9 running=7 epoch=1 step=5`: one running job is all that a scenario needs. */
static void on_report(struct scenario *scenario, const char *verb)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__Report report = WAFER__REPORT__INIT;
    Wafer__HostedSystem systems[8], *hosted[8];
    Wafer__RunningJob running = WAFER__RUNNING_JOB__INIT, *all_running[] = { &running };
    Wafer__Fence fence = fence_of(scenario);
    owned(free) char *names = text_copy(word(scenario, "systems", ""));
    bool down = value(scenario, "down", 0) != 0;

    report.host = (char *)word(scenario, "host", "h");
    report.boot_id = (char *)word(scenario, "boot", "b1");
    report.registration = strcmp(verb, "up") == 0;
    report.time_us = scenario->input.time_us;
    report.has_sent_us = word(scenario, "sent", NULL) != NULL;
    report.sent_us = (int64_t)value(scenario, "sent", 0);
    for (char *rest = names, *name; (name = strtok_r(rest, ",", &rest));) {
        Wafer__HostedSystem *system = &systems[report.n_systems];
        ck_assert_uint_lt(report.n_systems, 8);
        wafer__hosted_system__init(system);
        system->name = name;
        system->pool = (char *)word(scenario, "pool", "wafer");
        system->platform = (char *)"cs2";
        system->state = down ? WAFER__SYSTEM__STATE__DOWN : WAFER__SYSTEM__STATE__UP;
        hosted[report.n_systems++] = system;
    }
    report.systems = hosted;
    if (word(scenario, "running", NULL)) {
        running.job = value(scenario, "running", 0);
        running.fence = &fence;
        running.step = value(scenario, "step", 0);
        running.phase = WAFER__JOB__PHASE__EXECUTE;
        report.running = all_running;
        report.n_running = 1;
    }
    message.report = &report;
    say(scenario, &message);
}

static void on_started(struct scenario *scenario)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__Started started = WAFER__STARTED__INIT;
    Wafer__Fence fence = fence_of(scenario);

    started.job = value(scenario, "job", 1);
    started.fence = &fence;
    message.started = &started;
    say(scenario, &message);
}

static void on_suspension(struct scenario *scenario, const char *verb)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__Suspension suspension = WAFER__SUSPENSION__INIT;
    Wafer__Fence fence = fence_of(scenario);

    suspension.job = value(scenario, "job", 1);
    suspension.fence = &fence;
    suspension.suspended = strcmp(verb, "suspended") == 0;
    message.suspension = &suspension;
    say(scenario, &message);
}

static void on_progress(struct scenario *scenario)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__Progress progress = WAFER__PROGRESS__INIT;
    Wafer__Fence fence = fence_of(scenario);

    progress.job = value(scenario, "job", 1);
    progress.fence = &fence;
    progress.phase = WAFER__JOB__PHASE__EXECUTE;
    progress.step = value(scenario, "step", 0);
    message.progress = &progress;
    say(scenario, &message);
}

static void on_checkpoint(struct scenario *scenario, const char *verb)
{
    static uint8_t digest[32] = { 1 };
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__CheckpointReport report = WAFER__CHECKPOINT_REPORT__INIT;
    Wafer__ResumeState resume = WAFER__RESUME_STATE__INIT;
    Wafer__ShardState shard = WAFER__SHARD_STATE__INIT, *shards[] = { &shard };
    Wafer__Fence fence = fence_of(scenario);

    shard.bytes = 4096;
    shard.digest = (ProtobufCBinaryData){ sizeof(digest), digest };
    report.job = value(scenario, "job", 1);
    report.fence = &fence;
    report.step = value(scenario, "step", 0);
    if (word(scenario, "metric", NULL))
        SET(&report, metric_micro, (int64_t)value(scenario, "metric", 0));
    if (strcmp(verb, "written") == 0) {
        report.kind = WAFER__CHECKPOINT_REPORT__KIND__WRITTEN;
        report.shards = shards;
        report.n_shards = 1;
        report.resume = &resume;
    } else if (strcmp(verb, "failed") == 0) {
        report.kind = WAFER__CHECKPOINT_REPORT__KIND__FAILED;
        report.detail = (char *)"no space";
    }
    message.checkpoint = &report;
    say(scenario, &message);
}

static void on_ended(struct scenario *scenario)
{
    Wafer__ToController message = WAFER__TO_CONTROLLER__INIT;
    Wafer__AttemptEnd end = WAFER__ATTEMPT_END__INIT;
    Wafer__Fence fence = fence_of(scenario);

    end.job = value(scenario, "job", 1);
    end.fence = &fence;
    end.time_us = scenario->input.time_us;
    end.cause = parse_cause(word(scenario, "cause", "FINISHED"));
    end.step = value(scenario, "step", 0);
    end.started = value(scenario, "started", 1) != 0;
    end.system = (char *)word(scenario, "system", NULL);
    message.ended = &end;
    say(scenario, &message);
}

/* ---- the rest ---- */

static void on_verdict(struct scenario *scenario, enum input_type type)
{
    static const uint8_t digest[32] = { 2 };

    scenario->input.type = type;
    scenario->input.verdict.checkpoint = strcmp(word(scenario, "checkpoint", ""), "now") == 0
                                             ? scenario->checkpoint
                                             : value(scenario, "checkpoint", 1);
    scenario->input.verdict.error = -(int)value(scenario, "error", 0);
    if (scenario->input.verdict.error)
        scenario->input.verdict.text = "the disk says so";
    else if (type == INPUT_MANIFEST)
        scenario->input.verdict.manifest_digest = digest;
    step(scenario);
}

static void on_notified(struct scenario *scenario)
{
    const char *delivery = word(scenario, "delivery", "now");

    scenario->input.type = INPUT_NOTIFIED;
    scenario->input.notified.delivery =
        strcmp(delivery, "now") == 0 ? scenario->delivery : strtoull(delivery, NULL, 10);
    scenario->input.notified.error = -(int)value(scenario, "error", 0);
    if (scenario->input.notified.error)
        scenario->input.notified.text = "HTTP status 500";
    step(scenario);
}

/* `damaged`: "5" or "5,7"; NULL: none. */
static bool is_among(const char *damaged, uint64_t sequence)
{
    for (const char *next = damaged; next; next = strchr(next, ',')) {
        next += *next == ',';
        if (strtoull(next, NULL, 10) == sequence)
            return true;
    }
    return false;
}

static struct core *replay(const struct scenario *scenario, const char *damaged)
{
    struct core *core = make_core();
    struct diag diag = { 0 };

    for (size_t i = 0; i < scenario->journal.count; i++) {
        const Wafer__Record *record = scenario->journal.items[i];
        if (is_among(damaged, record->sequence))
            core_skip(core, record->sequence, record->job);
        else if (core_apply(core, record, &diag) < 0) {
            ck_assert_msg(damaged && record->has_job, "a record cannot be replayed: %s", diag.text);
            core_skip(core, record->sequence, record->job);
        }
        core_check(core);
    }
    return core;
}

/* The controller ends and another reads its journal, but for the records `damaged`. */
static void on_restart(struct scenario *scenario)
{
    const char *damaged = word(scenario, "damaged", NULL);
    const char *site = word(scenario, "site", NULL);

    webhooks[2].on = 0;
    if (site)
        webhooks[2].on = 1u << protobuf_c_enum_descriptor_get_value_by_name(
                                   &wafer__notify_spec__event__descriptor, site)
                                   ->value;
    core_free(scenario->core);
    core_free(scenario->shadow);
    scenario->core = replay(scenario, damaged);
    scenario->shadow = replay(scenario, damaged);
    scenario->replayed = scenario->journal.count;
    core_recover(scenario->core, scenario->input.time_us, scenario->input.mono_us,
                 &scenario->records, &scenario->effects);
    take(scenario);
}

static uint32_t last_attempt(void *userdata, uint64_t job)
{
    return job == 1 ? *(uint32_t *)userdata : 0;
}

/* A copy that was made after record `at` is put in place of the state. */
static void on_restore(struct scenario *scenario)
{
    size_t at = value(scenario, "at", 0);
    uint32_t attempt = (uint32_t)value(scenario, "attempt", 0); /* of job 1, in the vault */
    struct core_restoration restoration = { .term = value(scenario, "term", 2),
                                            .next_job = value(scenario, "next_job", 1000),
                                            .last_attempt = last_attempt,
                                            .userdata = &attempt };
    struct diag diag = { 0 };

    ck_assert_uint_le(at, scenario->journal.count);
    while (scenario->journal.count > at)
        wafer__record__free_unpacked(scenario->journal.items[--scenario->journal.count], NULL);
    core_free(scenario->core);
    core_free(scenario->shadow);
    scenario->core = make_core();
    scenario->shadow = make_core();
    holders_done(&scenario->holders);
    for (size_t i = 0; i < at; i++) {
        holders_add(&scenario->holders, scenario->journal.items[i], &quotas);
        ck_assert_int_eq(core_apply(scenario->core, scenario->journal.items[i], &diag), 0);
        ck_assert_int_eq(core_apply(scenario->shadow, scenario->journal.items[i], &diag), 0);
    }
    core_restore(scenario->core, scenario->input.time_us, scenario->input.mono_us, &restoration,
                 &scenario->records, &scenario->effects);
    core_recover(scenario->core, scenario->input.time_us, scenario->input.mono_us,
                 &scenario->records, &scenario->effects);
    take(scenario);
}

static void on_plain(struct scenario *scenario, enum input_type type)
{
    scenario->input.type = type;
    if (type == INPUT_LINK_CLOSED)
        scenario->input.link = value(scenario, "link", 1);
    step(scenario);
}

/* As the daemon does it: not for what an isolation in the journal covers. */
static void on_unreadable(struct scenario *scenario)
{
    uint64_t job = value(scenario, "job", 0), sequence = value(scenario, "sequence", 0);

    for (size_t i = sequence; i < scenario->replayed; i++)
        if (core_isolation_covers(scenario->journal.items[i], job, sequence))
            return;
    scenario->input.type = INPUT_UNREADABLE;
    scenario->input.unreadable.job = job;
    scenario->input.unreadable.sequence = sequence;
    step(scenario);
}

/* What was used since a time, by whom the words name. */
static void on_account(struct scenario *scenario)
{
    const char *uid = word(scenario, "uid", NULL);
    struct account_filter filter = { .project = word(scenario, "project", NULL),
                                     .pool = word(scenario, "pool", NULL),
                                     .currency = word(scenario, "currency", NULL),
                                     .of_user = uid,
                                     .uid = (uid_t)value(scenario, "uid", 0) };
    int64_t since_us = parse_time(word(scenario, "since", "0s"));

    scenario->input.type = INPUT_TIMER;
    step(scenario);
    struct account_sum sum = accounts_sum(scenario->core, &filter, since_us);
    struct account_sum shadow = accounts_sum(scenario->shadow, &filter, since_us);
    buffer_format(&scenario->text, "          used system_s=%lld cost_micro=%lld systems=%llu\n",
                  (long long)(sum.system_us / SECOND_US), (long long)sum.cost_micro,
                  (unsigned long long)sum.systems);
    ck_assert_uint_eq(sum.systems, shadow.systems);
}

static uint32_t priority_of(const char *text)
{
    uint32_t priority = 0;

    ck_assert_int_eq(priority_parse(text, &priority, NULL), 0);
    return priority;
}

/* The shares that scenarios know of; the weights are those of the line. */
static void set_scores(struct scenario *scenario)
{
    static const struct score_share shares[] = { { "nlp", false, 0, 3 }, { "nlp", true, 1001, 4 } };
    struct score_rules scores = score_rules_default();

    scores.weights[SCORE_SHARE] = (uint32_t)value(scenario, "share", scores.weights[SCORE_SHARE]);
    scores.weights[SCORE_AGE] = (uint32_t)value(scenario, "age", scores.weights[SCORE_AGE]);
    scores.weights[SCORE_SIZE] = (uint32_t)value(scenario, "size", scores.weights[SCORE_SIZE]);
    scores.weights[SCORE_DEADLINE] =
        (uint32_t)value(scenario, "deadline", scores.weights[SCORE_DEADLINE]);
    core_set_scores(scenario->core, &scores, shares, ELEMENTS(shares));
    core_set_scores(scenario->shadow, &scores, shares, ELEMENTS(shares));
}

static void on_rules(struct scenario *scenario)
{
    static const char *const backfills[] = { "none", "easy", "easy-sjbf", "conservative" };
    const char *backfill = word(scenario, "backfill", "none");

    const char *by = word(scenario, "by", NULL), *of = word(scenario, "of", NULL);

    preempt = (struct preempt_rules){ by ? priority_of(by) : 0, of ? priority_of(of) : 0 };
    core_set_preempt(scenario->core, &preempt);
    core_set_preempt(scenario->shadow, &preempt);
    rules.depth = (uint32_t)value(scenario, "depth", 0);
    static const char *const order_names[] = { "fcfs", "sjf", "wfp", "policy" };
    const char *order = word(scenario, "order", "fcfs");
    for (size_t i = 0; i < ELEMENTS(order_names); i++)
        if (strcmp(order, order_names[i]) == 0)
            rules.order = (enum schedule_order)i;
    set_scores(scenario);
    for (size_t i = 0; i < ELEMENTS(backfills); i++)
        if (strcmp(backfill, backfills[i]) == 0)
            rules.backfill = (enum schedule_backfill)i;
    core_set_schedule(scenario->core, &rules);
    core_set_schedule(scenario->shadow, &rules);
    scenario->input.type = INPUT_TIMER;
    step(scenario);
}

static int64_t micro_of(struct quota_rule *rule, const char *text)
{
    rule->limits.currency = "EUR";
    rule->limits.budget_days = 2;
    return (int64_t)strtoul(text, NULL, 10) * 10000; /* cents */
}

/* `quotas user:every=s2,p10 project:nlp=s4 queue:wafer=m2h,d1h`: systems at once, pending, array,
 * maximum and default of limits; h50m,w90,b100: time of systems, and cents to be warned of and to
 * be had, in 2 days. From then on, also after a restart. */
static void on_quotas(struct scenario *scenario)
{
    static const char *const kinds[] = { "user", "project", "queue" };

    quotas.count = 0;
    for (size_t i = 0; i < scenario->count; i++) {
        static char names[ELEMENTS(quota_items)][32];
        struct quota_rule *rule = &quota_items[quotas.count];
        char *name = names[quotas.count], kind[16] = "", value[64] = "";
        ck_assert_uint_lt(quotas.count, ELEMENTS(quota_items));
        int r = sscanf(scenario->words[i], "%15[^:]:%31[^=]=%63s", kind, name, value);
        ck_assert_msg(r == 3, "'%s' is no quota", scenario->words[i]);
        scenario->used[i] = true;
        *rule = (struct quota_rule){ .limits = QUOTA_LIMITS_NONE };
        while (rule->kind < QUOTA_KINDS && strcmp(kinds[rule->kind], kind) != 0)
            rule->kind++;
        ck_assert_msg(rule->kind < QUOTA_KINDS, "'%s' is no kind of quota", kind);
        rule->every = strcmp(name, "every") == 0;
        rule->uid = rule->kind == QUOTA_USER ? (uid_t)strtoul(name, NULL, 10) : 0;
        rule->name = rule->kind == QUOTA_USER || rule->every ? NULL : name;
        for (char *rest = value, *part; (part = strtok_r(rest, ",", &rest));) {
            const char *of = strpbrk(part, "0123456789");
            switch (*part) { /* s8: systems; p: pending; a: array; m: maximum; d: default */
            case 's': rule->limits.systems = (uint32_t)strtoul(of, NULL, 10); break;
            case 'p': rule->limits.pending = (uint32_t)strtoul(of, NULL, 10); break;
            case 'a': rule->limits.array = (uint32_t)strtoul(of, NULL, 10); break;
            case 'm': rule->limits.limit_max_us = parse_time(of); break;
            case 'd': rule->limits.limit_default_us = parse_time(of); break;
            case 'h': rule->limits.system_us = parse_time(of), rule->limits.system_days = 2; break;
            case 'w': rule->limits.warn_micro = micro_of(rule, of); break;
            case 'b': rule->limits.budget_micro = micro_of(rule, of); break;
            default: ck_abort_msg("'%s' is no limit", part);
            }
        }
        quotas.count++;
    }
    core_set_quotas(scenario->core, &quotas);
    core_set_quotas(scenario->shadow, &quotas);
    scenario->input.type = INPUT_TIMER;
    step(scenario);
}

static const struct {
    const char *verb;
    void (*with_verb)(struct scenario *scenario, const char *verb);
    void (*with_type)(struct scenario *scenario, enum input_type type);
    void (*alone)(struct scenario *scenario);
    enum input_type type;
} verbs[] = {
    { "up", .with_verb = on_report },
    { "beat", .with_verb = on_report },
    { "closed", .with_type = on_plain, .type = INPUT_LINK_CLOSED },
    { "submit", .alone = on_submit },
    { "cancel", .with_verb = on_job_request },
    { "hold", .with_verb = on_job_request },
    { "release", .with_verb = on_job_request },
    { "requeue", .with_verb = on_job_request },
    { "resume", .with_verb = on_job_request },
    { "update", .alone = on_update },
    { "explain", .with_verb = on_job_request },
    { "show", .with_verb = on_job_request },
    { "prune", .with_verb = on_job_request },
    { "pin", .with_verb = on_checkpoint_request },
    { "unpin", .with_verb = on_checkpoint_request },
    { "verify", .with_verb = on_checkpoint_request },
    { "drain", .with_verb = on_operator_request },
    { "undrain", .with_verb = on_operator_request },
    { "stop", .with_verb = on_operator_request },
    { "start", .with_verb = on_operator_request },
    { "reserve", .alone = on_reserve },
    { "unreserve", .alone = on_unreserve },
    { "reservations", .alone = on_reservations },
    { "calendar", .alone = on_calendar },
    { "started", .alone = on_started },
    { "suspended", .with_verb = on_suspension },
    { "continued", .with_verb = on_suspension },
    { "progress", .alone = on_progress },
    { "begun", .with_verb = on_checkpoint },
    { "written", .with_verb = on_checkpoint },
    { "failed", .with_verb = on_checkpoint },
    { "ended", .alone = on_ended },
    { "manifest", .with_type = on_verdict, .type = INPUT_MANIFEST },
    { "verified", .with_type = on_verdict, .type = INPUT_VERIFIED },
    { "deleted", .with_type = on_verdict, .type = INPUT_DELETED },
    { "notified", .alone = on_notified },
    { "timer", .with_type = on_plain, .type = INPUT_TIMER },
    { "full", .with_type = on_plain, .type = INPUT_JOURNAL_FULL },
    { "room", .with_type = on_plain, .type = INPUT_JOURNAL_ROOM },
    { "unreadable", .alone = on_unreadable },
    { "rules", .alone = on_rules },
    { "used", .alone = on_account },
    { "quotas", .alone = on_quotas },
    { "restart", .alone = on_restart },
    { "restore", .alone = on_restore },
};

struct scenario *scenario_new(void)
{
    struct scenario *scenario = NEW(struct scenario);

    webhooks[2].on = 0;
    rules = (struct schedule_rules){ .backfill = SCHEDULE_BACKFILL_NONE };
    preempt = (struct preempt_rules){ 0, 0 };
    quotas.count = 0;
    scenario->core = make_core();
    scenario->shadow = make_core();
    core_recover(scenario->core, 0, 0, &scenario->records, &scenario->effects);
    take(scenario);
    return scenario;
}

struct scenario *scenario_free(struct scenario *scenario)
{
    core_free(scenario->core);
    core_free(scenario->shadow);
    records_clear(&scenario->journal);
    records_clear(&scenario->records);
    holders_done(&scenario->holders);
    buffer_done(&scenario->text);
    wafer__reservation_state__free_unpacked(scenario->reservation, NULL);
    free(scenario->answer);
    free(scenario);
    return NULL;
}

const char *scenario_run(struct scenario *scenario, const char *line)
{
    owned(free) char *copy = text_copy(line);
    char *rest = copy, *time = strtok_r(rest, " ", &rest), *verb = strtok_r(rest, " ", &rest);
    const char *ahead;

    ck_assert_msg(verb != NULL, "'%s' has no verb", line);
    scenario->count = 0;
    memset(scenario->used, 0, sizeof(scenario->used));
    for (char *next; (next = strtok_r(rest, " ", &rest));) {
        ck_assert_uint_lt(scenario->count, WORDS);
        scenario->words[scenario->count++] = next;
    }
    scenario->input = (struct input){ .time_us = parse_time(time) };
    if ((ahead = word(scenario, "ahead", NULL)))
        scenario->ahead_us = parse_time(ahead);
    scenario->input.mono_us = scenario->input.time_us - scenario->ahead_us;
    buffer_clear(&scenario->text);
    size_t i = 0;
    while (i < sizeof(verbs) / sizeof(*verbs) && strcmp(verbs[i].verb, verb) != 0)
        i++;
    ck_assert_msg(i < sizeof(verbs) / sizeof(*verbs), "'%s' is no verb", verb);
    if (verbs[i].with_verb)
        verbs[i].with_verb(scenario, verb);
    else if (verbs[i].with_type)
        verbs[i].with_type(scenario, verbs[i].type);
    else
        verbs[i].alone(scenario);
    free(scenario->answer);
    scenario->answer = buffer_text(&scenario->text);
    return scenario->answer;
}

static int load_item(void *userdata, const Wafer__SnapshotItem *item)
{
    struct diag diag = { 0 };
    int r = core_load(userdata, item, &diag);
    ck_assert_msg(r == 0, "a saved item cannot be loaded: %s", diag.text);
    return 0;
}

void scenario_check_snapshot(struct scenario *scenario)
{
    struct core *loaded = make_core();
    struct diag diag = { 0 };

    ck_assert_int_eq(core_save(scenario->core, load_item, loaded), 0);
    ck_assert_msg(core_load_end(loaded, &diag) == 0, "%s", diag.text);
    core_check(loaded);
    core_free(loaded);
}
