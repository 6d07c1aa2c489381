/* roles — roles.yaml from its file to rules: names of users and groups become numbers here.
 *
 * Looked up when the file is read, so that nobody's request waits for a directory service. */
#ifndef WAFERD_ROLES_H
#define WAFERD_ROLES_H

#include "findings.h"
#include "policy/access.h"

/* `findings` names the file. *ret_file holds the numbers that names stood for,
 * too. -EINVAL  something is wrong with it; nothing is returned */
int roles_read(struct findings *findings, Wafer__Roles **ret_file, struct access **ret_access);

/* The number of a user of this machine; false with a finding: there is none. */
bool roles_find_user(struct findings *findings, const char *field, const char *name, uid_t *ret);

#endif
