#include "cli/user.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"

#define GROUPS_MAX 1024

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

static char *group_name(gid_t gid)
{
    const struct group *entry = getgrgid(gid);

    return entry ? text_copy(entry->gr_name) : text_format("%lu", (unsigned long)gid);
}

void user_fill_quota(Wafer__Quota *quota)
{
    if (quota->has_uid && !quota->name)
        quota->name = text_copy(user_name(quota->uid));
}

void user_fill_groups(Wafer__Whoami *who)
{
    const struct passwd *entry = getpwuid(who->uid);
    gid_t groups[GROUPS_MAX];
    int count = GROUPS_MAX;

    /* Of a user that is in no list, only the one group is known. */
    if (!entry || getgrouplist(entry->pw_name, who->gid, groups, &count) < 0)
        count = 0;
    who->groups = memory_new(((size_t)count + 1) * sizeof(*who->groups));
    who->groups[who->n_groups++] = group_name(who->gid);
    for (int i = 0; i < count; i++)
        if (groups[i] != who->gid)
            who->groups[who->n_groups++] = group_name(groups[i]);
}
