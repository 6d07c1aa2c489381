/* waferd — controller of a pool of simulated wafer-scale systems. */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/buffer.h"
#include "daemon.h"
#include "dev.h"
#include "log/log.h"
#include "options.h"

static int run_with(int r, struct settings *settings, const struct buffer *errors,
                    const struct options *options)
{
    int status = EX_CONFIG;

    if (r < 0)
        fprintf(stderr, "waferd: %.*s", (int)errors->length, buffer_data(errors));
    else if (options->action == OPTIONS_CHECK_CONFIG)
        status = EX_OK;
    else
        status = daemon_run(settings, options);
    settings_free(settings);
    return status;
}

static int run_site(const struct options *options)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;
    struct settings *settings = NULL;
    const char *path =
        options->config_path ? options->config_path : SYSCONFDIR "/waferd/waferd.yaml";
    int r = settings_read(path, &settings, &errors);

    return run_with(r, settings, &errors, options);
}

static int run_dev(const struct options *options)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;
    owned(free) char *platforms = NULL;
    struct settings *settings = NULL;
    struct diag diag;

    if (dev_find_platforms(&platforms, &diag) < 0) {
        fprintf(stderr, "waferd: %s\n", diag.text);
        return EX_CONFIG;
    }
    int r = settings_dev(options, platforms, &settings, &errors);
    if (r >= 0 && dev_prepare(options->dev_dir, &diag) < 0) {
        fprintf(stderr, "waferd: %s\n", diag.text);
        settings_free(settings);
        return EX_CANTCREAT;
    }
    return run_with(r, settings, &errors, options);
}

int main(int argc, char **argv)
{
    struct options options;
    struct diag diag;

    log_open("waferd");
    if (options_parse(argc, argv, &options, &diag) < 0) {
        fprintf(stderr, "waferd: %s\n", diag.text);
        return EX_USAGE;
    }
    switch (options.action) {
    case OPTIONS_HELP: fputs(options_help, stdout); return EX_OK;
    case OPTIONS_VERSION: puts(DAEMON_PROGRAM); return EX_OK;
    case OPTIONS_CHECK_CONFIG:
    case OPTIONS_RUN: break;
    }
    return options.dev_dir ? run_dev(&options) : run_site(&options);
}
