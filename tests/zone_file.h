/* zone_file — a TZif file in memory, for tests that are to know no tzdata. */
#ifndef WAFERD_TESTS_ZONE_FILE_H
#define WAFERD_TESTS_ZONE_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ZONE_FILE_BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

/* A file with one type, no transition, and that footer. */
static inline size_t zone_file_make(const char *footer, int32_t offset_s, uint8_t ret[static 256])
{
    const uint8_t header[44] = { 'T', 'Z', 'i', 'f', '2', [39] = 1, [43] = 1 };
    const uint8_t type[] = { (uint8_t)(offset_s >> 24),
                             (uint8_t)(offset_s >> 16),
                             (uint8_t)(offset_s >> 8),
                             (uint8_t)offset_s,
                             0,
                             0,
                             0 /* its name */ };
    size_t length = 0;

    for (int i = 0; i < 2; i++) {
        memcpy(ret + length, header, sizeof(header));
        memcpy(ret + length + sizeof(header), type, sizeof(type));
        length += sizeof(header) + sizeof(type);
    }
    return length + (size_t)sprintf((char *)ret + length, "\n%s\n", footer);
}

#endif
