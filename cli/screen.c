#include "cli/screen.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool wants_color(bool is_terminal)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (no_color && *no_color)
        return false;
    return is_terminal && term && *term && strcmp(term, "dumb") != 0;
}

void screen_init(struct screen *screen, FILE *stream, enum color_choice color)
{
    screen->stream = stream;
    screen->is_terminal = isatty(fileno(stream));
    screen->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen->color =
        color == COLOR_ALWAYS || (color == COLOR_AUTO && wants_color(screen->is_terminal));
}

unsigned screen_width(const struct screen *screen)
{
    const char *columns = getenv("COLUMNS");

    if (screen->is_wide)
        return 0;
    if (screen->fixed_width)
        return screen->fixed_width;
    if (columns) {
        char *end;
        unsigned long width = strtoul(columns, &end, 10);
        if (*columns >= '0' && *columns <= '9' && !*end && width >= 20 && width <= 10000)
            return (unsigned)width;
    }

    struct winsize size;
    if (!screen->is_terminal || ioctl(fileno(screen->stream), TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col >= 20 ? size.ws_col : 80;
}

static const char *const sequences[] = {
    [STYLE_NONE] = "",           [STYLE_GOOD] = "\x1b[32m", [STYLE_BAD] = "\x1b[31m",
    [STYLE_ACTIVE] = "\x1b[36m", [STYLE_FAINT] = "\x1b[2m", [STYLE_BOLD] = "\x1b[1m",
};

const char *screen_begin(const struct screen *screen, enum style style)
{
    return screen->color ? sequences[style] : "";
}

const char *screen_end(const struct screen *screen, enum style style)
{
    return screen->color && style != STYLE_NONE ? "\x1b[0m" : "";
}

void screen_clear(const struct screen *screen)
{
    fputs("\x1b[H\x1b[J", screen->stream);
}
