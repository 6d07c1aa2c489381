#include "cli/user.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"

const char *user_name(uid_t uid)
{
    /* A list is mostly of one user, and a directory service may be asked for each name. */
    static uid_t last_uid;
    static char last_name[64];

    if (last_name[0] && last_uid == uid)
        return last_name;
    const struct passwd *entry = getpwuid(uid);
    if (entry)
        snprintf(last_name, sizeof(last_name), "%s", entry->pw_name);
    else
        snprintf(last_name, sizeof(last_name), "%lu", (unsigned long)uid);
    last_uid = uid;
    return last_name;
}

void user_fill(Wafer__Job *job)
{
    if (job->has_uid && !job->user)
        job->user = text_copy(user_name(job->uid));
}
