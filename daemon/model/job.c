#include "model/job.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

#define BIT(state)  (1u << WAFER__JOB__STATE__##state)
#define TERMINAL    (BIT(SUCCEEDED) | BIT(FAILED) | BIT(CANCELLED) | BIT(TIMEOUT) | BIT(LOST))
#define HAS_SYSTEMS (BIT(STARTING) | BIT(RUNNING) | BIT(STOPPING) | BIT(SUSPENDED))

/* The chart. News from agents may be late or overtake each other, so an attempt that was granted
 * may turn out to have ended in any way, whatever was known of it; but nothing that was told to
 * stop runs on, and nothing that has ended changes. */
static const struct {
    unsigned next;
    int exit_code;
} states[JOB_STATES] = {
    [WAFER__JOB__STATE__PENDING] = { BIT(HELD) | BIT(STARTING) | TERMINAL, -1 },
    [WAFER__JOB__STATE__HELD] = { BIT(PENDING) | TERMINAL, -1 },
    [WAFER__JOB__STATE__STARTING] = { BIT(RUNNING) | BIT(STOPPING) | BIT(PENDING) | BIT(HELD) |
                                          TERMINAL,
                                      -1 },
    [WAFER__JOB__STATE__RUNNING] = { BIT(STOPPING) | BIT(SUSPENDED) | BIT(PENDING) | BIT(HELD) |
                                         TERMINAL,
                                     -1 },
    [WAFER__JOB__STATE__STOPPING] = { BIT(PENDING) | BIT(HELD) | TERMINAL, -1 },
    [WAFER__JOB__STATE__SUSPENDED] = { BIT(RUNNING) | BIT(STOPPING) | BIT(PENDING) | BIT(HELD) |
                                           TERMINAL,
                                       -1 },
    [WAFER__JOB__STATE__SUCCEEDED] = { 0, 0 },
    [WAFER__JOB__STATE__FAILED] = { 0, 1 },
    [WAFER__JOB__STATE__CANCELLED] = { 0, 3 },
    [WAFER__JOB__STATE__TIMEOUT] = { 0, 4 },
    [WAFER__JOB__STATE__LOST] = { 0, 5 },
};

/* Numbers may come from a later version; a name that is not known is no reason to fail. */
static const char *name_of(const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

    return found ? found->name : "UNKNOWN";
}

const char *job_state_name(Wafer__Job__State state)
{
    return name_of(&wafer__job__state__descriptor, (int)state);
}

const char *job_phase_name(Wafer__Job__Phase phase)
{
    return name_of(&wafer__job__phase__descriptor, (int)phase);
}

const char *job_reason_name(Wafer__Job__Reason reason)
{
    return name_of(&wafer__job__reason__descriptor, (int)reason);
}

const char *cause_name(Wafer__Cause cause)
{
    return name_of(&wafer__cause__descriptor, (int)cause);
}

const char *level_name(Wafer__Label__Level level)
{
    return name_of(&wafer__label__level__descriptor, (int)level);
}

const char *record_kind_name(Wafer__RecordKind kind)
{
    return name_of(&wafer__record_kind__descriptor, (int)kind);
}

int job_state_parse(const char *name, Wafer__Job__State *ret)
{
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (strcasecmp(name, job_state_name((Wafer__Job__State)state)) == 0) {
            *ret = (Wafer__Job__State)state;
            return 0;
        }
    return -EINVAL;
}

static bool is_in(Wafer__Job__State state, unsigned states_mask)
{
    return (unsigned)state < JOB_STATES && (states_mask >> state & 1);
}

bool job_may_become(Wafer__Job__State from, Wafer__Job__State to)
{
    if ((unsigned)from >= JOB_STATES)
        return false;
    return is_in(to, states[from].next) || (from == to && !job_state_is_terminal(from));
}

bool job_state_is_terminal(Wafer__Job__State state)
{
    return is_in(state, TERMINAL);
}

bool job_state_has_systems(Wafer__Job__State state)
{
    return is_in(state, HAS_SYSTEMS);
}

int job_state_exit(Wafer__Job__State state)
{
    return (unsigned)state < JOB_STATES ? states[state].exit_code : -1;
}
