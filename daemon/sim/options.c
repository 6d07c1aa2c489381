#include "sim/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/size.h"
#include "model/limits.h"

enum { FILLER_DEFAULT_BYTES = 64 << 10, NUMBER_DIGITS = 4 /* of LIMIT_SYSTEMS */ };

const char options_usage[] =
    "Usage: wafersim --socket PATH --vault DIR --platforms DIR --pool POOL [--pool POOL]...\n"
    "\n"
    "Hosts simulated systems for a controller (waferd) and runs the jobs that it gives them.\n"
    "\n"
    "  --socket PATH      the controller's socket for agents; retried for ever\n"
    "  --vault DIR        where checkpoints and logs go; the controller's vault\n"
    "  --platforms DIR    platform files: what each kind of system can do\n"
    "  --pool POOL        NAME=PLATFORM:COUNT[:PREFIX]: COUNT systems of PLATFORM (a file of\n"
    "                     --platforms, without .yaml) in pool NAME, called PREFIX1, PREFIX2, ...\n"
    "                     (default prefix: NAME-); at most 2048 systems in all\n"
    "  --host NAME        of this process, the same after a restart (default: the host name)\n"
    "  --seed N           of the times of compiles and other phases (default 1)\n"
    "  --filler SIZE      bytes of each shard beside the training state (default 64 KiB; 0, 16M)\n"
    "  --linger DURATION  end when the controller has been gone so long (default: never)\n"
    "  --help, --version\n";

/* --- values --- */

/* Names become parts of paths and of other names. */
static bool name_is_valid(const char *name, size_t length_max)
{
    size_t length = strlen(name);

    if (length == 0 || length > length_max || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return true;
}

static int name_check(const char *what, const char *name, size_t length_max, struct diag *diag)
{
    if (name_is_valid(name, length_max))
        return 0;
    return diag_fail(
        diag, -EINVAL,
        "%s '%.80s': 1 to %zu letters, digits, . _ - are a name, not beginning with . or -", what,
        name, length_max);
}

static int number_parse(const char *option, const char *text, uint64_t max, uint64_t *ret,
                        struct diag *diag)
{
    char *end;

    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno == ERANGE || number > max)
        return diag_fail(diag, -EINVAL, "%s '%.80s': a whole number up to %llu is wanted", option,
                         text, (unsigned long long)max);
    *ret = number;
    return 0;
}

static int filler_parse(const char *text, int64_t *ret, struct diag *diag)
{
    if (strcmp(text, "0") == 0) {
        *ret = 0;
        return 0;
    }
    int r = size_parse(text, ret, diag);
    if (r == 0 && *ret > INT64_C(1) << 30)
        r = diag_fail(diag, -EINVAL, "'%.80s' is more than 1 GiB", text);
    return r < 0 ? diag_prefix(diag, -EINVAL, "--filler") : 0;
}

/* --- pools --- */

static void pool_done(struct pool_option *pool)
{
    free(pool->name);
    free(pool->platform);
    free(pool->prefix);
}

static int pool_fill(struct pool_option *pool, const char *text, struct diag *diag)
{
    owned(free) char *copy = text_copy(text);
    char *platform = strchr(copy, '=');
    char *count = platform ? strchr(platform, ':') : NULL;
    char *prefix = count ? strchr(count + 1, ':') : NULL;
    uint64_t number;

    if (!count)
        return diag_fail(diag, -EINVAL,
                         "--pool '%.80s': NAME=PLATFORM:COUNT[:PREFIX] is wanted, like wafer=cs3:8",
                         text);
    *platform++ = '\0';
    *count++ = '\0';
    if (prefix)
        *prefix++ = '\0';
    pool->name = text_copy(copy);
    pool->platform = text_copy(platform);
    pool->prefix = prefix ? text_copy(prefix) : text_format("%s-", copy);

    int r = name_check("--pool: name", pool->name, LIMIT_NAME_BYTES - NUMBER_DIGITS - 1, diag);
    if (r == 0)
        r = name_check("--pool: platform", pool->platform, LIMIT_NAME_BYTES, diag);
    if (r == 0)
        r = name_check("--pool: prefix", pool->prefix, LIMIT_NAME_BYTES - NUMBER_DIGITS, diag);
    if (r == 0)
        r = number_parse("--pool: count", count, LIMIT_SYSTEMS, &number, diag);
    if (r == 0 && number == 0)
        r = diag_fail(diag, -EINVAL, "--pool '%.80s': a pool has at least one system", text);
    if (r == 0)
        pool->count = (unsigned)number;
    return r;
}

/* Could `a` with a number be called as `b` with a number? s and s1 could: s11. */
static bool prefixes_clash(const char *a, const char *b)
{
    size_t length = strlen(a);

    return strncmp(a, b, length) == 0 && strspn(b + length, "0123456789") == strlen(b + length);
}

static int pool_add(struct options *options, const char *text, struct diag *diag)
{
    struct pool_option pool = { .count = 0 };
    uint64_t systems = 0;

    int r = pool_fill(&pool, text, diag);
    for (size_t i = 0; r == 0 && i < options->pool_count; i++) {
        const struct pool_option *other = &options->pools[i];
        systems += other->count;
        if (strcmp(other->name, pool.name) == 0)
            r = diag_fail(diag, -EINVAL, "--pool: there are two pools called '%s'", pool.name);
        else if (prefixes_clash(other->prefix, pool.prefix) ||
                 prefixes_clash(pool.prefix, other->prefix))
            r = diag_fail(diag, -EINVAL,
                          "--pool: prefixes '%s' and '%s' could give two systems the same name",
                          other->prefix, pool.prefix);
    }
    if (r == 0 && systems + pool.count > LIMIT_SYSTEMS)
        r = diag_fail(diag, -EINVAL, "--pool: %llu systems; at most %d are hosted by one process",
                      (unsigned long long)(systems + pool.count), LIMIT_SYSTEMS);
    if (r < 0) {
        pool_done(&pool);
        return r;
    }
    ARRAY_RESERVE(options->pools, options->pool_count, options->pool_capacity);
    options->pools[options->pool_count++] = pool;
    return 0;
}

/* --- the command line --- */

enum {
    OPTION_SOCKET = 1,
    OPTION_VAULT,
    OPTION_PLATFORMS,
    OPTION_POOL,
    OPTION_HOST,
    OPTION_SEED,
    OPTION_FILLER,
    OPTION_LINGER,
    OPTION_HELP,
    OPTION_VERSION
};

static int option_take(struct options *options, int option, const char *value, struct diag *diag)
{
    switch (option) {
    case OPTION_SOCKET: options->socket = value; return 0;
    case OPTION_VAULT: options->vault = value; return 0;
    case OPTION_PLATFORMS: options->platforms = value; return 0;
    case OPTION_POOL: return pool_add(options, value, diag);
    case OPTION_HOST:
        free(options->host);
        options->host = text_copy(value);
        return 0;
    case OPTION_SEED: return number_parse("--seed", value, UINT64_MAX, &options->seed, diag);
    case OPTION_FILLER: return filler_parse(value, &options->filler_bytes, diag);
    case OPTION_LINGER:
        return duration_parse(value, &options->linger_us, diag) < 0
                   ? diag_prefix(diag, -EINVAL, "--linger")
                   : 0;
    case OPTION_HELP: options->what = OPTIONS_HELP; return 0;
    case OPTION_VERSION: options->what = OPTIONS_VERSION; return 0;
    default: return -EINVAL;
    }
}

static int check_complete(struct options *options, struct diag *diag)
{
    struct sockaddr_un address;
    char name[256] = "";

    if (!options->socket || !options->vault || !options->platforms || options->pool_count == 0)
        return diag_fail(diag, -EINVAL, "%s is missing",
                         !options->socket      ? "--socket PATH"
                         : !options->vault     ? "--vault DIR"
                         : !options->platforms ? "--platforms DIR"
                                               : "--pool NAME=PLATFORM:COUNT");
    if (strlen(options->socket) == 0 || strlen(options->socket) >= sizeof(address.sun_path))
        return diag_fail(diag, -EINVAL, "--socket: a path of 1 to %zu bytes is wanted, not %zu",
                         sizeof(address.sun_path) - 1, strlen(options->socket));
    if (!options->host) {
        if (gethostname(name, sizeof(name) - 1) < 0)
            return diag_fail(diag, -EINVAL, "this machine has no name: say --host NAME");
        options->host = text_copy_length(name, strnlen(name, LIMIT_NAME_BYTES));
    }
    return name_check("--host", options->host, LIMIT_NAME_BYTES, diag);
}

int options_parse(int argc, char **argv, struct options *ret, struct diag *diag)
{
    static const struct option known[] = {
        { "socket", required_argument, NULL, OPTION_SOCKET },
        { "vault", required_argument, NULL, OPTION_VAULT },
        { "platforms", required_argument, NULL, OPTION_PLATFORMS },
        { "pool", required_argument, NULL, OPTION_POOL },
        { "host", required_argument, NULL, OPTION_HOST },
        { "seed", required_argument, NULL, OPTION_SEED },
        { "filler", required_argument, NULL, OPTION_FILLER },
        { "linger", required_argument, NULL, OPTION_LINGER },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };

    *ret = (struct options){ .seed = 1, .filler_bytes = FILLER_DEFAULT_BYTES };
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        const char *word = argv[optind - 1];
        if (option == '?')
            return diag_fail(diag, -EINVAL, "'%.80s' is no option; --help lists them", word);
        if (option == ':')
            return diag_fail(diag, -EINVAL, "%.80s needs a value", word);
        int r = option_take(ret, option, optarg, diag);
        if (r < 0)
            return r;
        if (ret->what != OPTIONS_RUN)
            return 0;
    }
    if (optind < argc)
        return diag_fail(diag, -EINVAL, "'%.80s' is one word too many", argv[optind]);
    return check_complete(ret, diag);
}

void options_done(struct options *options)
{
    for (size_t i = 0; i < options->pool_count; i++)
        pool_done(&options->pools[i]);
    free(options->pools);
    free(options->host);
}
