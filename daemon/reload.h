/* reload — SIGHUP: what a site's files say is read again. All of it holds, or nothing of it.
 *
 * settings_read() makes a new struct settings of everything that the files say; settings_apply()
 * moves what can change while we run into the settings that run. What is set up once, such as the
 * place of the journal, is told of and waits for the next start: a restart disturbs no job.
 *
 * A key of the site file that nobody lists in reload.c waits for a restart. */
#ifndef WAFERD_RELOAD_H
#define WAFERD_RELOAD_H

#include "settings.h"

struct daemon;

struct reload_report {
    struct buffer applied, waiting; /* a line for each key: "lease: 15s -> 20s\n" */
    unsigned applied_count, waiting_count;
};
void reload_report_done(struct reload_report *report);

/* Whether `fresh` may follow what runs: rules that differ need a higher serial, or nobody could say
 * by which of two a decision was made.
 * -EINVAL  with a line in `errors` */
int settings_may_follow(const struct settings *running, const struct settings *fresh,
                        struct buffer *errors);

/* Cannot fail: whatever may be wrong was found by settings_read(). `fresh` gives away what it
 * likes; the caller frees it. */
void settings_apply(struct settings *running, struct settings *fresh, struct reload_report *report);

/* Read, apply, and tell the log and the service manager; `uid` asked for it. */
void reload(struct daemon *daemon, uid_t uid);

#endif
