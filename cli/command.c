#include "cli/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/memory.h"
#include "base/number.h"
#include "cli/arguments.h"
#include "cli/message.h"
#include "cli/run.h"

static const char *const format_names[FORMATS] = {
    [FORMAT_TABLE] = "table",   [FORMAT_WIDE] = "wide",    [FORMAT_JSON] = "json",
    [FORMAT_NDJSON] = "ndjson", [FORMAT_YAML] = "yaml",    [FORMAT_NAME] = "name",
    [FORMAT_PLAIN] = "plain",   [FORMAT_COLUMNS] = "cols",
};
#define FORMATS_TEXT "table, wide, json, ndjson, yaml, name, plain or cols=KEY,..."

static bool format_parse(const char *text, enum format *ret, const char **ret_columns)
{
    size_t length = strcspn(text, "=");

    for (enum format i = 0; i < FORMATS; i++) {
        bool has_columns = i == FORMAT_COLUMNS;
        if (strlen(format_names[i]) != length || strncmp(text, format_names[i], length) != 0 ||
            has_columns != (text[length] == '='))
            continue;
        *ret = i;
        *ret_columns = has_columns ? text + length + 1 : NULL;
        return true;
    }
    return false;
}

static int read_format(struct command *command)
{
    const struct setting *output = command_setting(command, SETTING_OUTPUT);
    bool is_list = command->verb && strcmp(command->verb->name, "ls") == 0;

    if (!format_parse(output->value, &command->format, &command->columns))
        return message_fail(command, setting_exit(output), "%s: unknown format '%s': " FORMATS_TEXT,
                            output->origin, output->value);
    /* "Ids alone": of a list that is the same. */
    if (is_list && command_has(command, FLAG_QUIET) && command_is_for_people(command))
        command->format = FORMAT_NAME;
    command->out.is_wide = command->format == FORMAT_WIDE;
    return 0;
}

static int read_zone(struct command *command)
{
    const struct setting *zone = command_setting(command, SETTING_TZ);

    command->utc = strcasecmp(zone->value, "utc") == 0;
    if (command->utc || strcasecmp(zone->value, "local") == 0)
        return 0;
    return message_fail(command, setting_exit(zone), "%s: unknown time zone '%s': UTC or local",
                        zone->origin, zone->value);
}

static int read_color(struct command *command)
{
    static const char *const names[] = {
        [COLOR_AUTO] = "auto",
        [COLOR_ALWAYS] = "always",
        [COLOR_NEVER] = "never",
    };
    const struct setting *color = command_setting(command, SETTING_COLOR);

    for (enum color_choice i = 0; i < ELEMENTS(names); i++) {
        if (strcmp(color->value, names[i]) == 0) {
            screen_init(&command->out, stdout, i);
            screen_init(&command->err, stderr, i);
            return 0;
        }
    }
    return message_fail(command, setting_exit(color),
                        "%s: unknown choice '%s': auto, always or never", color->origin,
                        color->value);
}

/* unix:/path, unix:///path or /path */
static const char *server_path(const char *server)
{
    if (strncmp(server, "unix:", 5) == 0)
        server += 5;
    if (strncmp(server, "///", 3) == 0)
        server += 2;
    return *server == '/' ? server : NULL;
}

/* [USER@]HOST[:PORT]: nothing that ssh could take for an option, or a shell for a command. */
static bool is_ssh_host(const char *host)
{
    size_t length = strlen(host);

    return length > 0 && host[0] != '-' && !strstr(host, "@-") &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "._-@:[]%") == length;
}

static int read_server(struct command *command, const struct setting *server)
{
    command->address = server;
    if (strncmp(server->value, "ssh://", 6) == 0 && is_ssh_host(server->value + 6)) {
        command->ssh_host = server->value + 6;
        return 0;
    }
    command->socket_path = server_path(server->value);
    if (command->socket_path)
        return 0;
    return message_fail(command, setting_exit(server),
                        "%s: '%s' is no server: unix:/path/of/the.sock or ssh://[USER@]HOST[:PORT]",
                        server->origin, server->value);
}

static int read_address(struct command *command)
{
    const struct setting *server = command_setting(command, SETTING_SERVER);
    const struct setting *socket = command_setting(command, SETTING_SOCKET);

    if (server->value && server->level < socket->level)
        return read_server(command, server);
    command->address = socket;
    command->socket_path = socket->value;
    return 0;
}

static int read_timeout(struct command *command)
{
    const struct setting *timeout = command_setting(command, SETTING_TIMEOUT);
    struct diag diag;

    if (timeout->value && duration_parse(timeout->value, &command->timeout_us, &diag) < 0)
        return message_fail(command, setting_exit(timeout), "%s: %s", timeout->origin, diag.text);
    return 0;
}

static int read_exit_error(struct command *command)
{
    const struct setting *code = command_setting(command, SETTING_EXIT_ERROR);
    uint64_t number;

    if (code->value && (number_parse_whole(code->value, 255, &number) < 0 || number == 0))
        return message_fail(command, setting_exit(code), "%s: '%s' is no exit code from 1 to 255",
                            code->origin, code->value);
    return 0;
}

/* Errors come before the format is known, and a script that asks for JSON wants them as such. */
static enum format format_of_errors(int argc, char *const *argv)
{
    const char *name = getenv("WAFER_OUTPUT");
    const char *columns;
    enum format format = FORMAT_TABLE;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool is_flag = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;
        if (is_flag && i + 1 < argc)
            name = argv[i + 1];
        else if (strncmp(argv[i], "--output=", 9) == 0)
            name = argv[i] + 9;
        else if (strncmp(argv[i], "-o", 2) == 0)
            name = argv[i] + 2;
    }
    return name && format_parse(name, &format, &columns) ? format : FORMAT_TABLE;
}

/* Help must come up whatever the settings say. */
static bool needs_settings(const struct command *command)
{
    return command->verb && command->verb->run != run_help && !command_has(command, FLAG_HELP) &&
           !command_has(command, FLAG_VERSION);
}

int command_parse(int argc, char *const *argv, struct command *ret)
{
    memset(ret, 0, sizeof(*ret));
    screen_init(&ret->out, stdout, COLOR_AUTO);
    screen_init(&ret->err, stderr, COLOR_AUTO);
    ret->format = format_of_errors(argc, argv);
    int exit = arguments_parse(argc, argv, ret);
    int (*const readers[])(struct command *) = { settings_read,  read_color,   read_format,
                                                 read_zone,      read_address, read_timeout,
                                                 read_exit_error };

    for (size_t i = 0; !exit && needs_settings(ret) && i < ELEMENTS(readers); i++)
        exit = readers[i](ret);
    return exit;
}

void command_done(struct command *command)
{
    free(command->sets);
    free(command->targets);
    free(command->labels);
    settings_done(&command->settings);
}

int command_exit(const struct command *command, int exit)
{
    const struct setting *code = command_setting(command, SETTING_EXIT_ERROR);
    uint64_t number;

    if (exit < EXIT_USAGE || exit > EXIT_CONFIG || !code->value ||
        number_parse_whole(code->value, 255, &number) < 0 || number == 0)
        return exit;
    return (int)number;
}

const char *command_name(const struct command *command, char *room, size_t size)
{
    const struct verb *verb = command->verb;

    if (!verb)
        return command->group ? command->group->name : "";
    if (!verb->group)
        return verb->name;
    snprintf(room, size, "%s %s", verb->group, verb->name);
    return room;
}

int command_number(const struct command *command, enum flag_id flag, uint64_t maximum,
                   uint64_t *ret)
{
    const char *text = command->values[flag];

    if (text && number_parse_whole(text, maximum, ret) < 0)
        return message_fail(command, EXIT_USAGE, "--%s: '%s' is not a whole number up to %" PRIu64,
                            flags[flag].name, text, maximum);
    return 0;
}

int command_duration(const struct command *command, enum flag_id flag, int64_t *ret_us)
{
    const char *text = command->values[flag];
    struct diag diag;

    if (text && duration_parse(text, ret_us, &diag) < 0)
        return message_fail(command, EXIT_USAGE, "--%s: %s", flags[flag].name, diag.text);
    return 0;
}
