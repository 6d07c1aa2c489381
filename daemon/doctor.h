/* doctor — looks at a site or at a directory of --dev, also while no controller runs, and changes
 * nothing; or makes a copy of the state. */
#ifndef WAFERD_DOCTOR_H
#define WAFERD_DOCTOR_H

#include "view.pb-c.h"

struct doctor_place {
    const char *state_dir, *vault_dir, *socket;
    uint32_t speed; /* of the site; 0: of --dev, as the journal says */
};

/* The caller frees. */
Wafer__Doctor *doctor_examine(const struct doctor_place *place);

/* Copy the state to `to`, with a list of the manifests that it needs of the vault. */
Wafer__Doctor *doctor_backup(const struct doctor_place *place, const char *to);

#endif
