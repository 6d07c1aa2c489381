/* logs — the logs of the jobs here, on their way into the vault.
 *
 * Lines of one job are written in order. While the vault cannot take them (it is full, say) they
 * wait, up to a limit; what is beyond it is lost, and as soon as the vault takes bytes again the
 * log says how many, in exactly so many bytes, so that every offset stays true. */
#ifndef WAFERD_SIM_LOGS_H
#define WAFERD_SIM_LOGS_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "sim/workers.h"
#include "vault/vault.h"

#define LOGS_WAITING_BYTES (1 << 20) /* of one job */

struct logs;

/* `workers` must have one thread: that keeps the order. */
int logs_new(sd_event *event, struct workers *workers, struct vault *vault, struct logs **ret);
struct logs *logs_free(struct logs *logs); /* when the workers have finished; always NULL */
OWNED_DEFINE(logs_free, struct logs *);

/* Text at `offset` of the log of (job, attempt). The first of an epoch replaces what an earlier
 * epoch left under the same attempt: that one never began for the controller. */
void logs_add(struct logs *logs, uint64_t job, uint64_t epoch, uint32_t attempt, uint64_t offset,
              const char *text, size_t length);
void logs_end(struct logs *logs, uint64_t job, uint64_t epoch); /* no more text will come */

#endif
