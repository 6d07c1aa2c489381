#include "vault/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "vault/directory.h"
#include "vault/inside.h"

const char *vault_reason(int error)
{
    switch (error) {
    case -ENOSPC: return "no space left in the vault (or a file size limit): make room there";
    case -EDQUOT: return "the disk quota of the vault is used up";
    case -EBADMSG: return "something that is not the vault's is in its place: remove it";
    default: return strerrordesc_np(-error);
    }
}

/* The directory itself may be named through a link: that is the administrator's choice. */
static int root_open(const char *dir, int *ret_fd)
{
    bool made = mkdir(dir, 0700) == 0;

    if (!made && errno != EEXIST)
        return -errno;
    owned(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (made) {
        owned(fd_close) int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
            return -errno;
        int r = directory_sync(parent);
        if (r < 0)
            return r;
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

int vault_open(const char *dir, struct vault **ret, struct diag *diag)
{
    owned(vault_close) struct vault *vault = NEW(struct vault);
    owned(fd_close) int root = -1;

    vault->root = vault->checkpoints = vault->logs = -1;
    int r = root_open(dir, &root);
    if (r < 0)
        return diag_fail(diag, r, "vault %s: cannot open or create this directory: %s", dir,
                         strerrordesc_np(-r));
    r = directory_make(root, "ckpt", &vault->checkpoints);
    if (r == 0)
        r = directory_make(root, "logs", &vault->logs);
    if (r == 0)
        r = directory_sync(root);
    if (r < 0)
        return diag_fail(diag, r, "vault %s: cannot open or create %s: %s", dir,
                         vault->checkpoints < 0 ? "ckpt" : "logs", vault_reason(r));
    vault->root = fd_take(&root);
    *ret = TAKE(vault);
    return 0;
}

struct vault *vault_close(struct vault *vault)
{
    if (vault) {
        fd_closep(&vault->root);
        fd_closep(&vault->checkpoints);
        fd_closep(&vault->logs);
        free(vault);
    }
    return NULL;
}
