#include "cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/message.h"
#include "client.pb-c.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_print.h"
#include "model/bind_text.h"
#include "model/limits.h"

#define FILES 3

static const struct {
    const char *name;     /* its key in a file */
    const char *variable; /* NULL: none */
    enum flag_id flag;    /* FLAGS: none */
    const char *flag_text;
    const char *built_in;
} table[SETTINGS] = {
    [SETTING_SERVER] = { "server", "WAFER_SERVER", FLAG_SERVER, "--server", NULL },
    [SETTING_SOCKET] = { "socket", "WAFER_SOCKET", FLAG_SOCKET, "--socket",
                         "/run/waferd/waferd.sock" },
    [SETTING_OUTPUT] = { "output", "WAFER_OUTPUT", FLAG_OUTPUT, "-o", "table" },
    [SETTING_QUEUE] = { "queue", "WAFER_QUEUE", FLAGS, NULL, NULL },
    [SETTING_PROJECT] = { "project", "WAFER_PROJECT", FLAGS, NULL, NULL },
    [SETTING_LS_COLUMNS] = { "ls_columns", "WAFER_LS_COLUMNS", FLAGS, NULL, NULL },
    [SETTING_SORT] = { "sort", "WAFER_SORT", FLAG_SORT, "--sort", NULL },
    [SETTING_TZ] = { "tz", "WAFER_TZ", FLAG_TZ, "--tz", "local" },
    [SETTING_COLOR] = { "color", NULL, FLAG_COLOR, "--color", "auto" },
    [SETTING_TIMEOUT] = { "timeout", NULL, FLAG_TIMEOUT, "--timeout", NULL },
    [SETTING_EXIT_ERROR] = { "exit_error", "WAFER_EXIT_ERROR", FLAGS, NULL, NULL },
};

struct settings_file {
    char *path;
    Wafer__Client *client;
    char *values[SETTINGS], *origins[SETTINGS];
};

const char *setting_name(enum setting_id id)
{
    return table[id].name;
}

int setting_exit(const struct setting *setting)
{
    return setting->level == LEVEL_FLAG ? EXIT_USAGE : EXIT_CONFIG;
}

/* ---- files ---------------------------------------------------------------------------------- */

static char *path_of(size_t file)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    switch (file) {
    case 0: return text_copy(".wafer.yaml");
    case 1:
        if (config && *config == '/')
            return text_format("%s/waferd/config.yaml", config);
        return home && *home == '/' ? text_format("%s/.config/waferd/config.yaml", home) : NULL;
    default: return text_copy("/etc/waferd/client.yaml");
    }
}

static int cannot_read(const struct command *command, const char *path, int error)
{
    return message_fail(command, EXIT_CONFIG, "cannot read '%s': %s", path, strerror(error));
}

static int read_whole(const struct command *command, const char *path, int fd, struct buffer *ret)
{
    ssize_t n;

    do {
        n = read(fd, buffer_reserve(ret, 4096), 4096);
        if (n > 0)
            buffer_grow(ret, (size_t)n);
        if (ret->length > LIMIT_POLICY_FILE_BYTES)
            return message_fail(command, EXIT_CONFIG, "'%s' has more than %d bytes", path,
                                LIMIT_POLICY_FILE_BYTES);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? cannot_read(command, path, errno) : 0;
}

/* Whoever can write the file can name a program to run, and the controller that is asked: in a
 * folder of others lies what others wrote. */
static bool is_trusted(const struct command *command, const char *path, int fd)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & S_IWOTH))
        return true;
    message_note(command, "'%s' is left out: others than you and root can write it", path);
    return false;
}

/* The text of a value as its reader takes it, from a flag or a variable just the same. */
static char *value_text(const Wafer__Client *client, const ProtobufCFieldDescriptor *field)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    const void *value = field_element(&client->base, field, 0);

    if (field->type == PROTOBUF_C_TYPE_STRING)
        return text_copy(*(char *const *)value);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        bind_text_find(field->descriptor)->format(*(ProtobufCMessage *const *)value, &text);
    else
        print_value(&text, field, value);
    return buffer_text(&text);
}

static void take_values(struct settings_file *file, const struct bind_places *places)
{
    for (enum setting_id i = 0; i < SETTINGS; i++) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(
            &wafer__client__descriptor, table[i].name);
        unsigned line, column;

        if (!field_is_set(&file->client->base, field))
            continue;
        bind_place(places, table[i].name, &line, &column);
        file->values[i] = value_text(file->client, field);
        file->origins[i] = text_format("%s:%u:%u: %s", file->path, line, column, table[i].name);
    }
}

static void check_kind(const Wafer__Client *client, const struct bind_places *places,
                       struct bind_errors *errors)
{
    unsigned line, column;

    if (strcmp(client->apiversion, "wafer/v1") != 0) {
        bind_place(places, "apiVersion", &line, &column);
        bind_errors_add(errors, line, column, "apiVersion", "\"%.80s\" is unknown: wafer/v1",
                        client->apiversion);
    }
    if (strcmp(client->kind, "Client") != 0) {
        bind_place(places, "kind", &line, &column);
        bind_errors_add(errors, line, column, "kind", "\"%.80s\" is no client's file: Client",
                        client->kind);
    }
}

static int parse_file(const struct command *command, struct settings_file *file,
                      const struct buffer *text)
{
    struct bind_errors errors = { .count = 0 };
    struct bind_places *places = NULL;
    ProtobufCMessage *message = NULL;
    int exit = 0;

    if (bind_yaml(&wafer__client__descriptor, (const char *)buffer_data(text), text->length,
                  LIMIT_POLICY_FILE_BYTES, &message, &places, &errors) == 0) {
        file->client = (Wafer__Client *)message;
        check_kind(file->client, places, &errors);
        take_values(file, places);
    }
    if (errors.count) {
        message_bind(command, file->path, &errors);
        exit = EXIT_CONFIG;
    }
    bind_places_free(places);
    bind_errors_done(&errors);
    return exit;
}

/* Nobody can know what lies in a directory that is closed to him, such as the home that a program
 * run as somebody else still has in its environment. */
static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != EACCES);
}

static int read_file(const struct command *command, size_t which, struct settings_file *file)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    file->path = path_of(which);
    if (!file->path || !is_there(file->path))
        return 0;
    owned(fd_close) int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cannot_read(command, file->path, errno);
    if (!is_trusted(command, file->path, fd))
        return 0;
    int exit = read_whole(command, file->path, fd, &text);
    return exit ? exit : parse_file(command, file, &text);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static struct setting find(const struct command *command, const struct settings_file *files,
                           enum setting_id id)
{
    enum flag_id flag = table[id].flag;
    const char *variable = table[id].variable ? getenv(table[id].variable) : NULL;

    if (flag < FLAGS && command->values[flag])
        return (struct setting){ command->values[flag], table[id].flag_text, LEVEL_FLAG };
    if (variable && *variable)
        return (struct setting){ variable, table[id].variable, LEVEL_ENVIRONMENT };
    for (size_t i = 0; i < FILES; i++)
        if (files[i].values[id])
            return (struct setting){ files[i].values[id], files[i].origins[id],
                                     LEVEL_FILES + (int)i };
    return (struct setting){ table[id].built_in, "built in", LEVEL_BUILT_IN };
}

int settings_read(struct command *command)
{
    struct settings *settings = &command->settings;

    settings->files = memory_new(FILES * sizeof(*settings->files));
    for (size_t i = 0; i < FILES; i++) {
        int exit = read_file(command, i, &settings->files[i]);
        if (exit)
            return exit;
    }
    for (enum setting_id i = 0; i < SETTINGS; i++)
        settings->items[i] = find(command, settings->files, i);
    return 0;
}

void settings_done(struct settings *settings)
{
    for (size_t i = 0; settings->files && i < FILES; i++) {
        struct settings_file *file = &settings->files[i];

        free(file->path);
        if (file->client)
            wafer__client__free_unpacked(file->client, NULL);
        for (enum setting_id j = 0; j < SETTINGS; j++) {
            free(file->values[j]);
            free(file->origins[j]);
        }
    }
    free(settings->files);
    settings->files = NULL;
}
