/* text — strings from outside, made safe to print.
 *
 * A stored name or a server's sentence may hold anything. What is shown to people has its control
 * characters written out (\x1b, \r), so that no stored byte commands a terminal; characters that
 * reorder a line are written out too. */
#ifndef WAFERD_CLI_TEXT_H
#define WAFERD_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* For people. Bytes that are no UTF-8 become U+FFFD; where the locale is not UTF-8, all that is not
 * ASCII is written as \xNN. The caller frees. */
char *text_display(const char *text, bool is_utf8);

/* The same at the end of a buffer, with its NUL; returns the cells it takes. */
unsigned text_append_display(struct buffer *to, const char *text, bool is_utf8);

/* One field of `plain`: \t \n \r \\ and \xNN for other control characters and for bytes that are no
 * UTF-8. The caller frees. */
char *text_plain(const char *text);

/* Cells that a text from text_display() takes. */
unsigned text_width(const char *display);

/* Shorten a text from text_display() to at most `width` (> 0) cells; a cut text ends in '+'. */
void text_cut(char *display, unsigned width);

/* For a stream of bytes with lines in it: as text_display(), but \n and \t pass. A sequence that
 * the end of a chunk cuts is kept for the next chunk. */
struct text_filter {
    unsigned char kept[4];
    size_t kept_length;
};
char *text_filter(struct text_filter *filter, const void *bytes, size_t length, bool is_utf8,
                  size_t *ret_length);

#endif
