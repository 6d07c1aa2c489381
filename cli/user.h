/* user — names of the people behind user ids, from this machine's account database. */
#ifndef WAFERD_CLI_USER_H
#define WAFERD_CLI_USER_H

#include <sys/types.h>

#include "view.pb-c.h"

/* The name, or the number as a text. Valid until the next call for another user. */
const char *user_name(uid_t uid);

/* Fill `user` of a job from its uid; the controller stores no names. */
void user_fill(Wafer__Job *job);

void user_fill_quota(Wafer__Quota *quota); /* likewise; of a user */

/* The names of the user's groups, the one that the controller saw first. */
void user_fill_groups(Wafer__Whoami *who);

#endif
