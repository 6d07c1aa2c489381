/* sight — what a client may see of what happened to others.
 *
 * The core judges each request; here are the answers and streams that show many things, some of
 * them the client's business and some not. The rules are those that the core has now: to who loses
 * a role lists and events show no more of it. A `wait` or `logs -f` that was permitted goes on to
 * its end. */
#ifndef WAFERD_SIGHT_H
#define WAFERD_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/access.h"
#include "record.pb-c.h"

struct daemon;

/* A job as an object of policy, wherever it is known; owns its strings. */
struct sight_object {
    struct object object;
    char *project;
    bool known;
};
void sight_object_done(struct sight_object *object);
static inline void sight_object_donep(struct sight_object *object)
{
    sight_object_done(object);
}

/* The job from memory or from history; the one of a record. */
void sight_object_of_job(struct daemon *daemon, uint64_t job, struct sight_object *ret);
void sight_object_of_record(struct daemon *daemon, const Wafer__Record *record,
                            struct sight_object *ret);

/* The rights of a client that is still there; false: it is not. */
bool sight_rights(struct daemon *daemon, uint64_t client, struct rights *ret);

/* Whether the rules let him do this to the job. */
bool sight_job(const struct rights *rights, Wafer__Role__Action action, const Wafer__Job *view);
/* `object` is that of the event's job, where it has one. */
bool sight_event(const struct rights *rights, const Wafer__Event *event,
                 const struct sight_object *object);

#endif
