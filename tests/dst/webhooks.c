/* A webhook of the site: told of each job that waits again, is held or ends. It may answer late,
 * with an error, or not at all, whether it has taken the notification or not. */
#include <errno.h>

#include "core/core.h"
#include "world.h"

const struct core_webhook webhook = {
    .name = "site",
    .on = 1u << WAFER__NOTIFY_SPEC__EVENT__REQUEUED | 1u << WAFER__NOTIFY_SPEC__EVENT__HELD |
          1u << WAFER__NOTIFY_SPEC__EVENT__SUCCEEDED | 1u << WAFER__NOTIFY_SPEC__EVENT__FAILED |
          1u << WAFER__NOTIFY_SPEC__EVENT__CANCELLED | 1u << WAFER__NOTIFY_SPEC__EVENT__TIMEOUT,
};

/* Received, by number; the value says nothing. */
static bool has_received(const struct world *world, uint64_t number)
{
    return map_get(&world->received, number) != NULL;
}

void webhook_send(struct world *world, const struct effect *effect)
{
    struct event *event =
        world_add(world, WEBHOOK_ANSWERS, world_between(world, MS_US, 300 * MS_US));

    event->number = effect->delivery->number;
    event->life = world->controller.life;
    if (!effect->view && !ledger_job(&world->controller.history, effect->job)->view)
        world_fail(world, "notification %llu of job %llu has no job to tell of",
                   (unsigned long long)event->number, (unsigned long long)effect->job);
}

void webhook_answers(struct world *world, uint64_t number)
{
    bool fails = world_faulty(world, FAULT_WEBHOOK, 2);
    struct input input = { .type = INPUT_NOTIFIED,
                           .notified = { .delivery = number,
                                         .error = fails ? -EIO : 0,
                                         .text = fails ? "it hangs" : NULL } };

    if (!fails || world_one_in(world, 2))
        map_put(&world->received, number, world);
    world_trace(world, "the webhook %s notification %llu", fails ? "fails" : "has",
                (unsigned long long)number);
    controller_step(world, &input);
}

void webhook_check(struct world *world, const Wafer__Record *record)
{
    if (record->kind == WAFER__RECORD_KIND__NOTIFY_DELIVERED &&
        !has_received(world, record->delivery->number))
        world_fail(world, "notification %llu is acknowledged and was never received",
                   (unsigned long long)record->delivery->number);
    if (record->kind == WAFER__RECORD_KIND__NOTIFY_DROPPED)
        world_fail(world, "a notification of job %llu was dropped: %s",
                   (unsigned long long)record->job, record->text);
}
