#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/memory.h"
#include "clock.h"
#include "model/bind.h"
#include "model/limits.h"
#include "net/address.h"

#define LEASE_US       (15 * SECOND_US)
#define LEASE_LEAST_US (1 * SECOND_US)
#define LEASE_MOST_US  (10 * MINUTE_US)
#define DEV_LEASE_US   (2 * SECOND_US)
#define SNAPSHOT_EVERY 100000
#define SNAPSHOT_LEAST 1000
#define POOLS_MAX      64

/* What is wrong with one file, on its way into the lines of all. */
struct findings {
    const char *file;
    struct bind_places *places;
    struct bind_errors errors;
    struct buffer *lines;
};

static void findings_donep(struct findings *findings)
{
    for (size_t i = 0; i < findings->errors.count; i++) {
        owned(free) char *line = bind_error_format(&findings->errors.items[i], findings->file);
        buffer_format(findings->lines, "%s\n", line);
    }
    bind_errors_done(&findings->errors);
    bind_places_free(findings->places);
}

__attribute__((format(printf, 3, 4))) static void wrong(struct findings *findings,
                                                        const char *field, const char *format, ...)
{
    unsigned line, column;
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    bind_place(findings->places, field, &line, &column);
    bind_errors_add(&findings->errors, line, column, field, "%s", text);
}

/* ---- files ---- */

static int read_all(int fd, size_t limit, struct buffer *ret)
{
    for (;;) {
        uint8_t *room = buffer_reserve(ret, 4096);
        ssize_t n = read(fd, room, 4096);
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        buffer_grow(ret, (size_t)n);
        if (ret->length > limit)
            return -EFBIG;
    }
}

static const char *reason(int error)
{
    return error == -EFBIG ? "it is larger than 256 KiB" : strerror(-error);
}

static int read_message(struct findings *findings, const ProtobufCMessageDescriptor *type,
                        ProtobufCMessage **ret)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    /* O_NONBLOCK: a FIFO must not hold us up. */
    owned(fd_close) int fd = open(findings->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

    if (r == 0 && !S_ISREG(st.st_mode)) {
        wrong(findings, NULL, "it is not a regular file");
        return -EINVAL;
    }
    if (r == 0)
        r = read_all(fd, LIMIT_POLICY_FILE_BYTES, &text);
    if (r < 0) {
        wrong(findings, NULL, "it cannot be read: %s", reason(r));
        return -EINVAL;
    }
    return bind_yaml(type, (const char *)buffer_data(&text), text.length, LIMIT_POLICY_FILE_BYTES,
                     ret, &findings->places, &findings->errors);
}

static void check_kind(struct findings *findings, const char *version, const char *kind,
                       const char *wanted)
{
    if (strcmp(version, "wafer/v1") != 0)
        wrong(findings, "apiVersion", "\"%s\" is not known (only wafer/v1 is)", version);
    if (strcmp(kind, wanted) != 0)
        wrong(findings, "kind", "\"%s\" is not what this file is for (%s)", kind, wanted);
}

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

    if (read_message(&findings, &wafer__platform__descriptor, &message) < 0)
        return NULL;
    Wafer__Platform *platform = (Wafer__Platform *)message;
    check_kind(&findings, platform->apiversion, platform->kind, "Platform");
    if (strcmp(platform->name, name) != 0)
        wrong(&findings, "name", "\"%s\" is not the name of the file, %s", platform->name, name);
    return platform;
}

static void add_pool(struct settings *settings, const char *name, const char *platform_name,
                     struct buffer *errors)
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
                                             .currency = platform->price_per_hour->currency };
    settings->pool_count++;
}

/* ---- the site ---- */

static void check_path(struct findings *findings, const char *field, const char *path)
{
    if (*path != '/')
        wrong(findings, field, "\"%s\" is not an absolute path", path);
}

static void check_socket(struct findings *findings, const char *field, const char *path)
{
    struct sockaddr_un address;
    struct diag diag;

    check_path(findings, field, path);
    if (address_unix(path, &address, &diag) < 0)
        wrong(findings, field, "%s", diag.text);
}

static void check_pools(struct findings *findings, const Wafer__Site *site)
{
    if (site->n_pools == 0)
        wrong(findings, "pools", "there must be at least one: {name: wafer, platform: cs3}");
    if (site->n_pools > POOLS_MAX)
        wrong(findings, "pools", "more than %d", POOLS_MAX);
    for (size_t i = 0; i < site->n_pools; i++) {
        owned(free) char *name = text_format("pools[%zu].name", i);
        owned(free) char *platform = text_format("pools[%zu].platform", i);
        if (!is_file_name(site->pools[i]->name))
            wrong(findings, name, "\"%s\" is not a name", site->pools[i]->name);
        if (!is_file_name(site->pools[i]->platform))
            wrong(findings, platform, "\"%s\" is not a name", site->pools[i]->platform);
        for (size_t j = 0; j < i; j++)
            if (strcmp(site->pools[i]->name, site->pools[j]->name) == 0)
                wrong(findings, name, "pool \"%s\" is there twice", site->pools[i]->name);
    }
}

static void check_site(struct findings *findings, const Wafer__Site *site)
{
    check_kind(findings, site->apiversion, site->kind, "Site");
    check_path(findings, "state_dir", site->state_dir);
    check_path(findings, "vault_dir", site->vault_dir);
    check_path(findings, "platforms_dir", site->platforms_dir);
    check_socket(findings, "socket", site->socket);
    check_socket(findings, "agent_socket", site->agent_socket);
    if (strcmp(site->socket, site->agent_socket) == 0)
        wrong(findings, "agent_socket", "it must be another than `socket`");
    check_pools(findings, site);
    if (site->has_speed && (site->speed < 1 || site->speed > CLOCK_SPEED_MAX))
        wrong(findings, "speed", "%u is not from 1 to %d", site->speed, CLOCK_SPEED_MAX);
    if (site->lease && (site->lease->us < LEASE_LEAST_US || site->lease->us > LEASE_MOST_US))
        wrong(findings, "lease", "it must be from 1s to 10m");
    if (site->has_snapshot_every && site->snapshot_every < SNAPSHOT_LEAST)
        wrong(findings, "snapshot_every", "it must be at least %d records", SNAPSHOT_LEAST);
}

static int read_site(const char *path, Wafer__Site **ret, struct buffer *errors)
{
    owned(findings_done) struct findings findings = { .file = path, .lines = errors };
    ProtobufCMessage *message = NULL;

    if (read_message(&findings, &wafer__site__descriptor, &message) < 0)
        return -EINVAL;
    *ret = (Wafer__Site *)message;
    check_site(&findings, *ret);
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
    wafer__site__free_unpacked(settings->site, NULL);
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
    int r = read_site(path, &settings->site, errors);

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
        add_pool(settings, site->pools[i]->name, site->pools[i]->platform, errors);
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
    for (size_t i = 0; i < options->pool_count; i++)
        add_pool(settings, options->pools[i].name, options->pools[i].platform, errors);
    if (errors->length > 0)
        return -EINVAL;
    *ret = TAKE(settings);
    return 0;
}
