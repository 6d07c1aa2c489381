#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "cli/message.h"
#include "cli/text.h"

static int write_error; /* the errno of the first write that failed */

static void note_error(void)
{
    if (!write_error && ferror(stdout))
        write_error = errno ? errno : EIO;
}

static void print_json(const ProtobufCMessage *message, bool pretty)
{
    owned(free) char *text = bind_json_text(message, pretty);

    errno = 0;
    fputs(text, stdout);
    putchar('\n');
    note_error();
}

void output_json(const ProtobufCMessage *message)
{
    print_json(message, true);
}

void output_json_line(const ProtobufCMessage *message)
{
    print_json(message, false);
}

bool output_document(const struct command *command, const ProtobufCMessage *message)
{
    if (command->format == FORMAT_YAML) {
        owned(free) char *text = bind_yaml_text(message);
        fputs(text, stdout);
        return true;
    }
    if (command_is_json(command))
        print_json(message, command->format == FORMAT_JSON);
    return command_is_json(command);
}

void output_envelope(const char *name, char **schema, Wafer__Time **generated_at)
{
    free(*schema);
    *schema = text_copy(name);
    if (*generated_at)
        return;

    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *generated_at = NEW(Wafer__Time);
    wafer__time__init(*generated_at);
    (*generated_at)->us = (int64_t)now.tv_sec * SECOND_US;
}

void output_line(const struct command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *line = text_vformat(format, arguments);
    va_end(arguments);
    owned(free) char *shown = text_display(line, command->out.is_utf8);
    errno = 0;
    puts(shown);
    note_error();
}

void output_text(struct record *record, const char *text)
{
    owned(free) char *plain = text_plain(text && *text ? text : "-");

    printf("%s%s", record->has_fields ? "\t" : "", plain);
    record->has_fields = true;
}

void output_number(struct record *record, bool has, uint64_t number)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    output_text(record, has ? digits : NULL);
}

void output_time(struct record *record, const Wafer__Time *time)
{
    char text[TIMESTAMP_TEXT_SIZE];

    if (time)
        timestamp_format(time->us, text);
    output_text(record, time ? text : NULL);
}

void output_end(struct record *record)
{
    errno = 0;
    putchar('\n');
    note_error();
    record->has_fields = false;
}

bool output_flush(void)
{
    errno = 0;
    fflush(stdout);
    note_error();
    return write_error == 0;
}

int output_finish(const struct command *command, int exit)
{
    output_flush();
    if (!write_error)
        return exit;
    if (write_error == EPIPE)
        return EXIT_BROKEN_PIPE;
    return message_fail(command, EXIT_IO, "cannot write to standard output: %s",
                        strerror(write_error));
}
