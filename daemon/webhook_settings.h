/* webhook_settings — what the site file says of notifications: webhooks with their secrets, and
 * what jobs may name beside them. */
#ifndef WAFERD_WEBHOOK_SETTINGS_H
#define WAFERD_WEBHOOK_SETTINGS_H

#include "findings.h"
#include "settings.h"

void webhook_settings_check(struct findings *findings, const Wafer__Site *site);
/* From `settings->site`, which was found good; a secret that is not becomes a finding. */
void webhook_settings_read(struct settings *settings, struct findings *findings);
void webhook_settings_free(struct settings *settings);

/* -ENOKEY  a secret of the site file is a credential that is not here */
int webhook_settings_have_secrets(const struct settings *settings, struct diag *diag);
/* Exchange what the two say of notifications, so that each keeps what it points into. */
void webhook_settings_swap(struct settings *a, struct settings *b);
bool webhook_settings_differ(const Wafer__Site *a, const Wafer__Site *b);

#endif
