/* wafersim — simulated systems in a process of their own, so that killing, stopping, starving or
 * cutting it off is a real fault. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "config.h"
#include "log/log.h"
#include "sim/host.h"
#include "sim/options.h"
#include "sim/platforms.h"

#define PROGRAM "wafersim " PACKAGE_VERSION

static void pools_free(struct agent_pool *pools, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wafer__platform__free_unpacked((Wafer__Platform *)pools[i].platform, NULL);
    free(pools);
}

/* As many as there are; what is wrong with each file goes to stderr. */
static int pools_read(const struct options *options, struct agent_pool **ret)
{
    struct agent_pool *pools = memory_new(options->pool_count * sizeof(*pools));
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;

    for (size_t i = 0; i < options->pool_count; i++) {
        const struct pool_option *pool = &options->pools[i];
        Wafer__Platform *platform = NULL;
        platform_read(options->platforms, pool->platform, &platform, &errors);
        pools[i] = (struct agent_pool){ pool->name, pool->prefix, platform, pool->count };
    }
    *ret = pools;
    if (errors.length == 0)
        return 0;
    fprintf(stderr, "wafersim: %.*s", (int)errors.length, buffer_data(&errors));
    return -EINVAL;
}

static int loop_new(sd_event **ret)
{
    owned(sd_event_unref) sd_event *event = NULL;
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of a write, and no death */
    sigprocmask(SIG_BLOCK, &ending, NULL);

    int r = sd_event_new(&event);
    if (r >= 0)
        r = sd_event_set_watchdog(event, true);
    if (r >= 0)
        r = sd_event_set_signal_exit(event, true);
    if (r >= 0)
        *ret = TAKE(event);
    return r;
}

static int host_run(const struct options *options, const struct agent_pool *pools)
{
    const struct host_config config = {
        .socket = options->socket,
        .vault = options->vault,
        .program = PROGRAM,
        .linger_us = options->linger_us,
        .agent = { .host = options->host,
                   .pools = pools,
                   .pool_count = options->pool_count,
                   .seed = options->seed,
                   .filler_bytes = options->filler_bytes },
    };
    owned(sd_event_unref) sd_event *event = NULL;
    owned(host_free) struct host *host = NULL;
    struct diag diag;

    int r = loop_new(&event);
    if (r < 0) {
        log_error("no event loop: %s", strerrordesc_np(-r));
        return EX_OSERR;
    }
    r = host_new(event, &config, &host, &diag);
    if (r < 0) {
        log_error("%s", diag.text);
        return EX_CANTCREAT;
    }
    r = sd_event_loop(event);
    sd_notify(0, "STOPPING=1");
    if (r < 0) {
        log_error("the event loop failed: %s", strerrordesc_np(-r));
        return EX_OSERR;
    }
    log_notice("ends");
    return EXIT_SUCCESS;
}

static int run(const struct options *options)
{
    struct agent_pool *pools;
    int code = EX_CONFIG;

    if (pools_read(options, &pools) == 0)
        code = host_run(options, pools);
    pools_free(pools, options->pool_count);
    return code;
}

int main(int argc, char **argv)
{
    struct options options;
    struct diag diag;
    int code = EXIT_SUCCESS;

    log_open("wafersim");
    if (options_parse(argc, argv, &options, &diag) < 0) {
        fprintf(stderr, "wafersim: %s\n", diag.text);
        code = EX_USAGE;
    } else if (options.what == OPTIONS_HELP) {
        fputs(options_usage, stdout);
    } else if (options.what == OPTIONS_VERSION) {
        puts(PROGRAM);
    } else {
        code = run(&options);
    }
    options_done(&options);
    return code;
}
