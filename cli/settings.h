/* settings — what a command line leaves open: from the environment and the client's files.
 *
 * Each setting has the value of the first that names it: its flag, its variable, ./.wafer.yaml,
 * $XDG_CONFIG_HOME/waferd/config.yaml (~/.config without), /etc/waferd/client.yaml, or the one that
 * is built in. A file is strict: what is wrong in it is told with its place. */
#ifndef WAFERD_CLI_SETTINGS_H
#define WAFERD_CLI_SETTINGS_H

#include <stddef.h>

enum setting_id {
    SETTING_SERVER,
    SETTING_SOCKET,
    SETTING_OUTPUT,
    SETTING_QUEUE,
    SETTING_PROJECT,
    SETTING_LS_COLUMNS,
    SETTING_SORT,
    SETTING_TZ,
    SETTING_COLOR,
    SETTING_TIMEOUT,
    SETTING_EXIT_ERROR,
    SETTINGS,
};

enum setting_level {
    LEVEL_FLAG,
    LEVEL_ENVIRONMENT,
    LEVEL_FILES, /* and one for each file after it */
    LEVEL_BUILT_IN = 100,
};

struct setting {
    const char *value;  /* NULL: there is none */
    const char *origin; /* "--tz", "WAFER_TZ", ".wafer.yaml:4:5: tz", "built in" */
    int level;
};

struct settings {
    struct setting items[SETTINGS];
    struct settings_file *files; /* what the values from files point into */
};

struct command;

const char *setting_name(enum setting_id id); /* its key in a file */

/* Read them all; a wrong file is told, and 78 returned. */
int settings_read(struct command *command);
void settings_done(struct settings *settings);

/* The exit code of what is wrong with that setting: 64 for a flag, else 78. */
int setting_exit(const struct setting *setting);

#endif
