#include "core/trace.h"

#include "base/later.h"
#include "core/state.h"

static void release(struct scheduler *scheduler, struct schedule_entry *entry)
{
    int64_t systems = entry->returns;

    if (!entry->is_running)
        return;
    scheduler_returns(scheduler, entry, -systems);
    scheduler_idle(scheduler, entry->domain, systems);
    scheduler_done(scheduler, entry);
}

/* With all of its limit before it. */
static void run(struct core *core, struct schedule_entry *entry, size_t domain)
{
    struct scheduler *scheduler = core->pools[0].scheduler;
    int64_t systems = entry->systems;

    release(scheduler, entry);
    scheduler_idle(scheduler, domain, -systems);
    scheduler_run(scheduler, entry, domain, later_us(core->now_us, entry->limit_us));
    scheduler_returns(scheduler, entry, systems);
}

void trace_event(struct core *core, const struct input *input)
{
    struct scheduler *scheduler = core->pools[0].scheduler;

    switch (input->trace.event) {
    case TRACE_SYSTEMS:
        if (!core->replays)
            scheduler_add_domain(scheduler); /* all systems are one */
        scheduler_idle(scheduler, 0, input->trace.systems);
        break;
    case TRACE_SUBMITTED: scheduler_wait(scheduler, input->trace.entry); break;
    case TRACE_BEGAN: run(core, input->trace.entry, input->trace.entry->domain); break;
    case TRACE_RELEASED: release(scheduler, input->trace.entry); break;
    case TRACE_ENDED:
        release(scheduler, input->trace.entry);
        scheduler_ended(scheduler);
        break;
    case TRACE_SCORED: scheduler_score(scheduler, input->trace.score, input->trace.userdata); break;
    case TRACE_PASS: break;
    }
    core->replays = true;
    core->pass_wanted |= input->trace.pass;
}

static void on_grant(void *userdata, struct schedule_entry *entry, size_t domain)
{
    struct core *core = userdata;

    run(core, entry, domain);
    effect_add(core, EFFECT_STARTED)->entry = entry;
}

void trace_pass(struct core *core, struct pool *pool)
{
    scheduler_pass(pool->scheduler, core->now_us, on_grant, core);
}
