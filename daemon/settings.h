/* settings — how this process is set up: by a site file, or by --dev. */
#ifndef WAFERD_SETTINGS_H
#define WAFERD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "core/core.h"
#include "notify/secret.h"
#include "options.h"
#include "platform.pb-c.h"
#include "policy.pb-c.h"
#include "site.pb-c.h"

struct settings {
    char *path; /* of the site file; NULL with --dev */
    char *state_dir, *vault_dir, *socket, *agent_socket, *platforms_dir;
    struct core_pool *pools;     /* their texts are of `site` and of `platforms` */
    Wafer__Platform **platforms; /* of each pool */
    size_t pool_count;
    Wafer__Roles *roles;           /* NULL: as built in */
    struct access *access;         /* compiled of them, until the core takes it */
    Wafer__Scheduling *scheduling; /* NULL: there is no such file */
    struct schedule_rules schedule;
    struct preempt_rules preempt;
    struct quota_rules quotas;     /* their names are of `scheduling` */
    struct core_webhook *webhooks; /* their URLs are in `site` */
    struct secret **secrets;       /* of each; NULL: none, or a credential that is not here */
    size_t webhook_count;
    struct url *notify_allow; /* their paths are of `site` */
    size_t notify_allow_count;
    uint32_t speed;
    int64_t lease_us;
    uint64_t snapshot_every;
    bool dev;
    Wafer__Site *site;
};

struct settings *settings_free(struct settings *settings); /* always NULL */
OWNED_DEFINE(settings_free, struct settings *);

/* Read and check a site file, and the platform file of each of its pools.
 * -EINVAL  with one line for each mistake in `errors`: "file:line:column: field: text\n" */
int settings_read(const char *path, struct settings **ret, struct buffer *errors);

/* As --dev sets it up; `platforms_dir` NULL: no such directory was found. -EINVAL as above */
int settings_dev(const struct options *options, const char *platforms_dir, struct settings **ret,
                 struct buffer *errors);

#endif
