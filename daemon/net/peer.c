#include "net/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"

#define UID_OVERFLOW 65534

int peer_groups(int fd, gid_t **ret, size_t *ret_count)
{
    gid_t few[64];
    socklen_t length = sizeof(few);
    int r = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &length);

    if (r < 0 && errno != ERANGE)
        return -errno;
    gid_t *groups = memory_new(length);
    if (r == 0)
        memcpy(groups, few, length);
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0) {
        r = -errno;
        free(groups);
        return r;
    }
    *ret = groups;
    *ret_count = length / sizeof(*groups);
    return 0;
}

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
