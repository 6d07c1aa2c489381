#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "clock.h"
#include "model/bind.h"
#include "model/limits.h"

#define DEV_SPEED 600

const char options_help[] =
    "waferd - controller of a pool of simulated wafer-scale systems\n"
    "\n"
    "  waferd [--config FILE]                 run as the site file says\n"
    "  waferd [--config FILE] --check-config  only check it: exit 0, or 78 with what is wrong\n"
    "  waferd --dev DIR [--pool [NAME=]PLATFORM[:COUNT]]... [--speed N] [--seed N]\n"
    "                                         run for one person, everything below DIR,\n"
    "                                         with simulated systems of its own\n"
    "  waferd --help | --version\n"
    "\n"
    "  --config FILE    site file (default " SYSCONFDIR "/waferd/waferd.yaml)\n"
    "  --pool ...       systems of a pool; NAME is wafer unless given\n"
    "                   (default wafer=cs3:4 and gpu=h100x8:2)\n"
    "  --speed N        cluster seconds in a real second (default 600)\n"
    "  --seed N         of everything that is random in the simulated systems (default 1)\n"
    "\n"
    "waferd(8) says more; `wafer help` is for those who submit jobs.\n";

static int parse_number(const char *flag, const char *text, uint64_t least, uint64_t most,
                        uint64_t *ret, struct diag *diag)
{
    if (number_parse_whole(text, most, ret) < 0 || *ret < least)
        return diag_fail(diag, -EINVAL, "%s: '%s' is not a whole number from %llu to %llu", flag,
                         text, (unsigned long long)least, (unsigned long long)most);
    return 0;
}

static bool is_name(const char *text, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    return length > 0 && length <= LIMIT_NAME_BYTES && strspn(text, letters) >= length;
}

static struct options_pool *pool_named(struct options *options, const char *name)
{
    for (size_t i = 0; i < options->pool_count; i++)
        if (strcmp(options->pools[i].name, name) == 0)
            return &options->pools[i];
    return options->pool_count < OPTIONS_POOLS_MAX ? &options->pools[options->pool_count++] : NULL;
}

static int on_pool(struct options *options, const char *value, struct diag *diag)
{
    const char *equals = strchr(value, '=');
    const char *platform = equals ? equals + 1 : value;
    const char *colon = strchr(platform, ':');
    size_t platform_length = colon ? (size_t)(colon - platform) : strlen(platform);
    struct options_pool pool = { .name = "wafer" };
    uint64_t count = 1;

    if ((equals && !is_name(value, (size_t)(equals - value))) ||
        !is_name(platform, platform_length))
        return diag_fail(diag, -EINVAL, "--pool: '%s' is not [NAME=]PLATFORM[:COUNT], like cs3:8",
                         value);
    if (colon) {
        int r = parse_number("--pool: count", colon + 1, 1, LIMIT_SYSTEMS, &count, diag);
        if (r < 0)
            return r;
    }
    if (equals)
        snprintf(pool.name, sizeof(pool.name), "%.*s", (int)(equals - value), value);
    snprintf(pool.platform, sizeof(pool.platform), "%.*s", (int)platform_length, platform);
    pool.count = (uint32_t)count;

    struct options_pool *place = pool_named(options, pool.name);
    if (!place)
        return diag_fail(diag, -EINVAL, "--pool: more than %d pools", OPTIONS_POOLS_MAX);
    *place = pool;
    return 0;
}

static int on_speed(struct options *options, const char *value, struct diag *diag)
{
    uint64_t speed;
    int r = parse_number("--speed", value, 1, CLOCK_SPEED_MAX, &speed, diag);

    if (r >= 0)
        options->speed = (uint32_t)speed;
    return r;
}

static int on_seed(struct options *options, const char *value, struct diag *diag)
{
    return parse_number("--seed", value, 0, UINT64_MAX, &options->seed, diag);
}

static int on_config(struct options *options, const char *value, struct diag *diag)
{
    if (!*value)
        return diag_fail(diag, -EINVAL, "--config: the name of a file is missing");
    options->config_path = value;
    return 0;
}

static int on_dev(struct options *options, const char *value, struct diag *diag)
{
    if (!*value)
        return diag_fail(diag, -EINVAL, "--dev: the name of a directory is missing");
    options->dev_dir = value;
    return 0;
}

static int on_check_config(struct options *options, const char *value, struct diag *diag)
{
    options->action = OPTIONS_CHECK_CONFIG;
    return 0;
}

static int on_help(struct options *options, const char *value, struct diag *diag)
{
    options->action = OPTIONS_HELP;
    return 0;
}

static int on_version(struct options *options, const char *value, struct diag *diag)
{
    options->action = OPTIONS_VERSION;
    return 0;
}

static const struct flag {
    const char *name;
    bool has_value, is_dev;
    int (*on)(struct options *options, const char *value, struct diag *diag);
} flags[] = {
    { "--config", true, false, on_config }, { "--check-config", false, false, on_check_config },
    { "--dev", true, false, on_dev },       { "--pool", true, true, on_pool },
    { "--speed", true, true, on_speed },    { "--seed", true, true, on_seed },
    { "--help", false, false, on_help },    { "--version", false, false, on_version },
};

static int unknown_flag(const char *written, struct diag *diag)
{
    const char *names[ELEMENTS(flags) + 1];

    for (size_t i = 0; i < ELEMENTS(flags); i++)
        names[i] = flags[i].name;
    names[ELEMENTS(flags)] = NULL;
    if (written[0] != '-')
        return diag_fail(diag, -EINVAL, "unexpected argument '%s' (try --help)", written);
    const char *nearest = bind_nearest(written, names);
    return diag_fail(diag, -EINVAL, "unknown option '%s' (%s%s)", written,
                     nearest ? "did you mean " : "try --help", nearest ? nearest : "");
}

/* The flag that `written` names, with the value behind a '=' if there is one. */
static const struct flag *find_flag(const char *written, const char **ret_value)
{
    const char *equals = strchr(written, '=');
    size_t length = equals ? (size_t)(equals - written) : strlen(written);

    *ret_value = equals ? equals + 1 : NULL;
    for (size_t i = 0; i < ELEMENTS(flags); i++)
        if (strlen(flags[i].name) == length && memcmp(flags[i].name, written, length) == 0)
            return &flags[i];
    return NULL;
}

static void default_pools(struct options *options)
{
    static const struct options_pool defaults[] = { { "wafer", "cs3", 4 }, { "gpu", "h100x8", 2 } };

    memcpy(options->pools, defaults, sizeof(defaults));
    options->pool_count = ELEMENTS(defaults);
}

int options_parse(int argc, char *const *argv, struct options *ret, struct diag *diag)
{
    struct options options = { .action = OPTIONS_RUN, .speed = DEV_SPEED, .seed = 1 };
    const char *dev_flag = NULL;

    default_pools(&options);
    for (int i = 1; i < argc; i++) {
        const char *value;
        const struct flag *flag = find_flag(argv[i], &value);
        if (!flag)
            return unknown_flag(argv[i], diag);
        if (!flag->has_value && value)
            return diag_fail(diag, -EINVAL, "%s takes no value", flag->name);
        if (flag->has_value && !value && !(value = argv[++i]))
            return diag_fail(diag, -EINVAL, "%s: its value is missing", flag->name);
        int r = flag->on(&options, value, diag);
        if (r < 0)
            return r;
        if (flag->is_dev)
            dev_flag = flag->name;
    }
    if (options.action == OPTIONS_RUN || options.action == OPTIONS_CHECK_CONFIG) {
        if (dev_flag && !options.dev_dir)
            return diag_fail(diag, -EINVAL, "%s goes with --dev DIR only: the site file says it",
                             dev_flag);
        if (options.dev_dir && (options.config_path || options.action == OPTIONS_CHECK_CONFIG))
            return diag_fail(diag, -EINVAL, "--dev reads no site file: leave out %s",
                             options.config_path ? "--config" : "--check-config");
    }
    *ret = options;
    return 0;
}
