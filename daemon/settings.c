#include "settings.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/memory.h"
#include "clock.h"
#include "findings.h"
#include "model/bind.h"
#include "model/limits.h"
#include "net/address.h"
#include "roles.h"
#include "scheduling.h"
#include "webhook_settings.h"

#define LEASE_US       (15 * SECOND_US)
#define LEASE_LEAST_US (1 * SECOND_US)
#define LEASE_MOST_US  (10 * MINUTE_US)
#define DEV_LEASE_US   (2 * SECOND_US)
#define SNAPSHOT_EVERY 100000
#define SNAPSHOT_LEAST 1000
#define POOLS_MAX      64

/* ---- platforms ---- */

static bool is_file_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= LIMIT_NAME_BYTES;
}

static Wafer__Platform *read_platform(const char *dir, const char *name, struct buffer *errors)
{
    owned(free) char *path = text_format("%s/%s.yaml", dir, name);
    owned(findings_done) struct findings findings = { .file = path, .lines = errors };
    ProtobufCMessage *message = NULL;

    if (findings_read(&findings, &wafer__platform__descriptor, false, &message) < 0)
        return NULL;
    Wafer__Platform *platform = (Wafer__Platform *)message;
    findings_check_kind(&findings, platform->apiversion, platform->kind, "Platform");
    if (strcmp(platform->name, name) != 0)
        findings_add(&findings, "name", "\"%s\" is not the name of the file, %s", platform->name,
                     name);
    return platform;
}

static void add_pool(struct settings *settings, const char *name, const char *platform_name,
                     unsigned classes, struct buffer *errors)
{
    size_t i = settings->pool_count;
    Wafer__Platform *platform = read_platform(settings->platforms_dir, platform_name, errors);

    if (!platform)
        return;
    settings->pools = memory_resize(settings->pools, i + 1, sizeof(*settings->pools));
    settings->platforms = memory_resize(settings->platforms, i + 1, sizeof(*settings->platforms));
    settings->platforms[i] = platform;
    settings->pools[i] = (struct core_pool){ .name = name,
                                             .platform = platform_name,
                                             .price_micro = platform->price_per_hour->micro,
                                             .currency = platform->price_per_hour->currency,
                                             .classes = classes };
    settings->pool_count++;
}

/* Without a word, what is confidential or more goes to no pool. */
static unsigned classes_of(const Wafer__Pool *pool)
{
    unsigned classes = 0;

    for (size_t i = 0; i < pool->n_classes; i++)
        classes |= 1u << pool->classes[i];
    return pool->n_classes
               ? classes
               : 1u << WAFER__LABEL__LEVEL__public | 1u << WAFER__LABEL__LEVEL__internal;
}

/* ---- policies ---- */

static void read_roles(struct settings *settings, const char *dir, struct buffer *errors)
{
    owned(free) char *path = text_format("%s/roles.yaml", dir);
    owned(findings_done) struct findings findings = { .file = path, .lines = errors };

    roles_read(&findings, &settings->roles, &settings->access);
}

static void read_scheduling(struct settings *settings, const char *dir, struct buffer *errors)
{
    owned(free) char *path = text_format("%s/scheduling.yaml", dir);
    owned(findings_done) struct findings findings = { .file = path, .lines = errors };

    scheduling_read(&findings, &settings->scheduling);
    if (settings->scheduling) {
        settings->schedule = scheduling_rules(settings->scheduling);
        settings->preempt = scheduling_preempt(settings->scheduling);
        scheduling_quotas(&findings, settings->scheduling, settings->pools, settings->pool_count,
                          &settings->quotas);
    }
}

/* ---- the site ---- */

static void check_path(struct findings *findings, const char *field, const char *path)
{
    if (*path != '/')
        findings_add(findings, field, "\"%s\" is not an absolute path", path);
}

static void check_socket(struct findings *findings, const char *field, const char *path)
{
    struct sockaddr_un address;
    struct diag diag;

    check_path(findings, field, path);
    if (address_unix(path, &address, &diag) < 0)
        findings_add(findings, field, "%s", diag.text);
}

static void check_pools(struct findings *findings, const Wafer__Site *site)
{
    if (site->n_pools == 0)
        findings_add(findings, "pools", "there must be at least one: {name: wafer, platform: cs3}");
    if (site->n_pools > POOLS_MAX)
        findings_add(findings, "pools", "more than %d", POOLS_MAX);
    for (size_t i = 0; i < site->n_pools; i++) {
        owned(free) char *name = text_format("pools[%zu].name", i);
        owned(free) char *platform = text_format("pools[%zu].platform", i);
        if (!is_file_name(site->pools[i]->name))
            findings_add(findings, name, "\"%s\" is not a name", site->pools[i]->name);
        if (!is_file_name(site->pools[i]->platform))
            findings_add(findings, platform, "\"%s\" is not a name", site->pools[i]->platform);
        for (size_t j = 0; j < i; j++)
            if (strcmp(site->pools[i]->name, site->pools[j]->name) == 0)
                findings_add(findings, name, "pool \"%s\" is there twice", site->pools[i]->name);
    }
}

static void check_site(struct findings *findings, const Wafer__Site *site)
{
    findings_check_kind(findings, site->apiversion, site->kind, "Site");
    check_path(findings, "state_dir", site->state_dir);
    check_path(findings, "vault_dir", site->vault_dir);
    check_path(findings, "platforms_dir", site->platforms_dir);
    if (site->policies_dir)
        check_path(findings, "policies_dir", site->policies_dir);
    check_socket(findings, "socket", site->socket);
    check_socket(findings, "agent_socket", site->agent_socket);
    if (strcmp(site->socket, site->agent_socket) == 0)
        findings_add(findings, "agent_socket", "it must be another than `socket`");
    check_pools(findings, site);
    if (site->has_speed && (site->speed < 1 || site->speed > CLOCK_SPEED_MAX))
        findings_add(findings, "speed", "%u is not from 1 to %d", site->speed, CLOCK_SPEED_MAX);
    if (site->lease && (site->lease->us < LEASE_LEAST_US || site->lease->us > LEASE_MOST_US))
        findings_add(findings, "lease", "it must be from 1s to 10m");
    if (site->has_snapshot_every && site->snapshot_every < SNAPSHOT_LEAST)
        findings_add(findings, "snapshot_every", "it must be at least %d records", SNAPSHOT_LEAST);
}

static int read_site(const char *path, struct settings *settings, struct buffer *errors)
{
    owned(findings_done) struct findings findings = { .file = path, .lines = errors };
    ProtobufCMessage *message = NULL;

    if (findings_read(&findings, &wafer__site__descriptor, false, &message) < 0)
        return -EINVAL;
    settings->site = (Wafer__Site *)message;
    check_site(&findings, settings->site);
    webhook_settings_check(&findings, settings->site);
    if (findings.errors.count == 0)
        webhook_settings_read(settings, &findings);
    return findings.errors.count ? -EINVAL : 0;
}

struct settings *settings_free(struct settings *settings)
{
    if (!settings)
        return NULL;
    for (size_t i = 0; i < settings->pool_count; i++)
        wafer__platform__free_unpacked(settings->platforms[i], NULL);
    free(settings->platforms);
    free(settings->pools);
    webhook_settings_free(settings);
    wafer__site__free_unpacked(settings->site, NULL);
    wafer__roles__free_unpacked(settings->roles, NULL);
    wafer__scheduling__free_unpacked(settings->scheduling, NULL);
    free((void *)settings->quotas.items);
    access_free(settings->access);
    free(settings->path);
    free(settings->state_dir);
    free(settings->vault_dir);
    free(settings->socket);
    free(settings->agent_socket);
    free(settings->platforms_dir);
    free(settings);
    return NULL;
}

int settings_read(const char *path, struct settings **ret, struct buffer *errors)
{
    owned(settings_free) struct settings *settings = NEW(struct settings);
    int r = read_site(path, settings, errors);

    if (r < 0)
        return r;
    const Wafer__Site *site = settings->site;
    settings->path = text_copy(path);
    settings->state_dir = text_copy(site->state_dir);
    settings->vault_dir = text_copy(site->vault_dir);
    settings->socket = text_copy(site->socket);
    settings->agent_socket = text_copy(site->agent_socket);
    settings->platforms_dir = text_copy(site->platforms_dir);
    settings->speed = site->has_speed ? site->speed : 1;
    settings->lease_us = site->lease ? site->lease->us : LEASE_US;
    settings->snapshot_every = site->has_snapshot_every ? site->snapshot_every : SNAPSHOT_EVERY;
    for (size_t i = 0; i < site->n_pools; i++)
        add_pool(settings, site->pools[i]->name, site->pools[i]->platform,
                 classes_of(site->pools[i]), errors);
    settings->schedule = scheduling_default();
    if (site->policies_dir) {
        read_roles(settings, site->policies_dir, errors);
        read_scheduling(settings, site->policies_dir, errors);
    }
    if (errors->length > 0)
        return -EINVAL;
    *ret = TAKE(settings);
    return 0;
}

int settings_dev(const struct options *options, const char *platforms_dir, struct settings **ret,
                 struct buffer *errors)
{
    owned(settings_free) struct settings *settings = NEW(struct settings);
    const char *dir = options->dev_dir;

    settings->dev = true;
    settings->state_dir = text_copy(dir);
    settings->vault_dir = text_format("%s/vault", dir);
    settings->socket = text_format("%s/waferd.sock", dir);
    settings->agent_socket = text_format("%s/agent.sock", dir);
    settings->platforms_dir = text_copy(platforms_dir);
    settings->speed = options->speed;
    settings->lease_us = DEV_LEASE_US;
    settings->snapshot_every = SNAPSHOT_EVERY;
    settings->schedule = scheduling_default();
    for (size_t i = 0; i < options->pool_count; i++)
        add_pool(settings, options->pools[i].name, options->pools[i].platform, 0, errors);
    if (errors->length > 0)
        return -EINVAL;
    *ret = TAKE(settings);
    return 0;
}
