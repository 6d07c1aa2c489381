/* The floor: a line of text in a file of its own, replaced whole. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "vault/brief.h"
#include "vault/directory.h"
#include "vault/inside.h"

enum { TEXT_SIZE = 80, NAME_SIZE = 40 };

#define FLOOR_NAME   "floor"
#define FLOOR_FORMAT "term %" PRIu64 " next_job %" PRIu64 "\n"

static void floor_format(char text[static TEXT_SIZE], const struct vault_floor *floor)
{
    snprintf(text, TEXT_SIZE, FLOOR_FORMAT, floor->term, floor->next_job);
}

int vault_floor_write(struct vault *vault, const struct vault_floor *floor, struct diag *diag)
{
    char text[TEXT_SIZE];

    floor_format(text, floor);
    int r = file_write(vault->root, FLOOR_NAME, text, strlen(text), true);
    if (r == 0)
        r = directory_sync(vault->root);
    if (r < 0)
        return diag_fail(diag, r, "the vault's floor cannot be written: %s", vault_reason(r));
    return 0;
}

int vault_floor_read(struct vault *vault, struct vault_floor *ret, struct diag *diag)
{
    char text[TEXT_SIZE] = "", again[TEXT_SIZE];
    owned(fd_close) int fd = -1;
    int64_t bytes;
    int r = file_open(vault->root, FLOOR_NAME, O_RDONLY, &fd, &bytes);

    if (r == 0 && (bytes < 1 || bytes >= TEXT_SIZE))
        r = -EBADMSG;
    if (r == 0)
        r = file_read_at(fd, 0, text, (size_t)bytes);
    if (r < 0)
        return diag_fail(diag, r, "the vault's floor cannot be read: %s", vault_reason(r));
    struct vault_floor floor;
    if (sscanf(text, "term %" SCNu64 " next_job %" SCNu64, &floor.term, &floor.next_job) == 2) {
        floor_format(again, &floor);
        if (strcmp(again, text) == 0) {
            *ret = floor;
            return 0;
        }
    }
    return diag_fail(diag, -EBADMSG, "the vault's floor is not what was written");
}

int vault_last_job(struct vault *vault, uint64_t *ret, struct diag *diag)
{
    *ret = 0;
    int r = directory_last_number(vault->checkpoints, ret);
    if (r == 0)
        r = directory_last_number(vault->logs, ret);
    if (r == 0)
        r = brief_last_job(vault, ret);
    return r < 0 ? diag_fail(diag, r, "the vault cannot be listed: %s", vault_reason(r)) : 0;
}

uint32_t vault_log_last_attempt(struct vault *vault, uint64_t job)
{
    owned(fd_close) int fd = -1;
    char name[NAME_SIZE];
    uint64_t last = 0;

    snprintf(name, sizeof(name), "%" PRIu64, job);
    if (directory_open(vault->logs, name, &fd) == 0 && directory_last_number(fd, &last) < 0)
        last = 0;
    brief_last_attempt(vault, job, &last); /* what cannot be read has none */
    return last <= UINT32_MAX ? (uint32_t)last : 0;
}
