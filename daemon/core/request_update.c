/* Update: other terms for a job that lives, if it is still as its owner saw it. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/memory.h"
#include "core/request.h"
#include "core/reserved.h"

#define ASSIGNMENTS_MAX 32
#define TOLD_BYTES      200 /* of an assignment, in the event */

/* What may change. The rest of a spec decides what the job computes, and with that its digest, or
 * where it is kept: that is another job. */
static const struct {
    const char *key; /* itself, or what is below it */
    bool while_it_runs;
} fields[] = {
    { "limit", true },        { "priority", true }, { "labels", true },
    { "title", true },        { "deadline", true }, { "systems.count", false },
    { "systems.min", false }, { "begin", false },   { "reservation", false },
};

#define FIELDS_TEXT                                                                                \
    "limit, priority, labels, title and deadline may change; while it waits also systems.count, "  \
    "systems.min, begin and reservation"

/* NULL: no such field may change. */
static const bool *find_field(const char *key)
{
    for (size_t i = 0; i < ELEMENTS(fields); i++) {
        size_t length = strlen(fields[i].key);
        if (strncmp(key, fields[i].key, length) == 0 && (!key[length] || key[length] == '.'))
            return &fields[i].while_it_runs;
    }
    return NULL;
}

/* What jobs of one spec become. */
struct change {
    struct digest from; /* the spec that they have */
    Wafer__JobSpec *spec;
    ProtobufCBinaryData packed;
    struct job_terms terms;
    bool other_count, other_limit, other_priority, other_times;
};

static void change_donep(struct change *change)
{
    if (change->spec)
        wafer__job_spec__free_unpacked(change->spec, NULL);
    free(change->packed.data);
    *change = (struct change){ .spec = NULL };
}

static bool refuse_field(struct request *request, const struct job *job, const char *field,
                         char *message)
{
    refuse(request, job->state.id, "E_FIELD", EX_DATAERR, field, message);
    return false;
}

/* False, here and below: refused. */
static bool key_may_change(struct request *request, const struct job *job, const char *assignment)
{
    owned(free) char *key = text_copy_length(assignment, strcspn(assignment, "="));
    const bool *while_it_runs = find_field(key);

    if (strlen(assignment) > LIMIT_STRING_BYTES)
        return refuse_field(
            request, job, "set",
            text_format("%zu bytes: at most %d", strlen(assignment), LIMIT_STRING_BYTES));
    if (!assignment[strlen(key)])
        return refuse_field(request, job, key, text_copy("has no value (KEY=VALUE)"));
    if (!while_it_runs)
        return refuse_field(request, job, key,
                            text_copy("cannot be changed any more: " FIELDS_TEXT));
    if (!*while_it_runs && job_has_systems(job))
        return refuse_field(request, job, key,
                            text_format("cannot be changed while job %llu is %s: only while it "
                                        "waits ('wafer resume --systems' gives it others)",
                                        (unsigned long long)job->state.id,
                                        job_state_name(job->state.state)));
    return true;
}

static int64_t run_us(const struct request *request, const struct job *job)
{
    int64_t past_us = job->state.run_us;

    return job->state.has_started_us ? past_us + request->core->now_us - job->state.started_us
                                     : past_us;
}

/* Of the new limit; one that runs is stopped at its deadline, and may be over before. */
static int64_t left_us(const struct request *request, const struct job *job,
                       const struct change *change)
{
    return !change->terms.limit_us || job_has_systems(job)
               ? INT64_MAX
               : change->terms.limit_us - run_us(request, job);
}

static bool limit_is_ahead(struct request *request, const struct job *job, int64_t limit_us)
{
    int64_t past_us = run_us(request, job);

    if (!limit_us || limit_us > past_us)
        return true;
    return refuse_field(request, job, "limit",
                        text_format("job %llu has run for %lld s already: give it more, or cancel "
                                    "it",
                                    (unsigned long long)job->state.id,
                                    (long long)(past_us / 1000000)));
}

static bool change_make(struct request *request, const struct job *job, struct change *ret)
{
    const Wafer__UpdateRequest *asked = request->message->update;
    owned(change_done) struct change change = { .from = job->spec->digest };
    struct bind_errors errors = { .items = NULL };
    const struct job_terms *before = &job->spec->terms;
    bool good = true;

    change.spec = MESSAGE_COPY(job->spec->message);
    for (size_t i = 0; good && i < asked->n_set; i++)
        if (bind_set(&change.spec->base, asked->set[i], &errors) < 0)
            good =
                refuse_field(request, job, errors.items[0].field, text_copy(errors.items[0].text));
    /* What decides where it may run, and who may make such a job, does not change. */
    if (good && job_spec_check(change.spec, NULL, &errors) < 0)
        good = refuse_field(request, job, errors.items[0].field, text_copy(errors.items[0].text));
    bind_errors_done(&errors);
    if (!good)
        return false;
    const struct quota_party party = job_party(request->core, job);
    if (!change.spec->limit && quotas_default_limit_us(request->core, &party) &&
        before->limit_us) /* it is being taken away */
        quotas_set_limit(change.spec, quotas_default_limit_us(request->core, &party));
    job_terms(change.spec, &change.terms);
    change.other_count = change.terms.systems_count != before->systems_count;
    change.other_limit = change.terms.limit_us != before->limit_us;
    change.other_priority = change.terms.priority != before->priority;
    change.other_times = change.other_limit || change.terms.deadline_us != before->deadline_us ||
                         change.terms.begin_us != before->begin_us;
    if (change.other_priority &&
        !priority_is_allowed(request, job->state.id, &change.terms,
                             may(request, WAFER__ROLE__ACTION__urgent, job)))
        return false;
    change.packed.len = wafer__job_spec__get_packed_size(change.spec);
    change.packed.data = memory_new(change.packed.len);
    wafer__job_spec__pack(change.spec, change.packed.data);
    change_donep(ret);
    *ret = change;
    change = (struct change){ .spec = NULL };
    return true;
}

/* What does not change may be what it is. */
static bool change_is_within(struct request *request, const struct job *job,
                             const struct change *change)
{
    const struct quota_party party = job_party(request->core, job);
    const struct quota_demand demand = {
        .systems = change->other_count ? change->terms.systems_count : 0,
        .limit_us = change->other_limit ? change->terms.limit_us : 0,
    };

    return quotas_allow(request, job->state.id, &party, &demand);
}

/* One that the job names already may have been removed since: that is no reason to refuse the rest.
 */
static bool reservation_is_usable(struct request *request, const struct job *job,
                                  const struct job_terms *terms)
{
    const char *before = job->spec->terms.reservation;

    if (terms->reservation && before && strcmp(before, terms->reservation) == 0)
        return true;
    char *refusal = reserved_refusal(request->core, terms->reservation,
                                     job_pool(request->core, job), job->state.uid);
    return !refusal || refuse_field(request, job, "reservation", refusal);
}

/* May this job become that? `change` is made anew where it is of another spec: the elements of an
 * array nearly always share one. */
static bool may_change(struct request *request, const struct job *job, struct change *change)
{
    const Wafer__UpdateRequest *asked = request->message->update;

    for (size_t i = 0; i < asked->n_set; i++)
        if (!key_may_change(request, job, asked->set[i]))
            return false;
    if (!(change->spec && digest_is_equal(&change->from, &job->spec->digest)) &&
        !change_make(request, job, change))
        return false;
    if (!change_is_within(request, job, change))
        return false;
    if (!reservation_is_usable(request, job, &change->terms))
        return false;
    if (change->other_limit && !limit_is_ahead(request, job, change->terms.limit_us))
        return false;
    return !change->other_times ||
           deadline_is_ahead(request, job->state.id, &change->terms, left_us(request, job, change));
}

static char *make_text(const Wafer__UpdateRequest *asked)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (size_t i = 0; i < asked->n_set; i++)
        buffer_format(&text, "%s%.*s", i ? ", " : "", TOLD_BYTES, asked->set[i]);
    return buffer_text(&text);
}

static void update(struct request *request, struct job *job, const struct change *change,
                   const char *text)
{
    Wafer__Record record = WAFER__RECORD__INIT;
    Wafer__JobState next = job->state;

    /* What `resume --systems` said gives way to what the spec says now. */
    if (change->other_count)
        UNSET(&next, systems_count);
    SET(&next, version, next.version + 1);
    record.kind = WAFER__RECORD_KIND__JOB_UPDATED;
    SET(&record, job, next.id);
    SET(&record, uid, request->uid);
    record.job_state = &next;
    SET(&record, spec, change->packed);
    record.text = (char *)text;
    core_record(request->core, &record);
    effect_changed(request->core, job);
}

/* False: refused. */
static bool is_as_seen(struct request *request, const struct job *job, bool is_array)
{
    const Wafer__UpdateRequest *asked = request->message->update;

    if (!asked->has_if_version)
        return true;
    if (is_array) {
        refuse(request, job->state.id, "E_FIELD", EX_DATAERR, "if_version",
               text_format("each element of array %llu has a version of its own: name one, as in "
                           "%llu_%u",
                           (unsigned long long)job->array->id, (unsigned long long)job->array->id,
                           job->state.array_index));
        return false;
    }
    if (asked->if_version == job->state.version)
        return true;
    refuse(request, job->state.id, "E_VERSION", EX_TEMPFAIL, NULL,
           text_format("job %llu has version %llu, not %llu: look at it again",
                       (unsigned long long)job->state.id, (unsigned long long)job->state.version,
                       (unsigned long long)asked->if_version));
    return false;
}

/* All live elements or none: every mistake is found before the first is recorded. */
static bool update_array(struct request *request, struct array *array, struct change *change,
                         const char *text)
{
    list_foreach (&array->elements, link) {
        struct job *element = CONTAINER_OF(link, struct job, array_link);
        if (!job_state_is_terminal(element->state.state) && !may_change(request, element, change))
            return false;
    }
    list_foreach (&array->elements, link) {
        struct job *element = CONTAINER_OF(link, struct job, array_link);
        if (!job_state_is_terminal(element->state.state) && may_change(request, element, change))
            update(request, element, change, text);
    }
    return true;
}

void on_update(struct request *request)
{
    const Wafer__UpdateRequest *asked = request->message->update;
    struct array *array = array_target(request, asked->target);
    struct job *job = live_target(request, asked->target);
    owned(change_done) struct change change = { .spec = NULL };

    if (!job)
        return;
    if (asked->n_set < 1 || asked->n_set > ASSIGNMENTS_MAX) {
        refuse_field(request, job, "set",
                     text_format("%zu assignments: from 1 to %d; " FIELDS_TEXT, asked->n_set,
                                 ASSIGNMENTS_MAX));
        return;
    }
    if (!is_as_seen(request, job, array != NULL))
        return;
    owned(free) char *text = make_text(asked);
    if (array ? !update_array(request, array, &change, text) : !may_change(request, job, &change))
        return;
    if (!array)
        update(request, job, &change, text);
    answer_job(request, job);
}
