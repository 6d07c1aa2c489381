#include "cli/submission.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/types.h>

void submission_key(char ret[static SUBMISSION_KEY_SIZE])
{
    uint8_t bytes[(SUBMISSION_KEY_SIZE - 1) / 2];

    for (size_t got = 0; got < sizeof(bytes);) {
        ssize_t n = getrandom(bytes + got, sizeof(bytes) - got, 0);
        got += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}
