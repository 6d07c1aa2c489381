/* agents — links to the processes that host systems.
 *
 * What they say goes to the core, but for log lines, which go to whoever follows the log. A Beat
 * renews the lease of an agent, from when it sent the report that the beat brings back; the core
 * counts from when it heard that, which is later. A silent agent gets none. */
#ifndef WAFERD_AGENTS_H
#define WAFERD_AGENTS_H

#include <stddef.h>

#include "agent.pb-c.h"
#include "base/diag.h"

struct agents;
struct daemon;

/* Listen. Errors of listener_new(). */
int agents_new(struct daemon *daemon, struct agents **ret, struct diag *diag);
/* Close every link, and listen no more. */
void agents_stop(struct agents *agents);
struct agents *agents_free(struct agents *agents); /* always NULL */

/* One that cannot take it is closed: it registers again and is told what it missed. */
void agents_send(struct agents *agents, uint64_t link, const Wafer__ToAgent *message);
void agents_drop(struct agents *agents, uint64_t link);
size_t agents_registered(const struct agents *agents);

#endif
