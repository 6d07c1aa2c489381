#include "base/diag.h"

#include <stdio.h>
#include <string.h>

static void mark_cut(struct diag *diag, int length)
{
    if (length >= (int)sizeof(diag->text))
        memcpy(diag->text + sizeof(diag->text) - 4, "...", 4);
}

int diag_fail(struct diag *diag, int error, const char *format, ...)
{
    if (!diag)
        return error;

    va_list arguments;
    va_start(arguments, format);
    mark_cut(diag, vsnprintf(diag->text, sizeof(diag->text), format, arguments));
    va_end(arguments);
    return error;
}

int diag_prefix(struct diag *diag, int error, const char *format, ...)
{
    if (!diag)
        return error;

    char before[DIAG_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(before, sizeof(before), format, arguments);
    va_end(arguments);

    char after[DIAG_TEXT_MAX];
    memcpy(after, diag->text, sizeof(after));
    mark_cut(diag, snprintf(diag->text, sizeof(diag->text), "%s: %s", before, after));
    return error;
}
