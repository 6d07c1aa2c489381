/* host — one process of simulated systems on its event loop: link, clock, lease, disk, agent.
 *
 * It connects to the controller, and again whenever the link breaks, for ever. Between links its
 * jobs go on as long as the lease lasts; it is real time, so that a controller and a host that do
 * not hear each other come to the same conclusion. */
#ifndef WAFERD_SIM_HOST_H
#define WAFERD_SIM_HOST_H

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "engine/agent.h"

struct host;

struct host_config { /* borrowed for the host's life */
    const char *socket, *vault;
    const char *program;       /* "wafersim 0.1.0" */
    struct agent_config agent; /* boot id and times are filled in */
    int64_t linger_us;         /* end so long after the controller was seen last; 0: never */
};

/* -ENOTDIR and others: the vault cannot be used */
int host_new(sd_event *event, const struct host_config *config, struct host **ret,
             struct diag *diag);
/* Whatever runs dies unsaved, as with the power cut; what was handed to the disk is finished. */
struct host *host_free(struct host *host); /* always NULL */
OWNED_DEFINE(host_free, struct host *);

#endif
