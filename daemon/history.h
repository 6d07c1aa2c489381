/* history — answers about what is no longer in memory, from the store.
 *
 * Whether the caller may see a job was found by the core, except for answers about many jobs: each
 * thing in these is judged here (sight.h). */
#ifndef WAFERD_HISTORY_H
#define WAFERD_HISTORY_H

#include "core/core.h"

struct daemon;

/* Carry out EFFECT_HISTORY. `effect->response`, if it is there, is what memory holds: its part of a
 * list of jobs. */
void history_answer(struct daemon *daemon, const struct effect *effect);

/* Add to an answer of the core what only history knows: the newest events of a job. */
void history_complete(struct daemon *daemon, const struct effect *effect);

/* Begin an answer of many parts with the events so far; without `more` it has this part alone.
 * Returns the number of the last one. */
uint64_t history_tell_events(struct daemon *daemon, const struct effect *effect, bool more);

#endif
