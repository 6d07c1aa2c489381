#include "reload.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/memory.h"
#include "scheduling.h"
#include "scratch.h"
#include "tap.h"

#define CS3 "pools: [{name: wafer, platform: cs3}]\n"

#define PLATFORM                                                                                   \
    "apiVersion: wafer/v1\n"                                                                       \
    "kind: Platform\n"                                                                             \
    "name: cs3\n"                                                                                  \
    "target: wafer\n"                                                                              \
    "rate: {peak_pflops: 62.5, realised_fraction: 0.4, realised_fraction_small: 0.1, "             \
    "per_layer_ms: 0.1, weights_gb_per_s: 0, scaling_efficiency: 0.9}\n"                           \
    "phases: {compile: {min: 1m, max: 2m}, compile_cached: {min: 1s, max: 2s}, start: {min: 1s, "  \
    "max: 2s}, program: {min: 1s, max: 2s}, weights_floor: 1s, weights_s_per_1e9: 1, "             \
    "save_s_per_1e9: 1, evaluate_fraction: 0.1, cleanup: 1s}\n"                                    \
    "faults: {mtbf: 100d}\n"                                                                       \
    "price_per_hour: \"%s EUR\"\n"

static struct settings *running, *fresh;
static struct reload_report report;

static void write_file(const char *name, char *text) /* takes the text */
{
    owned(free) char *path = text_format("%s/%s", scratch, name);
    owned(free) char *taken = text;
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(taken, file), 0);
    fclose(file);
}

/* The settings of a site file with these lines at its end. */
static struct settings *settings_of(const char *lines)
{
    owned(free) char *path = text_format("%s/site.yaml", scratch);
    char *text =
        text_format("apiVersion: wafer/v1\nkind: Site\nstate_dir: /s\nvault_dir: /v\n"
                    "socket: /run/w.sock\nagent_socket: /run/a.sock\nplatforms_dir: %s\n%s",
                    scratch, lines);
    struct settings *settings = NULL;
    struct buffer errors = BUFFER_EMPTY;

    write_file("site.yaml", text);
    ck_assert_int_eq(settings_read(path, &settings, &errors), 0);
    return settings;
}

static void setup(void)
{
    scratch_make();
    write_file("cs3.yaml", text_format(PLATFORM, "18.00"));
    report = (struct reload_report){ .applied = BUFFER_EMPTY };
}

static void teardown(void)
{
    settings_free(running);
    settings_free(fresh);
    reload_report_done(&report);
    scratch_remove();
}

static void assert_report(const char *applied, const char *waiting)
{
    owned(free) char *applied_text = buffer_text(&report.applied);
    owned(free) char *waiting_text = buffer_text(&report.waiting);

    ck_assert_str_eq(applied_text, applied);
    ck_assert_str_eq(waiting_text, waiting);
}

/* roles.yaml of a serial, in the directory that the site file names. */
static struct settings *settings_with_roles(unsigned serial, const char *clearance)
{
    owned(free) char *lines = text_format(CS3 "policies_dir: %s\n", scratch);

    write_file("roles.yaml", text_format("apiVersion: wafer/v1\nkind: Roles\nserial: %u\n"
                                         "roles: [{name: a, clearance: %s, own: [submit]}]\n"
                                         "bindings: [{role: a, everyone: true}]\n",
                                         serial, clearance));
    return settings_of(lines);
}

static const struct {
    const char *before, *after, *applied, *waiting;
} rows[] = {
    { CS3, CS3, "", "" },
    { CS3, "# a remark\n" CS3 "speed: ~\n", "", "" },
    { CS3, CS3 "snapshot_every: 5000\n", "snapshot_every: default -> 5000\n", "" },
    { CS3 "snapshot_every: 5000\n", CS3, "snapshot_every: 5000 -> default\n", "" },
    { CS3 "lease: 1m\n", CS3 "lease: 60s\n", "", "" }, /* the same, in other words */
    { CS3, CS3 "speed: 2\nlease: 20s\n", "", "speed: default -> 2\nlease: default -> 20s\n" },
    { CS3, "pools: [{name: other, platform: cs3}]\n", "", "pools: changed\n" },
};

START_TEST(each_key_that_differs_is_applied_or_waits)
{
    running = settings_of(rows[_i].before);
    fresh = settings_of(rows[_i].after);
    settings_apply(running, fresh, &report);
    assert_report(rows[_i].applied, rows[_i].waiting);
}
END_TEST

START_TEST(what_is_applied_holds_and_what_waits_does_not)
{
    running = settings_of(CS3);
    fresh = settings_of(CS3 "snapshot_every: 5000\nlease: 20s\n");
    settings_apply(running, fresh, &report);
    ck_assert_uint_eq(running->snapshot_every, 5000);
    ck_assert_int_eq(running->lease_us, 15000000);
    ck_assert_uint_eq(report.applied_count, 1);
    ck_assert_uint_eq(report.waiting_count, 1);
    /* Once more: what was applied is no difference now, and what waits still is one. */
    reload_report_done(&report);
    report = (struct reload_report){ .applied = BUFFER_EMPTY };
    settings_apply(running, fresh, &report);
    assert_report("", "lease: default -> 20s\n");
}
END_TEST

START_TEST(a_platform_file_that_has_changed_waits_and_is_told_once)
{
    static const char two[] =
        "pools: [{name: wafer, platform: cs3}, {name: other, platform: cs3}]\n";

    running = settings_of(two);
    write_file("cs3.yaml", text_format(PLATFORM, "19.00"));
    fresh = settings_of(two);
    settings_apply(running, fresh, &report);
    ck_assert_int_eq(running->pools[0].price_micro, 18000000);
    assert_report("", "platform cs3: its file has changed\n");
}
END_TEST

START_TEST(rules_that_are_new_to_the_site_hold_at_once_and_nothing_of_them_waits)
{
    running = settings_of(CS3);
    fresh = settings_with_roles(3, "internal");
    owned(free) char *applied = text_format("policies_dir: default -> %s\n"
                                            "roles.yaml: serial 0 -> 3\n",
                                            scratch);

    settings_apply(running, fresh, &report);
    ck_assert_ptr_nonnull(running->access);
    assert_report(applied, "");
}
END_TEST

START_TEST(other_rules_follow_under_a_higher_serial_alone)
{
    static const struct {
        unsigned serial;
        const char *clearance;
        int error;
    } next[] = {
        { 3, "internal", 0 }, /* the same */
        { 3, "restricted", -EINVAL },
        { 2, "internal", -EINVAL },
        { 4, "restricted", 0 },
    };
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;

    running = settings_with_roles(3, "internal");
    for (size_t i = 0; i < ELEMENTS(next); i++) {
        fresh = settings_with_roles(next[i].serial, next[i].clearance);
        ck_assert_int_eq(settings_may_follow(running, fresh, &errors), next[i].error);
        fresh = settings_free(fresh);
    }
}
END_TEST

/* scheduling.yaml of a serial, beside a roles.yaml that stays the same; NULL: none. */
static struct settings *settings_with_scheduling(unsigned serial, const char *backfill)
{
    if (backfill)
        write_file("scheduling.yaml",
                   text_format("apiVersion: wafer/v1\nkind: Scheduling\nserial: %u\n"
                               "backfill: %s\n",
                               serial, backfill));
    return settings_with_roles(3, "internal");
}

START_TEST(scheduling_changes_at_once_and_under_a_higher_serial_alone)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;

    running = settings_with_scheduling(0, NULL);
    ck_assert_int_eq(running->schedule.backfill, SCHEDULE_BACKFILL_EASY);
    fresh = settings_with_scheduling(1, "conservative");
    ck_assert_int_eq(settings_may_follow(running, fresh, &errors), 0);
    settings_apply(running, fresh, &report);
    ck_assert_int_eq(running->schedule.backfill, SCHEDULE_BACKFILL_CONSERVATIVE);
    assert_report("scheduling.yaml: serial 0 -> 1\n", "");
    fresh = settings_free(fresh);
    fresh = settings_with_scheduling(1, "none");
    ck_assert_int_eq(settings_may_follow(running, fresh, &errors), -EINVAL);
}
END_TEST

static struct settings *settings_with_rules(const char *rules)
{
    write_file("scheduling.yaml",
               text_format("apiVersion: wafer/v1\nkind: Scheduling\nserial: 1\n%s", rules));
    return settings_with_roles(3, "internal");
}

START_TEST(shares_and_weights_are_as_the_file_says)
{
    size_t count;

    running = settings_with_rules("order: policy\nweights: {age: 5}\nhalf_life: 2d\n"
                                  "shares: [{project: nlp, shares: 3}, {uid: 7, shares: 2}]\n");
    ck_assert_int_eq(running->schedule.order, SCHEDULE_ORDER_POLICY);
    struct score_rules rules = scheduling_scores(running->scheduling);
    ck_assert_uint_eq(rules.weights[SCORE_AGE], 5);
    ck_assert_uint_eq(rules.weights[SCORE_SHARE], score_rules_default().weights[SCORE_SHARE]);
    ck_assert_int_eq(rules.half_life_us, 48 * HOUR_US);
    owned(free) struct score_share *shares = scheduling_shares(running->scheduling, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(shares[0].project, "nlp");
    ck_assert(!shares[0].of_user && shares[0].shares == 3);
    ck_assert_str_eq(shares[1].project, "");
    ck_assert(shares[1].of_user && shares[1].uid == 7 && shares[1].shares == 2);
}
END_TEST

/* All that is wrong with a scheduling.yaml, by the finding. */
START_TEST(bad_rules_are_refused_with_the_field)
{
    static const struct {
        const char *rules, *says;
    } bad[] = {
        { "depth: 0\n", "depth: it must be at least 1" },
        { "preempt: {by: p3, of: p1}\n", "preempt: by must be more urgent than of" },
        { "weights: {age: 1000001}\n", "weights: at most 1000000 each" },
        { "shares: [{shares: 0}]\n", "shares[0]: shares must be at least 1" },
        { "shares: [{uid: 1, user: root, shares: 1}]\n", "shares[0]: has both uid and user" },
        { "shares: [{user: nobody-of-that-name, shares: 1}]\n", "user \"nobody-of-that-name\"" },
        { "shares: [{project: a, shares: 1}, {project: a, shares: 2}]\n",
          "shares[1]: is there twice" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        char line[4096] = "";
        owned(free) char *path = text_format("%s/scheduling.yaml", scratch);
        owned(buffer_done) struct buffer lines = BUFFER_EMPTY;
        owned(findings_done) struct findings findings = { .file = path, .lines = &lines };
        Wafer__Scheduling *file = NULL;
        write_file(
            "scheduling.yaml",
            text_format("apiVersion: wafer/v1\nkind: Scheduling\nserial: 1\n%s", bad[i].rules));
        ck_assert_int_eq(scheduling_read(&findings, &file), -EINVAL);
        snprintf(line, sizeof(line), "%s: %s", findings.errors.items[0].field,
                 findings.errors.items[0].text);
        ck_assert_msg(strstr(line, bad[i].says), "'%s' does not say '%s'", line, bad[i].says);
    }
}
END_TEST

/* Who puts the shipped file in its place changes nothing by that. */
START_TEST(the_shipped_scheduling_says_what_holds_without_it)
{
    const char *srcdir = getenv("top_srcdir");
    owned(free) char *path = text_format("%s/policies/scheduling.yaml", srcdir ? srcdir : ".");
    owned(fclose) FILE *file = fopen(path, "re");
    char shipped[4096] = "";

    running = settings_with_scheduling(0, NULL);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(shipped, 1, sizeof(shipped) - 1, file), 0);
    write_file("scheduling.yaml", text_copy(shipped));
    fresh = settings_with_scheduling(0, NULL);
    ck_assert_ptr_nonnull(fresh->scheduling);
    ck_assert_int_eq(fresh->schedule.backfill, running->schedule.backfill);
    ck_assert_int_eq(fresh->schedule.order, running->schedule.order);
    ck_assert_uint_eq(fresh->schedule.depth, running->schedule.depth);
}
END_TEST

START_TEST(a_class_that_a_pool_takes_changes_at_once)
{
    running = settings_of(CS3);
    fresh = settings_of("pools: [{name: wafer, platform: cs3, classes: [restricted]}]\n");
    settings_apply(running, fresh, &report);
    ck_assert_uint_eq(running->pools[0].classes, 1u << WAFER__LABEL__LEVEL__restricted);
    assert_report("pools.wafer.classes: changed\n", "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reload");
    TCase *tcase = tcase_create("reload");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, each_key_that_differs_is_applied_or_waits, 0, ELEMENTS(rows));
    tcase_add_test(tcase, what_is_applied_holds_and_what_waits_does_not);
    tcase_add_test(tcase, a_platform_file_that_has_changed_waits_and_is_told_once);
    tcase_add_test(tcase, rules_that_are_new_to_the_site_hold_at_once_and_nothing_of_them_waits);
    tcase_add_test(tcase, bad_rules_are_refused_with_the_field);
    tcase_add_test(tcase, shares_and_weights_are_as_the_file_says);
    tcase_add_test(tcase, the_shipped_scheduling_says_what_holds_without_it);
    tcase_add_test(tcase, scheduling_changes_at_once_and_under_a_higher_serial_alone);
    tcase_add_test(tcase, other_rules_follow_under_a_higher_serial_alone);
    tcase_add_test(tcase, a_class_that_a_pool_takes_changes_at_once);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
