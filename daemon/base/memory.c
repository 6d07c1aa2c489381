#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_die(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

void *memory_new(size_t size)
{
    return or_die(calloc(1, size ? size : 1));
}

void *memory_resize(void *pointer, size_t count, size_t size)
{
    return or_die(reallocarray(pointer, count ? count : 1, size));
}

void *memory_copy(const void *bytes, size_t length)
{
    void *copy = or_die(malloc(length ? length : 1));
    if (length)
        memcpy(copy, bytes, length);
    return copy;
}

char *text_copy(const char *text)
{
    return text ? memory_copy(text, strlen(text) + 1) : NULL;
}

char *text_copy_length(const char *text, size_t length)
{
    char *copy = or_die(malloc(length + 1));
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *text_vformat(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    return text;
}

char *text_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_vformat(format, arguments);
    va_end(arguments);
    return text;
}
