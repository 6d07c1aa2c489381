#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)

static const struct {
    const char *name;
    uint64_t bytes;
} units[] = {
    { "T", TIB },         { "G", GIB },      { "M", MIB },
    { "K", KIB },         { "TiB", TIB },    { "GiB", GIB },
    { "MiB", MIB },       { "KiB", KIB },    { "TB", 1000000000000 },
    { "GB", 1000000000 }, { "MB", 1000000 }, { "KB", 1000 },
};

static uint64_t unit_bytes(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(units); i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].bytes;
    return 0;
}

static int refuse(const char *text, const char *rest, struct diag *diag)
{
    if (!rest)
        return diag_fail(diag, -EINVAL, "\"%s\" is not a size (like 512M, 1.5T, 200GB)", text);
    if (!*rest)
        return diag_fail(diag, -EINVAL, "%s: a bare number is not a size (%sM? %sG?)", text, text,
                         text);
    return diag_fail(diag, -EINVAL,
                     "\"%s\": %s is not a unit (K M G T: powers of 1024; KB MB GB TB: of 1000)",
                     text, rest);
}

int size_parse(const char *text, int64_t *ret_bytes, struct diag *diag)
{
    struct number number;
    int64_t bytes;

    if (text[0] == '-' && isdigit((unsigned char)text[1]))
        return diag_fail(diag, -ERANGE, "%s: a size is more than 0", text);
    const char *rest = number_scan(text, 0, &number);
    if (rest && number.digits == 0 && (!*rest || unit_bytes(rest)))
        return diag_fail(diag, -ERANGE, "%s: a size is more than 0", text);
    uint64_t unit = rest ? unit_bytes(rest) : 0;
    if (!unit)
        return refuse(text, rest, diag);
    if (number_times(&number, unit, NUMBER_UP, &bytes) < 0 || bytes > INT64_MAX - (int64_t)MIB)
        return diag_fail(diag, -ERANGE, "%s: too large, at most 8388607T", text);
    *ret_bytes = (bytes + (int64_t)MIB - 1) / (int64_t)MIB * (int64_t)MIB;
    return 0;
}

void size_format(int64_t bytes, char ret[static SIZE_TEXT_SIZE])
{
    size_t unit = 0;

    while (unit < 3 && (uint64_t)bytes % units[unit].bytes)
        unit++;
    snprintf(ret, SIZE_TEXT_SIZE, "%" PRId64 "%s", bytes / (int64_t)units[unit].bytes,
             units[unit].name);
}
