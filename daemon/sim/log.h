/* log — what the operator reads: structured fields where the journal listens, else stderr.
 *
 * Lines about jobs come as often as jobs do, so only so many a second are written and the others
 * counted. Thread: the loop's. */
#ifndef WAFERD_SIM_LOG_H
#define WAFERD_SIM_LOG_H

#include <stdint.h>
#include <syslog.h>

#define LOG_JOB_LINES_PER_S 50

void log_open(const char *program); /* find out who listens */

void log_write(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With JOB_ID= and, if `system` is not NULL, SYSTEM=. */
void log_job(int priority, uint64_t job, const char *system, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
