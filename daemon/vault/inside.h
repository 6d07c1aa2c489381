/* inside — what the files of the vault share; nobody else includes it. */
#ifndef WAFERD_VAULT_INSIDE_H
#define WAFERD_VAULT_INSIDE_H

#include "vault/vault.h"

struct vault {
    int root, checkpoints, logs; /* directories */
};

/* The cause of a failure in words that say what would help. */
const char *vault_reason(int error);

#endif
