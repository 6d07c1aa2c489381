#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/job.h"
#include "model/job_name.h"
#include "model/limits.h"
#include "model/url.h"

#define PARAMETERS_MAX UINT64_C(1000000000000000)

/* A count of something that is there at least once. */
static void check_positive(const struct bind_report *report, const char *field, bool is_set,
                           uint64_t value)
{
    if (is_set && value == 0)
        bind_refuse(report, field, "0: at least 1");
}

static void check_count(const struct bind_report *report, const char *field,
                        const Wafer__Count *count)
{
    check_positive(report, field, count != NULL, count ? count->value : 0);
}

static void check_name(const struct bind_report *report, const char *field, const char *name)
{
    if (!name || job_name_is_valid(name))
        return;
    size_t length = strlen(name), good = strspn(name, NAME_CHARACTERS);
    if (length == 0)
        bind_refuse(report, field, "is empty (1 to 63 of A-Z a-z 0-9 . _ -)");
    else if (good == length && length > LIMIT_NAME_BYTES)
        bind_refuse(report, field, "%zu characters: at most 63 of A-Z a-z 0-9 . _ -", length);
    else
        bind_refuse(
            report, field,
            "\"%.80s\" is not a name (1 to 63 of A-Z a-z 0-9 . _ -, one a letter or digit)%s", name,
            strcmp(field, "name") == 0 ? "; free text goes to title" : "");
}

/* ---- what this version does not act on ---- */

static void check_supported(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const struct {
        const char *field;
        bool is_set;
    } later[] = {
        { "program", spec->program },
        { "checkpoint.dir", spec->checkpoint && spec->checkpoint->dir },
        { "divergence", spec->divergence },
        { "retention", spec->retention },
        { "cost", spec->cost },
    };

    for (size_t i = 0; i < ELEMENTS(later); i++)
        if (later[i].is_set)
            bind_refuse(report, later[i].field, "not supported in this version (leave it out)");
    /* What production demands of a run - verified inputs, an accepted pilot - nothing checks yet.
     */
    if (spec->has_run_class && spec->run_class == WAFER__JOB_SPEC__RUN_CLASS__production)
        bind_refuse(report, "run_class",
                    "production is not supported in this version (experiment, benchmark or pilot)");
}

/* ---- its parts ---- */

static void check_head(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    if (strcmp(spec->apiversion, "wafer/v1"))
        bind_refuse(report, "apiVersion", "\"%.80s\" is not read by this version (wafer/v1)",
                    spec->apiversion);
    if (strcmp(spec->kind, "Job"))
        bind_refuse(report, "kind", "\"%.80s\" is not Job", spec->kind);
    check_name(report, "name", spec->name);
    check_name(report, "project", spec->project);
    check_name(report, "queue", spec->queue);
    check_name(report, "reservation", spec->reservation);
    for (size_t i = 0; i < spec->n_labels; i++) {
        const char *key = spec->labels[i]->key;
        size_t length = strlen(key);

        if (length == 0 || length > LIMIT_NAME_BYTES || strspn(key, NAME_CHARACTERS "/") < length)
            bind_refuse(report, "labels",
                        "\"%.80s\" is not the name of a label (1 to 63 of A-Z a-z 0-9 . _ - /)",
                        key);
    }
}

static void check_systems(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const Wafer__SystemsSpec *systems = spec->systems;
    uint32_t first, last, parallel;

    if (systems) {
        if (systems->count < 1 || systems->count > LIMIT_SYSTEMS)
            bind_refuse(report, "systems.count", "%" PRIu32 " systems: from 1 to %d",
                        systems->count, LIMIT_SYSTEMS);
        if (systems->has_min && (systems->min < 1 || systems->min > systems->count))
            bind_refuse(report, "systems.min", "%" PRIu32 ": from 1 to the count, %" PRIu32,
                        systems->min, systems->count);
    }
    if (spec->array && job_array_parse(spec->array, &first, &last, &parallel) < 0)
        bind_refuse(report, "array", "\"%.80s\" is not an array (0-31 or 0-31%%4; at most %d)",
                    spec->array, LIMIT_ARRAY_ELEMENTS);
}

/* Whether these jobs are there, and when it is, the controller knows. */
static void check_dependency(const struct bind_report *report, const Wafer__Dependency *after,
                             size_t i)
{
    const char *const texts[] = { after->afterok, after->afterany, after->afternotok,
                                  after->afterstart };
    owned(free) char *field = text_format("after[%zu]", i);
    Wafer__Target target;
    const char *named = NULL;
    size_t count = 0;

    for (size_t j = 0; j < ELEMENTS(texts); j++)
        if (texts[j]) {
            named = texts[j];
            count++;
        }
    if (count != 1)
        bind_refuse(report, field,
                    count ? "names more than one kind: one in each entry"
                          : "wants afterok, afterany, afternotok or afterstart");
    else if (job_target_parse(named, &target) < 0 || !target.has_job || target.has_attempt)
        bind_refuse(report, field, "\"%.80s\" is no job (7), array (7) or element of one (7_3)",
                    named);
}

static void check_times(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    if (spec->n_after > LIMIT_DEPENDENCIES)
        bind_refuse(report, "after", "%zu jobs: at most %d", spec->n_after, LIMIT_DEPENDENCIES);
    for (size_t i = 0; i < spec->n_after; i++)
        check_dependency(report, spec->after[i], i);
    if (spec->begin && spec->deadline && spec->begin->us >= spec->deadline->us)
        bind_refuse(report, "begin", "is not before the deadline");
}

/* Whether the pool is there and takes the class of the job, the controller knows. */
static void check_fallback(const struct bind_report *report, const Wafer__FallbackSpec *fallback)
{
    if (!fallback)
        return;
    check_name(report, "fallback.pool", fallback->pool);
    for (size_t i = 0; i < fallback->n_when; i++)
        switch (fallback->when[i]) {
        case WAFER__CAUSE__RETRY_LIMIT:
        case WAFER__CAUSE__UNSUPPORTED_OPERATOR:
        case WAFER__CAUSE__NO_HEALTHY_SYSTEM: break;
        default:
            bind_refuse(report, "fallback.when",
                        "%s is not supported in this version (RETRY_LIMIT, UNSUPPORTED_OPERATOR, "
                        "NO_HEALTHY_SYSTEM)",
                        cause_name(fallback->when[i]));
        }
}

static void check_model(const struct bind_report *report, const Wafer__ModelSpec *model)
{
    check_positive(report, "workload.model.layers", model->has_layers, model->layers);
    check_positive(report, "workload.model.hidden", model->has_hidden, model->hidden);
    check_positive(report, "workload.model.heads", model->has_heads, model->heads);
    check_positive(report, "workload.model.vocab", model->has_vocab, model->vocab);
    check_positive(report, "workload.model.seq", model->has_seq, model->seq);
    check_count(report, "workload.model.params", model->params);
    if (!model->params && !(model->has_layers && model->has_hidden))
        bind_refuse(report, "workload.model", "wants layers and hidden, or params");
    else if (job_parameters(model) > PARAMETERS_MAX)
        bind_refuse(report, "workload.model", "more than 1e15 parameters");
    if (model->has_heads && model->has_hidden && model->heads && model->hidden % model->heads)
        bind_refuse(report, "workload.model.heads",
                    "%" PRIu32 " heads do not divide the hidden size, %" PRIu32, model->heads,
                    model->hidden);
}

static void check_length(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const Wafer__Workload *workload = spec->workload;
    struct job_terms terms;

    check_count(report, "workload.steps", workload->steps);
    check_count(report, "workload.tokens", workload->tokens);
    if (!workload->steps == !workload->tokens) {
        bind_refuse(report, "workload",
                    workload->steps ? "has both steps and tokens: one of them"
                                    : "wants steps or tokens");
        return;
    }
    job_terms(spec, &terms);
    if ((unsigned __int128)terms.batch * terms.seq * terms.max_steps > INT64_MAX)
        bind_refuse(report, "workload", "more than 9e18 tokens");
}

static void check_workload(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const Wafer__Workload *workload = spec->workload;
    uint32_t count = spec->systems ? spec->systems->count : 1;

    if (!workload) {
        if (!spec->program)
            bind_refuse(report, "workload", "missing, and it must be there (what to train)");
        return;
    }
    check_model(report, workload->model);
    check_length(report, spec);
    check_name(report, "workload.optimizer", workload->optimizer);
    for (size_t i = 0; i < workload->n_operators; i++)
        check_name(report, "workload.operators", workload->operators[i]);
    if (workload->batch == 0)
        bind_refuse(report, "workload.batch", "0: at least 1 sequence a step");
    else if (workload->batch < count)
        bind_refuse(report, "workload.batch",
                    "%" PRIu32 " sequences a step do not reach %" PRIu32
                    " systems: at least one each",
                    workload->batch, count);
    if (!workload->input)
        return;
    if (workload->input->has_workers &&
        (workload->input->workers < 1 || workload->input->workers > LIMIT_INPUT_WORKERS))
        bind_refuse(report, "workload.input.workers", "%" PRIu32 " workers: from 1 to %d",
                    workload->input->workers, LIMIT_INPUT_WORKERS);
    if (workload->input->sequences_per_s && workload->input->sequences_per_s->micro <= 0)
        bind_refuse(report, "workload.input.sequences_per_s", "more than 0");
}

static void check_data(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const Wafer__DataSpec *data = spec->data;
    const Wafer__InputSpec *input = spec->workload ? spec->workload->input : NULL;
    uint32_t workers = input && input->has_workers ? input->workers : 1;

    for (size_t i = 0; data && i < data->n_inputs; i++) {
        const Wafer__DataInput *from = data->inputs[i];
        if (!*from->id)
            bind_refuse(report, "data.inputs", "an input with an empty id");
        check_positive(report, "data.inputs.shards", from->has_shards, from->shards);
        /* A shard is read by one worker, in order: more workers than shards would idle. */
        if (from->has_shards && from->shards && from->shards < workers)
            bind_refuse(report, "data.inputs.shards",
                        "%" PRIu32 " shards of %.80s do not feed %" PRIu32
                        " input workers: at least one each",
                        from->shards, from->id, workers);
    }
}

static bool is_evaluated(const Wafer__JobSpec *spec)
{
    return spec->quality && spec->quality->every;
}

static void check_quality(const struct bind_report *report, const Wafer__QualitySpec *quality)
{
    if (!quality)
        return;
    if (!quality->metric)
        bind_refuse(report, "quality", "wants a metric (eval_loss)");
    else if (strcmp(quality->metric, "eval_loss"))
        bind_refuse(report, "quality.metric", "\"%.80s\" is not measured (eval_loss)",
                    quality->metric);
    if (quality->every)
        check_count(report, "quality.every.steps", quality->every->steps);
    if (quality->has_direction && !quality->target)
        bind_refuse(report, "quality.direction", "wants a target beside it");
    if (quality->target && !quality->every)
        bind_refuse(report, "quality.target", "eval_loss is measured only with quality.every");
}

static void check_stop_when(const struct bind_report *report, const Wafer__JobSpec *spec, size_t i)
{
    const Wafer__StopWhen *when = spec->stop->when[i];
    owned(free) char *field = text_format("stop.when[%zu]", i);
    owned(free) char *metric = text_format("%s.metric", field);
    owned(free) char *steps = text_format("%s.stalled_for.steps", field);
    bool is_evaluation = strcmp(when->metric, "eval_loss") == 0;

    if (!is_evaluation && strcmp(when->metric, "loss"))
        bind_refuse(report, metric, "\"%.80s\" is not measured (loss, eval_loss)", when->metric);
    else if (is_evaluation && !is_evaluated(spec))
        bind_refuse(report, metric, "eval_loss is measured only with quality.every");
    if (!when->below == !when->stalled_for)
        bind_refuse(report, field,
                    when->below ? "has both below and stalled_for: one of them"
                                : "wants below or stalled_for");
    if (when->stalled_for)
        check_count(report, steps, when->stalled_for->steps);
}

static void check_stop(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    if (!spec->stop)
        return;
    check_count(report, "stop.max_steps", spec->stop->max_steps);
    if (spec->stop->max_cost && spec->stop->max_cost->micro == 0)
        bind_refuse(report, "stop.max_cost", "more than 0");
    for (size_t i = 0; i < spec->stop->n_when; i++)
        check_stop_when(report, spec, i);
}

static void check_cadence(const struct bind_report *report, const Wafer__Cadence *every)
{
    if (!every)
        return;
    bool is_auto = every->has_auto_ && every->auto_;
    if (is_auto == (every->steps || every->time))
        bind_refuse(report, "checkpoint.every", "auto, a duration, or {steps, time}");
    check_count(report, "checkpoint.every.steps", every->steps);
}

static void check_checkpoint(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    const Wafer__CheckpointSpec *checkpoint = spec->checkpoint;
    const Wafer__KeepSpec *keep = checkpoint ? checkpoint->keep : NULL;

    check_cadence(report, checkpoint ? checkpoint->every : NULL);
    if (!keep)
        return;
    check_positive(report, "checkpoint.keep.last", keep->has_last, keep->last);
    check_count(report, "checkpoint.keep.every_steps", keep->every_steps);
    if (!keep->best)
        return;
    check_positive(report, "checkpoint.keep.best.n", true, keep->best->n);
    if (strcmp(keep->best->metric, "eval_loss"))
        bind_refuse(report, "checkpoint.keep.best.metric",
                    "\"%.80s\" is not kept with a checkpoint (eval_loss)", keep->best->metric);
    else if (!is_evaluated(spec))
        bind_refuse(report, "checkpoint.keep.best.metric",
                    "eval_loss is measured only with quality.every");
}

static void check_resume(const struct bind_report *report, const Wafer__ResumeSpec *resume)
{
    uint64_t job, step, epoch;

    if (!resume)
        return;
    bool is_auto = !resume->from || strcmp(resume->from, "auto") == 0;
    /* A step alone names nothing: the job is new and has none of its own. */
    if (!is_auto && checkpoint_target_parse(resume->from, &job, &step, &epoch) < 0)
        bind_refuse(report, "resume.from", "\"%.80s\" is not auto or JOB@STEP", resume->from);
    if (resume->init_from && checkpoint_target_parse(resume->init_from, &job, &step, &epoch) < 0)
        bind_refuse(report, "resume.init_from", "\"%.80s\" is not JOB@STEP", resume->init_from);
    if (resume->init_from && !is_auto)
        bind_refuse(report, "resume",
                    "has both from and init_from: resume a run, or begin one from its weights");
}

static void check_retry(const struct bind_report *report, const Wafer__RetrySpec *retry)
{
    struct job_terms terms;

    if (!retry)
        return;
    for (size_t i = 0; i < retry->n_never; i++)
        if (retry->never[i] == WAFER__CAUSE__NO_CAUSE)
            bind_refuse(report, "retry.never", "NO_CAUSE is no cause");
    job_terms(&(Wafer__JobSpec){ .retry = (Wafer__RetrySpec *)retry }, &terms);
    if (terms.backoff_first_us > terms.backoff_max_us)
        bind_refuse(report, "retry.backoff", "first is longer than max");
}

/* Whether the name is a webhook of the site, and the site allows the URL, the controller says. */
static void check_notify_rule(const struct bind_report *report, const Wafer__JobSpec *spec,
                              size_t i)
{
    const Wafer__NotifySpec *rule = spec->notify[i];
    owned(free) char *on = text_format("notify[%zu].on", i);
    owned(free) char *to = text_format("notify[%zu].to", i);
    struct url url;
    struct diag diag;

    if (rule->n_on == 0)
        bind_refuse(report, on, "missing, and it must be there (FAILED, TIMEOUT ...)");
    if (strcmp(rule->to, "project") == 0 && !spec->project)
        bind_refuse(report, to, "the job has no project");
    else if (!job_name_is_valid(rule->to) && !strstr(rule->to, "://"))
        bind_refuse(report, to,
                    "\"%.80s\" is neither project, nor the name of a webhook, nor a URL", rule->to);
    else if (!job_name_is_valid(rule->to) && url_parse(rule->to, &url, &diag) < 0)
        bind_refuse(report, to, "the URL cannot be used: %s", diag.text);
}

static void check_notify(const struct bind_report *report, const Wafer__JobSpec *spec)
{
    if (spec->n_notify > LIMIT_NOTIFY)
        bind_refuse(report, "notify", "%zu rules: at most %d", spec->n_notify, LIMIT_NOTIFY);
    for (size_t i = 0; i < spec->n_notify; i++)
        check_notify_rule(report, spec, i);
}

int job_spec_check(const Wafer__JobSpec *spec, const struct bind_places *places,
                   struct bind_errors *errors)
{
    const struct bind_report report = { .places = places, .errors = errors };
    size_t before = errors->count;

    if (bind_check(&spec->base, places, errors) < 0)
        return -EINVAL;
    check_supported(&report, spec);
    check_head(&report, spec);
    check_systems(&report, spec);
    check_times(&report, spec);
    check_fallback(&report, spec->fallback);
    check_workload(&report, spec);
    check_data(&report, spec);
    check_quality(&report, spec->quality);
    check_stop(&report, spec);
    check_checkpoint(&report, spec);
    check_resume(&report, spec->resume);
    check_retry(&report, spec->retry);
    check_notify(&report, spec);
    return errors->count > before || errors->cut ? -EINVAL : 0;
}

int job_spec_read(const char *text, size_t length, const char *const *sets, Wafer__JobSpec **ret,
                  struct bind_errors *errors)
{
    ProtobufCMessage *message;
    struct bind_places *places;
    int r = bind_yaml_with(&wafer__job_spec__descriptor, text, length, LIMIT_JOB_FILE_BYTES, sets,
                           &message, &places, errors);

    if (r < 0)
        return r;
    r = job_spec_check((const Wafer__JobSpec *)message, places, errors);
    bind_places_free(places);
    if (r < 0)
        protobuf_c_message_free_unpacked(message, NULL);
    else
        *ret = (Wafer__JobSpec *)message;
    return r;
}
