#include "reload.h"

#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/memory.h"
#include "daemon.h"
#include "log/log.h"
#include "model/bind.h"

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

void settings_apply(struct settings *running, struct settings *fresh, struct reload_report *report)
{
    struct comparison comparison = { running, fresh, report };

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

void reload(struct daemon *daemon)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;
    struct reload_report report = { .applied = BUFFER_EMPTY, .waiting = BUFFER_EMPTY };
    struct settings *running = daemon->settings;
    owned(settings_free) struct settings *fresh = NULL;

    sd_notify(0, "RELOADING=1\nSTATUS=reading the site file");
    if (settings_read(running->path, &fresh, &errors) < 0) {
        tell_refused(running, &errors);
        return;
    }
    settings_apply(running, fresh, &report);
    tell_applied(running, &report);
    reload_report_done(&report);
}
