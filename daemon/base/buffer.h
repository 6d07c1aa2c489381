/* buffer — bytes that grow at the end and are taken from the front. */
#ifndef WAFERD_BASE_BUFFER_H
#define WAFERD_BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *bytes; /* allocated; the contents start at bytes + start */
    size_t start, length, capacity;
};

#define BUFFER_EMPTY                                                                               \
    {                                                                                              \
        .bytes = NULL                                                                              \
    }

void buffer_done(struct buffer *buffer);
static inline void buffer_donep(struct buffer *buffer)
{
    buffer_done(buffer);
}

/* The contents: `buffer->length` bytes. Valid until the next change; never NULL. */
static inline uint8_t *buffer_data(const struct buffer *buffer)
{
    static uint8_t nothing[1];

    return buffer->bytes ? buffer->bytes + buffer->start : nothing;
}

/* Room for `length` more bytes at the end, not yet counted; then buffer_grow() counts them. */
uint8_t *buffer_reserve(struct buffer *buffer, size_t length);
void buffer_grow(struct buffer *buffer, size_t length);
void buffer_append(struct buffer *buffer, const void *bytes, size_t length);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_take(struct buffer *buffer, size_t length); /* drop from the front */
void buffer_clear(struct buffer *buffer);

/* The contents as a text that the caller frees; the buffer is empty afterwards. */
char *buffer_text(struct buffer *buffer);

#endif
