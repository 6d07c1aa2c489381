#include "net/peer.h"

#include <errno.h>
#include <sys/socket.h>

#define UID_OVERFLOW 65534

int peer_credentials(int fd, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return -errno;
    if (peer.uid == UID_OVERFLOW || peer.uid == (uid_t)-1)
        return -EACCES;

    if (ret_uid)
        *ret_uid = peer.uid;
    if (ret_gid)
        *ret_gid = peer.gid;
    if (ret_pid)
        *ret_pid = peer.pid;
    return 0;
}
