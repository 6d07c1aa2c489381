/* lock — one process to a state directory. */
#ifndef WAFERD_STORE_LOCK_H
#define WAFERD_STORE_LOCK_H

#include <sys/types.h>

#include "base/diag.h"

/* Take DIR/lock and write our pid into it. The lock is held until the process closes the file, by
 * whatever end; so nothing else in this process may open it.
 * -EBUSY  another process holds it; the sentence names its pid */
int lock_take(const char *dir, int *ret_fd, struct diag *diag);

/* The process that has the directory; 0: none. For looking, from another process. */
pid_t lock_holder(const char *dir);

#endif
