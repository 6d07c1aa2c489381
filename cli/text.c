#include "cli/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/buffer.h"
#include "base/cleanup.h"

/* Length of the character at `bytes` and its number; 0 for bytes that are no UTF-8, -1 when `length`
 * ends inside of one. */
static int decode(const unsigned char *bytes, size_t length, uint32_t *ret)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    int count = bytes[0] < 0x80 ? 1
                : bytes[0] < 0xc2 ? 0
                : bytes[0] < 0xe0 ? 2
                : bytes[0] < 0xf0 ? 3
                : bytes[0] < 0xf5 ? 4
                                  : 0;

    if (count == 0)
        return 0;
    uint32_t value = count == 1 ? bytes[0] : bytes[0] & (0x7fu >> count);
    for (int i = 1; i < count; i++) {
        if ((size_t)i == length)
            return -1;
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < smallest[count] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *ret = value;
    return count;
}

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

static void append_hex(struct buffer *buffer, const unsigned char *bytes, int count)
{
    for (int i = 0; i < count; i++)
        buffer_format(buffer, "\\x%02x", bytes[i]);
}

/* One character, or one byte that belongs to none, for people. Returns how many bytes it took. */
static size_t append_display(struct buffer *buffer, const unsigned char *bytes, size_t length,
                             bool is_utf8)
{
    uint32_t value = 0;
    int count = decode(bytes, length, &value);

    if (count <= 0) {
        if (is_utf8)
            buffer_append_text(buffer, "\uFFFD");
        else
            append_hex(buffer, bytes, 1);
        return 1;
    }
    if (is_control(value) || is_deceptive(value))
        append_escape(buffer, value);
    else if (value < 0x80 || is_utf8)
        buffer_append(buffer, bytes, (size_t)count);
    else
        append_hex(buffer, bytes, count);
    return (size_t)count;
}

char *text_display(const char *text, bool is_utf8)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    size_t length = strlen(text);

    for (size_t i = 0; i < length;)
        i += append_display(&buffer, (const unsigned char *)text + i, length - i, is_utf8);
    return buffer_text(&buffer);
}

char *text_plain(const char *text)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    size_t length = strlen(text);

    for (size_t i = 0; i < length;) {
        const unsigned char *bytes = (const unsigned char *)text + i;
        uint32_t value = 0;
        int count = decode(bytes, length - i, &value);

        if (count <= 0)
            append_hex(&buffer, bytes, 1);
        else if (value == '\\')
            buffer_append_text(&buffer, "\\\\");
        else if (value < 0x80 && is_control(value))
            append_escape(&buffer, value);
        else if (is_control(value))
            append_hex(&buffer, bytes, count);
        else
            buffer_append(&buffer, bytes, (size_t)count);
        i += count > 0 ? (size_t)count : 1;
    }
    return buffer_text(&buffer);
}

/* Bytes and cells of the character that `text` begins with. */
static size_t next_character(const char *text, unsigned *ret_cells)
{
    uint32_t value = 0;
    int count = decode((const unsigned char *)text, strlen(text), &value);
    int cells = count > 0 ? wcwidth((wchar_t)value) : 1;

    *ret_cells = cells < 0 ? 1 : (unsigned)cells;
    return count > 0 ? (size_t)count : 1;
}

unsigned text_width(const char *display)
{
    unsigned width = 0, cells;

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

char *text_filter(struct text_filter *filter, const void *bytes, size_t length, bool is_utf8,
                  size_t *ret_length)
{
    owned(buffer_done) struct buffer in = BUFFER_EMPTY;
    owned(buffer_done) struct buffer out = BUFFER_EMPTY;
    size_t i = 0;

    buffer_append(&in, filter->kept, filter->kept_length);
    buffer_append(&in, bytes, length);
    filter->kept_length = 0;
    while (i < in.length) {
        const unsigned char *here = buffer_data(&in) + i;
        uint32_t value;

        if (decode(here, in.length - i, &value) < 0) {
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
