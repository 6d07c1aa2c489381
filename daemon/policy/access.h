/* access — who may do what, to whose jobs, of which class.
 *
 * Default deny: an action is permitted if one binding that holds now names the caller, and its role
 * has the action with a scope that reaches the object, and the object's class is within the role's
 * clearance where the action touches content. Order never matters: there are only permits.
 *
 * Pure. The caller's identity comes from the kernel, never from a message; names of users and
 * groups are resolved before access_new(), which reads numbers alone.
 *
 * Units      `_us` are microseconds of cluster time
 * Ownership  nothing of the file is kept but copies; subjects and objects are borrowed */
#ifndef WAFERD_POLICY_ACCESS_H
#define WAFERD_POLICY_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "model/bind.h"
#include "policy.pb-c.h"

#define ACCESS_BINDINGS_MAX 255

struct access;

struct subject {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary ones */
    size_t group_count;
    const char *role; /* NULL: acts with all roles that he has; else with this one alone */
};

/* What is acted on: a job, or the job that a submission would make. */
struct object {
    uid_t owner;
    const char *project; /* NULL: of none */
    Wafer__Label__Level level;
};

/* Say in `errors` what is wrong with a file that was read; places are those of bind_yaml().
 * -EINVAL  something is */
int access_check(const Wafer__Roles *file, const struct bind_places *places,
                 struct bind_errors *errors);

/* Of a file that access_check() found nothing wrong with. */
struct access *access_new(const Wafer__Roles *file);

/* Without a file: everybody acts on jobs of his own, root and `operator_uid` on all and on the
 * pool. */
struct access *access_built_in(uid_t operator_uid);

struct access *access_free(struct access *access); /* always NULL */
OWNED_DEFINE(access_free, struct access *);

/* The bindings that name a subject and hold at `now_us`. Valid as long as the access is. */
struct rights {
    const struct access *access;
    uid_t uid;
    size_t count;
    uint8_t bindings[ACCESS_BINDINGS_MAX];
};

void access_rights(const struct access *access, const struct subject *subject, int64_t now_us,
                   struct rights *ret);

/* `object` NULL: what has no owner. */
bool rights_permit(const struct rights *rights, Wafer__Role__Action action,
                   const struct object *object);

/* Whether the action reaches the jobs of everybody, those of no class above the clearance. */
bool rights_reach_all(const struct rights *rights, Wafer__Role__Action action);

/* The highest class that the rights may handle. */
Wafer__Label__Level rights_clearance(const struct rights *rights);

/* The name of the role of the nth binding, for people. */
const char *rights_role(const struct rights *rights, size_t n);

#endif
