/* peer — who is at the other end of a Unix socket, told by the kernel. */
#ifndef WAFERD_NET_PEER_H
#define WAFERD_NET_PEER_H

#include <stddef.h>
#include <sys/types.h>

/* Each result may be NULL. -EACCES for uid 65534, which stands for everybody whom the kernel cannot
 * name here, and -1, which stands for nobody. */
int peer_credentials(int fd, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid);

/* Its supplementary groups, as they were when it connected. The caller frees *ret. */
int peer_groups(int fd, gid_t **ret, size_t *ret_count);

#endif
