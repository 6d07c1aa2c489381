#include "roles.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ENTRY_BYTES (64 << 10) /* a group of some thousand members */

static void add_number(uint32_t **numbers, size_t *count, uint32_t number)
{
    *numbers = memory_resize(*numbers, *count + 1, sizeof(**numbers));
    (*numbers)[(*count)++] = number;
}

bool roles_find_user(struct findings *findings, const char *field, const char *name, uid_t *ret)
{
    owned(free) char *text = memory_new(ENTRY_BYTES);
    struct passwd entry, *found = NULL;
    int error = getpwnam_r(name, &entry, text, ENTRY_BYTES, &found);

    if (found)
        *ret = found->pw_uid;
    else
        findings_add(findings, field, "user \"%.80s\": %s", name,
                     error ? strerror(error) : "there is none of that name on this machine");
    return found;
}

static void resolve_user(struct findings *findings, const char *field, Wafer__Binding *binding,
                         const char *name)
{
    uid_t uid;

    if (roles_find_user(findings, field, name, &uid))
        add_number(&binding->uids, &binding->n_uids, uid);
}

static void resolve_group(struct findings *findings, const char *field, Wafer__Binding *binding,
                          const char *name)
{
    owned(free) char *text = memory_new(ENTRY_BYTES);
    struct group entry, *found = NULL;
    int error = getgrnam_r(name, &entry, text, ENTRY_BYTES, &found);

    if (found)
        add_number(&binding->gids, &binding->n_gids, found->gr_gid);
    else
        findings_add(findings, field, "group \"%.80s\": %s", name,
                     error ? strerror(error) : "there is none of that name on this machine");
}

static void resolve(struct findings *findings, Wafer__Roles *file)
{
    for (size_t i = 0; i < file->n_bindings; i++) {
        Wafer__Binding *binding = file->bindings[i];
        owned(free) char *users = text_format("bindings[%zu].users", i);
        owned(free) char *groups = text_format("bindings[%zu].groups", i);
        for (size_t n = 0; n < binding->n_users; n++)
            resolve_user(findings, users, binding, binding->users[n]);
        for (size_t n = 0; n < binding->n_groups; n++)
            resolve_group(findings, groups, binding, binding->groups[n]);
    }
}

int roles_read(struct findings *findings, Wafer__Roles **ret_file, struct access **ret_access)
{
    ProtobufCMessage *message = NULL;
    int r = findings_read(findings, &wafer__roles__descriptor, true, &message);

    if (r < 0)
        return r;
    Wafer__Roles *file = (Wafer__Roles *)message;
    r = access_check(file, findings->places, &findings->errors);
    if (r == 0)
        resolve(findings, file);
    if (findings->errors.count > 0) {
        wafer__roles__free_unpacked(file, NULL);
        return -EINVAL;
    }
    *ret_access = access_new(file);
    *ret_file = file;
    return 0;
}
