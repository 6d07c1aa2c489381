#include <ctype.h>
#include <string.h>

#include "model/bind.h"

#define WORD_MAX 48

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Changes of one letter (left out, put in, replaced, swapped with the next) that make b of a. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            now[j] =
                least(least(last[j], now[j - 1]) + 1, last[j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b_length];
}

const char *bind_nearest(const char *written, const char *const *names)
{
    size_t length = strlen(written);
    unsigned best = 1 + (unsigned)length / 4; /* a word of four letters may have two wrong */
    const char *nearest = NULL;

    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (; *names; names++) {
        size_t name_length = strlen(*names);
        if (name_length > WORD_MAX)
            continue;
        unsigned d = distance(written, length, *names, name_length);
        if (d <= best && d < name_length && (d < best || !nearest)) {
            best = d;
            nearest = *names;
        }
    }
    return nearest;
}
