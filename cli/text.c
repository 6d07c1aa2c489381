#include "cli/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"

static bool is_control(uint32_t value)
{
    return value < 0x20 || (value >= 0x7f && value < 0xa0);
}

/* Characters that change the direction of what follows, or split a line: a name with them can pass
 * for another. */
static bool is_deceptive(uint32_t value)
{
    return value == 0x200e || value == 0x200f || (value >= 0x2028 && value <= 0x202e) ||
           (value >= 0x2066 && value <= 0x2069);
}

static void append_escape(struct buffer *buffer, uint32_t value)
{
    switch (value) {
    case '\t': buffer_append_text(buffer, "\\t"); break;
    case '\n': buffer_append_text(buffer, "\\n"); break;
    case '\r': buffer_append_text(buffer, "\\r"); break;
    default: buffer_format(buffer, value < 0x100 ? "\\x%02x" : "\\u%04x", value); break;
    }
}

static void append_hex(struct buffer *buffer, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_format(buffer, "\\x%02x", (unsigned char)bytes[i]);
}

/* One character, or one byte that belongs to none, for people. Returns how many bytes it took. */
static size_t append_display(struct buffer *buffer, const char *text, size_t length, bool is_utf8)
{
    uint32_t value = 0;
    size_t count = utf8_next(text, length, &value);

    if (!count && is_utf8)
        buffer_append_text(buffer, UTF8_REPLACEMENT);
    else if (!count)
        append_hex(buffer, text, 1);
    else if (is_control(value) || is_deceptive(value))
        append_escape(buffer, value);
    else if (value < 0x80 || is_utf8)
        buffer_append(buffer, text, count);
    else
        append_hex(buffer, text, count);
    return count ? count : 1;
}

/* Almost every text is printable ASCII, and a list of jobs has a hundred thousand of them. */
static bool is_simple(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '\\')
            return false;
    return true;
}

char *text_display(const char *text, bool is_utf8)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    size_t length = strlen(text);

    if (is_simple(text))
        return text_copy_length(text, length);

    for (size_t i = 0; i < length;)
        i += append_display(&buffer, text + i, length - i, is_utf8);
    return buffer_text(&buffer);
}

static size_t append_plain(struct buffer *buffer, const char *text, size_t length)
{
    uint32_t value = 0;
    size_t count = utf8_next(text, length, &value);

    if (!count)
        append_hex(buffer, text, 1);
    else if (value == '\\')
        buffer_append_text(buffer, "\\\\");
    else if (value < 0x80 && is_control(value))
        append_escape(buffer, value);
    else if (is_control(value))
        append_hex(buffer, text, count);
    else
        buffer_append(buffer, text, count);
    return count ? count : 1;
}

unsigned text_append_display(struct buffer *to, const char *text, bool is_utf8)
{
    if (is_simple(text)) {
        size_t length = strlen(text);
        buffer_append(to, text, length + 1);
        return (unsigned)length;
    }
    owned(free) char *display = text_display(text, is_utf8);
    buffer_append(to, display, strlen(display) + 1);
    return text_width(display);
}

char *text_plain(const char *text)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    size_t length = strlen(text);

    if (is_simple(text))
        return text_copy_length(text, length);
    for (size_t i = 0; i < length;)
        i += append_plain(&buffer, text + i, length - i);
    return buffer_text(&buffer);
}

/* Bytes and cells of the character that `text` begins with. */
static size_t next_character(const char *text, unsigned *ret_cells)
{
    uint32_t value = 0;
    size_t count = utf8_next(text, strnlen(text, 4), &value);
    int cells = count ? wcwidth((wchar_t)value) : 1;

    *ret_cells = cells < 0 ? 1 : (unsigned)cells;
    return count ? count : 1;
}

unsigned text_width(const char *display)
{
    unsigned width = 0, cells;

    if (is_simple(display))
        return (unsigned)strlen(display);
    while (*display) {
        display += next_character(display, &cells);
        width += cells;
    }
    return width;
}

void text_cut(char *display, unsigned width)
{
    unsigned used = 0, cells;
    size_t end = 0; /* where the '+' goes */

    for (size_t i = 0; display[i];) {
        size_t count = next_character(display + i, &cells);
        if (used + cells > width) {
            strcpy(display + end, "+");
            return;
        }
        used += cells;
        i += count;
        if (used < width)
            end = i;
    }
}

/* Do these bytes begin a character and end within it? */
static bool is_cut(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

    if (first < 0xc2 || first > 0xf4 || length >= size)
        return false;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return false;
    return true;
}

char *text_filter(struct text_filter *filter, const void *bytes, size_t length, bool is_utf8,
                  size_t *ret_length)
{
    owned(buffer_done) struct buffer in = BUFFER_EMPTY;
    owned(buffer_done) struct buffer out = BUFFER_EMPTY;

    buffer_append(&in, filter->kept, filter->kept_length);
    buffer_append(&in, bytes, length);
    filter->kept_length = 0;
    for (size_t i = 0; i < in.length;) {
        const char *here = (const char *)buffer_data(&in) + i;

        if (is_cut(here, in.length - i)) {
            filter->kept_length = in.length - i;
            memcpy(filter->kept, here, filter->kept_length);
            break;
        }
        if (*here == '\n' || *here == '\t') {
            buffer_append(&out, here, 1);
            i++;
        } else {
            i += append_display(&out, here, in.length - i, is_utf8);
        }
    }
    *ret_length = out.length;
    return buffer_text(&out);
}
