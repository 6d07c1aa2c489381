/* log — what operators read: structured fields where the journal listens, else lines on stderr.
 *
 * `journalctl JOB_ID=7` shows what waferd and wafersim say of a job; ATTEMPT= and SYSTEM= likewise.
 * Texts may come from anybody: control characters are written as \xNN. Thread: the loop's. */
#ifndef WAFERD_LOG_LOG_H
#define WAFERD_LOG_LOG_H

#include <stdint.h>
#include <syslog.h>

struct log_about { /* what is 0 or NULL is left out */
    uint64_t job;
    uint32_t attempt;
    const char *system;
};

/* Find out who listens. Until then lines go to stderr. */
void log_open(const char *program);

/* `priority` is one of syslog.h: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO. `about` may be NULL.
 */
void log_write(int priority, const struct log_about *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For what comes as often as jobs do: so many lines a second are written, the others counted. A
 * line about a job begins with "job 7: ". */
void log_write_some(int priority, const struct log_about *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(...)   log_write(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...)  log_write(LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...)    log_write(LOG_INFO, NULL, __VA_ARGS__)

#endif
