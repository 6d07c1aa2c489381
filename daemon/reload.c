#include "reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "model/bind.h"
#include "model/message.h"
#include "scheduling.h"
#include "webhook_settings.h"

static void apply_snapshot_every(struct settings *running, struct settings *fresh)
{
    running->snapshot_every = fresh->snapshot_every;
    running->site->has_snapshot_every = fresh->site->has_snapshot_every;
    running->site->snapshot_every = fresh->site->snapshot_every;
}

/* What can change while we run. The next comparison is with `running`, so that an `apply` changes
 * the setting and what `site` says of it. */
static const struct live_key {
    const char *key;
    void (*apply)(struct settings *running, struct settings *fresh);
} live_keys[] = {
    { "snapshot_every", apply_snapshot_every },
};

/* ---- what differs ---- */

struct comparison {
    struct settings *running, *fresh;
    struct reload_report *report;
};

/* What is more than one value may be long, and hold what is nobody's business in a log. */
static void add_line(struct buffer *lines, const char *key, const char *from, const char *to)
{
    if (from && to)
        buffer_format(lines, "%s: %s -> %s\n", key, from, to);
    else
        buffer_format(lines, "%s: changed\n", key);
}

static void on_difference(void *userdata, const char *key, const char *from, const char *to)
{
    const struct comparison *comparison = userdata;
    struct reload_report *report = comparison->report;

    for (size_t i = 0; i < ELEMENTS(live_keys); i++) {
        if (strcmp(live_keys[i].key, key) != 0)
            continue;
        live_keys[i].apply(comparison->running, comparison->fresh);
        add_line(&report->applied, key, from, to);
        report->applied_count++;
        return;
    }
    add_line(&report->waiting, key, from, to);
    report->waiting_count++;
}

static const Wafer__Platform *platform_named(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->pool_count; i++)
        if (strcmp(settings->platforms[i]->name, name) == 0)
            return settings->platforms[i];
    return NULL;
}

static void on_platform_difference(void *userdata, const char *key, const char *from,
                                   const char *to)
{
    *(bool *)userdata = true;
}

/* A pool that comes or goes is a difference of the site; here are the files of those that stay. */
static void compare_platforms(const struct comparison *comparison)
{
    const struct settings *running = comparison->running;
    struct reload_report *report = comparison->report;

    for (size_t i = 0; i < running->pool_count; i++) {
        const Wafer__Platform *before = running->platforms[i];
        const Wafer__Platform *after = platform_named(comparison->fresh, before->name);
        bool differs = false;
        if (!after || platform_named(running, before->name) != before)
            continue; /* gone, or compared already for another pool */
        bind_differ(&before->base, &after->base, on_platform_difference, &differs);
        if (!differs)
            continue;
        buffer_format(&report->waiting, "platform %s: its file has changed\n", before->name);
        report->waiting_count++;
    }
}

/* ---- policies ---- */

/* Of one policy file; `running` and `fresh` may be NULL. */
static int may_follow(const char *dir, const char *name, const ProtobufCMessage *running,
                      uint64_t running_serial, const ProtobufCMessage *fresh, uint64_t fresh_serial,
                      struct buffer *errors)
{
    if (!running || !fresh || fresh_serial > running_serial || message_is_equal(running, fresh))
        return 0;
    buffer_format(errors,
                  "%s/%s: serial: %" PRIu64 " is not above %" PRIu64
                  ", that of the rules in force, which say something else\n",
                  dir, name, fresh_serial, running_serial);
    return -EINVAL;
}

int settings_may_follow(const struct settings *running, const struct settings *fresh,
                        struct buffer *errors)
{
    const char *dir = fresh->site ? fresh->site->policies_dir : NULL;
    const Wafer__Roles *roles = running->roles, *fresh_roles = fresh->roles;
    const Wafer__Scheduling *rules = running->scheduling, *fresh_rules = fresh->scheduling;
    int r = may_follow(dir, "roles.yaml", roles ? &roles->base : NULL, roles ? roles->serial : 0,
                       fresh_roles ? &fresh_roles->base : NULL,
                       fresh_roles ? fresh_roles->serial : 0, errors);
    int s = may_follow(dir, "scheduling.yaml", rules ? &rules->base : NULL,
                       rules ? rules->serial : 0, fresh_rules ? &fresh_rules->base : NULL,
                       fresh_rules ? fresh_rules->serial : 0, errors);

    return r < 0 ? r : s;
}

/* A file that is not there any more gives way to what holds without one. */
static void apply_scheduling(struct settings *running, struct settings *fresh,
                             struct reload_report *report)
{
    uint64_t before = running->scheduling ? running->scheduling->serial : 0;
    uint64_t after = fresh->scheduling ? fresh->scheduling->serial : 0;

    if (before == after)
        return;
    buffer_format(&report->applied, "scheduling.yaml: serial %" PRIu64 " -> %" PRIu64 "\n", before,
                  after);
    report->applied_count++;
    wafer__scheduling__free_unpacked(running->scheduling, NULL);
    running->scheduling = TAKE(fresh->scheduling);
    running->schedule = fresh->schedule;
    running->preempt = fresh->preempt;
    free((void *)running->quotas.items);
    running->quotas = fresh->quotas;
    fresh->quotas = (struct quota_rules){ .items = NULL };
}

static void apply_roles(struct settings *running, struct settings *fresh,
                        struct reload_report *report)
{
    uint64_t before = running->roles ? running->roles->serial : 0;
    char **dir = &running->site->policies_dir;

    if (!fresh->roles)
        return;
    if (!*dir || strcmp(*dir, fresh->site->policies_dir) != 0) {
        add_line(&report->applied, "policies_dir", *dir ? *dir : "default",
                 fresh->site->policies_dir);
        report->applied_count++;
        free(*dir);
        *dir = text_copy(fresh->site->policies_dir);
    }
    if (running->roles && before == fresh->roles->serial)
        return;
    buffer_format(&report->applied, "roles.yaml: serial %" PRIu64 " -> %" PRIu64 "\n", before,
                  fresh->roles->serial);
    report->applied_count++;
    wafer__roles__free_unpacked(running->roles, NULL);
    access_free(running->access);
    running->roles = TAKE(fresh->roles);
    running->access = TAKE(fresh->access);
}

static Wafer__Pool *pool_named(const Wafer__Site *site, const char *name)
{
    for (size_t i = 0; i < site->n_pools; i++)
        if (strcmp(site->pools[i]->name, name) == 0)
            return site->pools[i];
    return NULL;
}

/* What may come into a pool changes at once; that pools come and go waits. */
static void apply_classes(struct settings *running, struct settings *fresh,
                          struct reload_report *report)
{
    for (size_t i = 0; i < running->pool_count; i++) {
        struct core_pool *pool = &running->pools[i];
        for (size_t n = 0; n < fresh->pool_count; n++) {
            if (strcmp(fresh->pools[n].name, pool->name) != 0)
                continue;
            Wafer__Pool *before = pool_named(running->site, pool->name);
            Wafer__Pool *after = pool_named(fresh->site, pool->name);
            if (pool->classes != fresh->pools[n].classes) {
                buffer_format(&report->applied, "pools.%s.classes: changed\n", pool->name);
                report->applied_count++;
            }
            pool->classes = fresh->pools[n].classes;
            free(before->classes);
            before->n_classes = after->n_classes;
            before->classes =
                memory_copy(after->classes, after->n_classes * sizeof(*after->classes));
        }
    }
}

/* Secrets are read again even where the site file is the same: another may lie in the same place.
 */
static void apply_webhooks(struct settings *running, struct settings *fresh,
                           struct reload_report *report)
{
    if (webhook_settings_differ(running->site, fresh->site)) {
        buffer_append_text(&report->applied, "webhooks: changed\n");
        report->applied_count++;
    }
    webhook_settings_swap(running, fresh);
}

void settings_apply(struct settings *running, struct settings *fresh, struct reload_report *report)
{
    struct comparison comparison = { running, fresh, report };

    apply_roles(running, fresh, report);
    apply_scheduling(running, fresh, report);
    apply_classes(running, fresh, report);
    apply_webhooks(running, fresh, report);
    compare_platforms(&comparison);
    bind_differ(&running->site->base, &fresh->site->base, on_difference, &comparison);
}

void reload_report_done(struct reload_report *report)
{
    buffer_done(&report->applied);
    buffer_done(&report->waiting);
}

/* ---- telling ---- */

static void log_lines(int priority, const char *before, struct buffer *lines, const char *after)
{
    owned(free) char *text = buffer_text(lines);
    char *rest = text;

    for (char *line; (line = strsep(&rest, "\n")) && *line;)
        log_write(priority, NULL, "%s%s%s", before, line, after);
}

static void tell_refused(const struct settings *settings, struct buffer *errors)
{
    const char *end = memchr(buffer_data(errors), '\n', errors->length);
    int first = end ? (int)(end - (const char *)buffer_data(errors)) : (int)errors->length;

    sd_notifyf(0, "READY=1\nSTATUS=serving with the old settings; the new ones are wrong: %.*s",
               first, buffer_data(errors));
    log_lines(LOG_ERR, "reload: ", errors, "");
    log_error("reload: nothing of %s is applied: the old settings go on", settings->path);
}

static void tell_applied(const struct settings *settings, struct reload_report *report)
{
    if (report->waiting_count > 0)
        sd_notifyf(0, "READY=1\nSTATUS=serving; %u %s for a restart", report->waiting_count,
                   report->waiting_count == 1 ? "setting waits" : "settings wait");
    else
        sd_notify(0, "READY=1\nSTATUS=serving");
    if (report->applied_count + report->waiting_count == 0)
        log_notice("reload: nothing has changed in %s", settings->path);
    log_lines(LOG_NOTICE, "reload: ", &report->applied, "");
    log_lines(LOG_WARNING, "reload: ", &report->waiting, "; this waits for a restart");
}

/* For whoever asks later who changed the rules, and when: the first of these lines. */
static void record(struct daemon *daemon, uid_t uid, bool refused, const struct buffer *lines)
{
    const char *line = (const char *)buffer_data(lines);
    owned(free) char *text =
        text_format("%.*s", (int)strcspn(line, "\n"), line); /* each line ends in one */
    struct input input = { .type = INPUT_RELOADED,
                           .reloaded = { .uid = uid, .refused = refused, .text = text } };

    daemon_step(daemon, &input);
}

void daemon_set_policies(struct daemon *daemon)
{
    struct settings *settings = daemon->settings;
    const struct score_rules scores = scheduling_scores(settings->scheduling);
    size_t share_count;
    owned(free) struct score_share *shares = scheduling_shares(settings->scheduling, &share_count);

    if (settings->access)
        core_set_access(daemon->core, TAKE(settings->access));
    for (size_t i = 0; i < settings->pool_count; i++)
        core_set_classes(daemon->core, i, settings->pools[i].classes);
    core_set_webhooks(daemon->core, settings->webhooks, settings->webhook_count,
                      settings->notify_allow, settings->notify_allow_count);
    core_set_schedule(daemon->core, &settings->schedule);
    core_set_preempt(daemon->core, &settings->preempt);
    core_set_scores(daemon->core, &scores, shares, share_count);
    core_set_quotas(daemon->core, &settings->quotas);
}

/* A credential is given at the start alone: one that is new waits for that. */
static bool has_no_secret(const struct settings *fresh, struct buffer *errors)
{
    struct diag diag;

    if (webhook_settings_have_secrets(fresh, &diag) == 0)
        return false;
    buffer_format(errors, "%s: %s\n", fresh->path, diag.text);
    return true;
}

void reload(struct daemon *daemon, uid_t uid)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;
    struct reload_report report = { .applied = BUFFER_EMPTY, .waiting = BUFFER_EMPTY };
    struct settings *running = daemon->settings;
    owned(settings_free) struct settings *fresh = NULL;

    sd_notify(0, "RELOADING=1\nSTATUS=reading the site file");
    if (settings_read(running->path, &fresh, &errors) < 0 || has_no_secret(fresh, &errors) ||
        settings_may_follow(running, fresh, &errors) < 0) {
        record(daemon, uid, true, &errors);
        tell_refused(running, &errors);
        return;
    }
    settings_apply(running, fresh, &report);
    daemon_set_policies(daemon);
    if (report.applied_count > 0)
        record(daemon, uid, false, &report.applied);
    tell_applied(running, &report);
    reload_report_done(&report);
}
