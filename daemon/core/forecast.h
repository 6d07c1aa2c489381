/* forecast — when a waiting job starts at the latest, if every job runs to its time limit and
 * nothing breaks. */
#ifndef WAFERD_CORE_FORECAST_H
#define WAFERD_CORE_FORECAST_H

#include <stdint.h>

struct core;
struct job;

/* INT64_MAX: nobody can say, because something in its way has no end that is known. */
int64_t forecast_start(const struct core *core, const struct job *job);

/* When the job that has systems must have given them back; INT64_MAX: it has no limit. */
int64_t forecast_end(const struct core *core, const struct job *job);

#endif
