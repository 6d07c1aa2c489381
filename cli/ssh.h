/* ssh — the other end of `wafer proxy` on another machine, as a stream. */
#ifndef WAFERD_CLI_SSH_H
#define WAFERD_CLI_SSH_H

#include <sys/types.h>

#include "cli/command.h"

/* Run `ssh HOST wafer proxy`. The stream is a socket of ours; closing it ends ssh. `wait_s`: the
 * other end waits that long for a controller that is not there; 0: not at all. */
int ssh_start(const struct command *command, unsigned wait_s, int *ret_fd, pid_t *ret_pid);

/* After the stream has ended: how ssh did, told. The exit code of the command; with `retries`
 * -EPIPE, and nothing told, where it was the controller that went away. */
int ssh_tell_end(const struct command *command, bool retries, pid_t pid);

/* After the stream was closed. */
void ssh_wait(pid_t pid);

#endif
