#include "replay/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"

static bool may_stand(uint32_t point)
{
    bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    bool turns = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
                 point == 0x200e || point == 0x200f || point == 0x061c;

    return !control && !turns && (point & 0xfffe) != 0xfffe;
}

static void append_point(struct buffer *svg, const char *bytes, size_t length, uint32_t point)
{
    switch (point) {
    case '<': buffer_append_text(svg, "&lt;"); return;
    case '>': buffer_append_text(svg, "&gt;"); return;
    case '&': buffer_append_text(svg, "&amp;"); return;
    case '"': buffer_append_text(svg, "&quot;"); return;
    case '\'': buffer_append_text(svg, "&#39;"); return;
    default:
        if (may_stand(point))
            buffer_append(svg, bytes, length);
        else
            buffer_append_text(svg, UTF8_REPLACEMENT);
    }
}

void svg_text(struct buffer *svg, const char *text, size_t most)
{
    size_t left = strlen(text);

    for (size_t count = 0; left > 0; count++) {
        uint32_t point = 0;
        size_t length = utf8_next(text, left, &point);

        if (count == most) {
            buffer_append_text(svg, ELLIPSIS);
            return;
        }
        append_point(svg, text, length, length ? point : 0);
        length += length == 0; /* a bad byte is one */
        text += length;
        left -= length;
    }
}

void svg_number(struct buffer *svg, double pixels)
{
    long tenths = lround(pixels * 10);

    /* Not %.1f: its point is a comma in some languages. */
    buffer_format(svg, "%s%ld", tenths < 0 ? "-" : "", labs(tenths) / 10);
    if (tenths % 10)
        buffer_format(svg, ".%ld", labs(tenths) % 10);
}

static void attribute(struct buffer *svg, const char *name, double pixels)
{
    buffer_format(svg, " %s=\"", name);
    svg_number(svg, pixels);
    buffer_append_text(svg, "\"");
}

void svg_rectangle(struct buffer *svg, const char *class, double x, double y, double width,
                   double height)
{
    buffer_format(svg, "<rect class=\"%s\"", class);
    attribute(svg, "x", x);
    attribute(svg, "y", y);
    attribute(svg, "width", width);
    attribute(svg, "height", height);
    buffer_append_text(svg, "/>\n");
}

void svg_line(struct buffer *svg, const char *class, double x1, double y1, double x2, double y2)
{
    buffer_format(svg, "<line class=\"%s\"", class);
    attribute(svg, "x1", x1);
    attribute(svg, "y1", y1);
    attribute(svg, "x2", x2);
    attribute(svg, "y2", y2);
    buffer_append_text(svg, "/>\n");
}

void svg_label(struct buffer *svg, const char *class, double x, double y, const char *text,
               size_t most)
{
    buffer_format(svg, "<text class=\"%s\"", class);
    attribute(svg, "x", x);
    attribute(svg, "y", y);
    buffer_append_text(svg, ">");
    svg_text(svg, text, most);
    buffer_append_text(svg, "</text>\n");
}
