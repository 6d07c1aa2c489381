/* dependencies — jobs that start only when others have started or ended.
 *
 * What the others come to, and what that makes of a dependency:
 *
 *                 started   succeeded   ended otherwise   ended without a start
 *   afterok       waits     met         never             never
 *   afterany      waits     met         met               met
 *   afternotok    waits     never       met               met
 *   afterstart    met       met         met               never
 *
 * On a whole array: afternotok is met once all have ended and one of them did not succeed, and
 * never if all did; the others once they are met of each element, and never once they are never of
 * one. A requeue ends nothing.
 *
 * A job with a dependency that can never be met ends as CANCELLED in the step that shows it, and so
 * on along a chain. What was settled stays settled: it is in the state of the job. */
#ifndef WAFERD_CORE_DEPENDENCIES_H
#define WAFERD_CORE_DEPENDENCIES_H

#include <stdbool.h>

#include "record.pb-c.h"

struct core;
struct job;
struct request;

/* What the job waits for begins, or ceases, to tell it. */
void dependencies_attach(struct core *core, struct job *job);
void dependencies_detach(struct core *core, struct job *job);
/* It has started for the first time, or ended: those that wait for it hear of it when the step
 * ends. */
void dependencies_tell(struct core *core, const struct job *job);
void dependencies_settle(struct core *core);
/* After a replay: settle what a lost record has left open. */
void dependencies_recover(struct core *core);

/* The first that is not met yet; NULL: none. */
const Wafer__DependencyState *dependency_open(const struct job *job);
/* One that never will be; NULL: none. */
const Wafer__DependencyState *dependency_unmet(const struct job *job);
/* End a job that was handed in although it has one, and the other elements of its array. */
void dependencies_end(struct core *core, struct job *job);
/* "job 7 has not succeeded"; the caller frees. */
char *dependency_text(const Wafer__DependencyState *dependency);

/* What a new job waits for, by its spec: states that are the caller's, with dependencies_free(). A
 * refusal was answered where it returns false. */
bool dependencies_read(struct request *request, const Wafer__JobSpec *spec,
                       Wafer__DependencyState ***ret, size_t *ret_count);
void dependencies_free(Wafer__DependencyState **states, size_t count);

#endif
