#include "cli/message.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/text.h"

/* What scripts match on when the controller gave no code of its own. */
static const struct {
    int exit;
    const char *code;
} codes[] = {
    { EXIT_WAIT_TIMEOUT, "E_TIMEOUT" },
    { EXIT_USAGE, "E_USAGE" },
    { EXIT_DATA, "E_FIELD" },
    { EXIT_NO_INPUT, "E_NO_INPUT" },
    { EXIT_UNREACHABLE, "E_UNREACHABLE" },
    { EXIT_INTERNAL, "E_INTERNAL" },
    { EXIT_IO, "E_IO" },
    { EXIT_PROTOCOL, "E_PROTOCOL" },
    { EXIT_DENIED, "E_DENIED" },
    { EXIT_CONFIG, "E_CONFIG" },
};

static const char *code_of(int exit)
{
    for (size_t i = 0; i < ELEMENTS(codes); i++)
        if (codes[i].exit == exit)
            return codes[i].code;
    return "E_OTHER";
}

static void print_json(const Wafer__ErrorItem *item, FILE *stream)
{
    owned(free) char *text = bind_json_text(&item->base, false);

    fprintf(stream, "%s\n", text);
}

static void print_line(const struct command *command, const char *text)
{
    char room[64];
    const char *name = command_name(command, room, sizeof(room));
    owned(free) char *shown = text_display(text, command->err.is_utf8);

    fflush(stdout); /* so that what was printed before stands before */
    fprintf(command->err.stream, "wafer: %s%s%s\n", name, *name ? ": " : "", shown);
}

int message_fail(const struct command *command, int exit, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    if (command_is_json(command)) {
        Wafer__ErrorItem item = WAFER__ERROR_ITEM__INIT;
        item.schema = (char *)"wafer.error/v1";
        item.code = (char *)code_of(exit);
        item.exit = (uint32_t)exit;
        item.message = text;
        print_json(&item, command->err.stream);
    } else {
        print_line(command, text);
    }
    return exit;
}

int message_refused(const struct command *command, const Wafer__Error *error)
{
    int exit = error->exit >= 1 && error->exit <= 125 ? (int)error->exit : EXIT_INTERNAL;

    if (command_is_json(command)) {
        Wafer__ErrorItem item = WAFER__ERROR_ITEM__INIT;
        item.schema = (char *)"wafer.error/v1";
        item.code = error->code;
        item.exit = (uint32_t)exit;
        item.message = error->message;
        item.field = error->field;
        item.hint = error->hint;
        print_json(&item, command->err.stream);
        return exit;
    }
    bool has_hint = error->hint && *error->hint;
    bool has_field = error->field && *error->field;
    owned(free) char *text =
        text_format("%s%s%s%s%s", has_field ? error->field : "", has_field ? ": " : "",
                    error->message, has_hint ? ": " : "", has_hint ? error->hint : "");
    print_line(command, text);
    return exit;
}

static void print_bind_json(const struct command *command, const char *file,
                            const struct bind_error *error)
{
    Wafer__ErrorItem item = WAFER__ERROR_ITEM__INIT;

    item.schema = (char *)"wafer.error/v1";
    item.code = (char *)code_of(EXIT_DATA);
    item.exit = EXIT_DATA;
    item.message = error->text;
    item.file = (char *)file;
    item.has_line = error->line > 0;
    item.line = error->line;
    item.field = error->field;
    print_json(&item, command->err.stream);
}

int message_bind(const struct command *command, const char *file, const struct bind_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        if (command_is_json(command)) {
            print_bind_json(command, file, &errors->items[i]);
            continue;
        }
        owned(free) char *text = bind_error_format(&errors->items[i], file);
        print_line(command, text);
    }
    if (errors->cut)
        message_note(command, "there are more errors: these are the first %zu", errors->count);
    return EXIT_DATA;
}

void message_note(const struct command *command, const char *format, ...)
{
    va_list arguments;

    if (command_has(command, FLAG_QUIET))
        return;
    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    print_line(command, text);
}
