#include "measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return one < other ? -1 : one > other;
}

double percentile(double *values, size_t count, double percent)
{
    qsort(values, count, sizeof(*values), compare);
    return values[(size_t)(percent / 100 * (double)(count - 1) + 0.5)];
}

void tell(const char *name, double value)
{
    printf("%s %.6g\n", name, value);
    fflush(stdout);
}

void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}
