/* svg — the elements of a picture: text that cannot break out of it, and numbers that are short. */
#ifndef WAFERD_REPLAY_SVG_H
#define WAFERD_REPLAY_SVG_H

#include <stddef.h>

#include "base/buffer.h"

/* `text` as contents or as the value of an attribute. It may be anything: markup is escaped; bytes
 * that are no UTF-8, what XML forbids, and what turns the direction of writing are U+FFFD; of more
 * than `most` characters the rest is cut, and an ellipsis says so. */
void svg_text(struct buffer *svg, const char *text, size_t most);

/* A place or length in pixels, to a tenth. */
void svg_number(struct buffer *svg, double pixels);

/* `class` names the style, and of a label also its side: "tick end" ends at `x`. */
void svg_rectangle(struct buffer *svg, const char *class, double x, double y, double width,
                   double height);
void svg_line(struct buffer *svg, const char *class, double x1, double y1, double x2, double y2);
void svg_label(struct buffer *svg, const char *class, double x, double y, const char *text,
               size_t most);

#endif
