#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/bind.h"
#include "model/limits.h"

void bind_errors_done(struct bind_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        free(errors->items[i].field);
        free(errors->items[i].text);
    }
    free(errors->items);
    *errors = (struct bind_errors){ 0 };
}

/* In order of their places; an error without one comes last, and in the order of arrival. */
static size_t slot_for(const struct bind_errors *errors, unsigned line, unsigned column)
{
    size_t slot = errors->count;

    while (slot > 0 && line) {
        const struct bind_error *before = &errors->items[slot - 1];
        if (before->line &&
            (before->line < line || (before->line == line && before->column <= column)))
            break;
        slot--;
    }
    return slot;
}

void bind_errors_add(struct bind_errors *errors, unsigned line, unsigned column, const char *field,
                     const char *format, ...)
{
    if (errors->count == LIMIT_BIND_ERRORS) {
        errors->cut = true;
        return;
    }

    va_list arguments;
    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    size_t slot = slot_for(errors, line, column);

    errors->items = memory_resize(errors->items, errors->count + 1, sizeof(*errors->items));
    memmove(&errors->items[slot + 1], &errors->items[slot],
            (errors->count - slot) * sizeof(*errors->items));
    errors->count++;
    /* Both may quote what somebody wrote, and they end on a terminal. */
    errors->items[slot] = (struct bind_error){
        .line = line,
        .column = column,
        .field = field ? utf8_escape(field, strlen(field)) : NULL,
        .text = utf8_escape(text, strlen(text)),
    };
}

char *bind_error_format(const struct bind_error *error, const char *file)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    if (file)
        buffer_format(&buffer, "%s:", file);
    if (error->line)
        buffer_format(&buffer, "%u:%u:", error->line, error->column);
    if (buffer.length)
        buffer_append_text(&buffer, " ");
    if (error->field)
        buffer_format(&buffer, "%s: ", error->field);
    buffer_append_text(&buffer, error->text);
    return buffer_text(&buffer);
}

void bind_vrefuse(const struct bind_report *report, const char *field, const char *format,
                  va_list arguments)
{
    owned(free) char *text = text_vformat(format, arguments);
    unsigned line, column;

    bind_place(report->places, field, &line, &column);
    bind_errors_add(report->errors, line, column, field, "%s", text);
}

void bind_refuse(const struct bind_report *report, const char *field, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    bind_vrefuse(report, field, format, arguments);
    va_end(arguments);
}
