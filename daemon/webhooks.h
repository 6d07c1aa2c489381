/* webhooks — sends the notifications that the core owes, and tells it what became of each. */
#ifndef WAFERD_WEBHOOKS_H
#define WAFERD_WEBHOOKS_H

#include "base/cleanup.h"
#include "base/diag.h"
#include "core/core.h"

struct daemon;
struct webhooks;

/* -ENOKEY  a secret of the site file is a credential that is not here */
int webhooks_new(struct daemon *daemon, struct webhooks **ret, struct diag *diag);
/* What is under way is dropped: the next start tries it again. Always NULL. */
struct webhooks *webhooks_free(struct webhooks *webhooks);
OWNED_DEFINE(webhooks_free, struct webhooks *);

/* Carry out EFFECT_NOTIFY. */
void webhooks_send(struct webhooks *webhooks, const struct effect *effect);

#endif
