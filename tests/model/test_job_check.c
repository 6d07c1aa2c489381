#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "errors.h"
#include "model/job.h"
#include "tap.h"

#define TEXT                                                                                       \
    "apiVersion: wafer/v1\nkind: Job\nname: n\nsystems: {count: 4}\n"                              \
    "workload: {model: {layers: 2, hidden: 64}, batch: 8, steps: 100}\n"

#define NAME_RULE "(1 to 63 of A-Z a-z 0-9 . _ -, one a letter or digit)"
#define LONG_NAME "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk" /* 63 */

/* One change to a good spec, and what is said of it: NULL when it stays good. */
static const struct {
    const char *sets[4];
    const char *says;
} rules[] = {
    { { NULL }, NULL },

    /* names */
    { { "name=" LONG_NAME }, NULL },
    { { "name=" LONG_NAME "l" }, "name: 64 characters: at most 63 of A-Z a-z 0-9 . _ -\n" },
    { { "name=../x" }, "name: \"../x\" is not a name " NAME_RULE "; free text goes to title\n" },
    { { "name=.." }, "name: \"..\" is not a name " NAME_RULE "; free text goes to title\n" },
    { { "name='a b'" }, "name: \"a b\" is not a name " NAME_RULE "; free text goes to title\n" },
    { { "name=\"a\\e[2J\"" },
      "name: \"a\\x1b[2J\" is not a name " NAME_RULE "; free text goes to title\n" },
    { { "name=\xf0\x9f\x98\x80" },
      "name: \"\xf0\x9f\x98\x80\" is not a name " NAME_RULE "; free text goes to title\n" },
    { { "name=\"\"" }, "name: is empty (1 to 63 of A-Z a-z 0-9 . _ -)\n" },
    { { "title=\"a|b\\t\\n\\e[2J \xf0\x9f\x98\x80\"" }, NULL }, /* free text is free */
    { { "project=a/b" }, "project: \"a/b\" is not a name " NAME_RULE "\n" },
    { { "queue=a b" }, "queue: \"a b\" is not a name " NAME_RULE "\n" },
    { { "labels={a.b/c: 'any text: \xc3\xbc'}" }, NULL },
    { { "labels={'a b': c}" },
      "labels: \"a b\" is not the name of a label (1 to 63 of A-Z a-z 0-9 . _ - /)\n" },
    { { "labels={'': c}" },
      "labels: \"\" is not the name of a label (1 to 63 of A-Z a-z 0-9 . _ - /)\n" },
    { { "apiVersion=wafer/v2" },
      "apiVersion: \"wafer/v2\" is not read by this version (wafer/v1)\n" },
    { { "kind=Pod" }, "kind: \"Pod\" is not Job\n" },

    /* systems */
    { { "systems.count=0" }, "systems.count: 0 systems: from 1 to 2048\n" },
    { { "systems.count=2048", "workload.batch=2048" }, NULL },
    { { "systems.count=2049", "workload.batch=2049" },
      "systems.count: 2049 systems: from 1 to 2048\n" },
    { { "systems.min=4" }, NULL },
    { { "systems.min=5" }, "systems.min: 5: from 1 to the count, 4\n" },
    { { "systems.min=0" }, "systems.min: 0: from 1 to the count, 4\n" },
    { { "array=0-3%2" }, NULL },
    { { "array=3-0" }, "array: \"3-0\" is not an array (0-31 or 0-31%4; at most 100000)\n" },
    { { "array=0-3", "resume.init_from=3@5" }, NULL },

    /* workload */
    { { "workload=null" }, "workload: missing, and it must be there (what to train)\n" },
    { { "workload.steps=null" }, "5:1: workload: wants steps or tokens\n" },
    { { "workload.tokens=1e9" }, "5:1: workload: has both steps and tokens: one of them\n" },
    { { "workload.steps=null", "workload.tokens=1e9" }, NULL },
    { { "workload.steps=0" }, "workload.steps: 0: at least 1\n" },
    { { "workload.steps=1e18" }, "5:1: workload: more than 9e18 tokens\n" },
    { { "workload.batch=0" }, "workload.batch: 0: at least 1 sequence a step\n" },
    { { "workload.batch=4" }, NULL },
    { { "workload.batch=3" },
      "workload.batch: 3 sequences a step do not reach 4 systems: at least one each\n" },
    { { "workload.model.layers=null" },
      "5:12: workload.model: wants layers and hidden, or params\n" },
    { { "workload.model={params: 1.3e9}" }, NULL },
    { { "workload.model={layers: 2}" }, "workload.model: wants layers and hidden, or params\n" },
    { { "workload.model.layers=0" }, "workload.model.layers: 0: at least 1\n" },
    { { "workload.model.params=0" }, "workload.model.params: 0: at least 1\n" },
    { { "workload.model.params=2e15" }, "5:12: workload.model: more than 1e15 parameters\n" },
    { { "workload.model.seq=0" }, "workload.model.seq: 0: at least 1\n" },
    { { "workload.model.heads=4" }, NULL },
    { { "workload.model.heads=3" },
      "workload.model.heads: 3 heads do not divide the hidden size, 64\n" },
    { { "workload.input.workers=0" }, "workload.input.workers: 0 workers: from 1 to 1024\n" },
    { { "workload.input.workers=1025" }, "workload.input.workers: 1025 workers: from 1 to 1024\n" },
    { { "workload.input.sequences_per_s=0" }, "workload.input.sequences_per_s: more than 0\n" },
    { { "workload.operators=[attention, 'a b']" },
      "workload.operators: \"a b\" is not a name " NAME_RULE "\n" },
    { { "data.inputs=[{id: ''}]" }, "data.inputs: an input with an empty id\n" },
    { { "data.inputs=[{id: pile, shards: 0}]" }, "data.inputs.shards: 0: at least 1\n" },
    { { "data.inputs=[{id: pile, shards: 4}]", "workload.input.workers=4" }, NULL },
    { { "data.inputs=[{id: pile, shards: 4}]", "workload.input.workers=5" },
      "data.inputs.shards: 4 shards of pile do not feed 5 input workers: at least one each\n" },
    { { "run_class=pilot" }, NULL },
    { { "run_class=production" },
      "run_class: production is not supported in this version (experiment, benchmark or pilot)\n" },

    /* quality, stop */
    { { "quality={metric: eval_loss, target: 2.3, direction: below, every: {steps: 10}}" }, NULL },
    { { "quality={every: {steps: 10}}" }, "quality: wants a metric (eval_loss)\n" },
    { { "quality={metric: accuracy}" },
      "quality.metric: \"accuracy\" is not measured (eval_loss)\n" },
    { { "quality={metric: eval_loss, every: {steps: 0}}" },
      "quality.every.steps: 0: at least 1\n" },
    { { "quality={metric: eval_loss, direction: above}" },
      "quality.direction: wants a target beside it\n" },
    { { "quality={metric: eval_loss, target: 2.3}" },
      "quality.target: eval_loss is measured only with quality.every\n" },
    { { "stop={when: [{metric: loss, below: 2}]}" }, NULL },
    { { "stop={when: [{metric: loss}]}" }, "stop.when[0]: wants below or stalled_for\n" },
    { { "stop={when: [{metric: loss, below: 2, stalled_for: {steps: 5}}]}" },
      "stop.when[0]: has both below and stalled_for: one of them\n" },
    { { "stop={when: [{metric: loss, below: 2}, {metric: lr, below: 2}]}" },
      "stop.when[1].metric: \"lr\" is not measured (loss, eval_loss)\n" },
    { { "stop={when: [{metric: eval_loss, below: 2}]}" },
      "stop.when[0].metric: eval_loss is measured only with quality.every\n" },
    { { "stop={when: [{metric: loss, stalled_for: {steps: 0}}]}" },
      "stop.when[0].stalled_for.steps: 0: at least 1\n" },
    { { "stop={max_steps: 0}" }, "stop.max_steps: 0: at least 1\n" },
    { { "stop={max_cost: 0 EUR}" }, "stop.max_cost: more than 0\n" },

    /* checkpoints */
    { { "checkpoint.every=auto" }, NULL },
    { { "checkpoint.every=30m" }, NULL },
    { { "checkpoint.every={}" }, "checkpoint.every: auto, a duration, or {steps, time}\n" },
    { { "checkpoint.every={auto: true, steps: 5}" },
      "checkpoint.every: auto, a duration, or {steps, time}\n" },
    { { "checkpoint.every={auto: false}" },
      "checkpoint.every: auto, a duration, or {steps, time}\n" },
    { { "checkpoint.every={steps: 0}" }, "checkpoint.every.steps: 0: at least 1\n" },
    { { "checkpoint.keep.last=0" }, "checkpoint.keep.last: 0: at least 1\n" },
    { { "checkpoint.keep.every_steps=0" }, "checkpoint.keep.every_steps: 0: at least 1\n" },
    { { "checkpoint.keep.best={n: 0, metric: eval_loss}",
        "quality={metric: eval_loss, every: {steps: 5}}" },
      "checkpoint.keep.best.n: 0: at least 1\n" },
    { { "checkpoint.keep.best={n: 1, metric: eval_loss}" },
      "checkpoint.keep.best.metric: eval_loss is measured only with quality.every\n" },
    { { "checkpoint.keep.best={n: 1, metric: loss}" },
      "checkpoint.keep.best.metric: \"loss\" is not kept with a checkpoint (eval_loss)\n" },
    { { "resume.from=auto", "resume.init_from=3@5" }, NULL },
    { { "resume.from=2000" }, "resume.from: \"2000\" is not auto or JOB@STEP\n" },
    { { "resume.from=3@2000" }, NULL },
    { { "resume.from=latest" }, "resume.from: \"latest\" is not auto or JOB@STEP\n" },
    { { "resume.init_from=3" }, "resume.init_from: \"3\" is not JOB@STEP\n" },
    { { "resume.from=3@2000", "resume.init_from=3@5" },
      "resume: has both from and init_from: resume a run, or begin one from its weights\n" },
    { { "retry={never: [NO_CAUSE]}" }, "retry.never: NO_CAUSE is no cause\n" },
    { { "retry={backoff: {first: 10m, max: 10s}}" }, "retry.backoff: first is longer than max\n" },
    { { "retry={backoff: {first: 11m}}" }, "retry.backoff: first is longer than max\n" },

    { { "notify=[{on: [FAILED], to: ops}, {on: [HELD], to: 'https://h/x'}]" }, NULL },
    { { "notify=[{on: [FAILED], to: project}]", "project=nlp" }, NULL },
    { { "notify=[{on: [FAILED], to: project}]" }, "notify[0].to: the job has no project\n" },
    { { "notify=[{to: me}]" },
      "notify[0].on: missing, and it must be there (FAILED, TIMEOUT ...)\n" },
    { { "notify=[{on: [FAILED], to: 'me@example.org'}]" },
      "notify[0].to: \"me@example.org\" is neither project, nor the name of a webhook, nor a "
      "URL\n" },
    { { "notify=[{on: [FAILED], to: ops}, {on: [FAILED], to: 'ftp://h/x'}]" },
      "notify[1].to: the URL cannot be used: it begins with neither https:// nor http://\n" },
    { { "notify=[{on: [FAILED], to: 'http://allowed@evil/'}]" },
      "notify[0].to: the URL cannot be used: it has a user name: leave out what is before the "
      "'@'\n" },

    { { "begin=2026-02-01T08:00:00Z", "deadline=2026-02-01T08:00:00Z" },
      "begin: is not before the deadline\n" },
    { { "fallback={pool: gpu, when: [RETRY_LIMIT, BUDGET]}" },
      "fallback.when: BUDGET is not supported in this version (RETRY_LIMIT, UNSUPPORTED_OPERATOR, "
      "NO_HEALTHY_SYSTEM)\n" },
    { { "fallback={pool: 'a b'}" },
      "fallback.pool: \"a b\" is not a name (1 to 63 of A-Z a-z 0-9 . _ -, one a letter or "
      "digit)\n" },
    { { "after=[{}]" }, "after[0]: wants afterok, afterany, afternotok or afterstart\n" },
    { { "after=[{afterok: 3}, {afterok: 3, afterany: 4}]" },
      "after[1]: names more than one kind: one in each entry\n" },
    { { "after=[{afterok: a}]" },
      "after[0]: \"a\" is no job (7), array (7) or element of one (7_3)\n" },
    { { "after=[{afterok: 0}]" },
      "after[0]: \"0\" is no job (7), array (7) or element of one (7_3)\n" },
    { { "after=[{afterok: 7.1}]" },
      "after[0]: \"7.1\" is no job (7), array (7) or element of one (7_3)\n" },

    /* keys of the schema that this version does not act on are refused, never ignored */
    { { "program={command: [true]}" }, "program: not supported in this version (leave it out)\n" },
    { { "program={command: [true]}", "workload=null" },
      "program: not supported in this version (leave it out)\n" },
    { { "checkpoint.dir=/x" }, "checkpoint.dir: not supported in this version (leave it out)\n" },
    { { "divergence={nan: stop}" }, "divergence: not supported in this version (leave it out)\n" },
    { { "retention={logs: 90d}" }, "retention: not supported in this version (leave it out)\n" },
    { { "cost={center: '4711'}" }, "cost: not supported in this version (leave it out)\n" },
};

START_TEST(a_spec_keeps_the_rules_or_is_refused_with_the_rule)
{
    struct bind_errors errors = { 0 };
    Wafer__JobSpec *spec = NULL;
    int r = job_spec_read(TEXT, strlen(TEXT), rules[_i].sets, &spec, &errors);
    owned(free) char *said = errors_text(&errors);

    ck_assert_str_eq(said, rules[_i].says ? rules[_i].says : "");
    ck_assert_int_eq(r, rules[_i].says ? -EINVAL : 0);
    ck_assert_int_eq(spec != NULL, !rules[_i].says);
    if (spec)
        wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(rules_name_the_line_and_are_all_checked_in_one_run)
{
    static const char text[] = "apiVersion: wafer/v1\n"
                               "kind: Job\n"
                               "name: a b\n"
                               "retention: {logs: 90d}\n"
                               "workload:\n"
                               "  model: {layers: 2, hidden: 64}\n"
                               "  batch: 1\n"
                               "systems: {count: 4, min: 9}\n"
                               "stop: {when: [{metric: loss}]}\n";
    struct bind_errors errors = { 0 };
    Wafer__JobSpec *spec;

    ck_assert_int_eq(job_spec_read(text, strlen(text), NULL, &spec, &errors), -EINVAL);
    owned(free) char *said = errors_text(&errors);
    ck_assert_str_eq(
        said, "3:7: name: \"a b\" is not a name " NAME_RULE "; free text goes to title\n"
              "4:1: retention: not supported in this version (leave it out)\n"
              "5:1: workload: wants steps or tokens\n"
              "7:10: workload.batch: 1 sequences a step do not reach 4 systems: at least one each\n"
              "8:26: systems.min: 9: from 1 to the count, 4\n"
              "9:15: stop.when[0]: wants below or stalled_for\n");
}
END_TEST

START_TEST(what_came_packed_is_checked_before_its_parts_are_looked_at)
{
    Wafer__JobSpec spec = WAFER__JOB_SPEC__INIT;
    struct bind_errors errors = { 0 };
    char bad[] = "\xff";

    spec.apiversion = spec.kind = bad;
    ck_assert_int_eq(job_spec_check(&spec, NULL, &errors), -EINVAL);
    owned(free) char *said = errors_text(&errors);
    ck_assert_str_eq(said, "apiVersion: not UTF-8: byte 0xff at offset 0\n"
                           "kind: not UTF-8: byte 0xff at offset 0\n"
                           "name: missing, and it must be there\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_check");
    TCase *tcase = tcase_create("job_check");

    tcase_add_loop_test(tcase, a_spec_keeps_the_rules_or_is_refused_with_the_rule, 0,
                        ELEMENTS(rules));
    tcase_add_test(tcase, rules_name_the_line_and_are_all_checked_in_one_run);
    tcase_add_test(tcase, what_came_packed_is_checked_before_its_parts_are_looked_at);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
