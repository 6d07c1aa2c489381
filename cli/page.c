#include "cli/page.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/text.h"
#include "cli/units.h"

void page_field(const struct command *command, const char *name, const char *value)
{
    const struct screen *screen = &command->out;
    owned(free) char *shown = text_display(value && *value ? value : "-", screen->is_utf8);

    printf("  %s%-11s%s %s\n", screen_begin(screen, STYLE_FAINT), name,
           screen_end(screen, STYLE_FAINT), shown);
}

void page_format(const struct command *command, const char *name, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *value = text_vformat(format, arguments);
    va_end(arguments);
    page_field(command, name, value);
}

void page_time(const struct command *command, const char *name, const Wafer__Time *time)
{
    page_field(command, name, time ? units_time(time->us, command->utc).text : NULL);
}

void page_heading(const struct command *command, enum style style, const char *format, ...)
{
    const struct screen *screen = &command->out;
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    owned(free) char *shown = text_display(text, screen->is_utf8);
    printf("%s%s%s\n", screen_begin(screen, style), shown, screen_end(screen, style));
}
