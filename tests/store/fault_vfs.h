/* fault_vfs — SQLite's door to the disk, with a disk behind it that fails on demand.
 *
 * Every database that is opened after fault_vfs_install() goes through it. One plan is in force at
 * a time: the n-th operation of a kind, and so many after it, fail as told. */
#ifndef WAFERD_TESTS_STORE_FAULT_VFS_H
#define WAFERD_TESTS_STORE_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_FULL,     /* a write or a truncation finds no room; nothing is written */
    FAULT_QUOTA,    /* a write meets a quota: EDQUOT, which SQLite takes for an error of the disk */
    FAULT_WRITE,    /* a write fails half-way: EIO, and the first half is there */
    FAULT_SYNC,     /* a sync fails, and what it was to sync is lost at a power loss */
    FAULT_TRUNCATE, /* EIO */
    FAULT_POWER_LOSS, /* at a write or sync: what was not synced is lost in part, the process ends
                       */
};

struct fault_plan {
    enum fault_kind kind;
    uint64_t at;    /* the n-th operation that this kind can hit, from 1 */
    uint64_t count; /* so many fail, from then on */
    uint64_t seed;  /* FAULT_POWER_LOSS: which sectors are lost */
    int error;      /* FAULT_SYNC: what errno says; 0 is EIO */
};

void fault_vfs_install(void);
void fault_vfs_plan(const struct fault_plan *plan); /* and count from 0 again */
uint64_t fault_vfs_operations(void);                /* that the plan's kind could have hit */

#define FAULT_EXIT 66 /* how a process ends that had a power loss */

#endif
