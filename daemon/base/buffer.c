#include "base/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void buffer_done(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer)BUFFER_EMPTY;
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t length)
{
    size_t end = buffer->start + buffer->length;

    /* Room for nothing is room too: what has no bytes yet gets some. */
    if (!buffer->bytes || end + length > buffer->capacity) {
        /* Moving to the front is enough where it frees at least half, so that the cost of moving
         * stays proportional to what was appended. */
        if (buffer->bytes && buffer->start >= buffer->length &&
            buffer->length + length <= buffer->capacity) {
            memcpy(buffer->bytes, buffer_data(buffer), buffer->length);
        } else {
            size_t capacity = (buffer->length + length) * 2;
            if (capacity < 256)
                capacity = 256;
            uint8_t *bytes = memory_resize(NULL, capacity, 1);
            if (buffer->length)
                memcpy(bytes, buffer_data(buffer), buffer->length);
            free(buffer->bytes);
            buffer->bytes = bytes;
            buffer->capacity = capacity;
        }
        buffer->start = 0;
    }
    return buffer->bytes + buffer->start + buffer->length;
}

void buffer_grow(struct buffer *buffer, size_t length)
{
    assert(buffer->start + buffer->length + length <= buffer->capacity);
    buffer->length += length;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t length)
{
    if (!length)
        return;
    memcpy(buffer_reserve(buffer, length), bytes, length);
    buffer_grow(buffer, length);
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_vformat(format, arguments);
    va_end(arguments);
    buffer_append_text(buffer, text);
    free(text);
}

void buffer_take(struct buffer *buffer, size_t length)
{
    assert(length <= buffer->length);
    buffer->start += length;
    buffer->length -= length;
    if (!buffer->length)
        buffer->start = 0;
}

void buffer_clear(struct buffer *buffer)
{
    buffer->start = buffer->length = 0;
}

char *buffer_text(struct buffer *buffer)
{
    char *text =
        text_copy_length(buffer->length ? (char *)buffer_data(buffer) : "", buffer->length);
    buffer_clear(buffer);
    return text;
}
