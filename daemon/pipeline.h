/* pipeline — nothing leaves before what it rests on is durable.
 *
 * Each step of the core appends its records and effects to the open element. Sealing queues the
 * records as one batch of the journal and opens the next. Effects are released in order, an
 * element's once its records and those of all elements before it are durable: also the answer to a
 * query, which has seen them.
 *
 * Errors  none: what cannot be made durable stays here */
#ifndef WAFERD_PIPELINE_H
#define WAFERD_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "core/core.h"
#include "store/store.h"

struct element;

struct pipeline_ops {
    void (*queue)(void *userdata, struct store_batch *batch);
    /* Carry out; called in order, never from within itself. Both are cleared afterwards. */
    void (*release)(void *userdata, const struct records *records, const struct effects *effects);
};

struct pipeline {
    struct list waiting; /* sealed and not released, oldest first */
    struct element *open;
    size_t record_count; /* in `waiting` */
    uint64_t sealed;     /* number of the last sealed element; 1, 2, 3 ... */
    uint64_t released;   /* all up to this number are */
    struct map jobs;     /* job -> number of the last element sealed about it, while it waits */
    bool releasing;
    const struct pipeline_ops *ops;
    void *userdata;
};

void pipeline_init(struct pipeline *pipeline, const struct pipeline_ops *ops, void *userdata);
/* What was not released is dropped: the journal may or may not have it. */
void pipeline_done(struct pipeline *pipeline);

/* Where the next step appends. */
struct records *pipeline_records(struct pipeline *pipeline);
struct effects *pipeline_effects(struct pipeline *pipeline);

/* End the open element, if it holds anything. What waits for nobody is released at once. */
void pipeline_seal(struct pipeline *pipeline);

/* Batches have become durable, chained by `next`, oldest first. */
void pipeline_durable(struct pipeline *pipeline, struct store_batch *batches);

/* Of what may leave only a part does so at once, also from the two above: whoever drives the
 * pipeline lets the rest go, soon, as long as there is more. */
void pipeline_release(struct pipeline *pipeline);
bool pipeline_has_more(const struct pipeline *pipeline);

/* The number of the element that must be released before all that was decided so far is durable. */
uint64_t pipeline_mark(const struct pipeline *pipeline);
/* The same for what was sealed about one job; 0: all of it is durable. */
uint64_t pipeline_mark_of(const struct pipeline *pipeline, uint64_t job);
bool pipeline_is_released(const struct pipeline *pipeline, uint64_t mark);
bool pipeline_is_empty(const struct pipeline *pipeline);

#endif
