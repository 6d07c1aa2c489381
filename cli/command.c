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

#define DEFAULT_SOCKET "/run/waferd/waferd.sock"

static const char *const format_names[FORMATS] = {
    [FORMAT_TABLE] = "table",
    [FORMAT_JSON] = "json",
    [FORMAT_PLAIN] = "plain",
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int read_format(struct command *command)
{
    const char *name = command->values[FLAG_OUTPUT], *origin = "-o";
    int exit = EXIT_USAGE;

    if (!name) {
        name = environment("WAFER_OUTPUT");
        origin = "WAFER_OUTPUT";
        exit = EXIT_CONFIG;
    }
    command->format = FORMAT_TABLE;
    if (!name)
        return 0;
    for (enum format i = 0; i < FORMATS; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            command->format = i;
            return 0;
        }
    }
    return message_fail(command, exit, "%s: unknown format '%s': table, json or plain", origin,
                        name);
}

static int read_zone(struct command *command)
{
    const char *name = command->values[FLAG_TZ], *origin = "--tz";
    int exit = EXIT_USAGE;

    if (!name) {
        name = environment("WAFER_TZ");
        origin = "WAFER_TZ";
        exit = EXIT_CONFIG;
    }
    if (!name || strcasecmp(name, "local") == 0)
        return 0;
    if (strcasecmp(name, "utc") != 0)
        return message_fail(command, exit, "%s: unknown time zone '%s': UTC or local", origin,
                            name);
    command->utc = true;
    return 0;
}

static int read_color(struct command *command)
{
    static const char *const names[] = {
        [COLOR_AUTO] = "auto",
        [COLOR_ALWAYS] = "always",
        [COLOR_NEVER] = "never",
    };
    const char *name = command->values[FLAG_COLOR];

    if (!name)
        return 0;
    for (enum color_choice i = 0; i < ELEMENTS(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            screen_init(&command->out, stdout, i);
            screen_init(&command->err, stderr, i);
            return 0;
        }
    }
    return message_fail(command, EXIT_USAGE, "--color: unknown choice '%s': auto, always or never",
                        name);
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

static int read_socket(struct command *command)
{
    const char *server = command->values[FLAG_SERVER];

    if (command_has(command, FLAG_SOCKET)) {
        command->socket_path = command->values[FLAG_SOCKET];
        command->socket_origin = "--socket";
    } else if (server) {
        command->socket_path = server_path(server);
        command->socket_origin = "--server";
        if (!command->socket_path)
            return message_fail(command, EXIT_USAGE,
                                "--server: '%s' is not known here: unix:/path/of/the.sock", server);
    } else if ((command->socket_path = environment("WAFER_SOCKET"))) {
        command->socket_origin = "WAFER_SOCKET";
    } else {
        command->socket_path = DEFAULT_SOCKET;
        command->socket_origin = "built in";
    }
    return 0;
}

/* Errors come before the format is known, and a script that asks for JSON wants them as such. */
static enum format format_of_errors(int argc, char *const *argv)
{
    const char *name = environment("WAFER_OUTPUT");

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool is_flag = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;
        if (is_flag && i + 1 < argc)
            name = argv[i + 1];
        else if (strncmp(argv[i], "--output=", 9) == 0)
            name = argv[i] + 9;
        else if (strcmp(argv[i], "-ojson") == 0)
            name = argv[i] + 2;
    }
    return name && strcmp(name, "json") == 0 ? FORMAT_JSON : FORMAT_TABLE;
}

int command_parse(int argc, char *const *argv, struct command *ret)
{
    memset(ret, 0, sizeof(*ret));
    screen_init(&ret->out, stdout, COLOR_AUTO);
    screen_init(&ret->err, stderr, COLOR_AUTO);
    ret->format = format_of_errors(argc, argv);
    int exit = arguments_parse(argc, argv, ret);
    int (*const readers[])(struct command *) = { read_format, read_zone, read_color, read_socket };

    for (size_t i = 0; !exit && i < ELEMENTS(readers); i++)
        exit = readers[i](ret);
    if (!exit)
        exit = command_duration(ret, FLAG_TIMEOUT, &ret->timeout_us);
    return exit;
}

void command_done(struct command *command)
{
    free(command->sets);
    free(command->targets);
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
