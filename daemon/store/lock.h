/* lock — one process to a state directory. */
#ifndef WAFERD_STORE_LOCK_H
#define WAFERD_STORE_LOCK_H

#include "base/diag.h"

/* Take DIR/lock and write our pid into it. The lock is held until the process closes the file, by
 * whatever end; so nothing else in this process may open it.
 * -EBUSY  another process holds it; the sentence names its pid */
int lock_take(const char *dir, int *ret_fd, struct diag *diag);

#endif
