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

/* A quarter of the longer word may be wrong: "steps" is not "stop". */
static bool is_near(unsigned changes, size_t written_length, size_t name_length)
{
    size_t longer = written_length > name_length ? written_length : name_length;

    return changes <= (longer + 2) / 4 && changes < name_length;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t length = 0;

    while (a[length] && is_same(a[length], b[length]))
        length++;
    return length;
}

const char *bind_nearest(const char *written, const char *const *names)
{
    size_t length = strlen(written);
    const char *nearest = NULL;
    unsigned best = 0;

    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (; *names; names++) {
        size_t name_length = strlen(*names);
        if (name_length > WORD_MAX)
            continue;
        unsigned changes = distance(written, length, *names, name_length);
        if (!is_near(changes, length, name_length))
            continue;
        /* Of two as near, the one that begins alike: "step" is "steps", not "stop". */
        if (!nearest || changes < best ||
            (changes == best && common_prefix(written, *names) > common_prefix(written, nearest))) {
            best = changes;
            nearest = *names;
        }
    }
    return nearest;
}
