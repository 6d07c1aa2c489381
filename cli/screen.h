/* screen — what a stream can show: is it a terminal, how wide, which characters, colour. */
#ifndef WAFERD_CLI_SCREEN_H
#define WAFERD_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

struct screen {
    FILE *stream;
    bool is_terminal;
    bool is_utf8; /* what the locale says */
    bool color;
    unsigned fixed_width; /* 0: as wide as the terminal is */
    bool is_wide;         /* lines may be longer than what is seen of them */
};

enum style {
    STYLE_NONE,
    STYLE_GOOD,
    STYLE_BAD,
    STYLE_ACTIVE,
    STYLE_FAINT,
    STYLE_BOLD,
};

enum color_choice {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER,
};

/* After setlocale(). */
void screen_init(struct screen *screen, FILE *stream, enum color_choice color);

/* Columns to fill: COLUMNS, or the terminal's; 0 when lines may be of any length. Asked anew each
 * time, since windows change. */
unsigned screen_width(const struct screen *screen);

/* Begin again at the top of an empty screen. */
void screen_clear(const struct screen *screen);

/* The sequence that begins a style, or "" without colour; screen_end() after it. */
const char *screen_begin(const struct screen *screen, enum style style);
const char *screen_end(const struct screen *screen, enum style style);

#endif
