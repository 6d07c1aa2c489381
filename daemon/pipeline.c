#include "pipeline.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"

/* Effects and records that leave in one go: a commit may hold thousands, and the loop has others to
 * serve. */
#define RELEASED_AT_ONCE 256

struct element {
    struct list link;
    struct records records;
    struct effects effects;
    struct store_batch batch;
    bool durable;
};

void pipeline_init(struct pipeline *pipeline, const struct pipeline_ops *ops, void *userdata)
{
    *pipeline = (struct pipeline){ .ops = ops, .userdata = userdata };
    list_init(&pipeline->waiting);
    pipeline->open = NEW(struct element);
}

static void element_free(struct element *element)
{
    records_clear(&element->records);
    effects_clear(&element->effects);
    free(element->records.items);
    free(element->effects.items);
    free(element);
}

void pipeline_done(struct pipeline *pipeline)
{
    list_foreach_safe (&pipeline->waiting, link)
        element_free(CONTAINER_OF(link, struct element, link));
    list_init(&pipeline->waiting);
    element_free(TAKE(pipeline->open));
    map_done(&pipeline->jobs);
}

struct records *pipeline_records(struct pipeline *pipeline)
{
    return &pipeline->open->records;
}

struct effects *pipeline_effects(struct pipeline *pipeline)
{
    return &pipeline->open->effects;
}

static bool is_empty(const struct element *element)
{
    return element->records.count == 0 && element->effects.count == 0;
}

static void note_jobs(struct pipeline *pipeline, const struct element *element)
{
    for (size_t i = 0; i < element->records.count; i++)
        if (element->records.items[i]->has_job)
            map_put(&pipeline->jobs, element->records.items[i]->job,
                    (void *)(uintptr_t)pipeline->sealed);
}

/* Of the jobs of an element that was just released, those of which no later one knows. */
static void forget_jobs(struct pipeline *pipeline, const struct element *element)
{
    for (size_t i = 0; i < element->records.count; i++) {
        uint64_t job = element->records.items[i]->job;
        if (pipeline_mark_of(pipeline, job) == pipeline->released)
            map_remove(&pipeline->jobs, job);
    }
}

bool pipeline_has_more(const struct pipeline *pipeline)
{
    return !list_is_empty(&pipeline->waiting) &&
           CONTAINER_OF(pipeline->waiting.next, struct element, link)->durable;
}

void pipeline_release(struct pipeline *pipeline)
{
    size_t left = 0;

    if (pipeline->releasing)
        return; /* the loop below goes on with what was added meanwhile */
    pipeline->releasing = true;
    while (left < RELEASED_AT_ONCE && pipeline_has_more(pipeline)) {
        struct element *element = CONTAINER_OF(pipeline->waiting.next, struct element, link);
        list_remove(&element->link);
        pipeline->record_count -= element->records.count;
        left += element->records.count + element->effects.count;
        pipeline->ops->release(pipeline->userdata, &element->records, &element->effects);
        pipeline->released++;
        forget_jobs(pipeline, element);
        element_free(element);
    }
    pipeline->releasing = false;
}

void pipeline_seal(struct pipeline *pipeline)
{
    struct element *element = pipeline->open;

    if (is_empty(element))
        return;
    pipeline->open = NEW(struct element);
    pipeline->sealed++;
    pipeline->record_count += element->records.count;
    note_jobs(pipeline, element);
    list_push_tail(&pipeline->waiting, &element->link);
    if (element->records.count == 0) {
        element->durable = true; /* of itself; those before it hold it back */
        pipeline_release(pipeline);
        return;
    }
    element->batch = (struct store_batch){ .records = element->records.items,
                                           .count = element->records.count,
                                           .userdata = element };
    pipeline->ops->queue(pipeline->userdata, &element->batch);
}

void pipeline_durable(struct pipeline *pipeline, struct store_batch *batches)
{
    while (batches) {
        struct element *element = batches->userdata;
        batches = batches->next; /* releasing frees the batch with its element */
        assert(!element->durable);
        element->durable = true;
    }
    pipeline_release(pipeline);
}

uint64_t pipeline_mark_of(const struct pipeline *pipeline, uint64_t job)
{
    return (uint64_t)(uintptr_t)map_get(&pipeline->jobs, job);
}

uint64_t pipeline_mark(const struct pipeline *pipeline)
{
    return pipeline->sealed + !is_empty(pipeline->open);
}

bool pipeline_is_released(const struct pipeline *pipeline, uint64_t mark)
{
    return pipeline->released >= mark;
}

bool pipeline_is_empty(const struct pipeline *pipeline)
{
    return pipeline_is_released(pipeline, pipeline_mark(pipeline));
}
