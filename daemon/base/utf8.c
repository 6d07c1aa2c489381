#include "base/utf8.h"

#include "base/buffer.h"
#include "base/cleanup.h"

size_t utf8_next(const char *text, size_t length, uint32_t *ret_point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *bytes = (const uint8_t *)text;

    if (!length)
        return 0;
    if (bytes[0] < 0x80) {
        *ret_point = bytes[0];
        return 1;
    }
    size_t size = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || size > length)
        return 0;
    uint32_t point = bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3fu);
    }
    if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return size;
}

size_t utf8_valid_length(const char *text, size_t length)
{
    size_t at = 0;
    uint32_t point;

    while (at < length) {
        size_t size = utf8_next(text + at, length - at, &point);
        if (!size)
            break;
        at += size;
    }
    return at;
}

char *utf8_repair(const char *text, size_t length)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    for (size_t at = 0; at < length;) {
        size_t good = utf8_valid_length(text + at, length - at);

        buffer_append(&buffer, text + at, good);
        at += good;
        if (at < length) {
            buffer_append_text(&buffer, UTF8_REPLACEMENT);
            at++;
        }
    }
    return buffer_text(&buffer);
}

static void escape_control(struct buffer *buffer, uint32_t point)
{
    switch (point) {
    case '\n': buffer_append_text(buffer, "\\n"); break;
    case '\r': buffer_append_text(buffer, "\\r"); break;
    case '\t': buffer_append_text(buffer, "\\t"); break;
    default: buffer_format(buffer, "\\x%02x", (unsigned)point); break;
    }
}

char *utf8_escape(const char *text, size_t length)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    size_t size;

    for (size_t at = 0; at < length; at += size ? size : 1) {
        uint32_t point = 0;

        size = utf8_next(text + at, length - at, &point);
        if (!size)
            buffer_append_text(&buffer, UTF8_REPLACEMENT);
        else if (point < 0x20 || (point >= 0x7f && point < 0xa0))
            escape_control(&buffer, point);
        else
            buffer_append(&buffer, text + at, size);
    }
    return buffer_text(&buffer);
}
